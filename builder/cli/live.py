"""The live view on a terminal: what is being worked on now, with what ended above it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from builder.cli.reporters import PlainReporter, duration, outcome_line
from builder.model.event import Event, LogLine, Note, Progress, StageFinished, StageStarted, VariantFinished
from builder.model.evidence import Status

_STYLES = {Status.PASSED: "green", Status.FAILED: "bold red", Status.SKIPPED: "yellow", Status.ABORTED: "red"}
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\\\)|[\x00-\x1f\x7f-\x9f]")
"""What would move the cursor or change colours; a log may hold anything."""
_GAP = "  "
_NARROWEST_SUBJECT = 10


class LiveReporter:
    """Ended work as lines that stay; work in hand as a table that is redrawn until ``close``."""

    def __init__(self, *, colour: bool) -> None:
        self._console = Console(stderr=True, no_color=not colour, highlight=False, soft_wrap=False)
        self._lock = Lock()
        self._working: dict[str, tuple[float, str, str]] = {}
        self._last: dict[str, str] = {}
        self._live = Live(console=self._console, get_renderable=lambda: _Rows(self._rows()), transient=True, refresh_per_second=4)
        self._live.start()

    def report(self, event: Event) -> None:
        """Update the view."""
        with self._lock:
            self._take(event)

    def close(self) -> None:
        """Take the view away; lines that ended stay."""
        self._live.stop()

    def _take(self, event: Event) -> None:
        match event:
            case Progress():
                started = self._working.get(event.subject, (time.monotonic(), "", ""))[0]
                self._working[event.subject] = (started, event.stage.value, event.text)
                self._last.pop(event.subject, None)
            case LogLine():
                self._last[event.subject] = _CONTROL.sub(" ", event.text).strip() or self._last.get(event.subject, "")
            case VariantFinished():
                self._working.pop(event.outcome.variant, None)
                self._last.pop(event.outcome.variant, None)
                self._console.print(Text(outcome_line(event.outcome), style=_STYLES[event.outcome.status]))
            case StageFinished():
                for subject in [name for name, row in self._working.items() if row[1] == event.stage.value]:
                    del self._working[subject]
                self._console.print(Text(PlainReporter.line(event) or "", style="dim"))
            case Note():
                self._console.print(Text(PlainReporter.line(event) or "", style="yellow" if event.warning else "dim"))
            case StageStarted():
                pass

    def _rows(self) -> list[_Row]:
        """Return the work in hand. Called while rich holds its own lock, so that it takes none of ours."""
        now = time.monotonic()
        return [
            _Row(stage, subject, duration(now - started), self._last.get(subject) or text)
            for subject, (started, stage, text) in list(self._working.items())
        ]


class _Row(NamedTuple):
    """What is done for one subject, and the last line of its log where there is one."""

    stage: str
    subject: str
    seconds: str
    text: str


class _Rows:
    """Rows of one line each, whatever the width: the text is cut first, then the middle of the subject."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render for the width that the terminal has now."""
        del console
        stage, subject, seconds = (max((len(row[at]) for row in self._rows), default=0) for at in range(3))
        subject = min(subject, max(options.max_width - stage - seconds - 2 * len(_GAP), _NARROWEST_SUBJECT))
        for row in self._rows:
            cells = (f"{row.stage:{stage}}", f"{_middle(row.subject, subject):{subject}}", f"{row.seconds:>{seconds}}", "")
            line = Text(_GAP.join(cells), no_wrap=True).append(row.text, style="dim")
            line.truncate(options.max_width, overflow="ellipsis")
            yield line


def _middle(text: str, width: int) -> str:
    """Return a text of at most ``width`` letters: variants differ at both ends of their ids."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
