"""How things end: from any error to an outcome, and from all outcomes to one exit code."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from builder.errors import HostBlockedError, ImgbuildError
from builder.model.evidence import Outcome, Status

_ORDER = (130, 143, 1, 8, 9, 10, 3, 5, 6, 7, 11, 4)
_BLOCKED = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room, then run the same command again"),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "give this user the right, then run the same command again"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit of open files (ulimit -n), then run the same command again"),
    **dict.fromkeys(
        (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG), "move what is in the way, or name another place"
    ),
    **dict.fromkeys((errno.EIO, errno.ESTALE, errno.ENOMEM), "look at the disk and the memory of this host"),
    errno.ENOENT: "if something removed it while it was in use, run the same command again",
}
"""What a host refuses, and what to do about it."""


class _BugError(ImgbuildError):
    """Something we did not foresee; its traceback is in the variant's log."""

    exit_code = 1


def told(error: Exception) -> ImgbuildError:
    """Return any error as one of ours: the host's refusals as such, the rest as a bug with its traceback."""
    if isinstance(error, ImgbuildError):
        return error
    if isinstance(error, OSError) and error.errno in _BLOCKED and (error.filename or error.errno != errno.ENOENT):
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
        return HostBlockedError(text, hint=_BLOCKED[error.errno])
    lines = traceback.format_exception(error)
    msg = f"this is a bug in imgbuild: {type(error).__name__}: {error}"
    return _BugError(msg, hint="please report it with the variant's log", details=tuple("".join(lines).splitlines()))


def outcome_of(variant: str, status: Status, error: ImgbuildError, log: Path | None) -> Outcome:
    """Return the outcome of a variant that did not pass; the error's details go to the end of its log, where it has one."""
    if log is not None:
        with suppress(OSError), log.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in (*error.details, f"error: {error.message}")))
    return Outcome(
        variant=variant,
        status=status,
        reason=error.message,
        hint=error.hint,
        exit_code=error.exit_code,
        log=str(log) if log is not None else None,
    )


def first_code(codes: Iterable[int]) -> int:
    """Return the first exit code that occurred, in the order the README lists, one that is not listed last; 0 when none did."""
    seen = set(codes) - {0}
    return next((code for code in (*_ORDER, *sorted(seen)) if code in seen), 0)


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """Return a run's exit code from its outcomes; one that failed without a code of its own is a bug of ours."""
    ended_badly = {Status.FAILED, Status.ABORTED}
    return first_code(outcome.exit_code or (_BugError.exit_code if outcome.status in ended_badly else 0) for outcome in outcomes)
