"""Rows of the table: one per variant and target, computed from the lock and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder.model.evidence import Evidence, JsonValue, ProbeStatus
from builder.model.lock import Lock, LockedBase
from builder.model.matrix import Target, Tier
from builder.model.oci import Platform
from builder.model.plan import PlannedCell, Variant
from builder.model.table import TableRow
from builder.model.tier import record_tier
from builder.model.verdict import Decision, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What rows are computed from: the lock, all evidence, current content ids, and the targets by name."""

    lock: Lock | None
    evidence: Sequence[Evidence]
    contents: Mapping[tuple[str, Platform], str]
    targets: Mapping[str, Target]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a row is about; ``target`` is ``None`` for the host that builds."""

    variant: Variant
    platform: Platform
    target: str | None
    decision: Decision | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """The record a row rests on, the tier it gives this row, and notes on records that do not count."""

    record: Evidence | None
    tier: Tier | None
    notes: tuple[str, ...]


def rows_of(planned: PlannedCell, known: Known) -> Iterator[TableRow]:
    """Yield the rows of one cell: per target in the order of the plan, else per platform with no target."""
    variant = planned.variant
    if variant is None:
        return
    if not planned.verdicts:
        for platform in variant.platforms:
            yield _row(_Place(variant=variant, platform=platform, target=None), known)
        return
    for name, decision in planned.verdicts.items():
        target = known.targets.get(name)
        platform = target.platform if target else variant.platforms[0]
        yield _row(_Place(variant=variant, platform=platform, target=name, decision=decision), known)


def _row(place: _Place, known: Known) -> TableRow:
    variant, decision = place.variant, place.decision
    target = known.targets.get(place.target or "")
    shown = _shown(place, known)
    record = shown.record
    base = known.lock.base(_base_key(variant, place.platform, known.lock), place.platform) if known.lock else None
    return TableRow(
        variant=variant.id,
        target=place.target,
        platform=place.platform,
        accelerator=target.accelerator if target else (record.accelerator or None if record else None),
        driver=_driver(target, record),
        verdict=decision.verdict if decision else None,
        reasons=decision.reasons if decision else (),
        tier=shown.tier,
        signed=record.signed if record else False,
        digest=record.digest if record else None,
        image_id=record.image_id if record else None,
        base=_base_text(variant, base),
        recorded=record.recorded if record else None,
        tags=variant.tags,
        declared=_declared(variant, base, known.lock, place.platform),
        actual=record.actual if record else {},
        notes=shown.notes,
        disagreement=_disagreement(decision, record, place.target),
    )


def _shown(place: _Place, known: Known) -> _Shown:
    """Return what the evidence shows for one place; a record of the building host counts up to ``host-cpu``."""
    variant = place.variant
    content = known.contents.get((variant.id, place.platform))
    mine = [one for one in known.evidence if one.variant == variant.id and one.platform == place.platform]
    current = [one for one in mine if content is not None and one.content == content]
    record = _newest(one for one in current if one.target == (place.target or "")) or _newest(
        one for one in current if not one.target
    )
    if record is not None:
        return _Shown(record=record, tier=_tier_here(record, place), notes=tuple(_notes(record, place)))
    here = [one for one in mine if one.target in {place.target or "", ""}]
    note = f"evidence of {_newest_day(here)} is for an earlier build and does not count" if here else None
    tier = Tier.RENDERED if content is not None else None
    return _Shown(record=None, tier=tier, notes=(note,) if note else ())


def _newest(records: Iterable[Evidence]) -> Evidence | None:
    """Return the newest record; of several of one second the one that shows least, so that order never matters."""
    return max(records, key=lambda one: (one.recorded, -record_tier(one).rank, str(one.image_id), repr(one)), default=None)


def _newest_day(records: Sequence[Evidence]) -> str:
    return max(record.recorded for record in records)[:10]


def _tier_here(record: Evidence, place: _Place) -> Tier:
    """Return the tier that a record's own results give this row; what a record claims is not asked."""
    tier = record_tier(record)
    return tier if record.target == (place.target or "") else min(tier, Tier.HOST_CPU, key=lambda one: one.rank)


def _notes(record: Evidence, place: _Place) -> Iterator[str]:
    if place.target and not record.target:
        yield "tested on the host that built it, not on this target"
    if record.simulated:
        yield "tested on a simulated device"
    for result in record.results:
        if result.status is ProbeStatus.FAILED:
            yield f"{result.name} failed: {result.reason or 'it gave no reason'}"
        elif result.status is ProbeStatus.SKIPPED:
            yield f"{result.name} was skipped: {result.reason or 'it gave no reason'}"


def _disagreement(decision: Decision | None, record: Evidence | None, target: str | None) -> str | None:
    """Say where the verdict and what was shown on this very target do not agree; both stay as they are."""
    if decision is None or record is None or record.target != target:
        return None
    failed = [result.name for result in record.results if result.status is ProbeStatus.FAILED]
    works = record_tier(record) is Tier.DEVICE
    match decision.verdict:
        case Verdict.UNSUPPORTED if works:
            return "the verdict is unsupported, and every probe passed there on the device"
        case Verdict.SUPPORTED if failed:
            return f"the verdict is supported, and {', '.join(failed)} failed there"
        case Verdict.CONDITIONAL if failed:
            return f"the verdict is conditional, and {', '.join(failed)} failed there: its condition may not be met"
        case _:
            return None


def _driver(target: Target | None, record: Evidence | None) -> str | None:
    """Return the driver that was measured, else the one that the matrix names."""
    measured = record.host.get("driver") if record and record.target else None
    return measured or (target.driver if target else None)


def _base_key(variant: Variant, platform: Platform, lock: Lock) -> str:
    locked = lock.variant(variant.id, platform)
    return locked.base if locked else ""


def _base_text(variant: Variant, base: LockedBase | None) -> str:
    """Return the base as a reader may check it: by digest where it has one, else by the hash of what was assembled."""
    if base is None:
        return str(variant.base.reference)
    if base.digest is not None:
        return str(variant.base.reference.with_digest(base.digest))
    return f"{base.reference} (assembled, sha256:{base.rootfs_sha256})" if base.rootfs_sha256 else base.reference


def _declared(variant: Variant, base: LockedBase | None, lock: Lock | None, platform: Platform) -> dict[str, JsonValue]:
    """Return what plan and lock say the image is, under the names that the probe ``declared`` reports."""
    locked = lock.variant(variant.id, platform) if lock else None
    return {
        "framework": variant.framework.name,
        "framework_version": str(variant.framework.version) if variant.framework.version else None,
        "stack": variant.stack.name,
        "stack_version": str(variant.stack.version) if variant.stack.version else None,
        "python": variant.python,
        "base": variant.base.label,
        "os": f"{base.facts.os} {base.facts.os_version}".strip() if base else None,
        "packages": len(locked.packages) if locked else None,
    }
