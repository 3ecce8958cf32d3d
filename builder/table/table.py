"""The whole table: rows, what is left out, and which variants work everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from builder.model.evidence import Evidence
from builder.model.lock import Lock
from builder.model.matrix import Target, Tier
from builder.model.oci import Platform
from builder.model.plan import Plan, PlannedCell
from builder.model.table import LeftOut, LeftOutKind, Table, TableRow
from builder.model.verdict import Effect, Reason, Verdict
from builder.table.rows import Known, rows_of

_WORST_FIRST = (Effect.REFUSES, Effect.UNKNOWN, Effect.CONDITIONS)


def table(
    plan: Plan,
    lock: Lock | None,
    evidence: Sequence[Evidence],
    contents: Mapping[tuple[str, Platform], str],
    targets: Sequence[Target] = (),
) -> Table:
    """Return the table; the same for the same input, in whatever order the evidence comes.

    ``contents`` is the content id that each variant has now, by variant id and platform: evidence
    counts only for that content. ``targets`` are the matrix's, for their accelerators, drivers
    and platforms; a target that the plan has and ``targets`` lacks is shown by name alone.
    """
    known = Known(lock=lock, evidence=evidence, contents=contents, targets={target.name: target for target in targets})
    rows = tuple(row for planned in plan.cells for row in rows_of(planned, known))
    return Table(
        name=plan.name,
        rows=rows,
        left_out=(*_excluded(plan), *_without_variant(plan), *_not_applicable(plan)),
        fleet=_fleet(rows),
        locked=lock.date if lock else None,
    )


def _fleet(rows: Sequence[TableRow]) -> tuple[str, ...]:
    """Return the variants shown on the device of every applicable target, of which there is one at least."""
    held = dict.fromkeys(row.variant for row in rows if row.target is not None)
    lacking = {row.variant for row in rows if row.tier is not Tier.DEVICE}
    return tuple(variant for variant in held if variant not in lacking)


def _excluded(plan: Plan) -> Iterator[LeftOut]:
    for cell in plan.excluded:
        subject = ", ".join(f"{name}={value}" for name, value in cell.axes)
        yield LeftOut(
            kind=LeftOutKind.EXCLUDED, subject=subject, reasons=(cell.reason or "excluded by the matrix, which gives no reason",)
        )


def _without_variant(plan: Plan) -> Iterator[LeftOut]:
    """Yield the cells without a variant: one entry per target that refuses its candidate, else one for the cell."""
    for planned in plan.cells:
        if planned.variant is not None:
            continue
        refusing = {name: one for name, one in planned.verdicts.items() if one.verdict is Verdict.UNSUPPORTED}
        subject = _subject(planned)
        for name, decision in refusing.items():
            refusals = tuple(reason.text for reason in decision.reasons if reason.effect is Effect.REFUSES)
            yield LeftOut(kind=LeftOutKind.REFUSED, subject=subject, target=name, reasons=refusals)
        if not refusing:
            yield LeftOut(kind=LeftOutKind.NO_VARIANT, subject=subject, reasons=_telling(planned.reasons))


def _subject(planned: PlannedCell) -> str:
    return f"{planned.candidate} ({planned.cell})" if planned.candidate else str(planned.cell)


def _telling(reasons: Sequence[Reason]) -> tuple[str, ...]:
    """Return the texts of the reasons that stand against a cell, worst first; all of them where none does."""
    against = tuple(reason.text for effect in _WORST_FIRST for reason in reasons if reason.effect is effect)
    return against or tuple(reason.text for reason in reasons) or ("no candidate was found",)


def _not_applicable(plan: Plan) -> Iterator[LeftOut]:
    """Yield each target once, with the variants whose stack does not drive it."""
    variants: dict[str, list[str]] = {}
    for planned in plan.cells:
        for target in planned.not_applicable:
            if planned.variant is not None:
                variants.setdefault(target, []).append(planned.variant.id)
    for target, names in variants.items():
        text = f"the stack or platform of {', '.join(names)} is not for this target"
        yield LeftOut(kind=LeftOutKind.NOT_APPLICABLE, subject=target, target=target, reasons=(text,))
