"""LocalProcesses against real small children."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters import process as module
from builder.adapters.process import LocalProcesses, _Lines, _Tail
from builder.errors import HostBlockedError, InterruptedRunError, ProgramError

pytestmark = pytest.mark.process
PYTHON = sys.executable


@pytest.fixture
def processes() -> LocalProcesses:
    return LocalProcesses(grace=0.5)


def alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within some seconds."""
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        threading.Event().wait(0.01)
    return not alive(pid)


def test_code_and_both_streams_come_back_whole(processes: LocalProcesses) -> None:
    done = processes.run(["sh", "-c", "printf out; printf err >&2; exit 3"])
    assert (done.code, done.stdout, done.stderr, done.timed_out) == (3, "out", "err", False)
    assert done.argv == ("sh", "-c", "printf out; printf err >&2; exit 3")
    assert done.seconds > 0


def test_a_signal_is_a_negative_code(processes: LocalProcesses) -> None:
    assert processes.run(["sh", "-c", "kill -9 $$"]).code == -signal.SIGKILL


def test_two_full_pipes_and_a_large_stdin_do_not_deadlock(processes: LocalProcesses) -> None:
    size = 3_000_000
    script = f"import sys; sys.stderr.write('e' * {size}); sys.stdout.write('o' * {size}); print(len(sys.stdin.read()))"
    done = processes.run([PYTHON, "-c", script], stdin=b"i" * size, seconds=60)
    assert done.code == 0
    assert done.stdout == "o" * size + f"{size}\n"
    assert done.stderr == "e" * size


def test_echoing_a_large_stdin_does_not_deadlock(processes: LocalProcesses) -> None:
    data = bytes(range(65, 91)) * 200_000
    done = processes.run(["cat"], stdin=data, seconds=60)
    assert done.stdout.encode() == data


def test_a_child_that_never_reads_its_stdin_ends_normally(processes: LocalProcesses) -> None:
    assert processes.run(["true"], stdin=b"x" * 10_000_000, seconds=60).code == 0


def test_empty_stdin_is_the_end_of_input(processes: LocalProcesses) -> None:
    assert processes.run(["cat"], stdin=b"", seconds=20).stdout == ""
    assert processes.run(["cat"], seconds=20).stdout == ""


def test_lines_come_while_the_child_still_runs(processes: LocalProcesses) -> None:
    seen: list[str] = []

    def answer(line: str) -> None:
        seen.append(line)
        if line.startswith("pid "):
            os.kill(int(line.split()[1]), signal.SIGUSR1)

    script = (
        "import os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1});"
        "print('pid', os.getpid(), flush=True); signal.sigwait({signal.SIGUSR1}); print('heard')"
    )
    done = processes.run([PYTHON, "-c", script], on_line=answer, seconds=30)
    assert done.code == 0
    assert seen[-1] == "heard"


def test_progress_and_broken_bytes_become_lines(processes: LocalProcesses) -> None:
    seen: list[str] = []
    processes.run(["printf", r"\r10%%\r20%%\r\nend \377\n\nlast"], on_line=seen.append)
    assert seen == ["10%", "20%", "end \N{REPLACEMENT CHARACTER}", "", "last"]


def test_the_child_sees_the_added_environment_and_folder(processes: LocalProcesses, tmp_path: Path) -> None:
    script = "import os; print(os.environ['GIVEN'], 'PATH' in os.environ, os.getcwd())"
    done = processes.run([PYTHON, "-c", script], env={"GIVEN": "a\nb"}, cwd=tmp_path)
    assert done.stdout == f"a\nb True {tmp_path}\n"


def test_a_given_environment_replaces_our_own() -> None:
    done = LocalProcesses(environ={"ONLY": "this"}).run([PYTHON, "-c", "import os; print(sorted(os.environ))"])
    assert "'ONLY'" in done.stdout
    assert "'PATH'" not in done.stdout


def test_the_time_limit_ends_the_whole_group(processes: LocalProcesses) -> None:
    pids: list[int] = []
    done = processes.run(
        ["sh", "-c", "sleep 100 & echo $!; echo $$; wait"], seconds=1.5, on_line=lambda line: pids.append(int(line))
    )
    assert done.timed_out
    assert done.code == -signal.SIGTERM
    assert done.seconds < 10
    assert [gone(pid) for pid in pids] == [True, True]


