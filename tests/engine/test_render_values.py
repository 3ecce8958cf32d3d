"""What the matrix says is what the image has: nasty values, through a real engine and back."""

from __future__ import annotations

import hashlib
import io
import tarfile
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from builder.adapters.contexts import write_context
from builder.adapters.docker_engine import DockerEngine
from builder.adapters.podman import PodmanEngine
from builder.adapters.process import LocalProcesses
from builder.errors import ImgbuildError
from builder.model.build import BuildRequest
from builder.ports import Engine
from builder.render.render import render
from tests.golden.build import Case
from tests.golden.cases import CASES

NASTY = {
    "BACKTICK": "`reboot`",
    "BRACES": "{{ 7 * 7 }} {% raw %}",
    "COMMENT": "# not a comment",
    "DOLLAR": "$HOME ${PATH:-x} $(reboot) $$",
    "DOUBLE": 'say "hi"',
    "EMPTY": "",
    "ENDS": "ends in \\",
    "ENDS_TWICE": "ends in \\\\",
    "ESCAPED": '\\" \\$HOME \\n',
    "HEREDOC": "<<EOF",
    "NEXT": "a=b OTHER=c",
    "SHELL": "a && b; c | d > e * ? ~ !",
    "SINGLE": "it's",
    "SPACES": "  two  spaces  ",
    "TAB": "a\tb",
    "UNICODE": "é ✓ 漢 \u00a0 \ufeff",
}
ENTRYPOINT = ("sh", "-c", "echo \"$HOME\" 'x' `y` \\ # z\nsecond line", "é", "")


@pytest.fixture(
    params=[
        pytest.param(PodmanEngine, id="podman", marks=pytest.mark.engine("podman")),
        pytest.param(DockerEngine, id="docker", marks=pytest.mark.engine("docker")),
    ]
)
def engine(request: pytest.FixtureRequest) -> Engine:
    made: Engine = request.param(LocalProcesses())
    try:
        made.version()
    except ImgbuildError as error:
        pytest.skip(f"{made.name} does not answer: {error.message}")
    return made


@pytest.fixture
def tag(engine: Engine) -> Iterator[str]:
    name = f"localhost/imgbuild-test/values:{uuid.uuid4().hex}"
    yield name
    engine.remove(name)


def root_file_system(path: Path) -> str:
    """Write a tar that has one file, and return its hash: no step of this image runs a program."""
    with tarfile.open(path, "w") as tar:
        member = tarfile.TarInfo("etc/hello")
        data = b"hello\n"
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def nasty_case(rootfs: str) -> Case:
    case = CASES["debian-assembled-openvino"]
    identifier = "id \"with\" $everything `in` it \\ 'é' #"
    variant = replace(case.variant, id=identifier, env=NASTY, user="1234:4321", entrypoint=ENTRYPOINT)
    base = replace(case.base, rootfs_sha256=rootfs, facts=replace(case.base.facts, unconfigured=(), has_ld_cache=True))
    return replace(case, variant=variant, locked=replace(case.locked, id=identifier, packages=()), base=base)


def test_values_arrive_unchanged(engine: Engine, tag: str, tmp_path: Path) -> None:
    rootfs = tmp_path / "rootfs.tar"
    case = nasty_case(root_file_system(rootfs))
    context = render(case.variant, case.platform, case.locked, case.base)
    write_context(context.rendered, {"rootfs.tar": rootfs}, tmp_path / "context")
    request = BuildRequest(variant="nasty", context=tmp_path / "context", tag=tag, platform=case.platform, seconds=120)

    built = engine.build(request, on_line=lambda _: None)

    assert {name: built.env[name] for name in NASTY} == NASTY
    assert set(built.env) - set(NASTY) == {"PATH"}
    assert built.labels["imgbuild.variant"] == case.variant.id
    assert built.labels["org.opencontainers.image.title"] == case.variant.id
    assert built.entrypoint == ENTRYPOINT
    assert built.user == "1234:4321"
    assert built.cmd == ()
