"""Leaves that name images, hosts, devices and amounts."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import PlainValidator, WithJsonSchema

from builder.documents.fields import choice, leaf, pattern_word, refuse, text_of, word
from builder.documents.nodes import Bare
from builder.documents.suggest import nearest, shown
from builder.model.matrix import BaseChoice, BaseKind, EngineName, Tier
from builder.model.oci import ImageReference

_KINDS = (BaseKind.VENDOR.value, BaseKind.STACK.value, BaseKind.DISTRIBUTION.value)


def _parsed(value: str, *, name_only: bool = False) -> ImageReference:
    """Read an image reference, with what was meant for the usual slips: a URL, capitals."""
    what = f"{shown(value)} is a URL, not an image name"
    try:
        if "://" not in value:
            return ImageReference.parse(value)
    except ValueError as error:
        what = str(error)
    return refuse(what, _meant(value, name_only=name_only))


def _meant(value: str, *, name_only: bool) -> str:
    """Return a hint: the image name that was meant, where lower case and no scheme make one."""
    plain = value.rpartition("://")[2].rstrip("/").lower()
    try:
        read = ImageReference.parse(plain)
    except ValueError:
        return "write registry.example/team/name" + ("" if name_only else ":tag")
    if name_only:
        plain = plain.partition("@")[0].removesuffix(f":{read.tag}")
    return f"names of images are lower case: {plain}" if "://" not in value else f"write {plain}"


def repository(text: str) -> ImageReference:
    """Read an image name without tag and digest."""
    value = word(text)
    read = _parsed(value, name_only=True)
    if read.tag is not None or read.digest is not None:
        refuse(f"{shown(value)} has a tag or digest", f"write {read.name}; tags are made from tags:")
    return read


def image_name(text: str) -> str:
    """Read an image name without tag and digest, as written."""
    value = word(text)
    read = _parsed(value, name_only=True)
    if read.tag is not None or read.digest is not None:
        plain = value.partition("@")[0].removesuffix(f":{read.tag}")
        refuse(f"{shown(value)} has a tag or digest", f"write {plain}; terms are read once for all of its tags")
    return value


def base_choice(text: str) -> BaseChoice:
    """Read a kind of base, or an image reference that says which image it means for ever, or at least by tag."""
    value = word(text)
    if value in _KINDS:
        return BaseChoice(kind=BaseKind(value))
    close = nearest(value, _KINDS) if re.fullmatch(r"[A-Za-z_-]+", value) else None
    if close is not None or value == BaseKind.IMAGE.value:
        hint = f"did you mean {close!r}?" if close else "write the image itself: registry.example/name:tag"
        refuse(f"{shown(value)} is no kind of base ({', '.join(_KINDS)})", hint)
    read = _parsed(value)
    if read.digest is None and read.tag is None:
        hint = f"write the tag or digest that is meant: {value}:<tag>"
        refuse(f"{shown(value)} has no tag, which means 'latest': a different image every month", hint)
    if read.digest is None and read.tag == "latest":
        hint = f"write the tag or digest that is meant: {value.removesuffix(':latest')}:<tag>"
        refuse(f"{shown(value)} is a different image every month", hint)
    return BaseChoice(kind=BaseKind.IMAGE, reference=read)


_VENDORS = ("nvidia", "amd", "intel", "aws", "google", "cpu", "apple", "microsoft", "qualcomm")


_ACCELERATOR = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*/[a-z0-9]+(?:[._-][a-z0-9]+)*")


def accelerator(text: str) -> str:
    """Read ``vendor/model``; whether there is such a device is for the catalog to say."""
    value = word(text)
    if _ACCELERATOR.fullmatch(value) is None:
        hint = "such as nvidia/h100, amd/mi300x, intel/gaudi3 or cpu/x86-64-v3"
        lowered = re.sub(r"[\s_]+", "-", value.lower())
        vendor, _, model = lowered.partition("-")
        for proposal in (lowered, f"{vendor}/{model}"):
            if _ACCELERATOR.fullmatch(proposal) and (proposal == lowered or vendor in _VENDORS):
                hint = f"did you mean {proposal}?"
        refuse(f"{shown(value)} is not an accelerator, which is written vendor/model", hint)
    return value


_DOTTED = r"[0-9]+(?:\.[0-9]+)*(?:[-+][0-9A-Za-z.]+)?"
_DRIVER = re.compile(rf"{_DOTTED}|module:{_DOTTED}|kernel:{_DOTTED} (?:i915|xe|i915\|xe)")


def driver(text: str) -> str:
    """Read a driver: a dotted number, ``module:6.16.13``, or ``kernel:6.14 xe``."""
    value = " ".join(word(text).split())
    if _DRIVER.fullmatch(value) is None:
        digits = re.fullmatch(rf"[vV]?\s*(?P<number>{_DOTTED})", value)
        hint = 'write a number such as "580.95.05", "module:6.16.13" (amdgpu), or "kernel:6.14 xe" (Intel GPU)'
        if digits is not None:
            hint = f'write "{digits["number"]}"'
        elif value.startswith("kernel"):
            hint = 'write "kernel:6.14 xe" or "kernel:6.14 i915"'
        refuse(f"{shown(value)} is not a driver", hint)
    return value


_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?"
_PREFIX = re.compile(rf"{_HOST}(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")


def image_prefix(text: str) -> str:
    """Read a registry, with a path if need be: a side of ``mirrors:``."""
    value = word(text).rstrip("/")
    if "://" in value:
        refuse(f"{shown(value)} is a URL, not a registry", f"write {value.partition('://')[2]}")
    if _PREFIX.fullmatch(value) is None:
        refuse(f"{shown(value)} is not a registry or a part of one", "write it as nvcr.io, or registry.local:5000/nv")
    return value


def index_url(text: str) -> str:
    """Read the URL of a package index; a password in it is refused."""
    value = word(text)
    try:
        parts = urlsplit(value)
        port_is_sound = parts.port is None or parts.port >= 0
    except ValueError:
        refuse(f"{shown(value)} is not a URL", "write https://index.example/simple")
    if parts.scheme not in {"http", "https", "file"} or re.search(r"\s", value):
        refuse(f"{shown(value)} is not an http, https or file URL", f"write {_with_scheme(value)}")
    if parts.password is not None or parts.username is not None:
        host = parts.hostname or "index.example"
        refuse(
            f"the URL of {host} holds a user or password",
            "take it out, and keep it in ~/.netrc or a keyring, where pip and uv look",
        )
    if not port_is_sound or (parts.scheme != "file" and not parts.hostname) or (parts.scheme == "file" and not parts.path):
        refuse(f"{shown(value)} names no place", "write https://index.example/simple or file:///srv/wheels")
    return value


def _with_scheme(value: str) -> str:
    if value.startswith("/"):
        return f"file://{value}"
    return f"https://{value}" if re.fullmatch(r"[\w.-]+(?::\d+)?(?:/\S*)?", value) else "https://index.example/simple"


_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]*)")
_SIZE_UNITS = {
    "": 1,
    "b": 1,
    **{f"{u}b": 1000**n for n, u in enumerate("kmgt", 1)},
    **{f"{u}ib": 1024**n for n, u in enumerate("kmgt", 1)},
}
_TIME = re.compile(r"(?:(?P<h>[0-9]+)\s*h)?\s*(?:(?P<m>[0-9]+)\s*m(?:in)?)?\s*(?:(?P<s>[0-9]+)\s*s?)?")
_MAX_DIGITS = 15


def size(value: object) -> int:
    """Read an amount of bytes: a whole number, or a text with a unit (kB, MB, GB, TB; KiB, MiB, GiB, TiB)."""
    text = value.text if isinstance(value, Bare) and value.kind in {"int", "float"} else word(text_of(value))
    match = _SIZE.fullmatch(text)
    if match is None or match["unit"].lower() not in _SIZE_UNITS or len(match["number"]) > _MAX_DIGITS:
        refuse(f"{shown(text)} is not a size", 'write bytes, or a text such as "20GB" or "20GiB"')
    return _positive(int(float(match["number"]) * _SIZE_UNITS[match["unit"].lower()]), text)


def seconds(value: object) -> int:
    """Read a time: a whole number of seconds, or a text such as ``30m`` or ``1h30m``."""
    text = value.text if isinstance(value, Bare) and value.kind in {"int", "float"} else word(text_of(value))
    match = _TIME.fullmatch(text)
    if match is None or not text or len(text) > _MAX_DIGITS:
        refuse(f"{shown(text)} is not a time", 'write whole seconds, or a text such as "90s", "30m" or "1h30m"')
    hours, minutes, rest = (int(match[unit] or 0) for unit in "hms")
    return _positive(hours * 3600 + minutes * 60 + rest, text)


def _positive(amount: int, text: str) -> int:
    if amount < 1:
        refuse(f"{shown(text)} is nothing", "write a limit above zero, or remove the key")
    return amount


def whole(value: object) -> int:
    """Read a whole number that is not in quotes."""
    written = value.text if isinstance(value, Bare) else value
    if not isinstance(written, str) or not written:
        refuse("a whole number is expected here", "write a number such as 1")
    if not isinstance(value, Bare) or value.kind != "int" or re.fullmatch(r"-?(?:0|[1-9][0-9]{0,14})", written) is None:
        digits = re.fullmatch(r"[0-9]{1,15}", written)
        refuse(
            f"{shown(written)} is not a whole number",
            f"write {int(written)} without quotes" if digits else "write a number such as 1",
        )
    return int(written)


def positive(value: object) -> int:
    """Read a whole number above zero."""
    number = whole(value)
    if number < 1:
        refuse(f"{number} is not above zero", "write 1 or more")
    return number


def number(value: object) -> float:
    """Read a number that is not in quotes."""
    numeric = isinstance(value, Bare) and value.kind in {"int", "float"}
    if not isinstance(value, Bare) or not numeric or re.fullmatch(_NUMBER, value.text) is None:
        refuse("a number is expected here", "write a number without quotes, such as 12.5")
    return float(value.text)


_NUMBER = r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,2})?"
_tier = choice(*(tier.value for tier in Tier))
_engine = choice(*(engine.value for engine in EngineName))


def _word_schema(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern})


Repository = Annotated[ImageReference, leaf(repository), WithJsonSchema({"type": "string", "pattern": "^[^\\s@]+$"})]
ImageName = Annotated[str, leaf(image_name), WithJsonSchema({"type": "string", "pattern": "^[^\\s@]+$"})]
BaseText = Annotated[BaseChoice, leaf(base_choice), WithJsonSchema({"type": "string", "pattern": "^(?!.*:latest$)\\S+$"})]
Accelerator = Annotated[str, leaf(accelerator), _word_schema("^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+([._-][a-z0-9]+)*$")]
Driver = Annotated[str, leaf(driver), _word_schema("^(module:|kernel:)?[0-9]")]
ImagePrefix = Annotated[str, leaf(image_prefix), _word_schema("^[A-Za-z0-9][A-Za-z0-9._:/-]*$")]
IndexUrl = Annotated[str, leaf(index_url), _word_schema("^(https?|file)://\\S+$")]
IndexName = Annotated[
    str,
    leaf(pattern_word(r"[a-z0-9]+(?:[._-][a-z0-9]+)*", "a name for an index", "such as pypi or pytorch-cu126")),
    _word_schema("^[a-z0-9]+([._-][a-z0-9]+)*$"),
]
BoundName = Annotated[
    str,
    leaf(pattern_word(r"[a-z0-9]+(?:[._-][a-z0-9]+)*", "the name of a measured value", "such as matmul.gflops")),
    _word_schema("^[a-z0-9]+([._-][a-z0-9]+)*$"),
]
BuilderName = Annotated[
    str,
    leaf(pattern_word(r"[A-Za-z0-9][A-Za-z0-9._-]*", "the name of a builder", "see: docker buildx ls")),
    _word_schema("^[A-Za-z0-9][A-Za-z0-9._-]*$"),
]
FabricName = Annotated[
    str,
    leaf(pattern_word(r"[a-z][a-z0-9_-]*", "a name here", "a-z, 0-9, _ and -")),
    _word_schema("^[a-z][a-z0-9_-]*$"),
]
Toolkit = Annotated[
    str,
    leaf(pattern_word(r"[0-9]+(?:\.[0-9]+)*(?:[-~+][0-9A-Za-z.]+)?", "a version of a container toolkit", 'such as "1.18.0"')),
    _word_schema("^[0-9]"),
]
TierName = Annotated[
    Tier, leaf(lambda text: Tier(_tier(text)), as_written=True), WithJsonSchema({"enum": [tier.value for tier in Tier]})
]
Engine = Annotated[
    EngineName,
    leaf(lambda text: EngineName(_engine(text)), as_written=True),
    WithJsonSchema({"enum": [engine.value for engine in EngineName]}),
]
ContainerPath = Annotated[str, leaf(choice("legacy", "cdi"), as_written=True), WithJsonSchema({"enum": ["legacy", "cdi"]})]
BaseMode = Annotated[str, leaf(choice("mirror", "reference"), as_written=True), WithJsonSchema({"enum": ["mirror", "reference"]})]
DistributionMode = Annotated[
    str,
    leaf(choice("auto", "assembled", "registry"), as_written=True),
    WithJsonSchema({"enum": ["auto", "assembled", "registry"]}),
]
Accepted = Annotated[str, leaf(choice("accepted"), as_written=True), WithJsonSchema({"enum": ["accepted"]})]
Size = Annotated[int, PlainValidator(size), WithJsonSchema({"type": ["integer", "string"]})]
Seconds = Annotated[int, PlainValidator(seconds), WithJsonSchema({"type": ["integer", "string"]})]
Positive = Annotated[int, PlainValidator(positive), WithJsonSchema({"type": "integer", "minimum": 1})]
Number = Annotated[float, PlainValidator(number), WithJsonSchema({"type": "number"})]
