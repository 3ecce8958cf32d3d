"""From what an engine wrote when it failed to the error a user sees."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Callable, Sequence

from builder.adapters.build_causes import Remedy, brief_step, find_cause
from builder.errors import BuildFailedError, HostBlockedError, ImgbuildError, MismatchError, UnreachableError
from builder.model.build import BuildRequest

DETAIL_LINES = 20
_KEPT_LINES = 400
_DISK_FULL = re.compile(r"no space left on device|disk quota exceeded|not enough (?:free )?disk space", re.IGNORECASE)
_ABSENT = re.compile(
    r"manifest unknown|manifest for \S+ not found|name unknown|name_unknown|does not exist|no matching manifest"
    r"|no image found in (?:manifest list|image index)|no match for platform|: not found|404 \(?not found",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"unauthorized|authentication required|denied|\b401\b|\b403 \(?forbidden|no basic auth credentials", re.IGNORECASE
)
_UNASKED = re.compile(
    r"no such host|connection refused|connection reset|i/o timeout|tls handshake|network is unreachable|no route to host"
    r"|server misbehaving|temporary failure in name resolution|too ?many ?requests|deadline exceeded|x509|certificate"
    r"|proxyconnect|unexpected http status|\b50[0234] [a-z]|gave http response|failed to do request"
    r"|pinging container registry|\bEOF\b",
    re.IGNORECASE,
)
_CANNOT_RUN = re.compile(
    r"(?:error running container: from \S+ creating container|runc create failed|crun: |netavark: |cni plugin"
    r"|failed to create endpoint)"
    r".*?(?:rlimit|cgroup|netavark|cni|iptables|bridge|newuidmap|/dev/net/tun|slirp4netns|pasta|seccomp|apparmor).*",
    re.IGNORECASE | re.DOTALL,
)


class Log:
    """Hands lines on, and keeps the last that are not blank, and the group of every line that matches ``mark``."""

    def __init__(self, on_line: Callable[[str], None] | None, mark: re.Pattern[str] | None = None) -> None:
        self._on_line = on_line
        self._mark = mark
        self.marked: list[str] = []
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.disk_full: str | None = None

    def __call__(self, line: str) -> None:
        """Take one line."""
        if line.strip():
            self.lines.append(line)
        if self.disk_full is None and _DISK_FULL.search(line):
            self.disk_full = line.strip()
        if self._mark is not None and (match := self._mark.fullmatch(line)):
            self.marked.append(match[1])
        if self._on_line is not None:
            self._on_line(line)

    @property
    def end(self) -> tuple[str, ...]:
        """The last lines."""
        return tuple(self.lines)[-DETAIL_LINES:]


def disk_full(engine: str, where: str, line: str, details: tuple[str, ...] = ()) -> HostBlockedError:
    """Return the error for a disk that filled up; ``where`` is the engine's folder, or empty."""
    place = f" ({where!r})" if where else ""
    return HostBlockedError(
        f"the disk that {engine} keeps its images on{place} is full: {line[-200:]!r}",
        hint=f"free some space, for example with '{engine} image prune', and run the same command again",
        details=details,
    )


def by_hand(argv: Sequence[str]) -> str:
    """Return the hint for a call of an engine's program that should not have failed."""
    words = itertools.takewhile(lambda word: not word.startswith("-"), argv[:3])
    return f"try {' '.join(words)!r} by hand; if it works there, run the same command again"


def is_disk_full(text: str) -> bool:
    """Return whether a message says that a disk is full."""
    return _DISK_FULL.search(text) is not None


def registry_failure(
    text: str, what: str, engine: str, details: tuple[str, ...] = (), *, default: bool = False
) -> ImgbuildError | None:
    """Return the error for an image that a registry does not have or could not be asked for, else ``None``.

    ``text`` is the engine's own message about that one image, ``what`` names the image in ours.
    ``default`` is whether a message that we do not know means that the registry could not be asked.
    """
    said = f"{engine} says {_last_part(text)!r}"
    if _ABSENT.search(text):
        return MismatchError(
            f"{what} is not in its registry: {said}",
            hint="check name, tag and digest; if the lock names it, run imgbuild matrix lock --update",
            details=details,
        )
    if _REFUSED.search(text):
        return UnreachableError(
            f"the registry does not let us read {what}: {said}",
            hint=f"check the name; if it is private, log in first with '{engine} login'",
            details=details,
        )
    if default or _UNASKED.search(text):
        return UnreachableError(
            f"the registry could not be asked for {what}: {said}",
            hint="check network, proxy and registry name, and run the same command again",
            details=details,
        )
    return None


def cannot_run(text: str, engine: str, details: tuple[str, ...]) -> HostBlockedError | None:
    """Return the error for a host on which the engine answers but cannot run containers, else ``None``."""
    match = _CANNOT_RUN.search(text)
    if match is None:
        return None
    return HostBlockedError(
        f"{engine} cannot run containers on this host: {_last_part(match[0])!r}",
        hint=f"mend what it names; '{engine} run' of any image shows the same",
        details=details,
    )


def step_failure(request: BuildRequest, step: str, ended: str, lines: Sequence[str], log: Log) -> BuildFailedError:
    """Return the error for a step that failed: its instruction, empty when not known, how it ended, and what it wrote."""
    cause = find_cause(step, lines, ended)
    where = f" (step {brief_step(step)})" if step else ""
    remedy = Remedy.OFFLINE if cause.remedy is Remedy.NETWORK and not request.network else cause.remedy
    return BuildFailedError(
        f"{request.variant} did not build: {cause.text}{where}",
        hint=str(remedy) if remedy is not None else _look(request),
        details=log.end,
    )


def too_slow(request: BuildRequest, log: Log) -> BuildFailedError:
    """Return the error for a build that was ended by its time limit."""
    return BuildFailedError(
        f"{request.variant} did not build within {request.seconds} seconds and was ended",
        hint=f"raise 'seconds' under 'limits' in the matrix; {_look(request)}",
        details=log.end,
    )


def _look(request: BuildRequest) -> str:
    if request.log is not None:
        return f"the whole log is in {str(request.log)!r}"
    return "the end of what the engine wrote comes with this error"


def _last_part(text: str, limit: int = 300) -> str:
    """Return one line of a message, its end when it is long: engines put the cause last."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"… {line[-limit:]}"
