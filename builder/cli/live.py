"""The live view on a terminal: what is being worked on now, with what ended above it."""

from __future__ import annotations

import time
from threading import Lock

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from builder.cli.reporters import PlainReporter, duration, outcome_line
from builder.model.event import Event, LogLine, Note, Progress, StageFinished, StageStarted, VariantFinished
from builder.model.evidence import Status

_STYLES = {Status.PASSED: "green", Status.FAILED: "bold red", Status.SKIPPED: "yellow", Status.ABORTED: "red"}
_WIDTH_OF_LOG = 72


class LiveReporter:
    """Ended work as lines that stay; work in hand as a table that is redrawn until ``close``."""

    def __init__(self, *, colour: bool) -> None:
        self._console = Console(stderr=True, no_color=not colour, highlight=False, soft_wrap=False)
        self._lock = Lock()
        self._working: dict[str, tuple[float, str, str]] = {}
        self._last: dict[str, str] = {}
        self._live = Live(console=self._console, get_renderable=self._table, transient=True, refresh_per_second=4)
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
            case LogLine():
                self._last[event.subject] = event.text[:_WIDTH_OF_LOG]
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

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        now = time.monotonic()
        for subject, (started, stage, text) in list(self._working.items()):
            last = self._last.get(subject, "")
            table.add_row(stage, subject, duration(now - started), Text(text), Text(last, style="dim", overflow="ellipsis"))
        return table
