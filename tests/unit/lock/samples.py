"""Variants, plans and bases for tests of locking."""

from __future__ import annotations

from packaging.version import Version

from builder.model.lock import BaseFacts, LockedBase, LockedDeb, LockedPackage
from builder.model.matrix import BaseKind, Cell
from builder.model.oci import LINUX_AMD64, Digest, ImageReference, Platform
from builder.model.plan import Base, DistributionRelease, Index, Plan, PlannedCell, Release, Variant

ARM64 = Platform.parse("linux/arm64")
DEBIAN = Base(
    kind=BaseKind.DISTRIBUTION,
    reference=ImageReference.parse("debian:12"),
    distribution=DistributionRelease(name="debian", release="12", codename="bookworm", glibc="2.36", python="3.11"),
    may_assemble=True,
)
NGC = Base(kind=BaseKind.VENDOR, reference=ImageReference.parse("nvcr.io/nvidia/pytorch:25.10-py3"), frameworks=("torch",))


def variant(  # noqa: PLR0913 - each test says only what it is about
    identifier: str = "onnxruntime1.22.1-cpu-py3.11",
    *,
    base: Base = DEBIAN,
    python: str = "3.11",
    pip: tuple[str, ...] = ("onnxruntime==1.22.1",),
    apt: tuple[str, ...] = (),
    indexes: tuple[Index, ...] = (),
    platforms: tuple[Platform, ...] = (LINUX_AMD64,),
) -> Variant:
    return Variant(
        id=identifier,
        cell=Cell(index=0, axes=()),
        framework=Release(name="onnxruntime", version=Version("1.22.1")),
        stack=Release(name="cpu"),
        python=python,
        platforms=platforms,
        base=base,
        pip=pip,
        apt=apt,
        indexes=indexes,
    )


def plan_of(*variants: Variant) -> Plan:
    cells = tuple(PlannedCell(cell=one.cell, variant=one) for one in variants)
    return Plan(name="quickstart", cells=(*cells, PlannedCell(cell=Cell(index=9, axes=()), variant=None)), excluded=())


def package(name: str, version: str = "1.0", *, sha256: str = "ab" * 32) -> LockedPackage:
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    return LockedPackage(name=name, version=version, index="pypi", file=file, sha256=sha256, requested_by=("matrix",))


def deb(name: str, version: str = "1") -> LockedDeb:
    return LockedDeb(name=name, version=version, architecture="amd64", sha256="cd" * 32, path=f"pool/{name}_{version}_amd64.deb")


def facts(*, python: str | None = "3.11.2", **more: object) -> BaseFacts:
    values: dict[str, object] = {
        "os": "debian",
        "os_version": "12",
        "glibc": "2.36",
        "python": "/usr/bin/python3" if python else None,
        "python_version": python,
        "pip_version": "23.0" if python else None,
    }
    return BaseFacts(**{**values, **more})  # type: ignore[arg-type]  # the fields of the tests' own making


def image(
    base: Base = NGC, *, encoded: str = "9b", read: BaseFacts | None = None, platform: Platform = LINUX_AMD64
) -> LockedBase:
    return LockedBase(
        key="whatever",
        reference=str(base.reference),
        platform=platform,
        digest=Digest("sha256", encoded * 32),
        facts=read or facts(),
    )


def assembled(*names: str, version: str = "1") -> LockedBase:
    return LockedBase(
        key="whatever",
        reference=str(DEBIAN.reference),
        platform=LINUX_AMD64,
        suite="bookworm",
        rootfs_sha256="ef" * 32,
        debs=tuple(deb(name, version) for name in ("base-files", *names)),
        facts=facts(),
    )
