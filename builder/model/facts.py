"""Facts that vendors publish, as the catalog hands them out. Each carries its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from builder.model.oci import ImageReference, Platform
from builder.model.plan import DistributionRelease
from builder.model.verdict import Source

CodeList = tuple[str, ...]
"""What a binary was compiled for: ``sm_90``, ``sm_90a``, ``compute_120`` (PTX), ``gfx942``, ``gfx11-generic``."""


class DriverVersion(Version):
    """A driver's version: compares as any version does, and prints as the vendor writes it (``580.65.06``)."""

    def __init__(self, version: str) -> None:
        super().__init__(version)
        self._written = version.strip()

    def __str__(self) -> str:
        """Return what was written, leading zeros included."""
        return self._written


class Stream(StrEnum):
    """The kind of line a stack release belongs to; only production is chosen by the solver."""

    PRODUCTION = "production"
    PREVIEW = "preview"


class DriverModel(StrEnum):
    """How the releases of a stack relate to drivers; which rules speak depends on it.

    ``floor``: a lowest driver per release and per major. ``window``: each driver series lists the
    releases it serves. ``release``: driver and stack are of one release. ``kernel``: the kernel's
    own driver serves every release. ``none``: no driver. ``unrecorded``: the catalog has no table.
    """

    FLOOR = "floor"
    WINDOW = "window"
    RELEASE = "release"
    KERNEL = "kernel"
    NONE = "none"
    UNRECORDED = "unrecorded"


