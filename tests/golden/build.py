"""Small builders for golden cases: what is the same in all of them is said once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from builder.model.axis import AxisValue
from builder.model.lock import BaseFacts, LockedBase, LockedDeb, LockedPackage, LockedVariant
from builder.model.matrix import BaseKind, Cell
from builder.model.oci import LINUX_AMD64, Digest, ImageReference, Platform
from builder.model.plan import Base, DistributionRelease, Release, Variant

LINUX_ARM64 = Platform("linux", "arm64")
DEBIAN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything ``render`` takes."""

    variant: Variant
    platform: Platform
    locked: LockedVariant
    base: LockedBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """What differs from case to case. ``reference`` and ``distribution``: where the build starts; ``facts``: what is in there."""

    framework: Release
    stack: Release
    python: str = "3.12"
    kind: BaseKind = BaseKind.VENDOR
    reference: str
    facts: BaseFacts
    distribution: DistributionRelease | None = None
    frameworks: tuple[str, ...] = ()
    packages: tuple[LockedPackage, ...] = ()
    debs: tuple[LockedDeb, ...] = ()
    root: tuple[LockedDeb, ...] = ()
    apt: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    entrypoint: tuple[str, ...] | None = None
    platform: Platform = LINUX_AMD64


def sha256(text: str) -> str:
    """Return a hash that stands for something that is not here."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def release(name: str, version: str | None = None) -> Release:
    """Return a release."""
    return Release(name=name, version=None if version is None else Version(version))


def wheel(name: str, version: str, tags: str = "py3-none-any") -> LockedPackage:
    """Return a locked wheel with a made-up hash."""
    file = f"{name.replace('-', '_')}-{version}-{tags}.whl"
    return LockedPackage(name=name, version=version, index="pypi", file=file, sha256=sha256(file))


def deb(name: str, version: str, architecture: str = "amd64") -> LockedDeb:
    """Return a locked Debian package with a made-up hash."""
    path = f"pool/main/{name[0]}/{name}/{name}_{version}_{architecture}.deb"
    return LockedDeb(name=name, version=version, architecture=architecture, sha256=sha256(path), path=path)


def case(want: Want) -> Case:
    """Return variant, lock and base that are of one piece."""
    identifier = f"{want.framework.label}-{want.stack.label}-py{want.python}"
    axes = (("framework", AxisValue.parse(want.framework.name)), ("stack", AxisValue.parse(want.stack.name)))
    reference = ImageReference.parse(want.reference)
    variant = Variant(
        id=identifier,
        cell=Cell(index=0, axes=axes),
        framework=want.framework,
        stack=want.stack,
        python=want.python,
        platforms=(want.platform,),
        base=Base(kind=want.kind, reference=reference, distribution=want.distribution, frameworks=want.frameworks),
        apt=want.apt,
        env=want.env,
        user=want.user,
        entrypoint=want.entrypoint,
    )
    locked = LockedVariant(
        id=identifier,
        platform=want.platform,
        framework=f"{want.framework.name}=={want.framework.version}",
        stack=want.stack.label,
        python=want.python,
        base=str(reference),
        pip=(),
        apt=want.apt,
        packages=want.packages,
        debs=want.debs,
    )
    pinned = not want.root
    base = LockedBase(
        key=str(reference),
        reference=str(reference),
        platform=want.platform,
        digest=Digest("sha256", sha256(f"{reference} {want.platform}")) if pinned else None,
        index_digest=Digest("sha256", sha256(f"{reference} index")) if pinned else None,
        debs=want.root,
        suite=want.distribution.codename if want.root and want.distribution else None,
        rootfs_sha256=None if pinned else sha256(f"{reference} {want.platform} rootfs"),
        facts=want.facts,
    )
    return Case(variant=variant, platform=want.platform, locked=locked, base=base)
