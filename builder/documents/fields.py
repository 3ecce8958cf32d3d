"""Leaves of a document: each reads one value, or refuses it with the likely fix.

A leaf is a function from text to a value of the model; ``ValueError`` and ``Refusal`` both
become complaints at the value's own place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, NoReturn

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from builder.documents.nodes import Bare, Items, Place, Table
from builder.documents.suggest import did_you_mean, nearest, shown
from builder.model.axis import AxisValue
from builder.model.oci import Platform
from builder.model.tag import TagTemplate

BARE = "imgbuild_bare"
"""Error type of an unquoted number: what was meant is known, so reading goes on with it."""
REFUSED = "imgbuild_refused"
"""Error type of every other refusal; its ``ctx`` holds ``text``, ``hint``, and ``at`` where the place is another."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MAX_WORD = 1000
_NAME = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_MAX_NAME = 64


def refuse(text: str, hint: str | None = None, *, kind: str = REFUSED, at: Place | None = None) -> NoReturn:
    """Refuse a value: raises the error that becomes a complaint, at another place than the value's own if ``at`` says so."""
    raise PydanticCustomError(kind, "{text}", {"text": text, "hint": hint, "at": at})


def text_of(value: object) -> str:
    """Return a text as written; refuses what is none, an unquoted number with the quoted form as the fix."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Bare):
        _refuse_bare(value)
    if isinstance(value, (Items, list)):
        refuse("a text is expected here, not a list", "write one value")
    if isinstance(value, (Table, dict)):
        refuse("a text is expected here, not a mapping", "write one value")
    refuse("a text is expected here", "write it in quotes")


def _refuse_bare(value: Bare) -> NoReturn:
    if value.kind == "null":
        what = "there is no value here" if value.text == "" else f"{value.text} is nothing to YAML"
        refuse(what, 'write a value ("" for an empty text), or remove the key')
    became = _as_yaml_reads(value)
    text = f"{value.text} is {value.word} to YAML{became}, and a text is expected here"
    refuse(text, f'write it in quotes: "{value.text}"', kind=BARE)


def _as_yaml_reads(value: Bare) -> str:
    """Return what YAML would make of an unquoted word, where it is not what was written."""
    if value.kind == "float":
        try:
            made = repr(float(value.text.replace("_", "")))
        except ValueError:
            return ""
        return "" if made == value.text else f" ({made})"
    if value.kind == "bool":
        return f" ({value.text.casefold() in {'yes', 'on', 'true', 'y'}})".lower()
    return ""


def leaf(read: Callable[[str], object], *, as_written: bool = False, empty: bool = False) -> PlainValidator:
    """Return a validator from a reading function.

    ``as_written`` takes unquoted numbers and words as the text that was written; ``empty``
    allows the empty text.
    """

    def validate(value: object) -> object:
        text = value.text if as_written and isinstance(value, Bare) and value.kind != "null" else text_of(value)
        if not text.strip() and not empty:
            refuse("the value is empty", "write a value, or remove the key")
        try:
            return read(text)
        except PydanticCustomError:
            raise
        except ValueError as error:
            refuse(str(error))

    return PlainValidator(validate)


def word(text: str) -> str:
    """Read a text of one line without control characters, spaces around it taken off."""
    if len(text) > _MAX_WORD:
        refuse(f"{shown(text)} has {len(text)} characters", f"at most {_MAX_WORD} can stand here")
    if _CONTROL.search(text):
        refuse(f"{shown(text)} holds a line break or control character", "write it in one line")
    return text.strip()


def argument(text: str) -> str:
    """Read a word that will be an argument of a program: it must not look like an option."""
    value = word(text)
    if value.startswith("-"):
        refuse(f"{shown(value)} begins with '-'", "a program would take it for an option; write the bare value")
    return value


def pattern_word(pattern: str, what: str, hint: str) -> Callable[[str], str]:
    """Return a reader of words that match a pattern as a whole; ``what`` completes "is not …"."""
    compiled = re.compile(pattern)

    def read(text: str) -> str:
        value = word(text)
        if compiled.fullmatch(value) is None:
            refuse(f"{shown(value)} is not {what}", hint)
        return value

    return read


def choice(*names: str) -> Callable[[str], str]:
    """Return a reader of one word of a closed set, with the nearest as the likely fix."""

    def read(text: str) -> str:
        value = word(text)
        if value not in names and len(names) == 1:
            refuse(f"{shown(value)} can only be {names[0]!r} here", f"write {names[0]}, or remove the key")
        if value not in names:
            refuse(f"{shown(value)} is none of {', '.join(names)}", did_you_mean(value, names))
        return value

    return read


def axis_value(text: str) -> AxisValue:
    """Read an axis value or pattern."""
    value = word(text)
    try:
        return AxisValue.parse(value)
    except ValueError as error:
        slip = re.fullmatch(r"(?P<name>[A-Za-z0-9._-]+)\s*=\s*(?P<version>[0-9][0-9.]*(?:\.\*)?)", value)
        hint = f"did you mean {slip['name']}=={slip['version']}?" if slip else "write a name with ==2.9.*, ~=2.9 or >=2.9,<3"
        refuse(str(error), hint)


def name(text: str) -> str:
    """Read the name of a matrix: it becomes a part of image names and of paths."""
    value = word(text)
    if re.fullmatch(_NAME, value) is None or len(value) > _MAX_NAME:
        proposal = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")[:_MAX_NAME].strip("-") or "pytorch"
        what = f"{shown(value)} is not a name that a registry takes (a-z, 0-9, single . _ -, at most {_MAX_NAME})"
        refuse(what, f"write {proposal}")
    return value


def axis_name(text: str) -> str:
    """Read the name of an axis; those that mean something else are refused."""
    value = word(text)
    if value in {"id", "base", "date", "reason", "when"}:
        refuse(f"{value!r} is a reserved word and cannot be an axis", f"name it otherwise, such as {value}-kind")
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,31}", value) is None:
        refuse(f"{shown(value)} is not a name for an axis", "begin with a letter; letters, digits, _ and -, at most 32")
    return value


def requirement(text: str) -> str:
    """Read a PEP 508 requirement that can be locked: from an index, by name."""
    value = word(text)
    if value.startswith("-"):
        refuse(f"{shown(value)} is an option of pip, not a requirement", "name package indexes under indexes:")
    try:
        read = Requirement(value)
    except InvalidRequirement as error:
        meant = _requirement_meant(value)
        reason = "" if meant else f": {_first_line(str(error))}"
        hint = f"did you mean {meant}?" if meant else "write it as PEP 508 does: transformers~=4.57, uvicorn[standard]>=0.30"
        refuse(f"{shown(value)} is not a requirement{reason}", hint)
    if read.url is not None:
        what = f"{shown(value)} names a URL, and a lock holds files of an index only"
        refuse(what, f"write {read.name} with a version, and the index under indexes:")
    return value


def _first_line(text: str) -> str:
    first = text.splitlines()[0].strip().rstrip(".")
    return first[:1].lower() + first[1:]


def _requirement_meant(value: str) -> str | None:
    """Return the requirement for the usual slips: one ``=``, or a space before the version."""
    slip = re.fullmatch(r"(?P<name>[A-Za-z0-9._-]+(?:\[[^]]*\])?)(?:\s*=\s*|\s+)(?P<version>[0-9][^=\s]*)", value)
    return f"{slip['name']}=={slip['version']}" if slip is not None else None


def apt_name(text: str) -> str:
    """Read the name of a Debian package; versions come from the lock."""
    value = word(text)
    if re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", value) is not None:
        return value
    plain = re.split(r"[=/:\s]", value.lower())[0]
    if re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", plain) is not None:
        refuse(f"{shown(value)} is not the name of a Debian package", f"write {plain} alone; the lock pins the version")
    refuse(f"{shown(value)} is not the name of a Debian package", "a-z, 0-9, + - . and at least two of them")


_CONSTRAINTS = frozenset({"PIP_CONSTRAINT", "UV_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "UV_BUILD_CONSTRAINT"})


def env_name(text: str) -> str:
    """Read the name of an environment variable; those that keep the framework in place are not for the matrix."""
    value = word(text)
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is None:
        proposal = re.sub(r"[^A-Za-z0-9_]", "_", value)
        hint = f"write {proposal}" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", proposal) else "letters, digits and _"
        refuse(f"{shown(value)} is not the name of an environment variable", hint)
    if value in _CONSTRAINTS:
        refuse(f"{value} is set by imgbuild, so that the framework survives a later install", "remove it")
    return value


_ARCHITECTURES = ("amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64", "loong64", "mips64le")
_OTHER_NAMES = {"x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "aarch64": "arm64", "armv8": "arm64", "i386": "386"}


def platform(text: str) -> Platform:
    """Read a platform of a Linux image."""
    value = word(text)
    hint = "write linux/amd64 or linux/arm64"
    os, _, architecture = value.rpartition("/")
    if architecture in _OTHER_NAMES and os in {"", "linux"}:
        refuse(f"{shown(value)} is not a platform", f"did you mean linux/{_OTHER_NAMES[architecture]}?")
    try:
        read = Platform.parse(value)
    except ValueError as error:
        refuse(str(error), hint)
    if read.os != "linux":
        refuse(f"{shown(value)} is no Linux platform, and images are built for Linux", hint)
    if read.architecture not in _ARCHITECTURES:
        close = nearest(read.architecture, _ARCHITECTURES)
        refuse(f"{shown(value)} names no known CPU architecture", f"did you mean linux/{close}?" if close else hint)
    return read


def user(text: str) -> str:
    """Read the user of an image: a name or number, and a group behind a colon."""
    value = word(text)
    part = r"(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,10})"
    if re.fullmatch(rf"{part}(?::{part})?", value) is None:
        refuse(f"{shown(value)} is not a user", 'write a name or number, such as "app" or "1000:1000"')
    return value


_TAG_LITERAL = re.compile(r"[A-Za-z0-9_.+-]*")
_MAX_TAG = 128


def tag_template(text: str) -> str:
    """Read a tag template whose literal parts a registry would take; ``+`` is written as ``_``."""
    value = word(text)
    try:
        template = TagTemplate.parse(value)
    except ValueError as error:
        refuse(str(error), "write placeholders such as {framework} or {python}, and no other braces")
    for literal, _ in template.parts:
        if _TAG_LITERAL.fullmatch(literal) is None:
            bad = next(letter for letter in literal if _TAG_LITERAL.fullmatch(letter) is None)
            refuse(f"{shown(value)} has a {shown(bad)}, which no tag may have", "letters, digits, . _ and - only")
    if value[0] in ".-+":
        refuse(f"{shown(value)} begins with {value[0]!r}, and no tag may", "begin with a letter, a digit or a placeholder")
    if value.lower() == "latest":
        refuse("'latest' says nothing about what the image is", "write a template such as {framework}-{stack}-py{python}")
    if len(template.fill(dict.fromkeys(template.names, "x"))) > _MAX_TAG:
        refuse(f"{shown(value)} makes tags of more than {_MAX_TAG} characters", "write a shorter template")
    return value


AxisText = Annotated[AxisValue, leaf(axis_value), WithJsonSchema({"type": "string", "minLength": 1})]
AxisName = Annotated[str, leaf(axis_name), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,31}$"})]
Name = Annotated[str, leaf(name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME}$", "maxLength": _MAX_NAME})]
PipRequirement = Annotated[str, leaf(requirement), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9]"})]
AptName = Annotated[str, leaf(apt_name), WithJsonSchema({"type": "string", "pattern": "^[a-z0-9][a-z0-9+.-]+$"})]
EnvName = Annotated[str, leaf(env_name), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"})]
EnvValue = Annotated[str, leaf(str, as_written=True, empty=True), WithJsonSchema({"type": ["string", "number", "boolean"]})]
OptionText = Annotated[str, leaf(argument, as_written=True), WithJsonSchema({"type": ["string", "number"]})]
LinuxPlatform = Annotated[
    Platform, leaf(platform), WithJsonSchema({"type": "string", "pattern": "^linux/[a-z0-9]+(/[a-z0-9]+)?$"})
]
User = Annotated[str, leaf(user, as_written=True), WithJsonSchema({"type": ["string", "integer"]})]
Label = Annotated[str, leaf(word), WithJsonSchema({"type": "string", "minLength": 1})]
ProbeName = Annotated[
    str,
    leaf(pattern_word(r"[a-z0-9]+(?:[-_/][a-z0-9]+)*", "the name of a probe", "such as import, device or matmul")),
    WithJsonSchema({"type": "string", "pattern": "^[a-z0-9]+([-_/][a-z0-9]+)*$"}),
]
TargetName = Annotated[
    str,
    leaf(
        pattern_word(
            r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62})", "a name for a target", "letters, digits, - and _, at most 63; no dots"
        )
    ),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"}),
]
