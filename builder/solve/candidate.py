"""What could be built for a cell: a framework build on a base, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from packaging.version import Version

from builder.catalog.query import Catalog
from builder.model.axis import AxisValue
from builder.model.facts import Distribution, Image, StackRelease, Stream, Wheel
from builder.model.matrix import BaseChoice, BaseKind
from builder.model.oci import ImageReference, Platform
from builder.model.plan import Base, Release
from builder.model.verdict import Reason
from builder.solve.joined import joined
from builder.solve.rules.package import glibc_fits, python_fits
from builder.solve.rules.reason import note, refuses

Build = Wheel | Image


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a cell asks of a candidate. ``python`` is ``None`` when the matrix has no such axis."""

    framework: AxisValue
    stack: AxisValue
    framework_name: str
    stack_name: str
    python: str | None
    platforms: tuple[Platform, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A build on a base (``None`` where none has the Python).

    ``barriers`` are reasons, free of targets, why it cannot be this cell's variant (notes among
    them bar nothing); ``platforms`` those asked for that it has.
    """

    build: Build
    base: Base | None
    framework: Release
    stack: Release
    release: StackRelease | None
    python: str
    platforms: tuple[Platform, ...]
    barriers: tuple[Reason, ...] = ()

    @property
    def vendor_release(self) -> str | None:
        """The vendor's own release, such as ``25.10``."""
        return self.build.vendor_release if isinstance(self.build, Image) else None

    @property
    def rank(self) -> tuple[Version, tuple[int, ...], Version]:
        """Newest framework release first, then the vendor's release, then the newest stack; the local label never counts."""
        version = self.framework.version or Version("0")
        vendor = tuple(int(part) for part in (self.vendor_release or "").split(".") if part.isdigit())
        return Version(version.public), vendor, self.stack.version or Version("0")


def admits(value: AxisValue, version: Version | None, *, vendor: bool) -> bool:
    """Return whether a version satisfies an axis value; pre-releases count only for a vendor's builds."""
    if value.specifiers is None:
        return version is None or vendor or not version.is_prerelease
    return version is not None and value.specifiers.contains(version, prereleases=vendor)


def candidates(asked: Asked, choice: BaseChoice, catalog: Catalog) -> list[Candidate]:
    """Return every candidate of one kind of base whose framework and stack the cell asks for, best first.

    Of equals, one that has more of the platforms asked for comes first, then the catalog's order.
    """
    found = _KINDS[choice.kind](asked, choice, catalog)
    return sorted(found, key=lambda candidate: (candidate.rank, len(candidate.platforms)), reverse=True)


def _stack_release(asked: Asked, version: Version | None, catalog: Catalog) -> tuple[StackRelease | None, list[Reason]] | None:
    """Return the release and what stands against it; ``None`` when the cell asks for another stack release."""
    if asked.stack.specifiers is not None and (version is None or not asked.stack.specifiers.contains(version, prereleases=True)):
        return None
    release = None if version is None else catalog.stack_release(asked.stack_name, version)
    if release is None or release.stream is Stream.PRODUCTION or asked.stack.written_version == release.version:
        return release, []
    text = f"{asked.stack_name} {version} is a preview, not of a production line"
    return release, [refuses("STK001", text, release.source)]


def _candidate(
    asked: Asked, build: Build, base: Base | None, python: str, release: StackRelease | None, barriers: list[Reason]
) -> Candidate:
    platforms = tuple(platform for platform in asked.platforms if platform in build.platforms)
    if not platforms:
        has = ", ".join(str(platform) for platform in build.platforms)
        wanted = ", ".join(str(platform) for platform in asked.platforms)
        barriers.append(refuses("PLT003", f"it is for {has}, and the matrix asks for {wanted}", build.source))
    return Candidate(
        build=build,
        base=base,
        framework=Release(name=asked.framework_name, version=build.version),
        stack=Release(name=build.stack, version=build.stack_version),
        release=release,
        python=python,
        platforms=platforms,
        barriers=tuple(barriers),
    )


