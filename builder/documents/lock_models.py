"""The shape of a lock file, as pydantic models, and what they become."""

from __future__ import annotations

import re
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated, Literal

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from builder.model.lock import BaseFacts, Installed, Lock, LockedBase, LockedDeb, LockedPackage, LockedVariant
from builder.model.oci import Digest, ImageReference, Platform

_INDEX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DEB_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_DEB_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+:~-]*")
_ARCHITECTURE = re.compile(r"[a-z0-9][a-z0-9-]*")
_HEX = re.compile(r"[0-9a-f]{64}")
_INTERPRETER = re.compile(r"/[^\x00-\x1f\x7f]+")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _digest(text: str) -> str:
    Digest.parse(text)
    return text


def _platform(text: str) -> str:
    Platform.parse(text)
    return text


def _reference(text: str) -> str:
    ImageReference.parse(text)
    return text


def _version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion as error:
        msg = f"{text!r} is not a version"
        raise ValueError(msg) from error
    return text


def _name(text: str) -> str:
    if canonicalize_name(text) != text:
        msg = f"{text!r} is not a canonical name, {canonicalize_name(text)!r} is"
        raise ValueError(msg)
    return text


def _day(text: str) -> str:
    try:
        if _DAY.fullmatch(text):
            date.fromisoformat(text)
            return text
    except ValueError:
        pass
    msg = f"{text!r} is not a day such as 2026-12-01"
    raise ValueError(msg)


