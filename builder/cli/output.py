"""Writing to stdout and stderr: results on the one, everything else on the other."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from builder.cli.environment import Environment
from builder.cli.streams import forget
from builder.errors import Complaint, DocumentError, HostBlockedError, ImgbuildError


def emit(text: str) -> None:
    """Write a result to stdout, with one line end; ``HostBlockedError`` when it cannot be written.

    A reader that has gone, as ``head`` does, had what it wanted: the rest is dropped, and the command's own
    exit code stands.
    """
    if sys.stdout is None:
        why = "it is closed"
        raise lost(why)
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        forget(sys.stdout)
    except OSError as error:
        forget(sys.stdout)
        raise lost(error.strerror or "it fails") from error


def lost(why: str) -> HostBlockedError:
    """Return the error for a result that stdout does not take."""
    return HostBlockedError(f"the result could not be written to stdout: {why}", hint="make room, or send stdout elsewhere")


def emit_json(document: Mapping[str, object]) -> None:
    """Write one JSON document to stdout."""
    plain = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("_", "-") not in {"utf-8", "utf8"}
    emit(json.dumps(document, indent=2, ensure_ascii=plain))


def tell(text: str) -> None:
    """Write a line for people to stderr; what stderr does not take is lost, and stops no run."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        forget(sys.stderr)


def escaped(text: str) -> str:
    """Return text as a GitHub Actions workflow command takes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def complain(complaint: Complaint, environment: Environment) -> None:
    """Write one complaint: where, what, and the likely fix; under GitHub Actions as an annotation too."""
    tell(str(complaint))
    if complaint.hint:
        tell(f"  hint: {complaint.hint}")
    if environment.github:
        where = complaint.where
        tell(f"::error file={escaped(where.file)},line={where.line},col={where.column}::{escaped(complaint.message)}")


def report_error(error: ImgbuildError, environment: Environment) -> None:
    """Write what failed, why, and what to do next."""
    if isinstance(error, DocumentError):
        for complaint in error.complaints:
            complain(complaint, environment)
    for line in error.details:
        tell(f"  | {line}")
    tell(f"error: {error.message}")
    if error.hint:
        tell(f"hint: {error.hint}")
    if environment.github and not isinstance(error, DocumentError):
        tell(f"::error::{escaped(error.message)}")
