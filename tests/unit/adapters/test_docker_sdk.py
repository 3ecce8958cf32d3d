"""The daemon through Docker's SDK: what is asked, what answers mean, and that nothing hangs or stays open."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.adapters.docker_daemon import DaemonRefusedError, not_reached
from builder.adapters.docker_endpoint import Endpoint
from builder.adapters.docker_engine import DockerEngine
from builder.adapters.docker_sdk import DaemonBySdk
from builder.errors import HostBlockedError, ImgbuildError, InterruptedRunError, ProgramError
from tests.fakes import Answer, FakeProcesses
from tests.unit.adapters.docker_server import HANGS, Script, certificates, on_socket, on_tls, refusal

pytestmark = pytest.mark.process
IMAGE = "localhost/imgbuild/a:1"
INSPECT = f"GET /images/{IMAGE}/json"


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def address(tmp_path: Path, script: Script) -> Iterator[str]:
    with on_socket(tmp_path / "d.sock", script) as host:
        yield host


def sdk(address: str, processes: FakeProcesses | None = None, *, seconds: int = 20) -> DaemonBySdk:
    return DaemonBySdk(Endpoint(host=address, tls={}), processes or FakeProcesses(), seconds=seconds)


def test_questions_and_answers(address: str, script: Script) -> None:
    script.answers |= {
        "GET /info": {"ServerVersion": "26.1.5"},
        INSPECT: {"Id": "sha256:1"},
        f"GET /images/{IMAGE}/history": [{"Size": 5}, {"Size": 7}, {}],
        f"DELETE /images/{IMAGE}": [{"Untagged": IMAGE}],
    }
    daemon = sdk(address)
    assert daemon.info() == {"ServerVersion": "26.1.5"}
    assert daemon.image(IMAGE) == {"Id": "sha256:1"}
    assert daemon.layer_sizes(IMAGE) == [5, 7, 0]
    daemon.remove_image(IMAGE)
    assert [line.partition("?")[0] for line in script.asked] == [
        "GET /version",
        "GET /v1.44/info",
        f"GET /v1.44/images/{IMAGE}/json",
        f"GET /v1.44/images/{IMAGE}/history",
        f"DELETE /v1.44/images/{IMAGE}",
    ]


@pytest.mark.parametrize(
    ("newest", "oldest", "spoken"), [("1.41", None, "1.41"), ("1.44", "1.24", "1.44"), ("1.100", "1.99", "1.99")]
)
def test_the_version_of_the_api_is_one_that_the_daemon_has(
    address: str, script: Script, newest: str, oldest: str | None, spoken: str
) -> None:
    script.answers |= {"GET /version": {"ApiVersion": newest, "MinAPIVersion": oldest}, "GET /info": {}}
    assert sdk(address).info() == {}
    assert script.asked[-1] == f"GET /v{spoken}/info"


def test_an_image_that_is_not_there_is_none_and_removing_it_no_error(address: str, script: Script) -> None:
    script.answers |= {INSPECT: refusal(404, f"No such image: {IMAGE}")}
    script.answers |= {f"DELETE /images/{IMAGE}": refusal(404, f"No such image: {IMAGE}")}
    assert sdk(address).image(IMAGE) is None
    sdk(address).remove_image(IMAGE)


@pytest.mark.parametrize(
    ("status", "said"), [(409, "conflict: image is in use"), (500, "something broke"), (404, "page not found"), (400, "bad name")]
)
def test_a_refusal_is_told_in_the_daemons_words_with_the_command_that_asks_the_same(
    address: str, script: Script, status: int, said: str
) -> None:
    script.answers |= {INSPECT: refusal(status, said), f"DELETE /images/{IMAGE}": refusal(status, said)}
    with pytest.raises(DaemonRefusedError) as caught:
        sdk(address).image(IMAGE)
    assert (caught.value.said, caught.value.argv) == (said, ("docker", "image", "inspect", IMAGE))
    with pytest.raises(DaemonRefusedError) as caught:
        sdk(address).remove_image(IMAGE)
    assert (caught.value.said, caught.value.argv) == (said, ("docker", "image", "rm", IMAGE))


def test_a_daemon_that_cannot_say_anything_about_itself_does_not_answer(address: str, script: Script) -> None:
    script.answers["GET /info"] = refusal(503, "shutting down")
    with pytest.raises(HostBlockedError, match="docker does not answer: 'shutting down'"):
        sdk(address).info()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        ["a", "list"],
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        b"no http at all\r\n\r\n",
        (500, ["no message"]),
    ],
)
def test_an_answer_that_is_not_dockers_is_an_error_of_ours(address: str, script: Script, answer: object) -> None:
    script.answers[INSPECT] = answer
    with pytest.raises((ProgramError, HostBlockedError)) as caught:
        sdk(address).image(IMAGE)
    assert caught.value.hint
    script.answers["GET /version"] = answer
    with pytest.raises((ProgramError, HostBlockedError)):
        sdk(address).info()


def test_what_does_not_answer_is_said_with_its_address(tmp_path: Path) -> None:
    absent = f"unix://{tmp_path}/none.sock"
    with pytest.raises(HostBlockedError) as caught:
        sdk(absent).image(IMAGE)
    assert caught.value.message == f"docker does not answer: '{absent}: no such file or directory'"
    assert caught.value.hint == "start the Docker daemon, check DOCKER_HOST, or use --engine podman"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "left.sock"))
        with pytest.raises(HostBlockedError, match=r"left\.sock: connection refused'"):
            sdk(f"unix://{tmp_path}/left.sock").info()
    with pytest.raises(HostBlockedError, match=r"'tcp://127\.0\.0\.1:1: connection refused'"):
        sdk("tcp://127.0.0.1:1").remove_image(IMAGE)


def test_a_socket_one_may_not_use_has_a_hint_of_its_own() -> None:
    refused = not_reached("unix:///d.sock", PermissionError(13, "Permission denied"))
    assert refused.message == "docker does not answer: 'unix:///d.sock: permission denied'"
    assert "group" in (refused.hint or "")


def test_a_daemon_that_hangs_is_given_up(address: str, script: Script) -> None:
    script.answers[INSPECT] = HANGS
    with pytest.raises(HostBlockedError, match="docker does not answer: 'nothing within a minute'"):
        sdk(address, seconds=1).image(IMAGE)


def test_a_stop_ends_a_question_that_hangs(address: str, script: Script) -> None:
    script.answers[INSPECT] = HANGS
    processes = FakeProcesses()

    def stop() -> None:
        script.waiting.wait(20)
        processes.stop()

    threading.Thread(target=stop).start()
    began = time.monotonic()
    with pytest.raises(InterruptedRunError):
        sdk(address, processes).image(IMAGE)
    assert time.monotonic() - began < 5
    asked = len(script.asked)
    with pytest.raises(InterruptedRunError):
        sdk(address, processes).image(IMAGE)
    assert len(script.asked) == asked


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_every_connection_is_closed(address: str, script: Script) -> None:
    script.answers |= {"GET /info": {}, INSPECT: refusal(500, "broken")}
    daemon = sdk(address)
    daemon.info()
    before = descriptors()
    for _ in range(5):
        daemon.info()
        with pytest.raises(DaemonRefusedError):
            daemon.image(IMAGE)
    deadline = time.monotonic() + 10
    while descriptors() > before and time.monotonic() < deadline:
        threading.Event().wait(0.02)  # the server's own ends close a moment later
    assert descriptors() <= before


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_tls_trusts_the_daemons_own_authority_and_no_other(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, others = tmp_path / "mine", tmp_path / "others"
    mine.mkdir()
    others.mkdir()
    files, foreign = certificates(mine), certificates(others)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(foreign["ca.pem"]))
    script.answers["GET /info"] = {"ServerVersion": "26.1.5"}
    with on_tls(mine, script) as host:
        assert DaemonBySdk(Endpoint(host=host, tls=files), FakeProcesses()).info() == {"ServerVersion": "26.1.5"}
        for tls in ({**files, "ca.pem": foreign["ca.pem"]}, {"ca.pem": files["ca.pem"]}, {**files, "key.pem": mine / "none"}, {}):
            with pytest.raises(HostBlockedError, match="docker does not answer"):
                DaemonBySdk(Endpoint(host=host, tls=tls), FakeProcesses(), seconds=5).info()


def context(host: str) -> Answer:
    return Answer(stdout=f'{{"Endpoints": {{"docker": {{"Host": "{host}"}}}}}}\n')


def test_the_engine_asks_through_the_sdk_where_there_is_a_socket(address: str, script: Script, tmp_path: Path) -> None:
    script.answers |= {"GET /info": {"ServerVersion": "26.1.5", "DriverStatus": [["driver-type", "overlay2"]]}}
    script.answers |= {INSPECT: {"Id": "sha256:" + "a" * 64, "Os": "linux", "Architecture": "amd64", "Size": 9}}
    processes = FakeProcesses({("docker", "context", "inspect"): context(address)})
    processes.programs["docker", "buildx", "version"] = Answer(stdout="github.com/docker/buildx 0.13.1 0.13.1\n")
    engine = DockerEngine(processes, environ={"XDG_CACHE_HOME": str(tmp_path)})
    assert engine.version() == "26.1.5, buildx 0.13.1"
    image = engine.inspect(IMAGE)
    assert image is not None
    assert (image.image_id.encoded, image.digest, image.size) == ("a" * 64, None, 9)
    assert [call[1] for call in processes.calls] == ["context", "buildx"]
    script.answers[f"DELETE /images/{IMAGE}"] = refusal(409, "conflict: image is in use")
    with pytest.raises(ProgramError) as caught:
        engine.remove(IMAGE)
    assert caught.value.message == f"docker could not remove {IMAGE!r}: conflict: image is in use"
    assert caught.value.hint == "try 'docker image rm' by hand; if it works there, run the same command again"


def test_a_full_disk_is_told_with_dockers_folder(address: str, script: Script, tmp_path: Path) -> None:
    script.answers |= {"GET /info": {"DockerRootDir": "/var/lib/docker"}, INSPECT: refusal(500, "write: no space left on device")}
    engine = DockerEngine(FakeProcesses({("docker", "context", "inspect"): context(address)}), environ={"HOME": str(tmp_path)})
    with pytest.raises(HostBlockedError, match=r"the disk that docker keeps its images on \('/var/lib/docker'\) is full"):
        engine.inspect(IMAGE)


WITHOUT_SDK = """
import sys
from builder.adapters.engines import find_engine
from builder.errors import ImgbuildError
from builder.model.matrix import EngineName
from tests.fakes import Answer, FakeProcesses
podman = {("podman", "info"): Answer(stdout='{"version": {"Version": "4.3.1"}}')}
absent = {("docker", "context", "inspect"): Answer(stdout='{"Endpoints": {"docker": {"Host": "unix:///nonexistent/d.sock"}}}')}
for programs in (podman, {**podman, **absent}):
    assert find_engine(EngineName.AUTO, FakeProcesses(programs), {}).name == "podman"
assert "docker" not in sys.modules, "the SDK was imported"
"""


def test_who_uses_podman_never_imports_the_sdk() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_SDK], check=True, cwd=Path(__file__).parents[3])


def test_errors_of_ours_are_ours() -> None:
    assert not issubclass(DaemonRefusedError, ImgbuildError)
