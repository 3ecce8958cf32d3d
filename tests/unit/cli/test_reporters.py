"""What progress looks like to people, to GitHub Actions and to programs."""

from __future__ import annotations

import json

import pytest

from builder.cli.environment import Environment
from builder.cli.reporters import (
    GithubReporter,
    JsonReporter,
    PlainReporter,
    ProgressStyle,
    QuietReporter,
    choose,
    duration,
    outcome_line,
)
from builder.model.event import LogLine, Note, Progress, Stage, StageFinished, VariantFinished
from builder.model.evidence import Outcome, Status
from builder.model.matrix import Tier

FAILED = Outcome(variant="v1", status=Status.FAILED, seconds=3.21, reason="probe matmul: 4 is not 5", exit_code=7)
PASSED = Outcome(variant="v2", status=Status.PASSED, tier=Tier.DEVICE, seconds=61.0)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (12.4, "12 s"), (60, "1 min 00 s"), (200, "3 min 20 s")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_outcome_lines_say_status_tier_time_and_reason() -> None:
    assert outcome_line(FAILED) == "failed    v1  3.2 s  probe matmul: 4 is not 5"
    assert outcome_line(PASSED) == "passed    v2  tier device  1 min 01 s"
    unchanged = Outcome(variant="v2", status=Status.PASSED, tier=Tier.DEVICE, fresh=False)
    assert outcome_line(unchanged) == "passed    v2  tier device  unchanged"


def test_plain_lines_go_to_stderr_alone(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = PlainReporter()
    reporter.report(Progress(stage=Stage.BUILD, subject="v1", text="building with podman"))
    reporter.report(LogLine(stage=Stage.BUILD, subject="v1", text="step 1"))
    reporter.report(StageFinished(stage=Stage.LOCK, seconds=2.0, text="6 variants"))
    reporter.report(Note(text="careful", warning=True))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "build   v1: building with podman",
        "lock    6 variants (2.0 s)",
        "warning careful",
    ]


def test_github_folds_the_log_and_annotates_the_failure(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = GithubReporter()
    reporter.report(LogLine(stage=Stage.BUILD, subject="v1", text="step 1"))
    reporter.report(LogLine(stage=Stage.BUILD, subject="v1", text="::stop-commands::x"))
    reporter.report(VariantFinished(outcome=FAILED))
    assert capsys.readouterr().err.splitlines() == [
        "::group::v1: log",
        "step 1",
        ": :stop-commands: :x",
        "::endgroup::",
        "failed    v1  3.2 s  probe matmul: 4 is not 5",
        "::error title=v1 failed::probe matmul: 4 is not 5",
    ]


def test_json_progress_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    JsonReporter().report(Progress(stage=Stage.TEST, subject="v1", text="probe\nimport"))
    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"event": "Progress", "stage": "test", "subject": "v1", "text": "probe\nimport"}
    ]


def test_quiet_shows_warnings_and_failures(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = QuietReporter()
    reporter.report(VariantFinished(outcome=PASSED))
    reporter.report(Note(text="by the way"))
    reporter.report(VariantFinished(outcome=FAILED))
    assert capsys.readouterr().err.splitlines() == ["failed    v1  3.2 s  probe matmul: 4 is not 5"]


def _environment(*, terminal: bool = False, **variables: str) -> Environment:
    return Environment(variables=variables, terminal=terminal, cpus=2)


def test_the_style_follows_the_surroundings() -> None:
    assert type(choose(ProgressStyle.AUTO, _environment())) is PlainReporter
    assert type(choose(ProgressStyle.AUTO, _environment(GITHUB_ACTIONS="true"))) is GithubReporter
    live = choose(ProgressStyle.AUTO, _environment(terminal=True))
    assert type(live).__name__ == "LiveReporter"
    live.close()  # type: ignore[attr-defined]  # a LiveReporter, as asserted
    assert type(choose(ProgressStyle.QUIET, _environment(terminal=True))) is QuietReporter


def test_colour_follows_its_conventions() -> None:
    assert _environment(terminal=True).colour
    assert not _environment(terminal=True, NO_COLOR="1").colour
    assert _environment(FORCE_COLOR="1").colour
    assert not _environment(FORCE_COLOR="1", NO_COLOR="1").colour
