from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.model.evidence import Outcome, Status
from builder.model.matrix import Tier
from builder.model.table import Table
from builder.report import outcomes_text, text
from builder.report.terminal import columns_of, wrapped
from tests.unit.report.sample import HOSTILE, full_table, hostile_table, row

texts = st.one_of(st.sampled_from(HOSTILE), st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))


def test_a_wide_terminal_shows_one_line_a_row_and_its_notes_below() -> None:
    table = Table(name="cpu", rows=(row(target="cpu", accelerator=None, driver=None, notes=()),))
    assert text(table, 110) == (
        "VARIANT                       TARGET  VERDICT      TIER    DIGEST        TESTED\n"
        "pytorch2.9.1-cuda12.8-py3.12  cpu     conditional  device  1f1f1f1f1f1f  2026-12-01\n"
        "    driver 580.65.06 or newer\n"
    )


def test_what_is_left_out_comes_last_by_kind() -> None:
    lines = text(full_table(), 140).splitlines()
    assert lines[-9:] == [
        "",
        "excluded:",
        "    stack=cuda, python=3.10: we are on 3.12",
        "",
        "refused:",
        "    pytorch2.9.0-gaudi1.23 on gaudi3: driver 1.24; old",
        "",
        "on the device of every target:",
        "    pytorch2.9.1-cuda12.8-py3.12",
    ]


def test_when_every_variant_works_everywhere_one_line_says_so() -> None:
    rows = tuple(row(variant=name, target="cpu", notes=(), reasons=()) for name in ("a", "b"))
    assert text(Table(name="t", rows=rows, fleet=("a", "b")), 110).endswith("\n\non the device of every target: all 2 variants\n")
    assert text(Table(name="t", rows=rows, fleet=("b",)), 110).endswith("\n\non the device of every target:\n    b\n")


def test_without_targets_there_are_no_columns_for_them() -> None:
    table = Table(name="t", rows=(row(target=None, verdict=None, notes=(), reasons=()),))
    assert text(table).splitlines()[0].split() == ["VARIANT", "TIER", "DIGEST", "TESTED"]


def test_a_narrow_terminal_loses_the_day_and_the_digest_and_then_the_line() -> None:
    table = Table(name="t", rows=(row(target="cpu", accelerator=None, driver=None, notes=(), reasons=()),))
    assert text(table, 70).splitlines()[0].split() == ["VARIANT", "TARGET", "VERDICT", "TIER"]
    assert text(table, 45) == "pytorch2.9.1-cuda12.8-py3.12\n    cpu · conditional · device\n"


def test_a_target_is_named_alone_before_anything_is_left_out() -> None:
    table = Table(name="t", rows=(row(notes=(), reasons=()),))
    assert "h100 (nvidia/h100, driver 580.95.05)" in text(table, 130)
    assert text(table, 100).splitlines()[1].split() == [
        "pytorch2.9.1-cuda12.8-py3.12",
        "h100",
        "conditional",
        "device",
        "1f1f1f1f1f1f",
        "2026-12-01",
    ]


def test_an_image_without_a_manifest_is_named_by_its_id_and_as_such() -> None:
    table = Table(name="t", rows=(row(digest=None),))
    assert "image 2e2e2e2e2e2e" in text(table, 140)


@given(texts, st.integers(40, 160))
def test_no_line_is_wider_than_the_terminal_or_holds_a_control_character(said: str, width: int) -> None:
    for line in text(hostile_table(said), width).split("\n"):
        assert columns_of(line) <= width
        assert all(character.isprintable() for character in line)


@given(texts, st.integers(5, 80))
def test_wrapping_loses_nothing(said: str, width: int) -> None:
    lines = wrapped(said, width)
    assert "".join("".join(lines).split()) == "".join(said.split())
    assert all(columns_of(line) <= width for line in lines)


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert columns_of("漢字") == 4
    assert columns_of("e\u0301") == 1


OUTCOMES = (
    Outcome(variant="one", status=Status.PASSED, tier=Tier.DEVICE, seconds=61.2),
    Outcome(variant="two", status=Status.PASSED, tier=Tier.DEVICE, fresh=False),
    Outcome(
        variant="three\x1b[0m",
        status=Status.FAILED,
        tier=Tier.BUILT,
        seconds=3.0,
        reason="import: no module\nnamed jax",
        hint="read the log",
        exit_code=7,
        log=".imgbuild/logs/three.log",
    ),
    Outcome(variant="four", status=Status.SKIPPED, reason="built, but no probe was run", log="kept.log"),
)


def test_outcomes_say_how_each_ended_and_the_count_comes_last() -> None:
    assert outcomes_text(OUTCOMES) == (
        "STATUS   VARIANT    TIER    TIME\n"
        "passed   one        device  1 min 01 s\n"
        "passed   two        device  unchanged\n"
        "failed   three [0m  built   3 s\n"
        "    import: no module named jax\n"
        "    hint: read the log\n"
        "    log: .imgbuild/logs/three.log\n"
        "skipped  four       -       0 s\n"
        "    built, but no probe was run\n"
        "2 passed, 1 failed, 1 skipped\n"
    )


def test_no_outcome_is_said() -> None:
    assert outcomes_text(()) == "nothing to do\n"


@pytest.mark.parametrize("width", [1, 40, 80])
def test_outcomes_fit_every_width(width: int) -> None:
    assert all(columns_of(line) <= max(width, 40) for line in outcomes_text(OUTCOMES, width).splitlines())