def _vendor(asked: Asked, choice: BaseChoice, catalog: Catalog) -> Iterator[Candidate]:
    del choice
    for image in catalog.images(asked.framework_name, asked.stack_name):
        admitted = _stack_release(asked, image.stack_version, catalog)
        if admitted is None or not admits(asked.framework, image.version, vendor=True):
            continue
        release, barriers = admitted
        python = asked.python or (image.pythons[-1] if image.pythons else "")
        fits = python_fits(image, python)
        if fits is not None:
            barriers.append(fits)
        yield _candidate(asked, image, _vendor_base(image, catalog), python, release, barriers)


def _vendor_base(image: Image, catalog: Catalog) -> Base:
    found = catalog.distribution(image.os) if image.os else None
    return Base(
        kind=BaseKind.VENDOR,
        reference=image.reference,
        distribution=found.release if found else None,
        frameworks=image.distributions,
        vendor_release=image.vendor_release,
        licence=image.licence,
    )


def _wheels(asked: Asked, catalog: Catalog) -> Iterator[tuple[Wheel, StackRelease | None, list[Reason]]]:
    framework = catalog.framework(asked.framework_name)
    for published in () if framework is None else framework.releases:
        if not admits(asked.framework, published.version, vendor=False):
            continue
        wheels = [wheel for wheel in published.wheels if wheel.stack == asked.stack_name]
        for wheel in joined(wheels, asked.python, asked.platforms):
            admitted = _stack_release(asked, wheel.stack_version, catalog)
            if admitted is not None:
                yield wheel, *admitted


def _distribution(asked: Asked, choice: BaseChoice, catalog: Catalog) -> Iterator[Candidate]:
    del choice
    known = [item for item in catalog.distributions() if item.base]
    for wheel, release, barriers in _wheels(asked, catalog):
        wanted = wheel.pythons if asked.python is None else (asked.python,)
        fitting = [item for item in known if item.python in wanted]
        distribution = fitting[-1] if fitting else None
        python = asked.python or (distribution.python if distribution else None) or wheel.pythons[-1]
        fits = python_fits(wheel, python)
        if fits is not None:
            barriers.append(fits)
        if distribution is None:
            has = ", ".join(f"{item.release.label} has {item.python}" for item in known[-4:])
            text = f"no distribution that may be a base has Python {python} of its own ({has})"
            barriers.append(refuses("BAS002", text, known[-1].source if known else wheel.source))
        else:
            barriers.extend(_glibc(asked, wheel, distribution))
        base = None if distribution is None else distribution_base(distribution)
        yield _candidate(asked, wheel, base, python, release, barriers)


def distribution_base(distribution: Distribution) -> Base:
    """Return a distribution's own image as a base."""
    return Base(
        kind=BaseKind.DISTRIBUTION,
        reference=distribution.image,
        distribution=distribution.release,
        may_assemble=distribution.assembled,
    )


def _glibc(asked: Asked, wheel: Wheel, distribution: Distribution) -> list[Reason]:
    platforms = [platform for platform in wheel.platforms if platform in asked.platforms]
    return [reason for platform in platforms if (reason := glibc_fits(wheel, platform, distribution)) is not None]


def _stack(asked: Asked, choice: BaseChoice, catalog: Catalog) -> Iterator[Candidate]:
    del choice
    for wheel, release, barriers in _wheels(asked, catalog):
        series = wheel.stack_version.release[:2] if wheel.stack_version else None
        images = [image for image in catalog.stack_images(asked.stack_name) if image.stack_version.release[:2] == series]
        for image in sorted(images, key=lambda image: image.stack_version, reverse=True):
            yield _on_stack_image(asked, wheel, image, release, [*barriers], catalog)


def _on_stack_image(
    asked: Asked, wheel: Wheel, image: Image, release: StackRelease | None, barriers: list[Reason], catalog: Catalog
) -> Candidate:
    distribution = catalog.distribution(image.os) if image.os else None
    own = distribution.python if distribution else None
    python = asked.python or own or ""
    if own != python or not python:
        text = f"{image.reference} has Python {own or 'that is not known'}, and the cell asks for {python or 'none'}"
        barriers.append(refuses("BAS003", text, image.source))
    fits = python_fits(wheel, python)
    if fits is not None:
        barriers.append(fits)
    if distribution is not None:
        barriers.extend(_glibc(asked, wheel, distribution))
    base = Base(
        kind=BaseKind.STACK,
        reference=image.reference,
        distribution=distribution.release if distribution else None,
        licence=image.licence,
    )
    return _candidate(asked, wheel, base, python, release, barriers)


