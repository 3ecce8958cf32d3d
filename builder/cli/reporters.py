"""How a run's events are shown: plain lines, GitHub groups, JSON lines, or not at all. All on stderr."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from enum import StrEnum
from threading import Lock
from typing import assert_never

from builder.cli.environment import Environment
from builder.cli.output import escaped, tell
from builder.model.event import Event, LogLine, Note, Progress, StageFinished, StageStarted, VariantFinished
from builder.model.evidence import Outcome, Status
from builder.ports import Reporter


class ProgressStyle(StrEnum):
    """The values of ``--progress``."""

    AUTO = "auto"
    LIVE = "live"
    PLAIN = "plain"
    GITHUB = "github"
    JSON = "json"
    QUIET = "quiet"


def duration(seconds: float) -> str:
    """Return ``0.4 s``, ``12 s`` or ``3 min 20 s``."""
    if seconds < 10:  # noqa: PLR2004 - below ten seconds a tenth matters
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"  # noqa: PLR2004 - seconds in a minute


def outcome_line(outcome: Outcome) -> str:
    """Return one line that says how a variant ended."""
    parts = [f"{outcome.status.value:8}", outcome.variant]
    if outcome.tier is not None:
        parts.append(f"tier {outcome.tier.value}")
    parts.append(duration(outcome.seconds) if outcome.fresh else "unchanged")
    if outcome.reason and outcome.fresh:
        parts.append(outcome.reason)
    return "  ".join(parts)


class PlainReporter:
    """One line per thing that happened, in the order it happened."""

    def __init__(self) -> None:
        self._lock = Lock()

    def report(self, event: Event) -> None:
        """Write the event's line, if it has one."""
        line = self.line(event)
        if line is not None:
            with self._lock:
                tell(line)

    @staticmethod
    def line(event: Event) -> str | None:
        """Return the line of an event; log lines have none (they are in the variant's log)."""
        match event:
            case StageStarted():
                return None
            case StageFinished():
                return f"{event.stage.value:7} {event.text} ({duration(event.seconds)})"
            case Progress():
                return f"{event.stage.value:7} {event.subject}: {event.text}"
            case Note():
                return f"{'warning' if event.warning else 'note':7} {event.text}"
            case VariantFinished():
                return outcome_line(event.outcome)
            case LogLine():
                return None
            case _:
                assert_never(event)


class GithubReporter(PlainReporter):
    """Plain lines; each variant's log as a folded group when it ends, and an annotation when it failed."""

    def __init__(self) -> None:
        super().__init__()
        self._logs: dict[str, list[str]] = defaultdict(list)

    def report(self, event: Event) -> None:
        """Keep log lines until their variant ends; write everything else at once."""
        if isinstance(event, LogLine):
            with self._lock:
                self._logs[event.subject].append(event.text)
            return
        if isinstance(event, VariantFinished):
            with self._lock:
                self._finished(event.outcome)
            return
        super().report(event)

    def _finished(self, outcome: Outcome) -> None:
        lines = self._logs.pop(outcome.variant, [])
        if lines:
            tell(f"::group::{escaped(outcome.variant)}: log")
            for line in lines:
                tell(_harmless(line))
            tell("::endgroup::")
        tell(outcome_line(outcome))
        if outcome.status is Status.FAILED:
            tell(f"::error title={escaped(outcome.variant)} failed::{escaped(outcome.reason or 'no reason given')}")


def _harmless(line: str) -> str:
    """Return a log line that the runner cannot take for a workflow command."""
    return line.replace("::", ": :") if line.lstrip().startswith(("::", "##[")) else line


class JsonReporter:
    """One JSON object per event and line, for programs."""

    def __init__(self) -> None:
        self._lock = Lock()

    def report(self, event: Event) -> None:
        """Write the event as one line of JSON."""
        text = json.dumps({"event": type(event).__name__, **dataclasses.asdict(event)}, default=str, ensure_ascii=False)
        with self._lock:
            tell(text)


class QuietReporter:
    """Shows warnings and failures only."""

    def report(self, event: Event) -> None:
        """Write warnings and variants that failed."""
        if (isinstance(event, Note) and event.warning) or (
            isinstance(event, VariantFinished) and event.outcome.status is Status.FAILED
        ):
            line = PlainReporter.line(event)
            if line is not None:
                tell(line)


def choose(style: ProgressStyle, environment: Environment) -> Reporter:
    """Return the reporter of a style; ``auto`` is live on a terminal, groups under GitHub Actions, else plain."""
    if style is ProgressStyle.LIVE or (style is ProgressStyle.AUTO and environment.terminal and not environment.github):
        from builder.cli.live import LiveReporter  # noqa: PLC0415 - rich is only imported where a live view is shown

        return LiveReporter(colour=environment.colour)
    automatic = GithubReporter if environment.github else PlainReporter
    others: Mapping[ProgressStyle, Callable[[], Reporter]] = {
        ProgressStyle.AUTO: automatic,
        ProgressStyle.PLAIN: PlainReporter,
        ProgressStyle.GITHUB: GithubReporter,
        ProgressStyle.JSON: JsonReporter,
        ProgressStyle.QUIET: QuietReporter,
    }
    return others[style]()
