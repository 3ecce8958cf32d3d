"""Smoke tests: the probes that apply, run inside the image, and the record of what they showed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builder.evidence.record import Circumstances, Subject, record
from builder.model.build import Completed, ImageInfo, RunRequest
from builder.model.event import LogLine, Progress, Stage
from builder.model.evidence import Evidence, ProbeResult, ProbeScript, ProbeStatus
from builder.model.matrix import Limits, Target
from builder.pipeline.pieces import Piece
from builder.pipeline.tools import Tools
from builder.probe.expectation import expectation
from builder.probe.reading import read_result
from builder.probe.selection import probes_for
from builder.render.python import plan_python

_SECONDS = 300.0


def scripts_for(piece: Piece, target: Target | None) -> tuple[ProbeScript, ...]:
    """Return the probes of a piece on a target, or (``None``) on this host without the device."""
    return probes_for(piece.variant, device_here=target is not None)


def smoke_test(piece: Piece, image: ImageInfo, target: Target | None, *, limits: Limits, tools: Tools, log: Path) -> Evidence:
    """Run every probe that applies and return the record, which is kept before this returns.

    One probe's failure does not keep the next from running.
    """
    expected = expectation(piece.variant, piece.locked, piece.base)
    results: list[ProbeResult] = []
    scripts = scripts_for(piece, target)
    seconds = float(limits.seconds or _SECONDS)
    with log.open("a", encoding="utf-8") as file:
        for number, script in enumerate(scripts, 1):
            tools.check_stopped()
            text = f"probe {script.name} ({number} of {len(scripts)})"
            tools.reporter.report(Progress(stage=Stage.TEST, subject=piece.variant.id, text=text))
            completed = _run(piece, script, expected, seconds, tools)
            result = read_result(script, completed, limit=seconds)
            for line in _transcript(script, completed, result):
                file.write(f"{line}\n")
                tools.reporter.report(LogLine(stage=Stage.TEST, subject=piece.variant.id, text=line))
            results.append(result)
    subject = Subject(variant=piece.variant, image=image, content=piece.content, target=target)
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


def _run(piece: Piece, script: ProbeScript, expected: bytes, seconds: float, tools: Tools) -> Completed:
    request = RunRequest(
        image=piece.tag,
        argv=(interpreter_of(piece), "-"),
        stdin=script.text.encode(),
        seconds=seconds,
        env={"IMGBUILD_EXPECT": expected.decode()},
    )
    return tools.engine.run(request)


def _transcript(script: ProbeScript, completed: Completed, result: ProbeResult) -> list[str]:
    head = f"probe {script.name}: {result.status.value}" + (f": {result.reason}" if result.reason else "")
    return [head, *(f"  {line}" for line in (completed.stdout + completed.stderr).splitlines())]


def _host(results: Sequence[ProbeResult]) -> dict[str, str]:
    """Return what the probes said of the host they ran on, as text."""
    named = ("model", "level", "cores", "kernel_release", "driver")
    found = {name: value for result in results for name, value in result.values.items() if name in named}
    return {name: str(value) for name, value in sorted(found.items()) if isinstance(value, str | int | float)}
