"""The published compatibility table, as data: what the reports are written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from builder.model.evidence import JsonValue
from builder.model.matrix import Tier
from builder.model.oci import Digest, Platform
from builder.model.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One variant on one target.

    ``target`` is ``None`` where the matrix names no target for the variant; then there is no
    verdict either. ``tier`` is ``None`` while the variant is not rendered. ``recorded`` is when
    the evidence was recorded (UTC, ISO 8601), ``None`` without evidence. ``notes`` say what a
    reader must know of the row, ``disagreement`` where verdict and evidence do not agree.
    """

    variant: str
    target: str | None
    platform: Platform
    accelerator: str | None = None
    driver: str | None = None
    verdict: Verdict | None = None
    reasons: tuple[Reason, ...] = ()
    tier: Tier | None = None
    signed: bool = False
    digest: Digest | None = None
    image_id: Digest | None = None
    base: str = ""
    recorded: str | None = None
    tags: tuple[str, ...] = ()
    declared: Mapping[str, JsonValue] = field(default_factory=dict)
    actual: Mapping[str, JsonValue] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    disagreement: str | None = None


class LeftOutKind(StrEnum):
    """Why something is not a row."""

    EXCLUDED = "excluded"
    NO_VARIANT = "no variant"
    REFUSED = "refused"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something that was asked for and is not in the table, with the reasons; ``subject`` is a cell, candidate or target."""

    kind: LeftOutKind
    subject: str
    target: str | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A whole table. ``fleet`` are the variants with ``device`` on every applicable target; ``locked`` is the lock's day."""

    name: str
    rows: tuple[TableRow, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    fleet: tuple[str, ...] = ()
    locked: str | None = None
