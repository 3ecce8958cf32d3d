"""Which code a device runs: machine code of its own arch, of relatives, or portable code compiled on the host."""

from __future__ import annotations

import re
from collections.abc import Mapping

from builder.model.facts import Accelerator, Arch, CodeList

_TARGET = re.compile(r"(?P<kind>sm|compute)_(?P<number>\d+)(?P<suffix>[af]?)")


def _target(text: str) -> tuple[str, int, int, str] | None:
    """Return kind, major, minor and suffix of ``sm_90a``; ``None`` for another vendor's target."""
    match = _TARGET.fullmatch(text)
    if match is None:
        return None
    number = match["number"]
    return match["kind"], int(number[:-1]), int(number[-1]), match["suffix"]


def machine_code(code: CodeList, device: Accelerator, archs: Mapping[str, Arch]) -> str | None:
    """Return the entry of a code list whose machine code the device runs, ``None`` when there is none.

    Its own arch first; then, for NVIDIA, the same major version with a lower minor one, the nearest
    first (never to or from an integrated part), and family targets; for others what the device's
    record lists.
    """
    if device.arch in code:
        return device.arch
    return max((entry for entry in code if _runs(entry, device, archs)), key=_minor, default=None)


def _minor(entry: str) -> int:
    target = _target(entry)
    return -1 if target is None else target[2]


def _runs(entry: str, device: Accelerator, archs: Mapping[str, Arch]) -> bool:
    own, target = _target(device.arch), _target(entry)
    if own is None or target is None:
        return entry in device.runs
    kind, major, minor, suffix = target
    if kind != "sm" or major != own[1] or minor > own[2]:
        return False
    if suffix == "a" or minor == own[2]:
        return minor == own[2]
    arch = archs.get(f"sm_{major}{minor}")
    return not device.integrated and not (arch is not None and arch.integrated)


def portable_code(code: CodeList, device: Accelerator) -> str | None:
    """Return the newest PTX of a code list that may be compiled for the device, ``None`` when there is none."""
    own = _target(device.arch)
    if own is None:
        return None
    usable = [
        (target[1], target[2], entry)
        for entry in code
        if (target := _target(entry)) is not None and target[0] == "compute" and _compiles(target, own)
    ]
    return max(usable)[2] if usable else None


def _compiles(target: tuple[str, int, int, str], own: tuple[str, int, int, str]) -> bool:
    _, major, minor, suffix = target
    if suffix == "a":
        return (major, minor) == (own[1], own[2])
    if suffix == "f":
        return major == own[1] and minor <= own[2]
    return (major, minor) <= (own[1], own[2])


def may_hold_relative(device: Accelerator, archs: Mapping[str, Arch], stack: str, version: tuple[int, ...]) -> str | None:
    """Return an arch whose code the device runs and that a stack of this version can make, other than its own.

    Used where a device is newer than the stack and the code list is not known: such code may be in it.
    """
    for arch in archs.values():
        window = arch.stacks.get(stack)
        if arch.name == device.arch or window is None or (window.first is not None and window.first.release[:2] > version[:2]):
            continue
        if _runs(arch.name, device, archs):
            return arch.name
    return None