def test_a_child_that_ignores_sigterm_is_killed_after_the_grace(processes: LocalProcesses) -> None:
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(100)"
    done = processes.run([PYTHON, "-c", script], seconds=2.0)
    assert done.timed_out
    assert done.code == -signal.SIGKILL
    assert done.stdout == "deaf\n"
    assert done.seconds < 10


def test_a_child_may_tidy_up_and_choose_its_code_after_the_time_limit(processes: LocalProcesses) -> None:
    done = processes.run(["sh", "-c", "trap 'echo tidied; exit 7' TERM; sleep 100 & wait"], seconds=1.5)
    assert (done.timed_out, done.code, done.stdout) == (True, 7, "tidied\n")


def test_a_grandchild_that_holds_the_pipe_does_not_hang_the_run(processes: LocalProcesses) -> None:
    done = processes.run(["sh", "-c", "sleep 100 & echo $!"], seconds=60)
    assert (done.code, done.timed_out) == (0, False)
    assert done.seconds < 10
    assert gone(int(done.stdout))


def test_a_grandchild_in_a_session_of_its_own_does_not_hang_the_run(processes: LocalProcesses) -> None:
    done = processes.run(["setsid", "--fork", "sh", "-c", "echo $$; exec sleep 100"], seconds=60)
    assert done.code == 0
    assert done.seconds < 10
    os.kill(int(done.stdout), signal.SIGKILL)


def test_what_is_left_of_the_group_is_killed(processes: LocalProcesses) -> None:
    done = processes.run(["sh", "-c", "sleep 100 >/dev/null 2>&1 </dev/null & echo $!"], seconds=60)
    assert done.seconds < 5
    assert gone(int(done.stdout))


@pytest.mark.parametrize("script", ["echo $$; exec sleep 100", "trap '' TERM; echo $$; while :; do sleep 1; done"])
def test_stop_from_another_thread_ends_every_child_and_refuses_new_ones(processes: LocalProcesses, script: str) -> None:
    both_run = threading.Barrier(3)
    pids: list[int] = []
    ended: list[BaseException] = []

    def started(line: str) -> None:
        pids.append(int(line))
        both_run.wait(20)

    def run() -> None:
        try:
            processes.run(["sh", "-c", script], on_line=started, seconds=60)
        except InterruptedRunError as error:
            ended.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    both_run.wait(20)
    processes.stop()
    for thread in threads:
        thread.join(20)
    assert [type(error) for error in ended] == [InterruptedRunError, InterruptedRunError]
    assert [gone(pid) for pid in pids] == [True, True]
    with pytest.raises(InterruptedRunError, match="interrupted while running 'true'"):
        processes.run(["true"])


def test_a_second_stop_kills_without_waiting() -> None:
    processes = LocalProcesses(grace=60)
    began = time.monotonic()

    def stop_twice(line: str) -> None:
        assert line == "deaf"
        processes.stop()
        processes.stop()

    with pytest.raises(InterruptedRunError):
        processes.run(["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"], on_line=stop_twice)
    assert time.monotonic() - began < 20


def test_stop_works_from_a_signal_handler_of_the_running_thread(processes: LocalProcesses) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: processes.stop())
    try:
        with pytest.raises(InterruptedRunError):
            processes.run(["sh", "-c", f"kill -USR1 {os.getpid()}; exec sleep 100"], seconds=60)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_exception_in_the_listener_ends_the_child_and_comes_through(processes: LocalProcesses) -> None:
    pids: list[int] = []

    def fail(line: str) -> None:
        pids.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        processes.run(["sh", "-c", "echo $$; exec sleep 100"], on_line=fail, seconds=60)
    assert gone(pids[0])


