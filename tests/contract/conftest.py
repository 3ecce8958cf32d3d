"""The engines and process runners that the suites run on.

The fakes always run. Real engines are those of the lab, or this user's own where
``IMGBUILD_TEST_ENGINES=podman,docker`` names them: the suites take away what they make, but they do
use them. Where neither is there the tests are skipped; under CI that is a failure (``tests/lab/fixtures.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.adapters.process import LocalProcesses
from builder.errors import HostBlockedError, ProgramError
from builder.ports import ProcessRunner
from tests.contract import rootfs as small
from tests.contract.bench import Bench, FakeBench, RealBench
from tests.fakes import Answer, FakeProcesses
from tests.lab.fixtures import Lab

ENGINES = ("podman", "docker", "docker-classic")


def real_environment(kind: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the environment in which tests may use an engine, or skip the test."""
    if kind in os.environ.get("IMGBUILD_TEST_ENGINES", "").split(","):
        return dict(os.environ)
    lab: Lab = request.getfixturevalue("running_lab")
    if kind != "docker-classic":
        return dict(os.environ)
    if lab.docker_classic is None:
        pytest.skip("the lab has no Docker with the classic store ('lab up --classic' starts one)")
    return {**os.environ, "DOCKER_HOST": lab.docker_classic}


@pytest.fixture(scope="session")
def rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root file system with a shell, as a tar."""
    path = tmp_path_factory.mktemp("rootfs") / "rootfs.tar"
    small.write(path)
    return path


@pytest.fixture
def fake_bench(tmp_path: Path) -> FakeBench:
    empty = tmp_path / "rootfs.tar"
    empty.write_bytes(b"\0" * 10240)
    return FakeBench(tmp_path, empty)


@pytest.fixture(params=["fake", *(pytest.param(kind, marks=pytest.mark.engine(kind)) for kind in ENGINES)])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Every engine in turn; a test must leave no container, no working container and no process."""
    if request.param == "fake":
        yield request.getfixturevalue("fake_bench")
        return
    environ = {**real_environment(request.param, request), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    real = RealBench(request.param, environ, tmp_path, request.getfixturevalue("rootfs"))
    try:
        real.engine.version()
    except (HostBlockedError, ProgramError) as error:
        pytest.skip(f"{request.param}: {error.message}")
    real.before = real.present()
    yield real
    try:
        assert real.left() == set()
    finally:
        real.clear()


@pytest.fixture
def lab_registry(bench: Bench) -> None:
    """Skip a real engine's test that needs the lab's registry where there is none; the fake brings its own."""
    if isinstance(bench, RealBench) and "IMGBUILD_LAB_REGISTRY" not in bench.environ:
        pytest.skip("the lab's registry is not there")


@pytest.fixture(params=["fake", pytest.param("local", marks=pytest.mark.process)])
def processes(request: pytest.FixtureRequest) -> ProcessRunner:
    """Both process runners; the fake is scripted for the programs of the suite."""
    if request.param == "local":
        return LocalProcesses(grace=1.0)
    return FakeProcesses(
        {
            ("sh", "-c", "printf 'one\\ntwo\\n'; echo err >&2; exit 3"): Answer(stdout="one\ntwo\n", stderr="err\n", code=3),
            ("cat",): lambda _argv, stdin: Answer(stdout=stdin.decode()),
            ("sleep", "987654"): Answer(hangs=True),
            ("sh", "-c", "echo begun; exec sleep 987654"): Answer(stdout="begun\n", hangs=True),
        }
    )
