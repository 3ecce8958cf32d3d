from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.model.evidence import Outcome, Status
from builder.model.matrix import Tier
from builder.report import build_json, reason_json, table_json
from tests.unit.probe.samples import DIGEST, IMAGE_ID
from tests.unit.report.sample import CONDITION, HOSTILE, full_table, hostile_table

TEXT, MAYBE = {"type": "string"}, {"type": ["string", "null"]}
DIGEST_OR_NULL = {"type": ["string", "null"], "pattern": "^sha256:[0-9a-f]{64}$"}
TIER = {"enum": ["rendered", "built", "imported", "host-cpu", "device", "fleet", None]}
REASON = {
    "type": "object",
    "required": ["rule", "effect", "text", "source"],
    "properties": {
        "effect": {"enum": ["supports", "conditions", "refuses", "unknown"]},
        "source": {"type": ["object", "null"], "required": ["title", "url", "checked"]},
    },
}
ROW = {
    "type": "object",
    "required": ["variant", "target", "verdict", "tier", "signed", "digest", "tags", "declared", "actual", "image_id", "base"],
    "properties": {
        "variant": TEXT,
        "target": MAYBE,
        "verdict": {"enum": ["supported", "conditional", "unsupported", "unknown", None]},
        "tier": TIER,
        "signed": {"type": "boolean"},
        "digest": DIGEST_OR_NULL,
        "image_id": DIGEST_OR_NULL,
        "tags": {"type": "array", "items": TEXT},
        "declared": {"type": "object"},
        "actual": {"type": "object"},
        "reasons": {"type": "array", "items": REASON},
        "notes": {"type": "array", "items": TEXT},
        "disagreement": MAYBE,
        "recorded": MAYBE,
    },
}
TABLE = {
    "type": "object",
    "required": ["schema", "name", "rows", "left_out"],
    "properties": {
        "schema": {"const": "imgbuild/table/1"},
        "rows": {"type": "array", "items": ROW},
        "left_out": {"type": "array", "items": {"type": "object", "required": ["kind", "subject", "reasons"]}},
    },
}
OUTCOME = {
    "type": "object",
    "required": ["variant", "status", "tier", "digest", "digests", "seconds", "reason"],
    "properties": {
        "status": {"enum": ["passed", "failed", "skipped", "aborted"]},
        "tier": TIER,
        "digest": DIGEST_OR_NULL,
        "digests": {"type": "object", "additionalProperties": TEXT},
        "seconds": {"type": "number"},
        "reason": MAYBE,
    },
}


def read(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """What a reader gets: written strictly, read again, and held against the shape."""
    again = json.loads(json.dumps(document, allow_nan=False))
    jsonschema.validate(again, schema)
    assert again == document
    return dict(again)


def test_a_table_keeps_its_shape_and_its_order() -> None:
    document = read(table_json(full_table()), TABLE)
    first = document["rows"][0]
    assert [row["target"] for row in document["rows"]] == ["h100", "a100", None]
    assert (first["verdict"], first["tier"], first["digest"], first["image_id"]) == (
        "conditional",
        "device",
        str(DIGEST),
        str(IMAGE_ID),
    )
    assert first["actual"] == {"arch_list": ["sm_90"], "framework_version": "2.9.1+cu128", "python": "3.12.3"}
    assert document["left_out"][1] == {
        "kind": "refused",
        "subject": "pytorch2.9.0-gaudi1.23",
        "target": "gaudi3",
        "reasons": ["driver 1.24", "old"],
    }
    assert (document["locked"], document["fleet"]) == ("2026-11-30", ["pytorch2.9.1-cuda12.8-py3.12"])


@given(st.sampled_from(HOSTILE))
def test_json_keeps_every_text_as_it_is(text: str) -> None:
    row = read(table_json(hostile_table(text)), TABLE)["rows"][0]
    assert row["variant"] == row["target"] == row["disagreement"] == row["reasons"][0]["text"] == text


def test_a_reason_carries_its_source() -> None:
    assert reason_json(CONDITION) == {
        "rule": "DRV2",
        "effect": "conditions",
        "text": "driver 580.65.06 or newer",
        "source": {"title": "Release notes", "url": "https://example.org/notes", "checked": "2026-11-01"},
    }


@pytest.mark.parametrize("status", list(Status))
def test_outcomes_keep_their_shape(status: Status) -> None:
    outcome = Outcome(
        variant="one",
        status=status,
        tier=Tier.DEVICE,
        digests={"linux/arm64": IMAGE_ID, "linux/amd64": DIGEST},
        seconds=1.23456,
        reason="why",
    )
    document = read(build_json("things", [outcome]), {"required": ["schema", "outcomes"]})
    assert document["schema"] == "imgbuild/build/1"
    (only,) = document["outcomes"]
    jsonschema.validate(only, OUTCOME)
    assert (only["status"], only["tier"], only["digest"], only["seconds"]) == (status.value, "device", None, 1.235)
    assert list(only["digests"]) == ["linux/amd64", "linux/arm64"]
