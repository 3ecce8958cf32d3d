"""Artifacts, Python and the C library: what decides before any target is looked at."""

from __future__ import annotations

from packaging.version import Version

from builder.model.facts import Distribution, Image, Wheel
from builder.model.oci import Platform
from builder.model.verdict import Reason
from builder.solve.rules.reason import note, refuses, supports, unknown

Build = Wheel | Image


def build_name(build: Build) -> str:
    """Return a build in words: an image by its reference, a wheel by name, version and index."""
    if isinstance(build, Image):
        return str(build.reference)
    return f"{build.framework} {build.version} from {build.index}"


def artifact(build: Build) -> Reason:
    """Say that a build exists, or that its name only follows from the vendor's naming rule."""
    name = build_name(build)
    if build.derived:
        return unknown("ART002", f"{name} follows from the vendor's naming rule; nobody was seen to pull it", build.source)
    if not build.source.resolved:
        return unknown("ART003", f"{name} was seen, but on no page a reader can open", build.source)
    return supports("ART001", f"{name} exists", build.source)


def python_fits(build: Build, python: str) -> Reason | None:
    """Refuse a build that is not for this Python."""
    if python in build.pythons:
        return None
    has = f"Python {' '.join(build.pythons)}" if build.pythons else "no known Python"
    return refuses("PKG001", f"it is for {has}, and the cell asks for {python}", build.source)


def glibc_fits(wheel: Wheel, platform: Platform, distribution: Distribution) -> Reason | None:
    """Refuse a wheel whose manylinux floor is above the distribution's C library; a note where that is not recorded."""
    floor, has = wheel.glibc.get(platform), distribution.release.glibc
    if floor is None:
        return None
    if has is None:
        return note("PKG003", f"the catalog has no C library version for {distribution.release.label}", distribution.source)
    if Version(has) >= Version(floor):
        return None
    text = f"it needs glibc {floor} or newer, and {distribution.release.label} has {has}"
    return refuses("PKG002", text, wheel.source)


def pre_release(build: Build) -> Reason | None:
    """Name a vendor's build of a version that was not released yet."""
    version = build.version
    if version is None or not version.is_prerelease:
        return None
    return note("PKG004", f"{build.framework} {version} is a pre-release build of the vendor's", build.source)
