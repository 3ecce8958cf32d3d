"""The engines and process runners that the suites run on.

The fakes always run. Real engines run inside the lab (``tests/lab/lab run -- pytest tests/contract``), or
outside it with ``IMGBUILD_TEST_ENGINES=podman,docker``: tests leave an engine's own images alone, but
they do use it. With ``CI=true`` an engine that is not there is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from builder.adapters.process import LocalProcesses
from builder.errors import HostBlockedError, ProgramError
from builder.ports import ProcessRunner
from tests.contract import rootfs as small
from tests.contract.bench import Bench, FakeBench, RealBench
from tests.fakes import Answer, FakeProcesses

ENGINES = ("podman", "docker", "docker-classic")


def not_here(why: str) -> NoReturn:
    """Skip, or fail where everything must be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{why}, and CI=true asks for all of it")
    pytest.skip(why)


def real_environment(kind: str) -> dict[str, str]:
    """Return the environment in which an engine may be used by tests, or skip."""
    environ = dict(os.environ)
    named = environ.get("IMGBUILD_TEST_ENGINES", "").split(",")
    if "IMGBUILD_LAB" not in environ and kind not in named:
        not_here(f"{kind}: not in the lab, and IMGBUILD_TEST_ENGINES does not name it")
    if kind == "docker-classic":
        socket = environ.get("IMGBUILD_LAB_DOCKER_CLASSIC")
        if socket is None:
            not_here("docker-classic: the lab runs without it (lab up --classic)")
        environ["DOCKER_HOST"] = socket
    return environ


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
    environ = {**real_environment(request.param), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    real = RealBench(request.param, environ, tmp_path, request.getfixturevalue("rootfs"))
    try:
        real.engine.version()
    except (HostBlockedError, ProgramError) as error:
        not_here(f"{request.param}: {error.message}")
    real.before = real.present()
    yield real
    try:
        assert real.left() == set()
    finally:
        real.clear()


@pytest.fixture
def lab_registry(request: pytest.FixtureRequest) -> None:
    """Skip a real engine's test that needs the lab's registry where there is none; the fake brings its own."""
    fake = request.node.callspec.params["bench"] == "fake"
    if not fake and "IMGBUILD_LAB_REGISTRY" not in os.environ:
        not_here("no lab registry")


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
