"""Running programs: each child leads a process group of its own and is ended as one."""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import selectors
import signal
import subprocess  # noqa: TID251 - this is the one file that the ban points to
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from builder.errors import HostBlockedError, ImgbuildError, InterruptedRunError, ProgramError
from builder.model.build import Completed

GRACE_SECONDS = 5.0
"""How long a group may tidy up after SIGTERM before SIGKILL."""
LINGER_SECONDS = 1.0
"""How long streams that something else still holds are read after the child itself ended."""
STDOUT_BYTES = 64 * 1024 * 1024
STDERR_BYTES = 4 * 1024 * 1024
LONGEST_LINE = 16 * 1024
_STUCK_SECONDS = 10.0
_CHUNK = 64 * 1024
_END = re.compile(r"\r\n|\n|\r")

PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "buildah": "apt-get install buildah",
        "docker": "apt-get install docker.io docker-cli docker-buildx, or see https://docs.docker.com/engine/install",
        "dpkg-deb": "apt-get install dpkg",
        "git": "apt-get install git",
        "podman": "apt-get install podman",
        "skopeo": "apt-get install skopeo",
        "ssh": "apt-get install openssh-client",
        "uv": "pip install uv",
    }
)
"""How to get a program, for the hint when it is missing."""


class _Tail:
    """The last ``limit`` bytes of a stream, or a little more."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        while self._size - len(self._chunks[0]) >= self._limit:
            gone = len(self._chunks.popleft())
            self._size -= gone
            self._dropped += gone

    def text(self) -> str:
        text = b"".join(self._chunks).decode(errors="replace")
        return f"[{self._dropped} bytes left out]\n{text}" if self._dropped else text


class _Lines:
    """Cuts a byte stream into lines as it comes; a carriage return ends a line too (progress bars)."""

    def __init__(self, deliver: Callable[[str], None]) -> None:
        self._deliver = deliver
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._returned: str | None = None  # the line that a carriage return ended, the very last thing seen

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(chunk, final)
        if text.startswith("\n") and self._returned is not None:
            text = text[1:]
            if not self._returned:
                self._deliver("")
        elif not text and not final:
            return
        self._returned = None
        text = self._rest + text
        begin = 0
        for end in _END.finditer(text):
            line = text[begin : end.start()]
            begin = end.end()
            if line or end[0] != "\r":
                self._deliver_bounded(line)
            self._returned = line if end[0] == "\r" and begin == len(text) else None
        self._rest = text[begin:]
        while len(self._rest) > LONGEST_LINE:
            self._deliver(self._rest[:LONGEST_LINE])
            self._rest = self._rest[LONGEST_LINE:]
        if final and self._rest:
            self._deliver(self._rest)
            self._rest = ""

    def _deliver_bounded(self, line: str) -> None:
        for start in range(0, max(len(line), 1), LONGEST_LINE):
            self._deliver(line[start : start + LONGEST_LINE])


class _Child:
    """One running program, watched from the thread that started it.

    Its exit is noticed without reaping it, so that its process group's number stays its own until
    ``reap``: no signal of ours can reach a stranger.
    """

    def __init__(self, process: subprocess.Popen[bytes], *, grace: float) -> None:
        self.process = process
        self.stopped = False
        self.timed_out = False
        self._grace = grace
        self._lock = threading.RLock()
        self._reaped = False
        self._exited = threading.Event()
        self._kill_at: float | None = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._selector = selectors.DefaultSelector()
        self._waiter = threading.Thread(target=self._wait, name=f"wait-{process.pid}", daemon=True)
        self._waiter.start()

    def _wait(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        self._exited.set()
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"!")

    def end(self, *, at_once: bool = False) -> None:
        """Tell the whole group to end, from any thread or a signal handler; ``watch`` sees to it that it does."""
        self.stopped = True
        self._signal(signal.SIGKILL if at_once else signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if not self._reaped:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.process.pid, number)
                self._wake()

    def watch(self, seconds: float | None, feed: bytes, takers: Sequence[Callable[[bytes], None]]) -> None:
        """Feed standard input and hand out both outputs until the program and its streams have ended."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._woken)
        streams = (self.process.stdout, self.process.stderr)
        for stream, taker in zip(streams, takers, strict=True):
            if stream is not None:
                self._read_from(stream.fileno(), taker)
        if self.process.stdin is not None:
            self._write_to(self.process.stdin.fileno(), memoryview(feed))
        drained_by: float | None = None
        while not (self._exited.is_set() and self._streams == 0):
            now = time.monotonic()
            if self._exited.is_set():
                drained_by = drained_by if drained_by is not None else now + LINGER_SECONDS
                if now >= drained_by:
                    return
            else:
                self._press(now, deadline)
            moments = [moment for moment in (drained_by or self._next(deadline),) if moment is not None]
            for key, _ in self._selector.select(max(0.0, min(moments) - now) if moments else None):
                key.data(key.fd)

    @property
    def _streams(self) -> int:
        """How many output streams are still open; the wake pipe is not one, nor is standard input."""
        return sum(key.events == selectors.EVENT_READ for key in self._selector.get_map().values()) - 1

    def _press(self, now: float, deadline: float | None) -> None:
        """End the group when its time is over, and kill it when it did not end in time."""
        if deadline is not None and now >= deadline and not self.timed_out and not self.stopped:
            self.timed_out = True
            self._signal(signal.SIGTERM)
        if (self.timed_out or self.stopped) and self._kill_at is None:
            self._kill_at = now + self._grace
        if self._kill_at is not None and now >= self._kill_at:
            self._signal(signal.SIGKILL)
            self._kill_at = now + self._grace

    def _next(self, deadline: float | None) -> float | None:
        return self._kill_at if self._kill_at is not None else deadline

    def _woken(self, descriptor: int) -> None:
        os.read(descriptor, _CHUNK)

    def _read_from(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        def read(descriptor: int) -> None:
            chunk = os.read(descriptor, _CHUNK)
            if chunk:
                take(chunk)
            else:
                self._selector.unregister(descriptor)

        self._selector.register(descriptor, selectors.EVENT_READ, read)

    def _write_to(self, descriptor: int, rest: memoryview) -> None:
        os.set_blocking(descriptor, False)

        def close() -> None:
            self._selector.unregister(descriptor)
            if self.process.stdin is not None:
                self.process.stdin.close()

        def write(descriptor: int) -> None:
            nonlocal rest
            try:
                rest = rest[os.write(descriptor, rest[:_CHUNK]) :]
            except BlockingIOError:
                return
            except BrokenPipeError:
                rest = rest[:0]
            if not rest:
                close()

        self._selector.register(descriptor, selectors.EVENT_WRITE, write)
        if not rest:
            close()

    def reap(self) -> int:
        """End what is left of the group, free everything, and return the exit status."""
        try:
            if not self._exited.is_set():
                self._signal(signal.SIGTERM)
                self._exited.wait(self._grace)
        finally:
            self._signal(signal.SIGKILL)
            self._waiter.join(_STUCK_SECONDS)
            with self._lock:
                self._reaped = True
                code = self.process.poll() if self._exited.is_set() else None
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self._selector.close()
            if not self._waiter.is_alive():
                os.close(self._wake_read)
                os.close(self._wake_write)
        return -signal.SIGKILL if code is None else code


class LocalProcesses:
    """Runs programs on this host.

    ``environ`` replaces this process's own environment as what children inherit; ``grace`` is how
    many seconds a group has between SIGTERM and SIGKILL; ``stdout_bytes`` is how much of a
    program's standard output is kept.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        grace: float = GRACE_SECONDS,
        stdout_bytes: int = STDOUT_BYTES,
    ) -> None:
        self._environ = environ
        self._grace = grace
        self._stdout_bytes = stdout_bytes
        self._lock = threading.RLock()
        self._stops = 0
        self._children: set[_Child] = set()

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: bytes | None = None,
        seconds: float | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> Completed:
        """Run a program to its end, as ``ports.ProcessRunner`` says.

        ``Completed.stdout`` is whole up to 64 MiB and the end of it beyond that, ``stderr`` up to
        4 MiB. ``on_line`` is called in the calling thread; a line longer than 16 KiB comes in
        pieces. What the program leaves in its process group is killed when it has ended.
        """
        began = time.monotonic()
        stdout, stderr = _Tail(self._stdout_bytes), _Tail(STDERR_BYTES)
        lines = [_Lines(on_line), _Lines(on_line)] if on_line is not None else []
        child = self._start(argv, env, cwd, stdin)
        if self._stops:  # a signal handler of this very thread may have run while the child started
            child.end()
        try:
            child.watch(seconds, stdin or b"", _takers((stdout, stderr), lines))
        finally:
            code = child.reap()
            with self._lock:
                self._children.discard(child)
        for each in lines:
            each.feed(b"", final=True)
        if child.stopped:
            raise _interrupted(argv[0])
        return Completed(
            argv=tuple(argv),
            code=code,
            stdout=stdout.text(),
            stderr=stderr.text(),
            seconds=time.monotonic() - began,
            timed_out=child.timed_out,
        )

    def stop(self) -> None:
        """End every child now and refuse new ones; called a second time, kill them at once.

        May be called from any thread and from a signal handler.
        """
        with self._lock:
            self._stops += 1
            for child in tuple(self._children):
                child.end(at_once=self._stops > 1)

    @property
    def stopping(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stops > 0

    def _start(self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None, stdin: bytes | None) -> _Child:
        inherited = os.environ if self._environ is None else self._environ  # noqa: TID251 - adapters may read it
        process = None
        with self._lock:
            if self._stops:
                raise _interrupted(argv[0])
            try:
                process = subprocess.Popen(
                    list(argv),
                    stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={**inherited, **(env or {})},
                    cwd=cwd,
                    bufsize=0,
                    start_new_session=True,
                )
                child = _Child(process, grace=self._grace)
            except (OSError, RuntimeError, ValueError) as error:
                if process is not None:
                    process.kill()
                raise _cannot_start(argv[0], cwd, error) from error
            self._children.add(child)
            return child


def _takers(tails: Sequence[_Tail], lines: Sequence[_Lines]) -> list[Callable[[bytes], None]]:
    """Return what takes the bytes of each stream: its tail, and its lines where somebody listens."""
    if not lines:
        return [tail.add for tail in tails]

    def both(tail: _Tail, cutter: _Lines) -> Callable[[bytes], None]:
        def take(chunk: bytes) -> None:
            tail.add(chunk)
            cutter.feed(chunk)

        return take

    return [both(tail, cutter) for tail, cutter in zip(tails, lines, strict=True)]


def _interrupted(program: str) -> InterruptedRunError:
    return InterruptedRunError(f"interrupted while running {program!r}", hint="run the same command again to go on")


def _cannot_start(program: str, cwd: Path | None, error: OSError | RuntimeError | ValueError) -> ImgbuildError:
    """Return the error that says why a program did not start."""
    name = Path(program).name
    get = PACKAGES.get(name, f"install {name!r}, or add its folder to PATH")
    number = error.errno if isinstance(error, OSError) else None
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if isinstance(error, ValueError):
        found = ProgramError(f"{program!r} cannot be started: {why}", hint="remove the null character from its arguments")
    elif cwd is not None and not cwd.is_dir():
        found = ProgramError(f"{program!r} cannot be started in {str(cwd)!r}: no such folder", hint="make the folder first")
    elif number == errno.ENOENT and "/" in program and Path(program).exists():
        found = ProgramError(f"the interpreter that {program!r} names is missing", hint=f"look at its first line; or {get}")
    elif number == errno.ENOENT:
        found = ProgramError(f"the program {program!r} was not found", hint=get)
    elif number in {errno.EACCES, errno.ENOEXEC, errno.ENOTDIR}:
        found = ProgramError(f"the program {program!r} cannot be run here: {why}", hint=get)
    elif number == errno.E2BIG:
        found = ProgramError(f"the arguments for {program!r} are too long", hint="shorten the values given to it")
    else:
        return HostBlockedError(
            f"this host could not start {program!r}: {why}", hint="free memory, disk or processes, and run it again"
        )
    return found
