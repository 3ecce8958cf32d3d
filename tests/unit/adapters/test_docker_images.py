"""How docker's answers about images become ours, and where the config's digest comes from."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters.docker_engine import DockerEngine
from builder.adapters.owner import left_behind, new_name
from builder.adapters.saved_image import digests
from builder.errors import HostBlockedError, MismatchError, ProgramError
from builder.model.build import RunRequest
from tests.fakes import Answer, FakeProcesses

MANIFEST, CONFIG, OTHER, INDEX = (f"sha256:{letter * 64}" for letter in "abcd")
BY_PROGRAM = Answer(stdout=json.dumps({"Endpoints": {"docker": {"Host": "ssh://builder@host"}}}))  # only the program reaches it


def inspected(identifier: str) -> Answer:
    config = {"Env": ["PATH=/bin"], "Labels": {"a": "b"}, "Entrypoint": ["/x"], "Cmd": None, "WorkingDir": "/"}
    return Answer(stdout=json.dumps([{"Id": identifier, "Os": "linux", "Architecture": "amd64", "Size": 7, "Config": config}]))


def docker(tmp_path: Path, *, driver: str, saved: Answer | None = None) -> tuple[DockerEngine, FakeProcesses]:
    info = {"ServerVersion": "26.1.5", "DriverStatus": [["driver-type", driver]]}
    processes = FakeProcesses(
        {
            ("docker", "context", "inspect"): BY_PROGRAM,
            ("docker", "info"): Answer(stdout=json.dumps(info)),
            ("docker", "image", "inspect"): inspected(MANIFEST if "containerd" in driver else CONFIG),
            ("docker", "history"): Answer(stdout="0\n20480\n2002944\n"),
            **({("sh", "-c"): saved} if saved else {}),
        }
    )
    return DockerEngine(processes, cleanup=processes, environ={"XDG_CACHE_HOME": str(tmp_path)}), processes


def test_the_classic_store_has_the_config_and_no_manifest(tmp_path: Path) -> None:
    engine, _ = docker(tmp_path, driver="overlay2")
    image = engine.inspect("x")
    assert image is not None
    assert (str(image.image_id), image.digest, image.size) == (CONFIG, None, 7)
    assert (image.entrypoint, image.cmd, image.workdir) == (("/x",), (), "/")


def test_the_containerd_store_is_asked_once_for_the_config(tmp_path: Path) -> None:
    saved = Answer(stdout=json.dumps([MANIFEST, CONFIG]))
    engine, processes = docker(tmp_path, driver="io.containerd.snapshotter.v1", saved=saved)
    image = engine.inspect("x")
    assert image is not None
    assert (str(image.image_id), str(image.digest), image.size) == (CONFIG, MANIFEST, 2023424)
    assert engine.inspect("x") == image
    assert sum(call[0] == "sh" for call in processes.calls) == 1
    again, without = docker(tmp_path, driver="io.containerd.snapshotter.v1")
    assert again.inspect("x") == image
    assert all(call[0] == "docker" for call in without.calls)


def test_a_broken_cache_is_read_again(tmp_path: Path) -> None:
    place = tmp_path / "imgbuild" / "image-ids" / MANIFEST.removeprefix("sha256:")
    place.parent.mkdir(parents=True)
    for text in ("", "[]", '["x", "y"]', "{}"):
        place.write_text(text)
        engine, _ = docker(tmp_path, driver="io.containerd.snapshotter.v1", saved=Answer(stdout=json.dumps([MANIFEST, CONFIG])))
        image = engine.inspect("x")
        assert image is not None
        assert str(image.image_id) == CONFIG


def test_an_image_without_a_manifest_for_its_platform_is_said(tmp_path: Path) -> None:
    engine, _ = docker(tmp_path, driver="io.containerd.snapshotter.v1", saved=Answer(stdout="null"))
    with pytest.raises(ProgramError, match="has no manifest for linux/amd64"):
        engine.inspect("x")


def test_a_daemon_that_is_gone_explains_a_failed_call(tmp_path: Path) -> None:
    engine, processes = docker(tmp_path, driver="overlay2")
    processes.programs["docker", "image", "inspect"] = Answer(code=1, stderr="Error response from daemon: something\n")
    with pytest.raises(ProgramError, match="docker could not look at 'x': something"):
        engine.inspect("x")
    processes.programs["docker", "info"] = Answer(code=1, stderr="Cannot connect to the Docker daemon\n")
    with pytest.raises(HostBlockedError, match="docker does not answer"):
        engine.inspect("x")


LOST = 'time="2026-12-01T16:03:34Z" level=error msg="error waiting for container: unexpected EOF"\n'
REFUSED = "docker: Error response from daemon: {}.\nSee 'docker run --help'.\n"


@pytest.mark.parametrize(
    ("stderr", "kind", "message"),
    [
        (REFUSED.format("No such image: x:1"), MismatchError, "docker has no image 'x'"),
        (
            REFUSED.format("could not select device driver"),
            ProgramError,
            "docker could not run a container of 'x': could not select",
        ),
        (LOST, HostBlockedError, "docker does not answer any more"),
        (
            LOST + 'docker: error during connect: Post "http://x/start": EOF.\n',
            HostBlockedError,
            "docker does not answer any more",
        ),
    ],
)
def test_dockers_own_code_is_dockers_own_failure(tmp_path: Path, stderr: str, kind: type[Exception], message: str) -> None:
    engine, processes = docker(tmp_path, driver="overlay2")
    processes.programs |= {
        ("docker", "ps"): Answer(),
        ("docker", "rm"): Answer(),
        ("docker", "run"): Answer(code=125, stderr=stderr),
    }
    with pytest.raises(kind, match=message):
        engine.run(RunRequest(image="x", argv=("true",)))


def test_a_program_may_end_with_dockers_own_code(tmp_path: Path) -> None:
    engine, processes = docker(tmp_path, driver="overlay2")
    processes.programs |= {("docker", "ps"): Answer(), ("docker", "rm"): Answer()}
    processes.programs["docker", "run"] = Answer(code=125, stderr="my own words\n")
    assert engine.run(RunRequest(image="x", argv=("false",))).code == 125


def saved_tar(blobs: Mapping[str, bytes]) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in blobs.items():
            entry = tarfile.TarInfo(f"blobs/{name.replace(':', '/')}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    stream.seek(0)
    return stream


def manifest(config: str = CONFIG) -> bytes:
    return json.dumps({"config": {"digest": config}, "layers": []}).encode()


def index(*entries: tuple[str, str]) -> bytes:
    def fields(platform: str) -> dict[str, str]:
        return dict(zip(("os", "architecture", "variant"), platform.split("/"), strict=False))

    return json.dumps({"manifests": [{"digest": digest, "platform": fields(platform)} for digest, platform in entries]}).encode()


def test_a_saved_manifest_names_its_config() -> None:
    blobs = {OTHER: b"\x1f\x8bnot json", MANIFEST: manifest(), CONFIG: b"{}"}
    assert digests(saved_tar(blobs), MANIFEST, "linux/amd64") == (MANIFEST, CONFIG)


@pytest.mark.parametrize("order", [(INDEX, MANIFEST, OTHER), (OTHER, MANIFEST, INDEX), (MANIFEST, INDEX, OTHER)])
def test_a_saved_index_leads_to_the_platforms_manifest_in_any_order(order: tuple[str, ...]) -> None:
    blobs = {
        INDEX: index((OTHER, "linux/arm64/v8"), (MANIFEST, "linux/amd64")),
        MANIFEST: manifest(),
        OTHER: manifest(INDEX),
    }
    stream = {name: blobs[name] for name in order}
    assert digests(saved_tar(stream), INDEX, "linux/amd64") == (MANIFEST, CONFIG)
    assert digests(saved_tar(stream), INDEX, "linux/arm64") == (OTHER, INDEX)
    assert digests(saved_tar(stream), INDEX, "linux/riscv64") is None


def test_reading_stops_at_the_manifest() -> None:
    stream = saved_tar({MANIFEST: manifest(), CONFIG: b"{}", OTHER: bytes(8_000_000)})
    assert digests(stream, MANIFEST, "linux/amd64") == (MANIFEST, CONFIG)
    assert stream.tell() < 1_000_000


def test_names_of_ours_are_left_behind_only_by_processes_that_are_gone() -> None:
    name = new_name()
    assert name != new_name()
    assert not left_behind(name)
    host, start = name.split("-")[1], name.split("-")[3]
    assert left_behind(f"imgbuild-{host}-{os.getpid()}-{int(start) + 1}-1")
    assert left_behind(f"imgbuild-{host}-4194999-{start}-1")
    assert not left_behind(f"imgbuild-{'0' * 8}-4194999-{start}-1")


@given(st.text(alphabet="imgbuld-0123456789abcdef\n", max_size=40))
def test_other_names_are_never_ours(name: str) -> None:
    assert not left_behind(name)
