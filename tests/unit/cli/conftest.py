"""A command's world of fakes: one matrix, one base, one wheel, and an engine that builds in memory."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from builder.cli.environment import Environment
from builder.cli.main import run
from builder.cli.services import Services
from builder.model.build import RunRequest
from builder.model.lock import BaseFacts, LockedBase, LockedPackage
from builder.model.matrix import EngineName, Matrix
from builder.model.oci import LINUX_AMD64, Digest
from builder.pipeline.lock_tools import LockTools
from builder.ports import Engine, Reporter
from tests.fakes import (
    Answer,
    FakeBaseReader,
    FakeClock,
    FakeDebianArchive,
    FakeEngine,
    FakePackageIndex,
    FakeProcesses,
    FakeResolver,
)

GOOD = """\
imgbuild: 1
name: small
targets:
  here: {accelerator: cpu/x86-64-v2, runner: local}
matrix:
  framework: [onnxruntime==1.32.*]
  stack: [cpu]
  python: ["3.11", "3.13"]
base: [distribution]
"""

Call = Callable[..., tuple[int, str, str]]


class FakeServices(Services):
    """The services of a command, with fakes for the world. ``probe`` answers each probe's script."""

    def __init__(self, folder: Path, variables: Mapping[str, str] | None = None) -> None:
        super().__init__(Environment(variables={"XDG_CACHE_HOME": str(folder), **(variables or {})}, terminal=False, cpus=2))
        self.processes = FakeProcesses()
        self.clock = FakeClock()
        self.fake_engine = FakeEngine()
        self.probe: Callable[[str], Answer] = lambda _script: passing()
        wheel = folder / "onnxruntime-1.32.0-py3-none-any.whl"
        wheel.write_bytes(b"a wheel")
        package = LockedPackage(
            name="onnxruntime",
            version="1.32.0",
            index="pypi",
            file=wheel.name,
            sha256=hashlib.sha256(b"a wheel").hexdigest(),
            size=7,
            requested_by=("matrix",),
        )
        self.fake_resolver = FakeResolver({("onnxruntime==1.32.0",): (package,)})
        self.bases = FakeBaseReader({base.reference: base for base in (_base("12", "3.11.2"), _base("13", "3.13.5"))})
        self.__dict__["index"] = FakePackageIndex({wheel.name: wheel})
        self.__dict__["archive"] = FakeDebianArchive(why_not="this is a test")
        for base in self.bases.bases.values():
            self.fake_engine.registry[f"{base.reference}@{base.digest}"] = self.fake_engine.import_rootfs(
                wheel, f"base:{base.key}", LINUX_AMD64
            )
        self.fake_engine.programs[("/opt/venv/bin/python", "-")] = self._probes

    def engine(self, wanted: EngineName) -> Engine:
        self.fake_engine.version()
        return self.fake_engine

    def lock_tools(self, engine: Engine, matrix: Matrix, reporter: Reporter) -> LockTools:
        return LockTools(bases=self.bases, resolver=self.fake_resolver, clock=self.clock, reporter=reporter)

    def _probes(self, request: RunRequest) -> Answer:
        match = re.fullmatch(r"main\(json\.loads\((.*)\), [0-9.]+\)", request.stdin.decode().strip().splitlines()[-1])
        assert match is not None
        lines = []
        for name, script in json.loads(json.loads(match[1])):
            answer = self.probe(script)
            told = {"name": name, "code": answer.code, "stdout": answer.stdout, "stderr": answer.stderr}
            lines.append(json.dumps(told | {"seconds": 0.5, "timed_out": False}))
        return Answer(stdout="\n".join(lines))


def passing() -> Answer:
    values = {"device": "cpu", "model": "A CPU", "level": "x86-64-v3", "cores": 2, "checked": 3}
    return Answer(stdout=json.dumps({"values": values, "reason": None}))


def _base(release: str, python: str) -> LockedBase:
    minor = python.rpartition(".")[0]
    facts = BaseFacts(
        os="debian",
        os_version=release,
        glibc="2.36",
        python=f"/usr/bin/python{minor}",
        python_version=python,
        externally_managed=True,
    )
    return LockedBase(
        key=f"docker.io/library/debian:{release}-slim",
        reference=f"docker.io/library/debian:{release}-slim",
        platform=LINUX_AMD64,
        digest=Digest("sha256", hashlib.sha256(release.encode()).hexdigest()),
        facts=facts,
    )


@pytest.fixture
def services(tmp_path: Path) -> FakeServices:
    return FakeServices(tmp_path)


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(GOOD)
    return path


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def do(*argv: str, services: FakeServices | None = None) -> tuple[int, str, str]:
        code = run(argv, obj=services)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return do
