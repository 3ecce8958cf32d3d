"""The one root of errors that a user may see, and their exit codes.

Every kind has an exit code of its own (``tests/unit/test_errors.py`` holds them apart); what
each code means to a caller is in the README. Anything that is not an ``ImgbuildError`` is a
bug of ours and ends with exit code 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class ImgbuildError(Exception):
    """Something failed in a way the user can understand and mend.

    ``message`` says what failed and why, in lower case and without a full stop; ``hint`` says
    what to do next; ``details`` are further lines, such as the end of a log.
    """

    exit_code: ClassVar[int]

    def __init__(self, message: str, *, hint: str | None = None, details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class UsageError(ImgbuildError):
    """The command line asks for something that does not exist, or has several meanings."""

    exit_code = 2


class UnsatisfiableError(ImgbuildError):
    """What was asked for is not supported, cannot be satisfied, or is not known."""

    exit_code = 4


class MismatchError(ImgbuildError):
    """Something on disk or in a registry is not what the lock, render or table says."""

    exit_code = 5


class BuildFailedError(ImgbuildError):
    """An image did not build."""

    exit_code = 6


class SmokeTestFailedError(ImgbuildError):
    """A smoke test failed."""

    exit_code = 7


class HostBlockedError(ImgbuildError):
    """The host blocks: disk full, engine down, another run holds the lock."""

    exit_code = 8


class ProgramError(ImgbuildError):
    """A program that is needed is missing, or failed."""

    exit_code = 9


class UnreachableError(ImgbuildError):
    """A registry or package index could not be asked. *Not there* is an answer, not this."""

    exit_code = 10


class PolicyError(ImgbuildError):
    """A policy is not met."""

    exit_code = 11


class InterruptedRunError(ImgbuildError):
    """The user interrupted the run (SIGINT)."""

    exit_code = 130


class TerminatedRunError(ImgbuildError):
    """The run was told to end (SIGTERM)."""

    exit_code = 143


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A place in a document: 1-based line and column, and the field's dotted path."""

    file: str
    line: int
    column: int
    field: str = ""

    def __str__(self) -> str:
        """Return ``file:line:column: field``, the form editors and CI annotations read."""
        place = f"{self.file}:{self.line}:{self.column}"
        return f"{place}: {self.field}" if self.field else place


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing that is wrong in a document, where, and the likely fix."""

    where: Where
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        """Return the complaint as one line."""
        return f"{self.where}: {self.message}"


class DocumentError(ImgbuildError):
    """A document is wrong; carries every complaint, in the order of the document."""

    exit_code = 3

    def __init__(self, complaints: tuple[Complaint, ...], *, hint: str | None = None) -> None:
        ordered = tuple(sorted(complaints, key=lambda c: (c.where.file, c.where.line, c.where.column)))
        files = sorted({c.where.file for c in ordered})
        count = f"{len(ordered)} complaint" + ("" if len(ordered) == 1 else "s")
        super().__init__(f"{count} about {', '.join(files)}", hint=hint)
        self.complaints = ordered
