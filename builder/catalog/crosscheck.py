"""What does not fit together in the catalog: names without a record, orders that are wrong, sources nobody can open."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from builder.catalog.query import Catalog
from builder.model.facts import Accelerator, CodeList, Drivers, Framework, Image, Stack, StackRelease, Wheel
from builder.model.verdict import Source

_OPENABLE = re.compile(r"https?://\S+|[\w.-]+/[\w.-]+@[\w./-]+:\S+")
_CODE = re.compile(r"(?:sm|compute)_(\d+)[af]?")
_GENERIC = re.compile(r"gfx[0-9-]+-generic")


def complaints(catalog: Catalog) -> list[str]:
    """Return everything that does not fit, in a stable order; nothing when the catalog is whole. Reads every file."""
    stacks = {name: stack for name in catalog.stack_names() if (stack := catalog.stack(name)) is not None}
    archs = {arch for vendor in catalog.vendor_names() for arch in catalog.archs(vendor)}
    frameworks = [framework for name in catalog.framework_names() if (framework := catalog.framework(name)) is not None]
    images = [image for file in catalog.image_files() for image in catalog.images_of(file)]
    found: list[str] = []
    for stack in stacks.values():
        found.extend(_stack(stack, catalog))
    for framework in frameworks:
        found.extend(_framework(framework, stacks, archs, catalog))
    for image in images:
        found.extend(_image(image, stacks, archs, catalog))
    for vendor in catalog.vendor_names():
        found.extend(_vendor(vendor, stacks, catalog))
    found.extend(_sources([*stacks.values(), *frameworks, *images, *catalog.distributions(), *catalog.indexes()]))
    return found


def _stack(stack: Stack, catalog: Catalog) -> Iterator[str]:
    for older, newer in pairwise(stack.releases):
        if older.version == newer.version:
            yield f"{stack.name} {newer.version}: two records"
        yield from _floors(stack, older, newer)
    for release in stack.releases:
        yield from _pairs(stack, release, catalog)
    if stack.numbering is not None:
        drivers = catalog.drivers(stack.numbering)
        if drivers is None:
            yield f"{stack.name}: the drivers {stack.numbering!r} have no record"
        else:
            yield from _drivers(drivers, stack)


def _pairs(stack: Stack, release: StackRelease, catalog: Catalog) -> Iterator[str]:
    for framework, versions in release.pairs.items():
        record = catalog.framework(framework)
        known = {str(item.version) for item in record.releases} if record else set()
        yield from (f"{stack.name} {release.version}: {framework} {v} has no record" for v in versions if v not in known)


def _floors(stack: Stack, older: StackRelease, newer: StackRelease) -> Iterator[str]:
    if older.native_driver and newer.native_driver and newer.native_driver < older.native_driver:
        yield f"{stack.name} {newer.version}: its driver {newer.native_driver} is below that of {older.version}"
    if older.major_driver and newer.major_driver and newer.major_driver < older.major_driver:
        yield f"{stack.name} {newer.version}: its lowest driver is below that of {older.version}"
    if newer.native_driver and newer.major_driver and newer.native_driver.major < newer.major_driver.major:
        yield f"{stack.name} {newer.version}: its own driver is below the lowest of its major version"
    if older.date and newer.date and older.version.release[:2] == newer.version.release[:2] and newer.date < older.date:
        yield f"{stack.name} {newer.version}: dated before {older.version}"


def _drivers(drivers: Drivers, stack: Stack) -> Iterator[str]:
    names = {series.name for series in drivers.series}
    known = {f"{release.version.major}.{release.version.minor}" for release in stack.releases}
    oldest = stack.releases[0].version if stack.releases else None
    for package in drivers.compat:
        yield from (f"{package.name}: driver series {name} has no record" for name in sorted(package.series - names))
        if package.stack not in known:
            yield f"{package.name}: {stack.name} {package.stack} has no record"
    for series in drivers.series:
        for name in series.stacks or ():
            older = oldest is not None and tuple(map(int, name.split("."))) < oldest.release
            if name not in known and not older:
                yield f"driver series {series.name}: {stack.name} {name} has no record"


def _framework(framework: Framework, stacks: dict[str, Stack], archs: set[str], catalog: Catalog) -> Iterator[str]:
    for older, newer in pairwise(framework.releases):
        if older.date and newer.date and older.version.release[:2] == newer.version.release[:2] and newer.date < older.date:
            yield f"{framework.name} {newer.version}: dated before {older.version}"
    for wheel in (wheel for release in framework.releases for wheel in release.wheels):
        name = f"{framework.name} {wheel.version} on {wheel.index}"
        yield from (f"{name}: {text}" for text in _build(wheel, stacks, archs, catalog))
        if catalog.index(wheel.index) is None:
            yield f"{name}: the index has no record"


def _image(image: Image, stacks: dict[str, Stack], archs: set[str], catalog: Catalog) -> Iterator[str]:
    name = str(image.reference)
    yield from (f"{name}: {text}" for text in _build(image, stacks, archs, catalog))
    if image.framework is not None and catalog.framework(image.framework) is None:
        yield f"{name}: the framework {image.framework!r} has no record"
    if image.framework is not None and image.version is None:
        yield f"{name}: no version of {image.framework}"
    if image.os is not None and catalog.distribution(image.os) is None:
        yield f"{name}: the distribution {image.os!r} has no record"


def _build(build: Wheel | Image, stacks: dict[str, Stack], archs: set[str], catalog: Catalog) -> Iterator[str]:
    stack = stacks.get(build.stack)
    if stack is None:
        yield f"the stack {build.stack!r} has no record"
    elif build.stack_version is not None and catalog.stack_release(stack.name, build.stack_version) is None:
        yield f"{build.stack} {build.stack_version} has no record"
    if not build.pythons and not (isinstance(build, Image) and build.framework is None):
        yield "no Python"
    if not build.platforms:
        yield "no platform"
    for code in build.code.values():
        yield from (f"code for {entry}, which no device has" for entry in _strange(code, archs))


def _strange(code: CodeList, archs: set[str]) -> list[str]:
    def known(entry: str) -> bool:
        match = _CODE.fullmatch(entry)
        return (f"sm_{match[1]}" if match else entry) in archs or _GENERIC.fullmatch(entry) is not None

    return [entry for entry in code if not known(entry)]


def _vendor(vendor: str, stacks: dict[str, Stack], catalog: Catalog) -> Iterator[str]:
    if catalog.vendor(vendor) is None:
        yield f"the vendor {vendor!r} has accelerators and no record"
    names: set[str] = set()
    for accelerator in catalog.accelerators(vendor):
        if accelerator.name in names:
            yield f"{accelerator.name}: two records"
        names.add(accelerator.name)
        yield from (f"{accelerator.name}: {text}" for text in _windows(accelerator, stacks))
        yield from _source_of(accelerator.name, accelerator.source)


def _windows(accelerator: Accelerator, stacks: dict[str, Stack]) -> Iterator[str]:
    for name, window in accelerator.stacks.items():
        stack = stacks.get(name)
        if stack is None:
            yield f"the stack {name!r} has no record"
            continue
        if window.first and window.last and window.first > window.last:
            yield f"first with {name} {window.first}, which is after the last, {window.last}"
        if window.first and stack.releases and not _has(stack, window.first.release):
            yield f"first with {name} {window.first}, which has no record"


def _has(stack: Stack, version: tuple[int, ...]) -> bool:
    """Return whether a release, or a series, has a record; those before the oldest record need none."""
    oldest = stack.releases[0].version.release
    return version < oldest or any(release.version.release[: len(version)] == version for release in stack.releases)


def _sources(records: Iterable[object]) -> Iterator[str]:
    """Complain about sources that a reader cannot open, in these records and all they hold."""
    seen: set[Source] = set()
    pending = list(records)
    while pending:
        record = pending.pop()
        if isinstance(record, Source):
            if record not in seen:
                seen.add(record)
                yield from _source_of(record.title, record)
        elif dataclasses.is_dataclass(record):
            pending.extend(getattr(record, field.name) for field in dataclasses.fields(record))
        elif isinstance(record, tuple):
            pending.extend(record)


def _source_of(name: str, source: Source) -> Iterator[str]:
    if not source.title:
        yield f"{name}: a source without a title"
    if source.resolved and _OPENABLE.fullmatch(source.url) is None:
        yield f"{name}: nobody can open {source.url!r}"
