"""Wheels of one release that are several records for several platforms, as the one build that they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from builder.model.facts import Wheel
from builder.model.oci import Platform

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def joined(wheels: Iterable[Wheel], python: str | None, platforms: Sequence[Platform]) -> list[Wheel]:
    """Return wheels of one release, those for one stack on one index joined where each has other platforms asked for.

    Joined are wheels for the Python that is asked for. Where they are installed by different
    requirements, each gets a marker that names its machine.
    """
    groups: dict[tuple[object, ...], list[Wheel]] = {}
    for wheel in wheels:
        fits = python is None or python in wheel.pythons
        wanted = any(platform in platforms for platform in wheel.platforms)
        key = (wheel.index, wheel.stack, wheel.stack_version, wheel.derived)
        groups.setdefault(key if fits and wanted else (*key, id(wheel)), []).append(wheel)
    return [one for group in groups.values() for one in _distinct(group)]


def _distinct(group: Sequence[Wheel]) -> list[Wheel]:
    """Join what has no platform in common; a wheel for platforms that another has already stays by itself."""
    first, *rest = group
    others: list[Wheel] = []
    for wheel in rest:
        if set(first.platforms) & set(wheel.platforms):
            others.append(wheel)
        else:
            first = _both(first, wheel)
    return [first, *others]


def _both(first: Wheel, second: Wheel) -> Wheel:
    same = first.requirements == second.requirements
    requirements = first.requirements if same else (*_marked(first), *_marked(second))
    return replace(
        first,
        requirements=requirements,
        pythons=tuple(python for python in first.pythons if python in second.pythons),
        platforms=tuple(sorted({*first.platforms, *second.platforms})),
        glibc={**first.glibc, **second.glibc},
        code={**first.code, **second.code},
        code_source=first.code_source or second.code_source,
    )


def _marked(wheel: Wheel) -> tuple[str, ...]:
    """Return the requirements of a wheel for its own machines only."""
    machines = [_MACHINES.get(platform.architecture, platform.architecture) for platform in wheel.platforms]
    marker = " or ".join(f"platform_machine == '{machine}'" for machine in dict.fromkeys(machines))
    return tuple(text if ";" in text else f"{text} ; {marker}" for text in wheel.requirements)
