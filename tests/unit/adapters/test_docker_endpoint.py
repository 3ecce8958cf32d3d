"""Which daemon the docker program talks to, as it says itself, and whether the SDK may ask in its place."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from builder.adapters.docker_endpoint import Endpoint, find_endpoint
from builder.errors import HostBlockedError, ProgramError
from tests.fakes import Answer, FakeProcesses

ASKED = ("docker", "context", "inspect")
IN_MEMORY = "<IN MEMORY>"


def context(host: str, *, tls: tuple[str, ...] = (), unverified: bool = False, kept: str = IN_MEMORY) -> Answer:
    """Return what 'docker context inspect' prints, as 26.1 does."""
    document = {
        "Name": "default",
        "Metadata": {},
        "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": unverified}},
        "TLSMaterial": {"docker": list(tls)} if tls else {},
        "Storage": {"MetadataPath": kept, "TLSPath": kept},
    }
    return Answer(stdout=json.dumps(document) + "\n")


def found(answer: Answer, environ: Mapping[str, str] | None = None) -> Endpoint:
    return find_endpoint(FakeProcesses({ASKED: answer}), environ or {})


def test_the_program_says_where_its_daemon_is() -> None:
    assert found(context("unix:///var/run/docker.sock")) == Endpoint(host="unix:///var/run/docker.sock", tls={})


def test_files_of_tls_lie_with_the_context_or_where_the_environment_says() -> None:
    names = ("cert.pem", "key.pem", "ca.pem")
    named = found(context("tcp://h:2376", tls=names, kept="/home/u/.docker/contexts/tls/6a93"))
    assert named.tls == {name: Path("/home/u/.docker/contexts/tls/6a93/docker") / name for name in names}
    default = context("tcp://h:2376", tls=names)
    given = {"DOCKER_CERT_PATH": "/certs", "DOCKER_CONFIG": "/config"}
    assert found(default, given).tls["ca.pem"] == Path("/certs/ca.pem")
    assert found(default, {"DOCKER_CONFIG": "/config"}).tls["ca.pem"] == Path("/config/ca.pem")
    assert found(default).tls["ca.pem"] == Path.home() / ".docker" / "ca.pem"


@pytest.mark.parametrize(
    ("answer", "environ", "suits"),
    [
        (context("unix:///var/run/docker.sock"), {"HTTPS_PROXY": "http://p:1"}, True),
        (context("tcp://10.0.0.1:2375"), {}, True),
        (context("tcp://10.0.0.1:2375"), {"http_proxy": "http://p:1"}, False),
        (context("tcp://127.0.0.1:2375"), {"http_proxy": "http://p:1"}, True),
        (context("tcp://10.0.0.1:2376", tls=("ca.pem", "cert.pem", "key.pem")), {}, True),
        (context("tcp://10.0.0.1:2376", tls=("cert.pem", "key.pem")), {}, False),
        (context("tcp://10.0.0.1:2376", tls=("ca.pem",), unverified=True), {}, False),
        (context("ssh://user@host"), {}, False),
        (context("npipe:////./pipe/docker_engine"), {}, False),
    ],
)
def test_the_sdk_asks_only_where_it_asks_as_the_program_does(answer: Answer, environ: dict[str, str], suits: bool) -> None:  # noqa: FBT001 - a column
    assert found(answer, environ).suits_sdk(environ) is suits


def test_a_context_that_is_not_there_is_never_taken_for_the_local_daemon() -> None:
    said = 'context "nope": context not found: open /home/u/.docker/contexts/meta/ca37/meta.json: no such file or directory'
    with pytest.raises(HostBlockedError, match=r'docker does not answer: .*context "nope": context not found') as caught:
        found(Answer(code=1, stdout="[]\n", stderr=f"{said}\n"))
    assert "docker context ls" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["{}", "[]", '{"Endpoints": {"docker": {"Host": ""}}}', '{"Endpoints": {"docker": null}}'])
def test_a_context_without_a_host_is_said(text: str) -> None:
    with pytest.raises(HostBlockedError, match="its context names no host"):
        found(Answer(stdout=text))


def test_a_program_that_hangs_or_is_missing_or_babbles() -> None:
    with pytest.raises(HostBlockedError):
        found(Answer(hangs=True))
    with pytest.raises(ProgramError, match="the program 'docker' was not found"):
        find_endpoint(FakeProcesses(), {})
    with pytest.raises(ProgramError, match="'docker context inspect' answered something that is not understood: 'hello'"):
        found(Answer(stdout="hello\n"))


@pytest.mark.process
def test_a_socket_where_nobody_listens_is_seen_at_once(tmp_path: Path) -> None:
    here = Endpoint(host=f"unix://{tmp_path}/d.sock", tls={})
    with pytest.raises(HostBlockedError) as caught:
        here.knock()
    assert caught.value.message == f"docker does not answer: 'unix://{tmp_path}/d.sock: no such file or directory'"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(f"{tmp_path}/d.sock")
        with pytest.raises(HostBlockedError, match="connection refused"):
            here.knock()
        daemon.listen()
        here.knock()
    Endpoint(host="tcp://127.0.0.1:1", tls={}).knock()
