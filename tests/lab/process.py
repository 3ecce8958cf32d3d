"""Programs to their end, and services that outlive us: started with a pid file, stopped by pid."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.lab.place import LabError, Place

READY_SECONDS = 30.0
STOP_SECONDS = 20.0


def run(argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a program to its end and return its stdout; ``LabError`` with its last words when it fails."""
    whole = {**os.environ, **(env or {})}
    done = subprocess.run(list(argv), env=whole, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        words = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-8:])
        msg = f"{' '.join(argv[:6])} … ended with {done.returncode}:\n  {words}"
        raise LabError(msg)
    return done.stdout


def succeeds(argv: Sequence[str]) -> bool:
    """Tell whether a program ends with 0."""
    return subprocess.run(list(argv), stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def birth(pid: int) -> str | None:
    """Return when a process was started, in the kernel's ticks, ``None`` when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]


def pid_of(pidfile: Path) -> int | None:
    """Return the pid a file names when that very process still lives."""
    try:
        pid, started = pidfile.read_text().split()
    except (FileNotFoundError, ValueError):
        return None
    return int(pid) if birth(int(pid)) == started else None


def start(place: Place, name: str, argv: Sequence[str], *, env: Mapping[str, str], ready: Callable[[], bool]) -> None:
    """Start a service in a session of its own and wait until it answers; nothing when it runs already."""
    pidfile = place.run / f"{name}.pid"
    if pid_of(pidfile):
        return
    log = place.log / f"{name}.log"
    with log.open("ab") as out:
        child = subprocess.Popen(
            list(argv), env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd=place.state
        )
    pidfile.write_text(f"{child.pid} {birth(child.pid)}\n")
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        if child.poll() is not None or time.monotonic() > deadline:
            why = "did not answer in time" if child.poll() is None else f"ended with {child.returncode}"
            stop(place, name)
            words = "\n  ".join(log.read_text(errors="replace").splitlines()[-8:])
            msg = f"{name} {why}; the end of {log}:\n  {words}"
            raise LabError(msg)
        time.sleep(0.05)


def stop(place: Place, name: str) -> bool:
    """End a service and wait until it is gone; tell whether it was running."""
    pidfile = place.run / f"{name}.pid"
    pid = pid_of(pidfile)
    if pid:
        end(pid)
    pidfile.unlink(missing_ok=True)
    return pid is not None


def end(pid: int) -> None:
    """Ask a process to end, insist after a while, and return when it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        watch = select.poll()
        watch.register(handle, select.POLLIN)
        for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5.0)):
            signal.pidfd_send_signal(handle, number)
            if watch.poll(seconds * 1000):
                return
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def listens(port: int) -> Callable[[], bool]:
    """Return a question: does anybody accept connections on this port of 127.0.0.1."""

    def ask() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return ask
