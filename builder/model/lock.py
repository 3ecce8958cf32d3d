"""What a run is pinned to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from builder.model.oci import Digest, Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPackage:
    """One Python distribution file: never a URL. ``requested_by`` are the names that asked for it."""

    name: str
    version: str
    index: str
    file: str
    sha256: str
    size: int | None = None
    requested_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedDeb:
    """One Debian package at an exact version; ``sha256`` of the .deb, ``path`` is its place below the archive's root."""

    name: str
    version: str
    architecture: str
    sha256: str
    path: str
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A Python distribution found in a base; ``module_version`` is its ``__version__`` where it was read.

    ``unread`` says why it could not be read where it should have been (a module that wants its device, say).
    """

    name: str
    version: str
    location: str = ""
    module_version: str | None = None
    requires: tuple[str, ...] = ()
    unread: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFacts:
    """What was read inside a base, once per digest.

    ``python`` is the path of the interpreter to use, ``python_version`` its full version;
    ``externally_managed`` whether PEP 668 marks it; ``constraints`` are constraint files found
    (path to content); ``arch_list`` the framework's compiled code list where it was read.
    ``has_apt`` is whether apt-get is there; ``unconfigured`` are Debian packages that are unpacked
    and whose own set-up still has to run (``dpkg --configure -a`` without a network does it).
    """

    os: str
    os_version: str
    glibc: str | None
    python: str | None
    python_version: str | None
    pip_version: str | None = None
    externally_managed: bool = False
    has_ld_cache: bool = True
    distributions: tuple[Installed, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    workdir: str = ""
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    constraints: Mapping[str, str] = field(default_factory=dict)
    arch_list: tuple[str, ...] | None = None
    has_apt: bool = False
    unconfigured: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedBase:
    """One base on one platform.

    From a registry: ``digest`` is the platform manifest's, ``index_digest`` the index's where the
    tag is one, ``image_id`` the config's. Assembled here: those are ``None``, ``debs`` lists every
    package and ``rootfs_sha256`` is the digest of the tar they make.
    """

    key: str
    reference: str
    platform: Platform
    digest: Digest | None = None
    index_digest: Digest | None = None
    image_id: Digest | None = None
    debs: tuple[LockedDeb, ...] = ()
    suite: str | None = None
    rootfs_sha256: str | None = None
    facts: BaseFacts

    @property
    def assembled(self) -> bool:
        """Whether this base is assembled here from the distribution's packages."""
        return bool(self.debs)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedVariant:
    """One variant on one platform.

    The first fields are the inputs that were resolved; a lock is stale when they differ from the
    plan's, field by field.
    """

    id: str
    platform: Platform
    framework: str
    stack: str
    python: str
    base: str
    pip: tuple[str, ...]
    apt: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    packages: tuple[LockedPackage, ...] = ()
    debs: tuple[LockedDeb, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A whole lock. ``date`` is the day it was made (``YYYY-MM-DD``), the only date in it."""

    name: str
    date: str
    tool: str
    bases: tuple[LockedBase, ...] = ()
    variants: tuple[LockedVariant, ...] = ()

    def base(self, key: str, platform: Platform) -> LockedBase | None:
        """Return a base by key and platform."""
        return next((base for base in self.bases if (base.key, base.platform) == (key, platform)), None)

    def variant(self, identifier: str, platform: Platform) -> LockedVariant | None:
        """Return a variant by id and platform."""
        return next((v for v in self.variants if (v.id, v.platform) == (identifier, platform)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field of a lock that is not what it should be; ``expected`` is what the plan, disk or registry says."""

    where: str
    field: str
    locked: str
    expected: str
