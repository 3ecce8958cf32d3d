"""Reasons and verdicts, and how reasons combine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact was read: a public page a reader can open, and the date it was checked (``YYYY-MM-DD``).

    ``url`` is a URL or ``owner/repository@commit:path``. ``resolved`` is false where the fact is
    known but its public page is not; such a fact never decides alone.
    """

    title: str
    url: str
    checked: str
    resolved: bool = True


class Effect(StrEnum):
    """What a reason does to a verdict."""

    SUPPORTS = "supports"
    CONDITIONS = "conditions"
    REFUSES = "refuses"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What one rule says about one variant on one target.

    ``rule`` is a stable code. ``deciding`` is whether an ``unknown`` of this rule makes the
    verdict unknown; an unknown of another rule is a note.
    """

    rule: str
    effect: Effect
    text: str
    source: Source | None = None
    deciding: bool = True


class Verdict(StrEnum):
    """Will it run there. Worst first: the order of the members."""

    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"
    CONDITIONAL = "conditional"
    SUPPORTED = "supported"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Verdict).index(self)


def combine(reasons: Iterable[Reason]) -> Verdict:
    """Return the verdict of all reasons: a refusal, else a deciding unknown, else a condition, else supported.

    With no reason that supports, conditions or refuses, the verdict is ``unknown``: nothing spoke.
    """
    effects: set[Effect] = set()
    for reason in reasons:
        if reason.effect is not Effect.UNKNOWN:
            effects.add(reason.effect)
        elif reason.deciding:
            effects.add(Effect.UNKNOWN)
    if Effect.REFUSES in effects:
        return Verdict.UNSUPPORTED
    if Effect.UNKNOWN in effects or not effects:
        return Verdict.UNKNOWN
    return Verdict.CONDITIONAL if Effect.CONDITIONS in effects else Verdict.SUPPORTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict for one variant on one target, with the reasons and what to do instead."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    instead: tuple[str, ...] = ()
