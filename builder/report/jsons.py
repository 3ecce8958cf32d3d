"""The documents that ``--json`` prints: shapes that others build on, keys in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from builder.model.evidence import JsonValue, Outcome
from builder.model.oci import Digest
from builder.model.table import LeftOut, Table, TableRow
from builder.model.verdict import Reason

TABLE_SCHEMA = "imgbuild/table/1"
BUILD_SCHEMA = "imgbuild/build/1"


def table_json(table: Table) -> dict[str, JsonValue]:
    """Return the table as ``imgbuild/table/1``."""
    return {
        "schema": TABLE_SCHEMA,
        "name": table.name,
        "locked": table.locked,
        "rows": [_row(row) for row in table.rows],
        "left_out": [_left_out(left) for left in table.left_out],
        "fleet": list(table.fleet),
    }


def build_json(name: str, outcomes: Sequence[Outcome]) -> dict[str, JsonValue]:
    """Return the outcomes of a run over the matrix ``name`` as ``imgbuild/build/1``."""
    return {"schema": BUILD_SCHEMA, "name": name, "outcomes": [outcome_json(outcome) for outcome in outcomes]}


def outcome_json(outcome: Outcome) -> dict[str, JsonValue]:
    """Return one outcome; ``digest`` is null with several platforms, ``digests`` has one per platform."""
    return {
        "variant": outcome.variant,
        "status": outcome.status.value,
        "tier": outcome.tier.value if outcome.tier else None,
        "digest": _text(outcome.digest),
        "digests": {platform: str(digest) for platform, digest in sorted(outcome.digests.items())},
        "images": dict(sorted(outcome.images.items())),
        "seconds": round(outcome.seconds, 3),
        "reason": outcome.reason,
        "hint": outcome.hint,
        "exit_code": outcome.exit_code,
        "fresh": outcome.fresh,
        "log": outcome.log,
    }


def reason_json(reason: Reason) -> dict[str, JsonValue]:
    """Return one reason as every document writes it."""
    source = reason.source
    return {
        "rule": reason.rule,
        "effect": reason.effect.value,
        "text": reason.text,
        "source": {"title": source.title, "url": source.url, "checked": source.checked} if source else None,
    }


def _row(row: TableRow) -> dict[str, JsonValue]:
    return {
        "variant": row.variant,
        "target": row.target,
        "platform": str(row.platform),
        "accelerator": row.accelerator,
        "driver": row.driver,
        "verdict": row.verdict.value if row.verdict else None,
        "reasons": [reason_json(reason) for reason in row.reasons],
        "tier": row.tier.value if row.tier else None,
        "signed": row.signed,
        "digest": _text(row.digest),
        "image_id": _text(row.image_id),
        "base": row.base,
        "recorded": row.recorded,
        "tags": list(row.tags),
        "declared": _sorted(row.declared),
        "actual": _sorted(row.actual),
        "notes": list(row.notes),
        "disagreement": row.disagreement,
    }


def _left_out(left: LeftOut) -> dict[str, JsonValue]:
    return {"kind": left.kind.value, "subject": left.subject, "target": left.target, "reasons": list(left.reasons)}


def _sorted(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: values[name] for name in sorted(values)}


def _text(digest: Digest | None) -> str | None:
    return str(digest) if digest is not None else None
