"""What is judged and where: the facts rules read about a build, and about a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from builder.model.facts import Accelerator, Arch, CodeList, CompatPackage, Drivers, DriverSeries, Service, Stack, StackRelease
from builder.model.oci import LINUX_AMD64, Platform
from builder.model.verdict import Source


def series_of(version: Version | None, release: StackRelease | None) -> str | None:
    """Return major and minor of a version; of a bare major, such as 12, those of the release it is judged by."""
    known = release.version if version is not None and release is not None and len(version.release) == 1 else version
    return None if known is None else f"{known.major}.{known.minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A stack, and the build made for it, on one platform.

    ``build`` names the build in words, ``None`` for a bare stack. ``code`` is its code list,
    ``None`` where it is not known. ``release`` is ``None`` where the catalog lacks the release.
    ``compat`` says how an image carries a forward-compatibility package (``entrypoint``, ``path``).
    """

    stack: Stack
    version: Version | None
    release: StackRelease | None
    build: str | None = None
    code: CodeList | None = None
    code_source: Source | None = None
    compat: str | None = None
    cpu_level: str | None = None
    platform: Platform = LINUX_AMD64
    packages: tuple[CompatPackage, ...] = ()

    @property
    def name(self) -> str:
        """The stack as messages write it: ``cuda 12.8``."""
        return self.stack.name if self.version is None else f"{self.stack.name} {self.version}"

    @property
    def subject(self) -> str:
        """The build where there is one, else the stack."""
        return self.build or self.name

    @property
    def source(self) -> Source:
        """Where the stack's release was read, else the stack's own source."""
        return self.stack.source if self.release is None else self.release.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A driver as it was read: ``version`` is a release number, ``series`` what the catalog knows of it.

    ``modules`` are the names of the kernel's own drivers where that is what was written
    (``kernel:6.14 xe``).
    """

    text: str
    version: Version | None = None
    series: DriverSeries | None = None
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a build is to run. What was not named is ``None``; rules then give a condition or stay silent."""

    name: str
    platform: Platform = LINUX_AMD64
    accelerator: Accelerator | None = None
    driver: Driver | None = None
    drivers: Drivers | None = None
    archs: Mapping[str, Arch] = field(default_factory=dict)
    container_path: str | None = None

    @property
    def served_by_compat(self) -> Service:
        """Whether forward-compatibility packages serve devices of this class."""
        if self.accelerator is None or self.drivers is None:
            return Service.NO
        return self.drivers.compat_classes.get(self.accelerator.kind, Service.NO)
