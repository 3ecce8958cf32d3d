"""The one thing a plan learns from its lock: the date in its tags."""

from __future__ import annotations

from dataclasses import replace

from builder.model.lock import Lock
from builder.model.plan import Plan

_DATE = "{date}"


def dated(plan: Plan, lock: Lock) -> Plan:
    """Return the plan with ``{date}`` in its tags filled in: the lock's day as ``YYYYMMDD``."""
    day = lock.date.replace("-", "")
    cells = tuple(
        replace(planned, variant=replace(planned.variant, tags=tuple(tag.replace(_DATE, day) for tag in planned.variant.tags)))
        if planned.variant is not None
        else planned
        for planned in plan.cells
    )
    return replace(plan, cells=cells)
