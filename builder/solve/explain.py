"""A plan in words for people, and as one JSON document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from builder.model.axis import AxisValue
from builder.model.oci import LINUX_AMD64
from builder.model.plan import Plan, PlannedCell, Variant
from builder.model.verdict import Decision, Effect, Reason, Source, Verdict

SCHEMA = "imgbuild/plan/1"

_DECIDES = {
    Verdict.UNSUPPORTED: Effect.REFUSES,
    Verdict.UNKNOWN: Effect.UNKNOWN,
    Verdict.CONDITIONAL: Effect.CONDITIONS,
    Verdict.SUPPORTED: Effect.SUPPORTS,
}


class Sources:
    """The sources of a text, numbered in the order they are first named."""

    def __init__(self) -> None:
        self._numbers: dict[Source, int] = {}

    def mark(self, reason: Reason) -> str:
        """Return the rule and the number of its source: ``[DRV004, 2]``."""
        if reason.source is None:
            return f"[{reason.rule}]"
        number = self._numbers.setdefault(reason.source, len(self._numbers) + 1)
        return f"[{reason.rule}, {number}]"

    def lines(self) -> list[str]:
        """Return the list of sources, one a line."""
        return [
            f"  {number}  {source.title}, {source.url} (checked {source.checked})" for source, number in self._numbers.items()
        ]


def deciding(decision: Decision) -> tuple[Reason, ...]:
    """Return the reasons that made a verdict what it is."""
    effect = _DECIDES[decision.verdict]
    return tuple(
        reason for reason in decision.reasons if reason.effect is effect and (reason.deciding or effect is not Effect.UNKNOWN)
    )


def notes(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Return what is worth knowing and changes no verdict."""
    return tuple(reason for reason in reasons if reason.effect is Effect.UNKNOWN and not reason.deciding)


def plan_lines(plan: Plan) -> list[str]:
    """Return a plan as text: each cell with its variant, a verdict per target and why, then what is left out, then sources."""
    sources = Sources()
    lines = [_heading(plan)]
    for planned in plan.cells:
        lines.extend(["", *_cell(planned, sources)])
    if plan.excluded:
        lines.extend(["", "excluded by your matrix:"])
        lines.extend(f"  {_axes(cell.axes)}: {cell.reason or 'no reason given'}" for cell in plan.excluded)
    if sources.lines():
        lines.extend(["", "sources:", *sources.lines()])
    return lines


def _heading(plan: Plan) -> str:
    variants = len(plan.variants)
    without = len(plan.cells) - variants
    parts = [_count(len(plan.cells), "cell"), _count(variants, "variant")]
    if without:
        parts.append(f"{without} without a variant")
    if plan.excluded:
        parts.append(f"{len(plan.excluded)} excluded by your matrix")
    return f"{plan.name}: {', '.join(parts)}"


def _cell(planned: PlannedCell, sources: Sources) -> Iterator[str]:
    yield _axes(planned.cell.axes)
    variant = planned.variant
    if variant is None:
        closest = f"; closest is {planned.candidate}" if planned.candidate else ""
        yield f"  no variant{closest}"
        yield from (f"    {reason.text} {sources.mark(reason)}" for reason in planned.reasons)
    else:
        yield f"  {variant.id}"
        yield f"    from {variant.base.reference} ({variant.base.label}){_with(variant)}{_for(variant)}"
    yield from _targets(planned, sources)
    if planned.not_applicable:
        yield f"    not for {', '.join(planned.not_applicable)}"
    if variant is not None:
        told = [reason for reason in planned.reasons if reason.effect is not Effect.SUPPORTS]
        yield from (f"    note: {reason.text} {sources.mark(reason)}" for reason in told)


def _with(variant: Variant) -> str:
    if not variant.pip or variant.base.frameworks:
        return ""
    return f" with {variant.pip[0].partition(' ;')[0]}"


def _for(variant: Variant) -> str:
    """Return the platforms, where they are not the usual one."""
    return "" if variant.platforms == (LINUX_AMD64,) else f" for {' '.join(map(str, variant.platforms))}"


def _targets(planned: PlannedCell, sources: Sources) -> Iterator[str]:
    width = max((len(name) for name in planned.verdicts), default=0)
    longest = max(len(verdict) for verdict in Verdict)
    for name, decision in planned.verdicts.items():
        first, *rest = [f"{reason.text} {sources.mark(reason)}" for reason in deciding(decision)] or ["nothing speaks for it"]
        yield f"    {name:<{width}}  {decision.verdict:<{longest}}  {first}"
        indent = " " * (width + longest + 8)
        yield from (f"{indent}{text}" for text in rest)
        yield from (f"{indent}note: {reason.text} {sources.mark(reason)}" for reason in notes(decision.reasons))
        yield from (f"{indent}instead: {text}" for text in decision.instead)


def _axes(axes: Sequence[tuple[str, AxisValue]]) -> str:
    return ", ".join(f"{name}={value}" for name, value in axes)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def plan_json(plan: Plan) -> dict[str, object]:
    """Return a plan as ``imgbuild/plan/1``: ``cells`` and ``excluded``."""
    return {
        "schema": SCHEMA,
        "name": plan.name,
        "cells": [_cell_json(planned) for planned in plan.cells],
        "excluded": [{"axes": _axes_json(cell.axes), "reason": cell.reason} for cell in plan.excluded],
    }


def _cell_json(planned: PlannedCell) -> dict[str, object]:
    return {
        "axes": _axes_json(planned.cell.axes),
        "variant": None if planned.variant is None else planned.variant.id,
        "candidate": planned.candidate,
        "tags": [] if planned.variant is None else list(planned.variant.tags),
        "base": None if planned.variant is None else str(planned.variant.base.reference),
        "platforms": [] if planned.variant is None else [str(platform) for platform in planned.variant.platforms],
        "reasons": [reason_json(reason) for reason in planned.reasons],
        "verdicts": {name: decision_json(decision) for name, decision in planned.verdicts.items()},
        "not_applicable": list(planned.not_applicable),
    }


def _axes_json(axes: Sequence[tuple[str, AxisValue]]) -> Mapping[str, str]:
    return {name: value.text for name, value in axes}


def decision_json(decision: Decision) -> dict[str, object]:
    """Return a verdict with its reasons, and what to do instead."""
    return {
        "verdict": decision.verdict.value,
        "reasons": [reason_json(reason) for reason in decision.reasons],
        "instead": [{"text": text} for text in decision.instead],
    }


def reason_json(reason: Reason) -> dict[str, object]:
    """Return a reason; ``source`` is ``null`` for what the matrix or a missing record gave rise to."""
    source = reason.source
    return {
        "rule": reason.rule,
        "effect": reason.effect.value,
        "text": reason.text,
        "source": None if source is None else {"title": source.title, "url": source.url, "checked": source.checked},
        "deciding": reason.deciding,
    }
