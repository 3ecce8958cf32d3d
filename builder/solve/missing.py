"""Why a kind of base has nothing at all for a cell, and what there is instead."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from builder.catalog.query import Catalog
from builder.model.axis import AxisValue
from builder.model.facts import Absent, Image, Wheel
from builder.model.matrix import BaseChoice, BaseKind
from builder.model.verdict import Reason
from builder.solve.candidate import Asked, admits
from builder.solve.rules.reason import refuses, unknown

_KIND_WORDS = {
    BaseKind.VENDOR: "vendor image",
    BaseKind.STACK: "wheel for a vendor's stack image",
    BaseKind.DISTRIBUTION: "wheel for a distribution",
    BaseKind.IMAGE: "wheel for the image",
}
_FEW = 6


def missing(asked: Asked, choice: BaseChoice, catalog: Catalog) -> Reason:
    """Return why a kind of base has no candidate: known not to exist, or not in the catalog, and then what is in it."""
    framework = catalog.framework(asked.framework_name)
    absent = [] if framework is None else [item for item in framework.absent if _covers(item, asked)]
    if absent:
        return refuses("CAT002", f"passed over {choice.kind.value}: known not to exist: {absent[0].text}", absent[0].source)
    checked = "" if framework is None else f" (checked {framework.source.checked})"
    builds = _builds(asked, choice, catalog)
    fitting = {build.stack_version for build in builds if _asked_for(asked, build, choice)}
    if choice.kind is BaseKind.STACK and fitting:
        what = f"no stack image of {asked.stack_name} {_listed(fitting)} is in the catalog{checked}".replace("  ", " ")
    else:
        instead = _instead(asked, builds, choice)
        what = f"no {_KIND_WORDS[choice.kind]} of {asked.framework} on {asked.stack} is in the catalog{checked}{instead}"
    text = f"passed over {choice.kind.value}: {what}"
    return unknown("CAT001", text, None if framework is None else framework.source)


def _builds(asked: Asked, choice: BaseChoice, catalog: Catalog) -> list[Image | Wheel]:
    """Return all builds of the framework on the stack that a kind of base can have, whatever their versions."""
    if choice.kind is BaseKind.VENDOR:
        return list(catalog.images(asked.framework_name, asked.stack_name))
    framework = catalog.framework(asked.framework_name)
    wheels = () if framework is None else (wheel for release in framework.releases for wheel in release.wheels)
    return [wheel for wheel in wheels if wheel.stack == asked.stack_name]


def _instead(asked: Asked, builds: Sequence[Image | Wheel], choice: BaseChoice) -> str:
    """Return the stack releases of the framework asked for, else the framework's releases on the stack."""
    stacks = {build.stack_version for build in builds if _admitted(asked, build, choice)}
    if stacks:
        return f"; {asked.framework} is there on {asked.stack_name} {_listed(stacks)}".rstrip()
    versions = {build.version for build in builds if _on(asked.stack, build.stack_version)}
    return f"; on {asked.stack} there is {asked.framework_name} {_listed(versions)}" if versions else ""


def _admitted(asked: Asked, build: Image | Wheel, choice: BaseChoice) -> bool:
    return admits(asked.framework, build.version, vendor=choice.kind is BaseKind.VENDOR)


def _asked_for(asked: Asked, build: Image | Wheel, choice: BaseChoice) -> bool:
    return _admitted(asked, build, choice) and _on(asked.stack, build.stack_version)


def _on(stack: AxisValue, version: Version | None) -> bool:
    return stack.specifiers is None or (version is not None and stack.specifiers.contains(version, prereleases=True))


def _listed(versions: set[Version | None]) -> str:
    """Return versions in words: some, or from the lowest to the highest."""
    known = sorted(version for version in versions if version is not None)
    if len(known) > _FEW:
        return f"{known[0]} to {known[-1]}"
    return ", ".join(map(str, known))


def _covers(item: Absent, asked: Asked) -> bool:
    """Return whether something known not to exist is what the cell asks for."""
    return (
        item.stack == asked.stack_name and _within(item.versions, asked.framework) and _within(item.stack_versions, asked.stack)
    )


def _within(versions: SpecifierSet, value: AxisValue) -> bool:
    written = value.written_version
    return len(versions) == 0 or (written is not None and versions.contains(written, prereleases=True))
