"""Both ways to ask a Docker daemon, the program and the SDK, give the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.adapters.docker_daemon import Daemon, DaemonByProgram, DaemonRefusedError
from builder.adapters.docker_endpoint import find_endpoint
from builder.adapters.docker_sdk import DaemonBySdk
from builder.adapters.process import LocalProcesses
from builder.errors import HostBlockedError
from tests.contract.bench import FROM_ROOTFS, REPOSITORY, RealBench
from tests.contract.conftest import real_environment

KINDS = [pytest.param(kind, marks=pytest.mark.engine(kind)) for kind in ("docker", "docker-classic")]


@pytest.fixture(params=KINDS)
def docker(request: pytest.FixtureRequest, tmp_path: Path, rootfs: Path) -> Iterator[RealBench]:
    environ = {**real_environment(request.param, request), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    bench = RealBench(request.param, environ, tmp_path, rootfs)
    yield bench
    bench.clear()


@pytest.fixture
def both(docker: RealBench) -> tuple[Daemon, Daemon]:
    processes = LocalProcesses(environ=docker.environ)
    endpoint = find_endpoint(processes, docker.environ)
    assert endpoint.suits_sdk(docker.environ)
    return DaemonByProgram(processes), DaemonBySdk(endpoint, processes)


def test_they_say_the_same_about_images_and_the_daemon(docker: RealBench, both: tuple[Daemon, Daemon]) -> None:
    tag = docker.built(FROM_ROOTFS + 'ENV A="b c"\nRUN touch /made\nUSER app\n')
    program, sdk = both
    image = program.image(tag)
    assert image is not None
    asked = ("Id", "Os", "Architecture", "Size", "Config", "RootFS")
    assert {name: image[name] for name in asked} == {name: (sdk.image(tag) or {})[name] for name in asked}
    assert list(program.layer_sizes(tag)) == list(sdk.layer_sizes(tag))
    assert sum(sdk.layer_sizes(tag)) >= docker.rootfs.stat().st_size * 0.9
    about = ("ServerVersion", "DriverStatus", "DockerRootDir", "ID")
    assert {name: program.info()[name] for name in about} == {name: sdk.info()[name] for name in about}


def test_they_remove_and_miss_alike(docker: RealBench, both: tuple[Daemon, Daemon]) -> None:
    program, sdk = both
    for daemon, other in ((program, sdk), (sdk, program)):
        tag = docker.built(name="removed")
        daemon.remove_image(tag)
        assert daemon.image(tag) is None
        assert other.image(tag) is None
        daemon.remove_image(tag)


def test_they_refuse_alike(both: tuple[Daemon, Daemon]) -> None:
    said = set()
    for daemon in both:
        with pytest.raises(DaemonRefusedError) as caught:
            daemon.image(f"{REPOSITORY}/Upper:1")
        assert caught.value.argv == ("docker", "image", "inspect", f"{REPOSITORY}/Upper:1")
        said.add(caught.value.said)
    assert len(said) == 1
    assert "must be lowercase" in said.pop()


@pytest.mark.engine("docker")
def test_they_miss_a_daemon_alike(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    environ = {**real_environment("docker", request), "DOCKER_HOST": f"unix://{tmp_path}/d.sock"}
    processes = LocalProcesses(environ=environ)
    for daemon in (DaemonByProgram(processes), DaemonBySdk(find_endpoint(processes, environ), processes)):
        for question in (daemon.info, lambda daemon=daemon: daemon.image("a")):
            with pytest.raises(HostBlockedError, match=r"docker does not answer: .*d\.sock") as caught:
                question()
            assert "start the Docker daemon" in (caught.value.hint or "")


@pytest.mark.engine("docker")
def test_the_programs_context_is_found_with_or_without_its_config_file(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    environ = {**real_environment("docker", request), "DOCKER_CONFIG": str(tmp_path), "DOCKER_HOST": ""}
    processes = LocalProcesses(environ=environ)
    made = processes.run(["docker", "context", "create", "elsewhere", "--docker", "host=unix:///elsewhere.sock"])
    assert made.code == 0, made.stderr
    assert find_endpoint(processes, environ).host == "unix:///var/run/docker.sock"
    named = {**environ, "DOCKER_CONTEXT": "elsewhere"}
    assert find_endpoint(LocalProcesses(environ=named), named).host == "unix:///elsewhere.sock"
    assert processes.run(["docker", "context", "use", "elsewhere"]).code == 0
    assert find_endpoint(processes, environ).host == "unix:///elsewhere.sock"
    lost = {**environ, "DOCKER_CONTEXT": "nowhere"}
    with pytest.raises(HostBlockedError, match="nowhere"):
        find_endpoint(LocalProcesses(environ=lost), lost)
