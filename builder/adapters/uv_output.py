"""What uv prints, as values: the files it chose (PEP 751) and who asked for each (its annotations)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from builder.errors import ProgramError

_OLDEST_GLIBC = 17
"""manylinux2014 is glibc 2.17; nothing older is of use to a Python this product knows."""
_LEGACY = {("x86_64", 17): "manylinux2014", ("aarch64", 17): "manylinux2014"}
_NAME = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?\s*(?:===?\s*(?P<version>[^\s;\\]+)|@\s)")
_COMMENT = re.compile(r"\s+#(?: from (?P<index>.+)| via ?(?P<via>.*)|   (?P<more>\S.*))$")
MATRIX = "matrix"
"""Who asked, when it was the matrix itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenFile:
    """One distribution file of a resolution.

    ``file`` is ``None`` for one that came from a path or URL that was given, such as a stub's;
    ``sha256`` is empty where the index has another hash only.
    """

    name: str
    version: str
    file: str | None
    sha256: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a distribution came from (an index's or folder's URL) and the names that asked for it."""

    index: str | None
    requested_by: tuple[str, ...]


def wheel_tags(python: str, machine: str, glibc_minor: int) -> tuple[Tag, ...]:
    """Return the wheel tags a Python takes on ``manylinux_2_<glibc_minor>``, best first."""
    major, minor = (int(part) for part in python.split(".")[:2])
    platforms: list[str] = []
    for number in range(glibc_minor, _OLDEST_GLIBC - 1, -1):
        platforms.append(f"manylinux_2_{number}_{machine}")
        if (machine, number) in _LEGACY:
            platforms.append(f"{_LEGACY[machine, number]}_{machine}")
    if machine == "x86_64":
        platforms += ["manylinux_2_12_x86_64", "manylinux2010_x86_64", "manylinux_2_5_x86_64", "manylinux1_x86_64"]
    platforms.append(f"linux_{machine}")
    interpreter = f"cp{major}{minor}"
    return (
        *cpython_tags((major, minor), abis=[interpreter], platforms=platforms),
        *compatible_tags((major, minor), interpreter=interpreter, platforms=platforms),
    )


def chosen_files(pylock: str, tags: Sequence[Tag]) -> tuple[ChosenFile, ...]:
    """Return the file of each distribution of a ``pylock.toml`` that suits ``tags`` best, in its order."""
    try:
        packages = tomllib.loads(pylock).get("packages", [])
        return tuple(_chosen(package, tags) for package in packages)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        msg = f"uv printed something that is not a pylock.toml: {error}"
        raise ProgramError(msg, hint="another version of uv may help: pip install --upgrade uv") from error


def _chosen(package: Mapping[str, object], tags: Sequence[Tag]) -> ChosenFile:
    name, version = canonicalize_name(str(package["name"])), str(package.get("version", ""))
    if "archive" in package:
        return ChosenFile(name=name, version=version, file=None)
    ranks = {tag: rank for rank, tag in enumerate(tags)}
    wheels = package.get("wheels")
    ranked = sorted(_ranked(wheels if isinstance(wheels, list) else [], ranks), key=lambda pair: pair[0])
    if not ranked:
        msg = f"uv chose {name} {version}, which has no wheel that would install"
        raise ProgramError(msg, hint="pin another version of it under packages: in the matrix file")
    wheel = ranked[0][1]
    return ChosenFile(
        name=name,
        version=version,
        file=_file_of(wheel),
        sha256=str(wheel["hashes"].get("sha256", "")),  # type: ignore[attr-defined]  # any other shape is caught above
        size=int(str(wheel["size"])) if "size" in wheel else None,
    )


def _ranked(
    wheels: Iterable[Mapping[str, object]], ranks: Mapping[Tag, int]
) -> Iterator[tuple[tuple[int, tuple[int, str]], Mapping[str, object]]]:
    """Yield each wheel that suits with its rank: best tag first, then the newest build; the order given decides ties."""
    for wheel in wheels:
        try:
            _, _, build, tags = parse_wheel_filename(_file_of(wheel))
        except InvalidWheelFilename:
            continue
        best = min((ranks[tag] for tag in tags if tag in ranks), default=None)
        if best is not None:
            number, suffix = build or (-1, "")
            yield (best, (-number, suffix)), wheel


def _file_of(wheel: Mapping[str, object]) -> str:
    if "name" in wheel:
        return str(wheel["name"])
    return unquote(urlsplit(str(wheel["url"])).path).rpartition("/")[2]


def origins(text: str) -> dict[str, Origin]:
    """Read the ``# via`` and ``# from`` comments of ``uv pip compile --emit-index-annotation``, by canonical name."""
    indexes: dict[str, str | None] = {}
    askers: dict[str, set[str]] = {}
    name = ""
    for line in text.splitlines():
        comment = _COMMENT.match(line)
        if comment is None:
            match = _NAME.match(line)
            name = canonicalize_name(match["name"]) if match else ""
            if name:
                indexes[name], askers[name] = None, set()
        elif name and comment["index"]:
            indexes[name] = comment["index"]
        elif name:
            askers[name].update(_asker(comment["via"] or comment["more"] or ""))
    return {name: Origin(index=indexes[name], requested_by=tuple(sorted(asked))) for name, asked in askers.items()}


def _asker(text: str) -> set[str]:
    if text.startswith("-r "):
        return {MATRIX}
    return {canonicalize_name(text)} if text and not text.startswith("-c ") else set()
