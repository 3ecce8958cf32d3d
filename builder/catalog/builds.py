"""The shape of the files about frameworks: releases and their wheels, and vendors' images."""

from __future__ import annotations

from typing import Annotated

from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pydantic import BeforeValidator, Field, PlainValidator

from builder.catalog.records import (
    CodeField,
    File,
    ImageField,
    PlatformField,
    Platforms,
    Record,
    VersionField,
    Words,
)
from builder.model.facts import Absent, Framework, FrameworkRelease, Image, Wheel
from builder.model.oci import LINUX_AMD64, Platform

SpecifierField = Annotated[SpecifierSet, PlainValidator(lambda value: SpecifierSet(str(value)))]


class BuiltFor(Record):
    """A stack and the version something was built for, written ``cuda 12.8`` or ``cpu``."""

    name: str
    version: VersionField | None = None


def _built_for(value: object) -> object:
    if not isinstance(value, str):
        return value
    name, _, version = value.partition(" ")
    return {"name": name, "version": version or None}


BuiltForField = Annotated[BuiltFor, BeforeValidator(_built_for)]


def _by_platform(value: object) -> object:
    """Let a bare value stand for ``linux/amd64``."""
    return {str(LINUX_AMD64): value} if isinstance(value, str) else value


class WheelRecord(Record):
    """One build on one index. ``glibc`` by platform says which platforms it has; ``requires`` may use ``{version}``."""

    index: str
    stack: BuiltForField
    requires: tuple[str, ...] = ()
    python: Words = ()
    glibc: Annotated[dict[PlatformField, str], BeforeValidator(_by_platform)]
    code: Annotated[dict[PlatformField, CodeField], BeforeValidator(_by_platform)] = Field(default_factory=dict)
    code_source: str | None = None
    cpu_level: str | None = None
    derived: bool = False


class ReleaseRecord(Record):
    """One release of a framework."""

    version: VersionField
    date: str | None = None
    python: Words = ()
    wheels: tuple[WheelRecord, ...] = ()


class AbsentRecord(Record):
    """Something known not to exist; versions are PEP 440 specifiers."""

    versions: SpecifierField = SpecifierSet()
    stack: str
    stack_versions: SpecifierField = SpecifierSet()
    text: str


class FrameworkFile(File):
    """``frameworks/<name>.yaml``. ``requirement`` is the name of the distribution that installs it."""

    framework: str
    title: str
    aliases: Words = ()
    requirement: str | None = None
    imports: Words = ()
    releases: tuple[ReleaseRecord, ...] = ()
    absent: tuple[AbsentRecord, ...] = ()

    def facts(self) -> Framework:
        """Return the framework, releases oldest first."""
        return Framework(
            name=self.framework,
            title=self.title,
            source=self.from_source(None),
            aliases=self.aliases,
            imports=self.imports,
            releases=tuple(
                FrameworkRelease(
                    version=record.version,
                    source=self.from_source(record.source),
                    date=record.date,
                    wheels=tuple(self._wheel(record, wheel) for wheel in record.wheels),
                )
                for record in sorted(self.releases, key=lambda record: record.version)
            ),
            absent=tuple(
                Absent(
                    framework=self.framework,
                    versions=record.versions,
                    stack=record.stack,
                    stack_versions=record.stack_versions,
                    text=record.text,
                    source=self.from_source(record.source),
                )
                for record in self.absent
            ),
        )

    def _wheel(self, release: ReleaseRecord, record: WheelRecord) -> Wheel:
        requires = record.requires or (f"{self.requirement or self.framework}=={{version}}",)
        return Wheel(
            framework=self.framework,
            version=release.version,
            stack=record.stack.name,
            stack_version=record.stack.version,
            index=record.index,
            requirements=tuple(text.replace("{version}", str(release.version)) for text in requires),
            pythons=record.python or release.python,
            platforms=tuple(sorted(record.glibc)),
            source=self.from_source(record.source or release.source),
            glibc=record.glibc,
            code=record.code,
            code_source=self.from_source(record.code_source) if record.code_source else None,
            cpu_level=record.cpu_level,
            derived=record.derived,
        )


class ImageRecord(Record):
    """One image; what it does not say is its file's."""

    reference: ImageField
    version: VersionField | None = None
    stack_version: VersionField
    python: Words = ()
    platforms: Platforms | None = None
    os: str | None = None
    vendor_release: str | None = None
    code: Annotated[dict[PlatformField, CodeField], BeforeValidator(_by_platform)] = Field(default_factory=dict)
    code_source: str | None = None
    derived: bool = False


class ImageFile(File):
    """``bases/<framework>-<stack>.yaml`` for framework images, ``bases/stack-<stack>.yaml`` for stack images."""

    framework: str | None = None
    stack: str
    family: str
    licence: str | None = None
    compat: str | None = None
    distributions: Words = ()
    platforms: Platforms = (LINUX_AMD64,)
    images: tuple[ImageRecord, ...]

    def facts(self) -> tuple[Image, ...]:
        """Return the images, in the order of the file."""
        return tuple(self._image(record) for record in self.images)

    def _image(self, record: ImageRecord) -> Image:
        platforms: tuple[Platform, ...] = self.platforms if record.platforms is None else record.platforms
        version: Version | None = record.version
        return Image(
            reference=record.reference,
            framework=self.framework,
            version=version,
            stack=self.stack,
            stack_version=record.stack_version,
            pythons=record.python,
            platforms=platforms,
            source=self.from_source(record.source),
            family=self.family,
            os=record.os,
            vendor_release=record.vendor_release,
            distributions=self.distributions,
            licence=self.licence,
            compat=self.compat,
            code=record.code,
            code_source=self.from_source(record.code_source) if record.code_source else None,
            derived=record.derived,
        )
