"""Pieces and tools for tests of the pipeline: real rendering and probes, fakes for the world."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from packaging.version import Version

from builder.adapters.contexts import ContextFolders
from builder.adapters.state import StateFolder
from builder.errors import Where
from builder.model.axis import AxisValue
from builder.model.build import RenderedContext, RunRequest
from builder.model.lock import BaseFacts, LockedBase, LockedVariant
from builder.model.matrix import BaseKind, Cell, Limits, Matrix, Runner, Target
from builder.model.oci import LINUX_AMD64, Digest, ImageReference
from builder.model.plan import Base, Plan, PlannedCell, Release, Variant
from builder.model.verdict import Decision, Verdict
from builder.pipeline.build import Job
from builder.pipeline.pieces import Piece
from builder.pipeline.tools import Tools
from tests.fakes import Answer, FakeClock, FakeDebianArchive, FakeEngine, FakePackageIndex, RecordingReporter

WHERE = Where(file="m.yaml", line=1, column=1)
PYTHON = "/opt/venv/bin/python"
REFERENCE = ImageReference.parse("docker.io/library/debian:12-slim")


def target(name: str = "here", kind: str = "local") -> Target:
    return Target(name=name, accelerator="cpu/x86-64-v2", runner=Runner(kind=kind), where=WHERE)


def variant(name: str) -> Variant:
    return Variant(
        id=name,
        cell=Cell(index=0, axes=(("framework", AxisValue.parse("onnxruntime==1.32.*")),)),
        framework=Release(name="onnxruntime", version=Version("1.32.0")),
        stack=Release(name="cpu"),
        python="3.11",
        platforms=(LINUX_AMD64,),
        base=Base(kind=BaseKind.VENDOR, reference=REFERENCE),
        imports=("onnxruntime",),
    )


def content_of(name: str) -> str:
    return f"c-{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def piece(name: str, dockerfile: str = "FROM scratch\nRUN true\n") -> Piece:
    facts = BaseFacts(os="debian", os_version="12", glibc="2.36", python=PYTHON, python_version="3.11.2", pip_version="23.0")
    base = LockedBase(
        key="debian12", reference=str(REFERENCE), platform=LINUX_AMD64, digest=Digest("sha256", "a" * 64), facts=facts
    )
    locked = LockedVariant(
        id=name, platform=LINUX_AMD64, framework="f", stack="cpu", python="3.11", base="debian12", pip=(), apt=()
    )
    content = content_of(name)
    return Piece(
        variant=variant(name),
        platform=LINUX_AMD64,
        locked=locked,
        base=base,
        context=RenderedContext(rendered={"Dockerfile": f"# {name}\n{dockerfile}".encode()}),
        content=content,
        tag=f"localhost/imgbuild/m:{content}",
    )


@dataclass
class World:
    """One matrix's world: what the fakes hold, and jobs over it."""

    tools: Tools
    engine: FakeEngine
    reporter: RecordingReporter
    state: StateFolder
    targets: tuple[Target, ...] = (target(),)
    probes: Callable[[str], Answer] = field(default=lambda _script: passing())

    def job(self, *pieces: Piece, again: bool = False, build: bool = True, limits: Limits | None = None) -> Job:
        matrix = Matrix(path="m.yaml", name="m", targets=self.targets, limits=limits or Limits(), tags_where=WHERE)
        decisions: Mapping[str, Decision] = {each.name: Decision(verdict=Verdict.SUPPORTED, reasons=()) for each in self.targets}
        names = dict.fromkeys(each.variant.id for each in pieces)
        cells = tuple(
            PlannedCell(cell=Cell(index=number, axes=()), variant=variant(name), verdicts=decisions)
            for number, name in enumerate(names)
        )
        plan = Plan(name="m", cells=cells, excluded=())
        return Job(matrix=matrix, plan=plan, pieces=pieces, failed={}, known=self.state.evidence(), again=again, build=build)


def _scripts(program: str) -> list[list[str]]:
    """Return the probes, name and text, of a program that runs several."""
    match = re.fullmatch(r"main\(json\.loads\((.*)\), [0-9.]+\)", program.strip().splitlines()[-1])
    assert match is not None
    scripts: list[list[str]] = json.loads(json.loads(match[1]))
    return scripts


def passing(**values: object) -> Answer:
    """A probe's answer: all it needs to show the tier ``device`` on a CPU."""
    told = {"device": "cpu", "model": "A CPU", "level": "x86-64-v3", "cores": 2, "checked": 3} | values
    return Answer(stdout=json.dumps({"values": told, "reason": None}))


def failing(reason: str) -> Answer:
    return Answer(stdout=json.dumps({"values": {}, "reason": reason}), code=1)


@pytest.fixture
def world(tmp_path: Path) -> World:
    engine = FakeEngine()
    reporter = RecordingReporter()
    state = StateFolder(tmp_path / "matrices" / "m.yaml")
    tools = Tools(
        engine=engine,
        index=FakePackageIndex(),
        archive=FakeDebianArchive(),
        clock=FakeClock(),
        reporter=reporter,
        contexts=ContextFolders(tmp_path / "contexts"),
        records=state,
        jobs=2,
        stopped=threading.Event(),
    )
    made = World(tools=tools, engine=engine, reporter=reporter, state=state)

    def program(request: RunRequest) -> Answer:
        lines = []
        for name, script in _scripts(request.stdin.decode()):
            answer = made.probes(script)
            told = {"name": name, "code": -9 if answer.hangs else answer.code, "stdout": answer.stdout, "stderr": answer.stderr}
            lines.append(json.dumps(told | {"seconds": 0.5, "timed_out": answer.hangs}))
        return Answer(stdout="\n".join(lines))

    engine.programs[(PYTHON, "-")] = program
    return made


__all__ = ["PYTHON", "World", "failing", "passing", "piece", "replace", "target", "variant", "world"]
