from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.documents.evidence import evidence_text, read_evidence
from builder.errors import DocumentError
from builder.model.evidence import Evidence, ProbeStatus
from builder.model.matrix import Tier
from builder.model.tier import record_tier
from tests.unit.probe.samples import cpu_results, evidence, result


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "record.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(evidence_text(evidence())), **fields}, indent=2)


def complaints(path: Path) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_evidence(path)
    assert caught.value.hint == "delete the file and test the variant again: imgbuild matrix test FILE"
    return [f"{one.where.line} {one.where.field}: {one.message}" for one in caught.value.complaints]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = evidence()
    assert read_evidence(written(tmp_path, evidence_text(record))) == record
    bare = replace(record, digest=None, target="", accelerator="", tier=Tier.HOST_CPU)
    assert read_evidence(written(tmp_path, evidence_text(bare))) == bare


def test_the_text_is_stable_and_versioned() -> None:
    text = evidence_text(evidence())
    document = json.loads(text)
    assert text.endswith("}\n")
    assert list(document)[:4] == ["schema", "variant", "stack", "target"]
    assert document["schema"] == "imgbuild/evidence/1"
    assert "signed" not in document
    host = {"b": "1", "a": "2"}
    assert evidence_text(replace(evidence(), host=host)) == evidence_text(replace(evidence(), host=dict(sorted(host.items()))))


def test_a_file_never_counts_as_signed(tmp_path: Path) -> None:
    assert read_evidence(written(tmp_path, evidence_text(replace(evidence(), signed=True)))).signed is False
    (found,) = complaints(written(tmp_path, changed(signed=True)))
    assert found.endswith(" signed: extra inputs are not permitted")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "1 : it is not JSON: expecting value"),
        (b"\x7fELF\xff\xfe", "1 : it is not UTF-8: byte 4 is 0xff"),
        (b'{"schema": "imgbuild/evidence/1",\n "variant" 3}', "2 : it is not JSON: expecting ':' delimiter"),
        (b"[1, 2]", "1 : it is not a record: expected a JSON object"),
        (b'{"schema": 1, "schema": 2}', "1 : it is not a record: the key 'schema' appears twice"),
        (b"{}", "1 : its schema is None, expected 'imgbuild/evidence/1'"),
        (b'{"schema": "imgbuild/evidence/2"}', "1 : its schema is 'imgbuild/evidence/2', expected 'imgbuild/evidence/1'"),
        (b"[" * 100_000, "1 : it is not a record: maximum recursion depth exceeded"),
    ],
)
def test_garbage_is_refused_with_the_file_and_the_place(tmp_path: Path, text: bytes, complaint: str) -> None:
    (found,) = complaints(written(tmp_path, text))
    assert found.startswith(complaint)


def test_a_file_that_is_not_there_is_a_complaint(tmp_path: Path) -> None:
    assert complaints(tmp_path / "none.json") == ["1 : it cannot be read: No such file or directory"]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"tier": "fleet"}, "the record says tier 'fleet', and its results show 'device'"),
        ({"tier": "gold"}, "tier: input should be 'rendered'"),
        ({"image_id": "sha256:12"}, "image_id: 'sha256:12' is not a content digest"),
        ({"platform": "windows"}, "platform: 'windows' is not a platform"),
        ({"content": "c-1"}, "content: string should match pattern"),
        ({"recorded": "yesterday"}, "recorded: string should match pattern"),
        ({"simulated": "no"}, "simulated: input should be a valid boolean"),
        ({"host": {"kernel": 6}}, "host.kernel: input should be a valid string"),
        ({"accelerator": None}, "a record has both a target and its accelerator, or neither"),
        ({"surprise": 1}, "surprise: extra inputs are not permitted"),
        ({"simulated": True}, "the record says tier 'device', and its results show 'host-cpu'"),
        ({"results": []}, "the record says tier 'device', and its results show 'built'"),
        ({"target": None, "accelerator": None}, "the record says tier 'device', and its results show 'host-cpu'"),
    ],
)
def test_a_field_that_is_not_as_written_is_refused(tmp_path: Path, fields: dict[str, Any], complaint: str) -> None:
    assert any(complaint in found for found in complaints(written(tmp_path, changed(**fields))))


def test_a_result_that_was_mended_by_hand_is_refused(tmp_path: Path) -> None:
    results = (*cpu_results()[:3], result("matmul", Tier.DEVICE, ProbeStatus.FAILED, device="cpu", checked=0))
    honest = replace(evidence(results=results), tier=Tier.IMPORTED)
    text = evidence_text(honest)
    assert read_evidence(written(tmp_path, text)) == honest
    assert complaints(written(tmp_path, text.replace('"tier": "imported",\n  "simulated"', '"tier": "device",\n  "simulated"')))


def test_a_complaint_names_the_line_of_the_field(tmp_path: Path) -> None:
    text = changed().replace('"status": "passed"', '"status": "fine"', 1)
    line = next(number for number, one in enumerate(text.splitlines(), 1) if '"fine"' in one)
    (found,) = complaints(written(tmp_path, text))
    assert found.startswith(f"{line} results.0.status: input should be 'passed'")


def test_a_probe_twice_is_refused(tmp_path: Path) -> None:
    twice = evidence(results=(*cpu_results(), cpu_results()[0]))
    assert complaints(written(tmp_path, evidence_text(twice))) == ["1 : the probe 'import' is there twice"]


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    assert "a record has at most 4194304" in complaints(written(tmp_path, b" " * 4_194_305))[0]


words = st.text(min_size=1, max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@given(engine=words, host=st.dictionaries(words, words, max_size=3), found=st.dictionaries(words, values, max_size=3))
def test_any_record_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, engine: str, host: dict[str, str], found: dict[str, Any]
) -> None:
    extra = result("model", Tier.DEVICE, ProbeStatus.SKIPPED, **{f"x{name}": value for name, value in found.items()})
    record: Evidence = replace(evidence(results=(*cpu_results(), extra)), engine=engine, host=host, actual=found)
    record = replace(record, tier=record_tier(record))
    path = written(tmp_path_factory.getbasetemp(), evidence_text(record))
    assert read_evidence(path) == record