class Service(StrEnum):
    """Whether a forward-compatibility package serves a class of device."""

    YES = "yes"
    NO = "no"
    SOME = "some"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackRelease:
    """One release of a stack.

    ``native_driver`` is the driver it was made with, ``major_driver`` the lowest that runs its
    major version at all, ``jit_series`` the driver series that can compile its PTX. ``devices``
    are the accelerators (``vendor/model``) or archs its list names, ``None`` where no list was
    read; ``pairs`` the framework releases it was made for.
    """

    stack: str
    version: Version
    source: Source
    date: str | None = None
    stream: Stream = Stream.PRODUCTION
    native_driver: DriverVersion | None = None
    major_driver: DriverVersion | None = None
    jit_series: int | None = None
    devices: frozenset[str] | None = None
    pairs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    validated: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A stack and all its releases, oldest first.

    ``numbering`` names the drivers' record. ``coded`` is whether its binaries carry code for
    certain devices only. ``override`` says how a refused driver can be forced, where the vendor
    documents a way. ``run`` are the options that give a container its devices, by engine.
    """

    name: str
    title: str
    model: DriverModel
    source: Source
    aliases: tuple[str, ...] = ()
    numbering: str | None = None
    versioned: bool = True
    coded: bool = False
    override: str | None = None
    run: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    releases: tuple[StackRelease, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverSeries:
    """One series of drivers: ``580``, ``30.30``, ``1.24``.

    ``stacks`` are the stack series (``7.2``) it serves, where a vendor's table says so, and
    ``complete`` whether it serves no others; ``modules`` the kernel module versions it carries.
    """

    name: str
    source: Source
    kind: str | None = None
    end_of_life: str | None = None
    stacks: tuple[str, ...] | None = None
    complete: bool = True
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatPackage:
    """A forward-compatibility package: for which stack series (``13.0``) and on which driver series it works."""

    name: str
    stack: str
    series: frozenset[str]
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """All that is known about one vendor's driver numbers."""

    name: str
    title: str
    source: Source
    series: tuple[DriverSeries, ...] = ()
    compat: tuple[CompatPackage, ...] = ()
    compat_classes: Mapping[str, Service] = field(default_factory=dict)
    compat_source: Source | None = None

    def find(self, name: str) -> DriverSeries | None:
        """Return a series by name."""
        return next((series for series in self.series if series.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackWindow:
    """First and last release of a stack that serves a device; ``None`` for no known bound."""

    first: Version | None
    last: Version | None
    source: Source
    last_driver: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """A device model. ``memory`` are the sizes it is sold with, in GiB; ``kind`` is its class.

    ``stacks`` are the stacks that drive it. ``runs`` are arch names of other devices whose code
    it runs as well (CPU levels, AMD's generic targets). ``integrated`` marks Tegra parts, whose
    code and that of other parts do not mix. ``kernel_drivers`` are the kernel's own drivers that
    may serve it. ``minimum_driver`` is the first driver that knows it.
    """

    name: str
    title: str
    arch: str
    kind: str
    source: Source
    stacks: Mapping[str, StackWindow]
    memory: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()
    platforms: tuple[Platform, ...] = ()
    integrated: bool = False
    runs: tuple[str, ...] = ()
    kernel_drivers: tuple[str, ...] = ()
    minimum_driver: DriverVersion | None = None
    minimum_driver_source: Source | None = None

    @property
    def vendor(self) -> str:
        """The part before the slash."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arch:
    """A device architecture: ``sm_90``, ``gfx942``; the stacks that know it, and whether it is of an integrated part."""

    name: str
    stacks: Mapping[str, StackWindow]
    integrated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """All of one vendor's archs and device models."""

    vendor: str
    archs: Mapping[str, Arch]
    models: tuple[Accelerator, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFacts:
    """A package index: its name in locks, where it is, and which names are meant to come from it (all when empty)."""

    name: str
    url: str
    source: Source
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One release of a distribution, its image, and whether the solver may choose it as a base."""

    release: DistributionRelease
    image: ImageReference
    date: str
    source: Source
    base: bool = False
    assembled: bool = False
    platforms: tuple[Platform, ...] = ()

    @property
    def python(self) -> str | None:
        """The version of its own ``python3``."""
        return self.release.python


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A framework build on a package index.

    ``stack_version`` is the stack it was built for (``12.8``), ``None`` where it bundles none.
    ``requirements`` install it. ``glibc`` is the manylinux floor; ``code`` by platform, a missing
    platform means the list is not known.
    """

    framework: str
    version: Version
    stack: str
    stack_version: Version | None
    index: str
    requirements: tuple[str, ...]
    pythons: tuple[str, ...]
    platforms: tuple[Platform, ...]
    source: Source
    glibc: Mapping[Platform, str] = field(default_factory=dict)
    code: Mapping[Platform, CodeList] = field(default_factory=dict)
    code_source: Source | None = None
    cpu_level: str | None = None
    derived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A vendor's image with a framework in it (``framework`` set), or with the stack alone.

    ``vendor_release`` orders builds of one framework release. ``distributions`` are the Python
    distributions that must survive. ``compat`` says how the image carries a forward-compatibility
    package: ``entrypoint`` (put on the path where the host needs it), ``path`` (always first).
    """

    reference: ImageReference
    framework: str | None
    version: Version | None
    stack: str
    stack_version: Version
    pythons: tuple[str, ...]
    platforms: tuple[Platform, ...]
    source: Source
    family: str
    os: str | None = None
    vendor_release: str | None = None
    distributions: tuple[str, ...] = ()
    licence: str | None = None
    compat: str | None = None
    code: Mapping[Platform, CodeList] = field(default_factory=dict)
    code_source: Source | None = None
    derived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Something that is known not to exist: these versions of a framework on these of a stack; empty means every one."""

    framework: str
    versions: SpecifierSet
    stack: str
    stack_versions: SpecifierSet
    text: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkRelease:
    """One release of a framework and the wheels it was published as, most preferred index first."""

    version: Version
    source: Source
    date: str | None = None
    wheels: tuple[Wheel, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework and its releases, oldest first.

    ``imports`` are the modules that prove it is there; ``probes`` the topics of its smoke tests.
    """

    name: str
    title: str
    source: Source
    aliases: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    releases: tuple[FrameworkRelease, ...] = ()
    absent: tuple[Absent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """A maker of accelerators or images: words people write before a model, and terms of its images."""

    name: str
    title: str
    source: Source
    words: tuple[str, ...] = ()
    licences: Mapping[str, str] = field(default_factory=dict)
