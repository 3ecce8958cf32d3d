"""Names that say which process of ours made a container, so that what a killed run left can be found."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import socket
from pathlib import Path

_NAME = re.compile(r"imgbuild-(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]+)-(?P<start>[0-9]+)-[0-9]+")
_COUNTER = itertools.count(1)
PREFIX = "imgbuild-"


def new_name() -> str:
    """Return a name no other container or build has: host, process, its start time, and a number."""
    return f"{PREFIX}{_host()}-{os.getpid()}-{_started(os.getpid())}-{next(_COUNTER)}"


def left_behind(name: str) -> bool:
    """Return whether a process of this host, which is gone by now, gave this name."""
    match = _NAME.fullmatch(name)
    return match is not None and match["host"] == _host() and _started(int(match["pid"])) != int(match["start"])


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
    """Return when a process started, in clock ticks since boot; 0 when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[19])
