"""The compatibility rules: small functions that return a reason with its source, each code with a page.

``judge`` asks every rule about one build in one place. Codes are stable; ``pages/<CODE>.md`` says
what each means and what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from builder.model.facts import DriverModel
from builder.model.verdict import Decision, Reason, combine
from builder.solve.rules.device import cpu_level, device_and_driver, device_and_stack, drives
from builder.solve.rules.driver_floor import floor
from builder.solve.rules.driver_other import kernel, no_driver, one_release, unrecorded, window
from builder.solve.rules.platform import host_platform, platform
from builder.solve.rules.reason import unknown
from builder.solve.subject import Place, Subject

_PAGES = Path(__file__).resolve().parent / "pages"

DRIVER_RULES: Mapping[DriverModel, Callable[[Subject, Place], tuple[Reason, ...]]] = {
    DriverModel.FLOOR: floor,
    DriverModel.WINDOW: window,
    DriverModel.RELEASE: one_release,
    DriverModel.KERNEL: kernel,
    DriverModel.NONE: no_driver,
    DriverModel.UNRECORDED: unrecorded,
}
"""Which rule speaks about driver and stack, by how the stack's releases relate to drivers."""


def judge(subject: Subject, place: Place) -> Decision:
    """Return the verdict on one build in one place, with the reason of every rule that spoke."""
    single = (drives(subject, place), platform(subject, place), host_platform(place))
    reasons = [reason for reason in single if reason is not None]
    if not any(reason.rule == "DEV001" for reason in reasons):
        reasons.extend(_stack_rules(subject, place))
    return Decision(verdict=combine(reasons), reasons=tuple(reasons))


def _stack_rules(subject: Subject, place: Place) -> list[Reason]:
    reasons: list[Reason] = []
    if subject.release is None and subject.version is not None:
        checked = subject.stack.source.checked
        reasons.append(unknown("CAT001", f"{subject.name} is not in the catalog (checked {checked})", subject.stack.source))
    reasons.extend(DRIVER_RULES[subject.stack.model](subject, place))
    reasons.extend(device_and_stack(subject, place))
    reasons.extend(device_and_driver(subject, place))
    level = cpu_level(subject, place)
    return reasons if level is None else [*reasons, level]


@cache
def codes() -> tuple[str, ...]:
    """Return every rule's code, sorted."""
    return tuple(sorted(path.stem for path in _PAGES.glob("*.md")))


def page(code: str) -> str | None:
    """Return the page of a rule as Markdown, ``None`` when there is no such code."""
    wanted = code.strip().upper()
    return (_PAGES / f"{wanted}.md").read_text(encoding="utf-8") if wanted in codes() else None
