"""Smoke tests: the probes that apply, run inside the image, and the record of what they showed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.evidence.record import Circumstances, Subject, record
from builder.model.build import ImageInfo, RunRequest
from builder.model.event import LogLine, Progress, Stage
from builder.model.evidence import Evidence, ProbeResult, ProbeScript, ProbeStatus
from builder.model.matrix import Limits, Target
from builder.pipeline.pieces import Piece
from builder.pipeline.tools import Tools
from builder.probe.expectation import expectation
from builder.probe.selection import probes_for
from builder.probe.together import read_together, result_name, together
from builder.render.python import plan_python
from builder.report.cells import plural

_SECONDS = 300.0
_START = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where probes run: on a target, with the engine's options for its devices, or (``None``) on this host as it is."""

    target: Target | None
    options: tuple[str, ...] = ()


def scripts_for(piece: Piece, target: Target | None) -> tuple[ProbeScript, ...]:
    """Return the probes of a piece on a target, or (``None``) on this host without the device."""
    return probes_for(piece.variant, device_here=target is not None)


def smoke_test(piece: Piece, image: ImageInfo, place: Place, *, limits: Limits, tools: Tools, log: Path) -> Evidence:
    """Run every probe that applies, in one container, and return the record, which is kept before this returns.

    One probe's failure does not keep the next from running.
    """
    tools.check_stopped()
    scripts = scripts_for(piece, place.target)
    seconds = float(limits.seconds or _SECONDS)
    results = _run(piece, scripts, seconds, place.options, tools)
    with log.open("a", encoding="utf-8") as file:
        for line in _transcript(results):
            file.write(f"{line}\n")
            tools.reporter.report(LogLine(stage=Stage.TEST, subject=piece.variant.id, text=line))
    subject = Subject(variant=piece.variant, image=image, content=piece.content, target=place.target)
    engine = f"{tools.engine.name} {tools.engine.version()}"
    circumstances = Circumstances(recorded=tools.clock.now(), engine=engine, host=_host(results))
    evidence = record(subject, results, circumstances)
    tools.records.save(evidence)
    return evidence


def failures(evidence: Evidence) -> tuple[ProbeResult, ...]:
    """Return the probes that failed."""
    return tuple(result for result in evidence.results if result.status is ProbeStatus.FAILED)


def holds(evidence: Evidence, piece: Piece, image: ImageInfo, scripts: Sequence[ProbeScript]) -> bool:
    """Whether an earlier record still says all there is to say: same image, same probes, none failed."""
    return (
        evidence.content == piece.content
        and evidence.image_id == image.image_id
        and not failures(evidence)
        and {(result.name, result.script_sha256) for result in evidence.results}
        == {(script.name, script.sha256) for script in scripts}
    )


def interpreter_of(piece: Piece) -> str:
    """Return the path of the Python in the finished image: the one that holds its packages, else the base's."""
    if piece.locked.packages:
        return plan_python(piece.variant, piece.locked, piece.base).interpreter
    return piece.base.facts.python or "/usr/bin/python3"


def _run(
    piece: Piece, scripts: Sequence[ProbeScript], seconds: float, options: tuple[str, ...], tools: Tools
) -> tuple[ProbeResult, ...]:
    done: list[str] = []

    def on_line(line: str) -> None:
        name = result_name(line)
        if name is not None:
            done.append(name)
            text = f"probe {name} ({len(done)} of {len(scripts)})"
            tools.reporter.report(Progress(stage=Stage.TEST, subject=piece.variant.id, text=text))

    tools.reporter.report(Progress(stage=Stage.TEST, subject=piece.variant.id, text=plural(len(scripts), "probe")))
    request = RunRequest(
        image=piece.tag,
        argv=(interpreter_of(piece), "-"),
        stdin=together(scripts, seconds=seconds),
        seconds=seconds * len(scripts) + _START,
        options=options,
        env={"IMGBUILD_EXPECT": expectation(piece.variant, piece.locked, piece.base).decode()},
    )
    return read_together(scripts, tools.engine.run(request, on_line=on_line), seconds=seconds)


def _transcript(results: Sequence[ProbeResult]) -> list[str]:
    lines = []
    for result in results:
        lines.append(f"probe {result.name}: {result.status.value} ({result.seconds:.1f} s)")
        if result.reason:
            lines.append(f"  {result.reason}")
        if result.values:
            lines.append(f"  {json.dumps(result.values, ensure_ascii=False)}")
    return lines


def _host(results: Sequence[ProbeResult]) -> dict[str, str]:
    """Return what the probes said of the host they ran on, as text."""
    named = ("model", "level", "cores", "kernel_release", "driver")
    found = {name: value for result in results for name, value in result.values.items() if name in named}
    return {name: str(value) for name, value in sorted(found.items()) if isinstance(value, str | int | float)}
