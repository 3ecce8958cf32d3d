"""What a run tells a reporter while it works."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from builder.model.evidence import Outcome


class Stage(StrEnum):
    """The stages of a run, in order."""

    PLAN = "plan"
    LOCK = "lock"
    FETCH = "fetch"
    RENDER = "render"
    BUILD = "build"
    TEST = "test"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStarted:
    """A stage begins; ``total`` is how many steps it has, ``None`` when not known."""

    stage: Stage
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFinished:
    """A stage ended; ``text`` says in one line what came of it."""

    stage: Stage
    seconds: float
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One subject (a variant id, a file, a base) is now at ``text`` in a stage."""

    stage: Stage
    subject: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line a program wrote on behalf of a subject."""

    stage: Stage
    subject: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something worth knowing that is not a failure."""

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFinished:
    """A variant ended."""

    outcome: Outcome


Event = StageStarted | StageFinished | Progress | LogLine | Note | VariantFinished
