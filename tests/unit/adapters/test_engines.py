"""Which engine is found, and what each candidate is asked, on scripted programs."""

from __future__ import annotations

import json

import pytest

from builder.adapters.engines import find_engine
from builder.errors import HostBlockedError, InterruptedRunError, ProgramError, UsageError
from builder.model.matrix import EngineName
from tests.fakes import Answer, FakeProcesses

NO_DAEMON = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
CONTEXT = ("docker", "context", "inspect")
BY_PROGRAM = Answer(stdout=json.dumps({"Endpoints": {"docker": {"Host": "ssh://builder@host"}}}))  # the SDK is not asked
DOCKER = ("docker", "info")
BUILDX = ("docker", "buildx", "version")
PODMAN = ("podman", "info")


def docker_info(version: str = "26.1.5+dfsg1") -> Answer:
    return Answer(
        stdout=json.dumps({"ServerVersion": version, "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]]})
    )


def podman_info(version: str = "4.3.1") -> Answer:
    return Answer(stdout=json.dumps({"version": {"Version": version}, "store": {"graphRoot": "/store"}}))


BUILDX_OK = Answer(stdout="github.com/docker/buildx 0.13.1+ds1 0.13.1+ds1-3\n")


def test_auto_is_docker_with_buildx_when_it_answers() -> None:
    processes = FakeProcesses({CONTEXT: BY_PROGRAM, DOCKER: docker_info(), BUILDX: BUILDX_OK, PODMAN: podman_info()})
    engine = find_engine(EngineName.AUTO, processes, {})
    assert (engine.name, engine.version()) == ("docker", "26.1.5+dfsg1, buildx 0.13.1+ds1")


@pytest.mark.parametrize(
    ("info", "buildx"),
    [
        (Answer(stdout=json.dumps({"ServerErrors": [NO_DAEMON]}), code=1), BUILDX_OK),
        (Answer(stderr=NO_DAEMON, code=1), BUILDX_OK),
        (docker_info("19.3.1"), BUILDX_OK),
        (docker_info(), Answer(stderr="docker: 'buildx' is not a docker command.\nSee 'docker --help'\n", code=1)),
        (docker_info(), Answer(stdout="github.com/docker/buildx v0.9.1 ed00243a0ce2a0aee75311b06e32d33b44729689\n")),
    ],
)
def test_auto_is_podman_when_docker_does_not_answer_or_is_too_old(info: Answer, buildx: Answer) -> None:
    processes = FakeProcesses({CONTEXT: BY_PROGRAM, DOCKER: info, BUILDX: buildx, PODMAN: podman_info()})
    assert find_engine(EngineName.AUTO, processes, {}).name == "podman"


@pytest.mark.parametrize(("user", "more"), [(0, ""), (1000, "newuidmap (apt-get install uidmap)")])
def test_a_podman_that_is_there_is_mended_and_not_installed(monkeypatch: pytest.MonkeyPatch, user: int, more: str) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    processes = FakeProcesses({PODMAN: Answer(stderr="Error: cannot re-exec process\n", code=125)})
    with pytest.raises(HostBlockedError) as caught:
        find_engine(EngineName.AUTO, processes, {})
    assert "podman does not answer: 'cannot re-exec process'" in caught.value.details
    hint = caught.value.hint or ""
    assert hint.startswith("run 'podman info' by hand and mend what it says, or start Docker")
    assert hint.endswith(more)


def test_when_nothing_answers_it_is_said_what_each_said_and_how_to_get_one() -> None:
    processes = FakeProcesses({CONTEXT: BY_PROGRAM, DOCKER: Answer(stdout=json.dumps({"ServerErrors": [NO_DAEMON]}), code=1)})
    with pytest.raises(HostBlockedError) as caught:
        find_engine(EngineName.AUTO, processes, {})
    assert caught.value.message == "no container engine answers here, and images are built and run by one"
    assert caught.value.details == (f"docker does not answer: {NO_DAEMON!r}", "the program 'podman' was not found")
    assert "apt-get install podman" in (caught.value.hint or "")


def test_an_engine_asked_for_by_name_is_not_replaced_by_the_other() -> None:
    processes = FakeProcesses({PODMAN: podman_info()})
    with pytest.raises(ProgramError, match="the program 'docker' was not found"):
        find_engine(EngineName.DOCKER, processes, {})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (docker_info("20.9.9"), "docker is 20.9.9, 20.10 or newer is needed"),
        (Answer(hangs=True), "docker does not answer: 'nothing within a minute'"),
    ],
)
def test_what_is_wrong_with_docker_is_said_with_both_numbers(answer: Answer, message: str) -> None:
    with pytest.raises(HostBlockedError) as caught:
        find_engine(EngineName.DOCKER, FakeProcesses({CONTEXT: BY_PROGRAM, DOCKER: answer, BUILDX: BUILDX_OK}), {})
    assert caught.value.message == message
    assert caught.value.hint


def test_a_missing_buildx_is_said_with_the_package() -> None:
    buildx = Answer(stderr="docker: 'buildx' is not a docker command.\n", code=1)
    with pytest.raises(HostBlockedError, match=r"docker 26\.1\.5\+dfsg1 answers, but has no buildx") as caught:
        find_engine(EngineName.DOCKER, FakeProcesses({CONTEXT: BY_PROGRAM, DOCKER: docker_info(), BUILDX: buildx}), {})
    assert "apt-get install docker-buildx" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (podman_info("3.4.4"), "podman is 3.4.4, 4.0 or newer is needed"),
        (
            Answer(code=125, stderr="Error: open /store: permission denied\n"),
            "podman does not answer: 'open /store: permission denied'",
        ),
        (Answer(code=1, stderr="level=error msg=broken\n"), "podman does not answer: 'level=error msg=broken'"),
    ],
)
def test_what_is_wrong_with_podman_is_said(answer: Answer, message: str) -> None:
    with pytest.raises(HostBlockedError) as caught:
        find_engine(EngineName.PODMAN, FakeProcesses({PODMAN: answer}), {})
    assert caught.value.message == message


@pytest.mark.parametrize("version", ["5.4.2", "4.9.4-rhel", "4.0.0-dev"])
def test_versions_of_podman_as_distributions_write_them(version: str) -> None:
    assert find_engine(EngineName.PODMAN, FakeProcesses({PODMAN: podman_info(version)}), {}).version() == version


def test_an_answer_that_is_not_understood_is_a_program_error() -> None:
    with pytest.raises(ProgramError, match="'podman info' answered something that is not understood: 'hello'"):
        find_engine(EngineName.PODMAN, FakeProcesses({PODMAN: Answer(stdout="hello")}), {})
    with pytest.raises(ProgramError, match="names a version that is not understood: 'dev'"):
        find_engine(EngineName.PODMAN, FakeProcesses({PODMAN: podman_info("dev")}), {})


def test_graft_is_not_built_yet() -> None:
    with pytest.raises(UsageError, match="the engine 'graft' is not built yet"):
        find_engine(EngineName.GRAFT, FakeProcesses(), {})


def test_a_stop_is_not_taken_for_an_engine_that_does_not_answer() -> None:
    processes = FakeProcesses({CONTEXT: BY_PROGRAM, DOCKER: docker_info(), BUILDX: BUILDX_OK})
    processes.stop()
    with pytest.raises(InterruptedRunError):
        find_engine(EngineName.AUTO, processes, {})
