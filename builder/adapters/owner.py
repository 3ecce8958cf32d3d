"""Names that say which process of ours made a container, so that what a killed run left can be found."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"imgbuild-(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]+)-(?P<start>[0-9]+)-[0-9]+")
_COUNTER = itertools.count(1)
PREFIX = "imgbuild-"
_ORPHAN_SECONDS = 3.0


def new_name() -> str:
    """Return a name no other container or build has: host, process, its start time, and a number."""
    return f"{PREFIX}{_host()}-{os.getpid()}-{_started(os.getpid())}-{next(_COUNTER)}"


def left_behind(name: str) -> bool:
    """Return whether a process of this host, which is gone by now, gave this name."""
    match = _NAME.fullmatch(name)
    return match is not None and match["host"] == _host() and _started(int(match["pid"])) != int(match["start"])


def end_orphans(program: str) -> None:
    """End the builds and runs of an engine's program that killed processes of ours left running."""
    found = [pid for pid, argv in _command_lines() if _is_orphan(program, argv)]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        until = time.monotonic() + _ORPHAN_SECONDS
        while (found := [pid for pid in found if _started(pid)]) and time.monotonic() < until:
            time.sleep(0.05)


def _is_orphan(program: str, argv: list[str]) -> bool:
    if len(argv) < 2 or Path(argv[0]).name != program or argv[1] not in {"build", "buildx", "run"}:  # noqa: PLR2004 - a program and its verb
        return False
    return any(left_behind(match[0]) for word in argv for match in _NAME.finditer(word))


def _command_lines() -> Iterator[tuple[int, list[str]]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield int(path.parent.name), path.read_bytes().decode(errors="replace").split("\0")


def _host() -> str:
    """Return what tells hosts, and process number spaces on one host, apart."""
    parts = [socket.gethostname()]
    for read in (Path("/etc/machine-id").read_bytes, Path("/proc/self/ns/pid").readlink):
        try:
            parts.append(str(read()))
        except OSError:
            parts.append("")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _started(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 when it does not run (any more)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    return 0 if fields[0] in {"Z", "X"} else int(fields[19])
