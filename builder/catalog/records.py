"""The shape of the catalog's files: pydantic at this edge, frozen values out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from packaging.version import Version
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

from builder.model.facts import (
    Accelerator,
    Arch,
    CodeList,
    CompatPackage,
    Devices,
    Distribution,
    DriverModel,
    Drivers,
    DriverSeries,
    DriverVersion,
    IndexFacts,
    Service,
    Stack,
    StackRelease,
    StackWindow,
    Stream,
    Vendor,
)
from builder.model.oci import ImageReference, Platform
from builder.model.plan import DistributionRelease
from builder.model.verdict import Source

T = TypeVar("T")


def _words(value: object) -> object:
    """Let ``3.11 3.12 3.13`` stand for a list."""
    return value.split() if isinstance(value, str) else value


def _platforms(value: object) -> object:
    words = _words(value)
    return [Platform.parse(str(word)) for word in words] if isinstance(words, list) else words


VersionField = Annotated[Version, PlainValidator(lambda value: value if isinstance(value, Version) else Version(str(value)))]
DriverField = Annotated[DriverVersion, PlainValidator(lambda value: DriverVersion(str(value)))]
PlatformField = Annotated[Platform, PlainValidator(lambda value: Platform.parse(str(value)))]
ImageField = Annotated[ImageReference, PlainValidator(lambda value: ImageReference.parse(str(value)))]
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
Platforms = Annotated[tuple[Platform, ...], PlainValidator(lambda value: tuple(_platforms(value)))]


def code_list(text: str) -> CodeList:
    """Read a code list: ``7.5 9.0a 12.0+PTX`` in NVIDIA's spelling, ``gfx942`` in AMD's; ``;`` or spaces between."""
    found: list[str] = []
    for word in text.replace(";", " ").replace(",", " ").split():
        number, plus, _ = word.partition("+")
        if number[0].isdigit():
            digits = number.replace(".", "")
            found.append(f"sm_{digits}")
            if plus:
                found.append(f"compute_{digits}")
        else:
            found.append(number)
    return tuple(found)


CodeField = Annotated[CodeList, PlainValidator(lambda value: code_list(str(value)))]


class Record(BaseModel):
    """A record with named keys only; ``source`` names an entry of the file's ``sources``."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
    source: str | None = None


class SourceRecord(BaseModel):
    """A public page, and the day it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    url: str
    checked: str = Field(pattern=r"\d{4}-\d{2}-\d{2}")
    resolved: bool = True


class UnknownSourceError(ValueError):
    """A record names a source that its file does not have."""


class File(Record):
    """What every file has: the sources its records name, and the one that stands where a record names none."""

    sources: dict[str, SourceRecord]

    def from_source(self, key: str | None) -> Source:
        """Return the source a record names, or the file's own."""
        name = key or self.source
        if name is None or name not in self.sources:
            msg = f"a record names the source {name!r}, which 'sources' does not have"
            raise UnknownSourceError(msg)
        record = self.sources[name]
        return Source(title=record.title, url=record.url, checked=record.checked, resolved=record.resolved)


class StackReleaseRecord(Record):
    """One release of a stack."""

    version: VersionField
    date: str | None = None
    stream: Stream = Stream.PRODUCTION
    native_driver: DriverField | None = None
    major_driver: DriverField | None = None
    jit_series: int | None = None
    devices: Words | None = None
    pairs: dict[str, Words] = Field(default_factory=dict)
    validated: bool | None = None


class StackFile(File):
    """``stacks/<name>.yaml``."""

    stack: str
    title: str
    driver: DriverModel
    aliases: Words = ()
    numbering: str | None = None
    versioned: bool = True
    coded: bool = False
    override: str | None = None
    run: dict[Literal["docker", "podman"], Words] = Field(default_factory=dict)
    releases: tuple[StackReleaseRecord, ...] = ()

    def facts(self) -> Stack:
        """Return the stack, releases oldest first."""
        releases = sorted(self.releases, key=lambda release: release.version)
        return Stack(
            name=self.stack,
            title=self.title,
            model=self.driver,
            source=self.from_source(None),
            aliases=self.aliases,
            numbering=self.numbering,
            versioned=self.versioned,
            coded=self.coded,
            override=self.override,
            run={str(engine): options for engine, options in self.run.items()},
            releases=tuple(self._release(release) for release in releases),
        )

    def _release(self, record: StackReleaseRecord) -> StackRelease:
        return StackRelease(
            stack=self.stack,
            version=record.version,
            source=self.from_source(record.source),
            date=record.date,
            stream=record.stream,
            native_driver=record.native_driver,
            major_driver=record.major_driver,
            jit_series=record.jit_series,
            devices=None if record.devices is None else frozenset(record.devices),
            pairs=record.pairs,
            validated=record.validated,
        )


class SeriesRecord(Record):
    """One series of drivers."""

    name: str
    kind: str | None = None
    end_of_life: str | None = None
    stacks: Words | None = None
    complete: bool = True
    modules: Words = ()


class CompatRecord(Record):
    """One forward-compatibility package."""

    name: str
    stack: str
    series: Words


