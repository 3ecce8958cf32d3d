"""From errors to outcomes, and from outcomes to one exit code."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from builder.errors import BuildFailedError, HostBlockedError
from builder.model.evidence import Outcome, Status
from builder.pipeline.endings import exit_code, outcome_of, told


def _outcome(code: int) -> Outcome:
    return Outcome(variant=f"v{code}", status=Status.FAILED if code else Status.PASSED, exit_code=code)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ((), 0),
        ((0, 0), 0),
        ((6, 7, 0), 6),
        ((7, 6), 6),
        ((4, 11), 11),
        ((11, 7), 7),
        ((6, 5, 3, 10, 9, 8), 8),
        ((8, 1), 1),
        ((1, 143), 143),
        ((143, 130), 130),
        ((10, 3), 10),
        ((3, 5), 3),
    ],
)
def test_the_exit_code_is_the_first_that_occurred_in_the_documented_order(codes: tuple[int, ...], expected: int) -> None:
    assert exit_code(_outcome(code) for code in codes) == expected


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.EIO, errno.ENOENT])
def test_a_host_that_refuses_is_the_host_and_not_a_bug(number: int) -> None:
    error = told(OSError(number, "no", "/some/file"))
    assert isinstance(error, HostBlockedError)
    assert error.exit_code == 8
    assert "/some/file" in error.message


def test_a_missing_file_without_a_name_is_a_bug() -> None:
    assert told(OSError(errno.ENOENT, "no such file")).exit_code == 1


def test_what_we_did_not_foresee_is_a_bug_and_keeps_its_traceback() -> None:
    try:
        [].pop()
    except IndexError as error:
        ours = told(error)
    assert ours.exit_code == 1
    assert "IndexError" in ours.message
    assert any("pop from empty list" in line for line in ours.details)


def test_our_own_errors_stay_themselves() -> None:
    error = BuildFailedError("no", hint="do")
    assert told(error) is error


def test_an_outcome_keeps_reason_hint_and_code_and_puts_details_into_the_log(tmp_path: Path) -> None:
    log = tmp_path / "v.log"
    log.write_text("built so far\n")
    error = BuildFailedError("step 3 failed", hint="read the log", details=("line one", "line two"))
    outcome = outcome_of("v", Status.FAILED, error, log)
    assert (outcome.reason, outcome.hint, outcome.exit_code, outcome.log) == ("step 3 failed", "read the log", 6, str(log))
    assert log.read_text() == "built so far\nline one\nline two\nerror: step 3 failed\n"


def test_a_log_that_cannot_be_written_does_not_hide_the_failure(tmp_path: Path) -> None:
    outcome = outcome_of("v", Status.FAILED, BuildFailedError("step 3 failed"), tmp_path / "absent" / "v.log")
    assert outcome.reason == "step 3 failed"


@pytest.mark.parametrize(("codes", "expected"), [((2,), 2), ((2, 7), 7), ((2, 4), 4), ((0, 2, 0), 2), ((99, 2), 2)])
def test_a_code_outside_the_order_is_never_lost(codes: tuple[int, ...], expected: int) -> None:
    assert exit_code(_outcome(code) for code in codes) == expected


@pytest.mark.parametrize("status", [Status.FAILED, Status.ABORTED])
def test_a_variant_that_ended_badly_never_ends_in_0(status: Status) -> None:
    assert exit_code([Outcome(variant="v", status=status)]) == 1
