"""What every process runner does, the fake as the real one."""

from __future__ import annotations

import threading

import pytest

from builder.errors import InterruptedRunError, ProgramError
from builder.ports import ProcessRunner


def test_streams_and_code_come_back_and_lines_are_heard(processes: ProcessRunner) -> None:
    heard: list[str] = []
    done = processes.run(["sh", "-c", "printf 'one\\ntwo\\n'; echo err >&2; exit 3"], on_line=heard.append)
    assert (done.code, done.stdout, done.stderr, done.timed_out) == (3, "one\ntwo\n", "err\n", False)
    assert sorted(heard) == ["err", "one", "two"]


def test_stdin_is_fed(processes: ProcessRunner) -> None:
    assert processes.run(["cat"], stdin=b"fed\n").stdout == "fed\n"


def test_a_missing_program_has_a_hint(processes: ProcessRunner) -> None:
    with pytest.raises(ProgramError, match="the program 'no-such-program' was not found") as caught:
        processes.run(["no-such-program"])
    assert caught.value.hint


def test_the_time_limit_ends_a_program(processes: ProcessRunner) -> None:
    done = processes.run(["sleep", "987654"], seconds=0.2)
    assert done.timed_out
    assert done.code < 0


def test_stop_ends_a_program_that_runs_and_refuses_the_next(processes: ProcessRunner) -> None:
    def stop(line: str) -> None:
        assert line == "begun"
        threading.Thread(target=processes.stop).start()

    with pytest.raises(InterruptedRunError):
        processes.run(["sh", "-c", "echo begun; exec sleep 987654"], on_line=stop)
    with pytest.raises(InterruptedRunError):
        processes.run(["cat"], stdin=b"")
