"""Whether what uv chose installs on the variant's Python.

uv holds a Python against the lower bounds of ``Requires-Python`` only, on purpose; pip holds it
against all of them, and is what installs in the image. So each chosen file is looked up on the
index page it came from, and a version that pip would refuse is kept from the next resolution.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.parser import BytesHeaderParser
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from builder.adapters.index_pages import IndexPages, OfferedFile
from builder.adapters.pip_config import local_path
from builder.errors import UnsatisfiableError
from builder.model.lock import LockedPackage
from builder.model.plan import Index

ROUNDS = 30
"""How many resolutions are tried; each but the last found a package that the Python is not for."""
_PAGES = 4
"""Pages asked for at once by one resolution; several resolutions run at once."""
_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A chosen version that is not for the Python; ``versions`` are all of the name that are known not to be."""

    name: str
    version: str
    requires_python: str
    versions: tuple[str, ...]

    @property
    def constraint(self) -> str:
        """What keeps those versions from a resolution."""
        return f"{self.name}{','.join(f'!={version}' for version in self.versions)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where packages come from, by the name a lock carries: ``indexes``, and pip's ``links`` beside them."""

    pages: IndexPages
    indexes: Mapping[str, Index]
    links: tuple[Index, ...] = field(default=())

    def refusals(self, packages: Sequence[LockedPackage], python: str) -> tuple[Refusal, ...]:
        """Return why pip would not install some of these packages on a Python, nothing where it would.

        ``UnreachableError`` when an index could not be asked.
        """
        if not packages:
            return ()
        with ThreadPoolExecutor(max_workers=_PAGES, thread_name_prefix="pages") as pool:
            found = list(pool.map(lambda package: self._refusal(package, python), packages))
        return tuple(one for one in found if one is not None)

    def _refusal(self, package: LockedPackage, python: str) -> Refusal | None:
        place = self.indexes.get(package.index) or next(link for link in self.links if link.name == package.index)
        offered = self.pages.files(place, package.name)
        requires = next((_requires_python(one) for one in offered if one.file == package.file), None)
        if requires is None or _takes(requires, python):
            return None
        everywhere = [place, *(link for link in self.links if link != place)]
        candidates = [one for each in everywhere for one in self.pages.files(each, package.name)]
        versions = {package.version, *(_refused(candidates, package.name, python) if place not in self.links else ())}
        ordered = tuple(sorted(versions, key=Version))
        return Refusal(name=package.name, version=package.version, requires_python=requires, versions=ordered)


def unfit(refusals: Sequence[Refusal], error: UnsatisfiableError | None, python: str) -> UnsatisfiableError:
    """Return the error for a resolution that ended without a version of each package for the Python.

    ``error`` is what the last resolution ended with, ``None`` when it was only one too many.
    """
    cause = f"{error.message} {' '.join(error.details)}" if error is not None else ""
    named = [one for one in refusals if re.search(rf"(?<![\w.-]){re.escape(one.name)}(?![\w-]|\.\w)", cause)]
    told = _told(named or refusals, python)
    msg = "; ".join(told[:_SHOWN])
    if error is None:
        msg += f"; no versions for it were found in {ROUNDS} attempts"
    else:
        msg += ", and no other version fits"
    hint = "ask for another Python, or for other versions under packages: or framework in the matrix file"
    details = error.details or (error.message,) if error is not None else ()
    return UnsatisfiableError(msg, hint=hint, details=(*told[_SHOWN:], *details))


def _told(refusals: Sequence[Refusal], python: str) -> list[str]:
    return [f"{one.name} {one.version} is for Python {one.requires_python}, not for {python}" for one in refusals]


def _takes(requires: str, python: str) -> bool:
    """Whether pip takes a Python for this Requires-Python; one that cannot be read counts for nothing, as it does for pip."""
    try:
        return SpecifierSet(requires).contains(python, prereleases=True)
    except InvalidSpecifier:
        return True


def _requires_python(offered: OfferedFile) -> str | None:
    """Return what a file requires as its place says it, or where a local place does not, as the wheel's metadata do."""
    if offered.requires_python:
        return offered.requires_python
    path = local_path(offered.url)
    return _of_wheel(path) if path is not None and path.suffix == ".whl" else None


def _of_wheel(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(one for one in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", one))
            return BytesHeaderParser().parsebytes(archive.read(name))["Requires-Python"]
    except (OSError, ValueError, EOFError, RuntimeError, StopIteration, zipfile.BadZipFile, zlib.error):
        return None


def _refused(candidates: Iterable[OfferedFile], name: str, python: str) -> Iterator[str]:
    """Yield every version whose exclusion keeps no wheel from a resolution that pip would take.

    ``!=1.0`` excludes ``1.0+local`` as well, so versions that differ in their local label only
    stand or fall together.
    """
    takes: dict[str, bool] = {}
    for one in candidates:
        version = _version(one.file, name)
        if version is not None:
            requires = _requires_python(one)
            takes[version.public] = takes.get(version.public, False) or requires is None or _takes(requires, python)
    yield from (version for version, some in takes.items() if not some)


def _version(file: str, name: str) -> Version | None:
    """Return the version of a wheel of that name, ``None`` for any other file."""
    try:
        found, version, _, _ = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None
    return version if found == name else None