class DriverFile(File):
    """``drivers/<name>.yaml``."""

    numbering: str
    title: str
    series: tuple[SeriesRecord, ...] = ()
    compat: tuple[CompatRecord, ...] = ()
    compat_classes: dict[str, Service] = Field(default_factory=dict)
    compat_source: str | None = None

    def facts(self) -> Drivers:
        """Return the drivers."""
        return Drivers(
            name=self.numbering,
            title=self.title,
            source=self.from_source(None),
            series=tuple(
                DriverSeries(
                    name=record.name,
                    source=self.from_source(record.source),
                    kind=record.kind,
                    end_of_life=record.end_of_life,
                    stacks=record.stacks,
                    complete=record.complete,
                    modules=record.modules,
                )
                for record in self.series
            ),
            compat=tuple(
                CompatPackage(
                    name=record.name,
                    stack=record.stack,
                    series=frozenset(record.series),
                    source=self.from_source(record.source or self.compat_source),
                )
                for record in self.compat
            ),
            compat_classes=self.compat_classes,
            compat_source=self.from_source(self.compat_source) if self.compat_source else None,
        )


class WindowRecord(Record):
    """First and last stack release for an arch or a device."""

    first: VersionField | None = None
    last: VersionField | None = None
    last_driver: int | None = None
    note: str | None = None


class ArchRecord(Record):
    """An arch, and the stacks that know it."""

    stacks: dict[str, WindowRecord]
    runs: Words = ()
    integrated: bool = False


class ModelRecord(Record):
    """One device model; what it does not say is its arch's."""

    model: str
    title: str
    arch: str
    kind: str
    memory: Annotated[tuple[int, ...], BeforeValidator(_words)] = ()
    aliases: tuple[str, ...] = ()
    platforms: Platforms = ()
    stacks: dict[str, WindowRecord] | None = None
    kernel_drivers: Words = ()
    minimum_driver: DriverField | None = None
    minimum_driver_source: str | None = None


class AcceleratorFile(File):
    """``accelerators/<vendor>.yaml``."""

    vendor: str
    archs: dict[str, ArchRecord]
    models: tuple[ModelRecord, ...]

    def facts(self) -> Devices:
        """Return the vendor's archs and accelerators, in the order of the file."""
        archs = {
            name: Arch(name=name, stacks=self._windows(record.stacks), integrated=record.integrated)
            for name, record in self.archs.items()
        }
        return Devices(vendor=self.vendor, archs=archs, models=tuple(self._model(record) for record in self.models))

    def _model(self, record: ModelRecord) -> Accelerator:
        arch = self.archs.get(record.arch)
        if arch is None:
            msg = f"the model {record.model!r} has the arch {record.arch!r}, which 'archs' does not have"
            raise ValueError(msg)
        windows = {**arch.stacks, **(record.stacks or {})}
        driver_source = record.minimum_driver_source
        return Accelerator(
            name=f"{self.vendor}/{record.model}",
            title=record.title,
            arch=record.arch,
            kind=record.kind,
            source=self.from_source(record.source),
            stacks=self._windows(windows),
            memory=record.memory,
            aliases=record.aliases,
            platforms=record.platforms,
            integrated=arch.integrated,
            runs=arch.runs,
            kernel_drivers=record.kernel_drivers,
            minimum_driver=record.minimum_driver,
            minimum_driver_source=self.from_source(driver_source) if driver_source else None,
        )

    def _windows(self, records: Mapping[str, WindowRecord]) -> Mapping[str, StackWindow]:
        return {name: self._window(record) for name, record in records.items()}

    def _window(self, record: WindowRecord) -> StackWindow:
        return StackWindow(
            first=record.first,
            last=record.last,
            source=self.from_source(record.source),
            last_driver=record.last_driver,
            note=record.note,
        )


class IndexRecord(Record):
    """One package index; ``only`` where it also has copies of packages that nobody means."""

    name: str
    url: str
    only: Words = ()


class IndexFile(File):
    """``indexes/<name>.yaml``."""

    indexes: tuple[IndexRecord, ...]

    def facts(self) -> Mapping[str, IndexFacts]:
        """Return the indexes by name."""
        return {
            record.name: IndexFacts(name=record.name, url=record.url, source=self.from_source(record.source), only=record.only)
            for record in self.indexes
        }


class DistributionRecord(Record):
    """One release of a distribution."""

    release: str
    date: str
    glibc: str | None = None
    python: str | None = None
    codename: str | None = None
    image: ImageField
    base: bool = False
    assembled: bool = False
    platforms: Platforms = ()


class DistributionFile(File):
    """``distributions/<name>.yaml``."""

    distribution: str
    title: str
    releases: tuple[DistributionRecord, ...]

    def facts(self) -> tuple[Distribution, ...]:
        """Return the releases, oldest first."""
        return tuple(
            Distribution(
                release=DistributionRelease(
                    name=self.distribution,
                    release=record.release,
                    codename=record.codename,
                    glibc=record.glibc,
                    python=record.python,
                ),
                image=record.image,
                date=record.date,
                source=self.from_source(record.source),
                base=record.base,
                assembled=record.assembled,
                platforms=record.platforms,
            )
            for record in sorted(self.releases, key=lambda record: record.date)
        )


class VendorFile(File):
    """``vendors/<name>.yaml``."""

    vendor: str
    title: str
    words: Words = ()
    licences: dict[str, str] = Field(default_factory=dict)

    def facts(self) -> Vendor:
        """Return the vendor."""
        return Vendor(name=self.vendor, title=self.title, source=self.from_source(None), words=self.words, licences=self.licences)