def _archive_path(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".deb" or not text.isprintable() or "\\" in text:
        msg = f"{text!r} is not a path of a package below an archive's root"
        raise ValueError(msg)
    return text


def _matching(pattern: re.Pattern[str], what: str) -> AfterValidator:
    """Return a check that a text as a whole is ``what``."""

    def check(text: str) -> str:
        if pattern.fullmatch(text) is None:
            msg = f"{text!r} is not {what}"
            raise ValueError(msg)
        return text

    return AfterValidator(check)


_Text = Annotated[str, _matching(re.compile(r"(?s).+"), "a name")]
_Sha256 = Annotated[str, _matching(_HEX, "a SHA-256 of 64 hexadecimal digits")]
_Index = Annotated[str, _matching(_INDEX, "the name of an index; a lock holds names, never URLs")]
_DigestText = Annotated[str, AfterValidator(_digest)]
_PlatformText = Annotated[str, AfterValidator(_platform)]
_Size = Annotated[int, Field(ge=0)]
_Debs = Annotated[list["DebRow"], Field(default_factory=list)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PackageRow(_Strict):
    """One Python distribution file."""

    name: Annotated[str, AfterValidator(_name)]
    version: Annotated[str, AfterValidator(_version)]
    index: _Index
    file: str
    sha256: _Sha256
    size: _Size | None = None
    requested_by: list[_Text] = []

    @model_validator(mode="after")
    def _is_one_file(self) -> PackageRow:
        """Refuse a file name that is not this distribution's, or that would be written elsewhere."""
        try:
            name, version, _, _ = parse_wheel_filename(self.file)
        except InvalidWheelFilename as error:
            msg = f"{self.file!r} is not the name of a wheel"
            raise ValueError(msg) from error
        if name != self.name or version != Version(self.version) or "/" in self.file or not self.file.isprintable():
            msg = f"{self.file!r} is not a file of {self.name} {self.version}"
            raise ValueError(msg)
        return self

    def value(self) -> LockedPackage:
        """Return the row as the value it stands for."""
        return LockedPackage(
            name=self.name,
            version=self.version,
            index=self.index,
            file=self.file,
            sha256=self.sha256,
            size=self.size,
            requested_by=tuple(self.requested_by),
        )


class DebRow(_Strict):
    """One Debian package."""

    name: Annotated[str, _matching(_DEB_NAME, "the name of a Debian package")]
    version: Annotated[str, _matching(_DEB_VERSION, "the version of a Debian package")]
    architecture: Annotated[str, _matching(_ARCHITECTURE, "an architecture")]
    path: Annotated[str, AfterValidator(_archive_path)]
    sha256: _Sha256
    size: _Size | None = None

    def value(self) -> LockedDeb:
        """Return the row as the value it stands for."""
        return LockedDeb(
            name=self.name,
            version=self.version,
            architecture=self.architecture,
            sha256=self.sha256,
            path=self.path,
            size=self.size,
        )


class InstalledRow(_Strict):
    """One Python distribution of a base."""

    name: _Text
    version: str
    location: str = ""
    module_version: str | None = None
    unread: str | None = None
    requires: list[str] = []

    def value(self) -> Installed:
        """Return the row as the value it stands for."""
        return Installed(
            name=self.name,
            version=self.version,
            location=self.location,
            module_version=self.module_version,
            unread=self.unread,
            requires=tuple(self.requires),
        )


class FactsPart(_Strict):
    """What was read inside a base."""

    os: str
    os_version: str
    glibc: str | None = None
    python: Annotated[str, _matching(_INTERPRETER, "the path of a Python")] | None = None
    python_version: str | None = None
    pip_version: str | None = None
    externally_managed: bool = False
    has_ld_cache: bool = True
    has_apt: bool = False
    user: str = ""
    workdir: str = ""
    entrypoint: list[str] = []
    cmd: list[str] = []
    unconfigured: list[str] = []
    arch_list: list[str] | None = None
    env: dict[str, str] = {}
    labels: dict[str, str] = {}
    constraints: dict[str, str] = {}
    distributions: list[InstalledRow] = []

    def value(self) -> BaseFacts:
        """Return the part as the value it stands for."""
        return BaseFacts(
            os=self.os,
            os_version=self.os_version,
            glibc=self.glibc,
            python=self.python,
            python_version=self.python_version,
            pip_version=self.pip_version,
            externally_managed=self.externally_managed,
            has_ld_cache=self.has_ld_cache,
            has_apt=self.has_apt,
            user=self.user,
            workdir=self.workdir,
            entrypoint=tuple(self.entrypoint),
            cmd=tuple(self.cmd),
            unconfigured=tuple(self.unconfigured),
            arch_list=None if self.arch_list is None else tuple(self.arch_list),
            env=self.env,
            labels=self.labels,
            constraints=self.constraints,
            distributions=tuple(row.value() for row in self.distributions),
        )


class BasePart(_Strict):
    """One base on one platform."""

    key: _Text
    platform: _PlatformText
    reference: Annotated[str, AfterValidator(_reference)]
    digest: _DigestText | None = None
    index_digest: _DigestText | None = None
    image_id: _DigestText | None = None
    suite: str | None = None
    rootfs_sha256: _Sha256 | None = None
    facts: FactsPart
    debs: _Debs

    @model_validator(mode="after")
    def _is_pinned(self) -> BasePart:
        if (self.digest is None) == (not self.debs):
            msg = "a base is pinned either by a digest, or by the packages it is assembled from"
            raise ValueError(msg)
        if bool(self.debs) != (self.rootfs_sha256 is not None):
            msg = "a base that is assembled from packages has the key 'rootfs_sha256', and no other has it"
            raise ValueError(msg)
        return self

    def value(self) -> LockedBase:
        """Return the part as the value it stands for."""
        return LockedBase(
            key=self.key,
            reference=self.reference,
            platform=Platform.parse(self.platform),
            digest=_parsed(self.digest),
            index_digest=_parsed(self.index_digest),
            image_id=_parsed(self.image_id),
            debs=tuple(row.value() for row in self.debs),
            suite=self.suite,
            rootfs_sha256=self.rootfs_sha256,
            facts=self.facts.value(),
        )


class VariantPart(_Strict):
    """One variant on one platform."""

    id: _Text
    platform: _PlatformText
    framework: _Text
    stack: _Text
    python: _Text
    base: _Text
    pip: list[_Text] = []
    apt: list[_Text] = []
    indexes: list[_Index] = []
    packages: list[PackageRow] = []
    debs: _Debs

    def value(self) -> LockedVariant:
        """Return the part as the value it stands for."""
        return LockedVariant(
            id=self.id,
            platform=Platform.parse(self.platform),
            framework=self.framework,
            stack=self.stack,
            python=self.python,
            base=self.base,
            pip=tuple(self.pip),
            apt=tuple(self.apt),
            indexes=tuple(self.indexes),
            packages=tuple(row.value() for row in self.packages),
            debs=tuple(row.value() for row in self.debs),
        )


class LockFile(_Strict):
    """A whole lock file."""

    format: Literal[1] = Field(alias="imgbuild-lock")
    name: _Text
    date: Annotated[str, AfterValidator(_day)]
    tool: _Text
    bases: list[BasePart]
    variants: list[VariantPart]

    def value(self) -> Lock:
        """Return the file as the value it stands for."""
        return Lock(
            name=self.name,
            date=self.date,
            tool=self.tool,
            bases=tuple(part.value() for part in self.bases),
            variants=tuple(part.value() for part in self.variants),
        )


def _parsed(text: str | None) -> Digest | None:
    return None if text is None else Digest.parse(text)
