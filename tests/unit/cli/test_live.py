"""The picture of a run under way, at every width of the terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from builder.cli import live
from builder.cli.live import LiveReporter
from builder.model.event import LogLine, Progress, Stage, StageFinished

IDS = ["onnxruntime1.31.1-cpu-py3.11", "onnxruntime1.31.1-cpu-py3.13"]


class Screen:
    """A terminal of some width; ``rows`` are those of the work in hand, as they would be drawn now."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
        self.width = width
        self._written = io.StringIO()
        monkeypatch.setattr(live, "Console", self._console)
        self.reporter = LiveReporter(colour=False)

    def _console(self, **_options: object) -> Console:
        return Console(file=self._written, width=self.width, height=24, force_terminal=True, no_color=True)

    def rows(self) -> list[str]:
        plain = Console(file=io.StringIO(), width=self.width, record=True)
        plain.print(self.reporter._live.get_renderable())
        return plain.export_text().splitlines()

    def written(self) -> str:
        return self._written.getvalue()


@pytest.fixture(params=[30, 40, 80, 120])
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(monkeypatch, request.param)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(monkeypatch, 80)


def build(screen: Screen) -> None:
    for identifier in IDS:
        screen.reporter.report(Progress(stage=Stage.BUILD, subject=identifier, text="building with podman"))


def test_each_variant_has_one_row_of_its_own_that_fits(screen: Screen) -> None:
    build(screen)
    screen.reporter.report(LogLine(stage=Stage.BUILD, subject=IDS[0], text="Installing collected packages: " + "numpy, " * 40))
    rows = screen.rows()
    screen.reporter.close()
    assert len(rows) == 2
    assert all(len(row) <= screen.width for row in rows)
    assert all(row.startswith("build  onn") for row in rows)
    assert ("3.11" in rows[0], "3.13" in rows[1]) == (True, True)


def test_a_row_shows_the_last_line_of_the_log_until_the_next_step(wide: Screen) -> None:
    build(wide)
    wide.reporter.report(LogLine(stage=Stage.BUILD, subject=IDS[0], text="\x1b[32mSTEP 2/3\x1b[0m: ADD\trootfs.tar\r"))
    wide.reporter.report(LogLine(stage=Stage.BUILD, subject=IDS[0], text="   "))
    first, second = wide.rows()
    assert re.fullmatch(rf"build  {IDS[0]}  0\.\d s  STEP 2/3 : ADD rootfs\.tar *", first), first
    assert second.rstrip().endswith("s  building with podman")
    wide.reporter.report(Progress(stage=Stage.TEST, subject=IDS[0], text="probe import (1 of 7)"))
    assert wide.rows()[0].rstrip().endswith("s  probe import (1 of 7)")
    wide.reporter.close()


def test_what_ended_stays_and_what_was_in_hand_goes(wide: Screen) -> None:
    build(wide)
    wide.reporter.report(StageFinished(stage=Stage.BUILD, seconds=2.0, text="2 of 2 variants passed"))
    assert wide.rows() == []
    wide.reporter.close()
    assert "build   2 of 2 variants passed (2.0 s)" in wide.written()
    assert wide.written().rstrip().endswith("\x1b[?25h")