def test_many_runs_at_once_leave_no_descriptor_and_no_thread(processes: LocalProcesses) -> None:
    processes.run(["true"])
    descriptors, threads = open_descriptors(), threading.active_count()
    codes: list[int] = []
    workers = [
        threading.Thread(target=lambda n=n: codes.append(processes.run(["sh", "-c", f"exit {n}"]).code)) for n in range(20)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert sorted(codes) == list(range(20))
    assert (open_descriptors(), threading.active_count()) == (descriptors, threads)


def test_a_missing_program_is_named_with_the_way_to_get_it(processes: LocalProcesses) -> None:
    with pytest.raises(ProgramError) as caught:
        LocalProcesses(environ={"PATH": "/nowhere"}).run(["podman", "version"])
    assert caught.value.message == "the program 'podman' was not found"
    assert caught.value.hint == "apt-get install podman"
    with pytest.raises(ProgramError, match="the program 'no-such-program' was not found") as caught:
        processes.run(["no-such-program"])
    assert caught.value.hint == "install 'no-such-program', or add its folder to PATH"


def test_programs_that_cannot_be_started_say_why(processes: LocalProcesses, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("data")
    with pytest.raises(ProgramError, match="cannot be run here: Permission denied"):
        processes.run([str(plain)])
    plain.chmod(0o755)
    with pytest.raises(ProgramError, match="cannot be run here: Exec format error"):
        processes.run([str(plain)])
    plain.write_text("#!/no/such/interpreter\n")
    with pytest.raises(ProgramError, match=r"the interpreter that .* names is missing"):
        processes.run([str(plain)])
    with pytest.raises(ProgramError, match="no such folder"):
        processes.run(["true"], cwd=tmp_path / "absent")
    with pytest.raises(ProgramError, match="null"):
        processes.run(["echo", "a\0b"])
    with pytest.raises(ProgramError, match="too long"):
        processes.run(["echo", "x" * 10_000_000])


def test_a_host_without_room_for_a_process_is_blocked() -> None:
    error = module._cannot_start("true", None, OSError(12, "Cannot allocate memory"))
    assert isinstance(error, HostBlockedError)
    assert error.message == "this host could not start 'true': Cannot allocate memory"


def test_output_beyond_the_limit_keeps_the_end_and_says_so() -> None:
    processes = LocalProcesses(stdout_bytes=100_000)
    script = "import sys; sys.stdout.write('x' * 1_000_000 + 'last line')"
    done = processes.run([PYTHON, "-c", script])
    assert done.stdout.endswith("x" * 90_000 + "last line")
    assert len(done.stdout) < 200_000
    note = done.stdout.split("\n")[0]
    left = len(done.stdout) - len(note) - 1
    assert note == f"[{1_000_009 - left} bytes left out]"


def test_a_very_long_line_comes_in_pieces(processes: LocalProcesses) -> None:
    seen: list[str] = []
    processes.run([PYTHON, "-c", "print('y' * 100_000); print('short')"], on_line=seen.append)
    assert max(map(len, seen)) == module.LONGEST_LINE
    assert "".join(seen) == "y" * 100_000 + "short"
    assert seen[-1] == "short"


@given(st.text(alphabet="ab\r\n\N{SNOWMAN}"), st.integers(1, 7))
def test_cutting_does_not_depend_on_how_the_bytes_arrive(text: str, size: int) -> None:
    def cut(pieces: list[bytes]) -> list[str]:
        seen: list[str] = []
        lines = _Lines(seen.append)
        for piece in pieces:
            lines.feed(piece)
        lines.feed(b"", final=True)
        return seen

    data = text.encode()
    at_once = cut([data])
    assert cut([data[i : i + size] for i in range(0, len(data), size)]) == at_once
    assert "".join(at_once) == text.replace("\r", "").replace("\n", "")


@given(st.lists(st.binary(min_size=1, max_size=9)), st.integers(1, 30))
def test_a_tail_keeps_at_least_its_limit(chunks: list[bytes], limit: int) -> None:
    tail = _Tail(limit)
    for chunk in chunks:
        tail.add(chunk)
    data = b"".join(chunks)
    kept = b"".join(tail._chunks)
    assert data.endswith(kept)
    assert min(len(data), limit) <= len(kept) < limit + 9


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Fail a test that leaves a child of ours behind."""
    yield
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert children == []
