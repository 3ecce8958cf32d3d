"""Writing to stdout and stderr: results on the one, everything else on the other."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from builder.cli.environment import Environment
from builder.errors import Complaint, DocumentError, ImgbuildError


def emit(text: str) -> None:
    """Write a result to stdout, with one line end."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()


def emit_json(document: Mapping[str, object]) -> None:
    """Write one JSON document to stdout."""
    emit(json.dumps(document, indent=2, ensure_ascii=False))


def tell(text: str) -> None:
    """Write a line for people to stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


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
