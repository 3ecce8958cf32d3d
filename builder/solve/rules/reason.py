"""Short ways to make a reason."""

from __future__ import annotations

from builder.model.verdict import Effect, Reason, Source


def supports(rule: str, text: str, source: Source | None) -> Reason:
    """Return a reason that speaks for it."""
    return Reason(rule=rule, effect=Effect.SUPPORTS, text=text, source=source)


def conditions(rule: str, text: str, source: Source | None) -> Reason:
    """Return a reason that holds it to a condition."""
    return Reason(rule=rule, effect=Effect.CONDITIONS, text=text, source=source)


def refuses(rule: str, text: str, source: Source | None) -> Reason:
    """Return a reason against it; a fact whose public page is not known cannot decide, and gives ``unknown``."""
    if source is not None and not source.resolved:
        return unknown(rule, f"{text} (its source has no public page, so it does not decide)", source)
    return Reason(rule=rule, effect=Effect.REFUSES, text=text, source=source)


def unknown(rule: str, text: str, source: Source | None = None) -> Reason:
    """Return a reason that cannot tell, from a rule that decides."""
    return Reason(rule=rule, effect=Effect.UNKNOWN, text=text, source=source)


def note(rule: str, text: str, source: Source | None = None) -> Reason:
    """Return something worth knowing that changes no verdict."""
    return Reason(rule=rule, effect=Effect.UNKNOWN, text=text, source=source, deciding=False)