def _image(asked: Asked, choice: BaseChoice, catalog: Catalog) -> Iterator[Candidate]:
    """Yield what can be made of an image that the matrix names; one the catalog knows is what the catalog says it is."""
    reference = choice.reference
    if reference is None:
        return
    known = catalog.image(reference)
    if known is not None and known.framework == asked.framework_name:
        yield _held(asked, replace(known, reference=reference), catalog)
    elif known is not None and known.framework is None and known.stack == asked.stack_name:
        image = replace(known, reference=reference)
        for wheel, release, barriers in _wheels(asked, catalog):
            barriers.extend(_other_series(wheel, image))
            yield _on_stack_image(asked, wheel, image, release, barriers, catalog)
    else:
        for wheel, release, barriers in _wheels(asked, catalog):
            barriers.extend(_inside(asked, wheel, reference, known, catalog))
            if asked.python is not None and (fits := python_fits(wheel, asked.python)) is not None:
                barriers.append(fits)
            base = Base(kind=BaseKind.IMAGE, reference=reference)
            yield _candidate(asked, wheel, base, asked.python or "", release, barriers)


def _held(asked: Asked, image: Image, catalog: Catalog) -> Candidate:
    """Return the framework that a vendor's image holds, which nothing may replace, whatever the cell asks for."""
    barriers: list[Reason] = []
    specifiers = asked.stack.specifiers
    fits = image.stack == asked.stack_name and (specifiers is None or specifiers.contains(image.stack_version, prereleases=True))
    if not fits or not admits(asked.framework, image.version, vendor=True):
        text = f"{image.reference} holds this, and the cell asks for {asked.framework} on {asked.stack}"
        barriers.append(refuses("BAS005", text, image.source))
    python = asked.python or (image.pythons[-1] if image.pythons else "")
    other = python_fits(image, python)
    if other is not None:
        barriers.append(other)
    release = catalog.stack_release(image.stack, image.stack_version)
    return _candidate(asked, image, _vendor_base(image, catalog), python, release, barriers)


def _other_series(wheel: Wheel, image: Image) -> list[Reason]:
    """Refuse a wheel for another series of the stack than the image has."""
    wanted = () if wheel.stack_version is None else wheel.stack_version.release[:2]
    if image.stack_version.release[: len(wanted)] == wanted:
        return []
    text = f"{image.reference} has {image.stack} {image.stack_version}, and the wheel is for {wheel.stack} {wheel.stack_version}"
    return [refuses("BAS005", text, image.source)]


def _inside(asked: Asked, wheel: Wheel, reference: ImageReference, known: Image | None, catalog: Catalog) -> list[Reason]:
    """Return what is known, or not, about the Python and C library of an image that is no base of the asked stack's own."""
    if asked.python is None:
        text = f"which Python {reference} has is not known before it is read; add a python axis"
        return [refuses("BAS004", text, wheel.source)]
    siblings = catalog.images_named(reference) if known is None else ()
    sibling = next((image for image in siblings if image.framework == asked.framework_name), None)
    if sibling is not None:
        text = f"{reference.name} holds {asked.framework_name} already, and which release {reference} has is not in the catalog"
        return [refuses("BAS005", text, sibling.source)]
    distribution = catalog.distribution(known.os) if known and known.os else catalog.distribution_image(reference)
    if distribution is None:
        text = f"what {reference} holds is not in the catalog; its Python and C library are read when it is locked"
        return [note("BAS006", text, None)]
    has = known.pythons if known and known.pythons else tuple(filter(None, (distribution.python,)))
    if has and asked.python not in has:
        text = f"{reference} has Python {' '.join(has)}, and the cell asks for {asked.python}"
        return [refuses("BAS003", text, known.source if known else distribution.source)]
    return _glibc(asked, wheel, distribution)


_KINDS: Mapping[BaseKind, Callable[[Asked, BaseChoice, Catalog], Iterator[Candidate]]] = {
    BaseKind.VENDOR: _vendor,
    BaseKind.STACK: _stack,
    BaseKind.DISTRIBUTION: _distribution,
    BaseKind.IMAGE: _image,
}
