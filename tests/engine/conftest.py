"""Engines that a test may break, and a disk that is soon full."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import rootfs as small
from tests.engine import wheels
from tests.engine.command import Imgbuild
from tests.engine.daemon import OwnDocker, mounts_below
from tests.engine.index import Index
from tests.engine.places import Place
from tests.lab.fixtures import NOT_UP, Lab, found

OF_PIP = ("PIP_", "UV_")


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two indexes: ``own`` with small packages and a framework, ``torch`` with a framework alone."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    wheels.write_index(folder / "own")
    wheels.write_torch_index(folder / "torch")
    return folder


@pytest.fixture(scope="session")
def imgbuild(lab_session: tuple[Lab, dict[str, str]], wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Imgbuild:
    """The command line in the lab, with a cache that this session shares and the wheelhouse as pip's only index."""
    kept = {name: value for name, value in lab_session[1].items() if not name.startswith(OF_PIP)}
    named = {
        "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": (wheelhouse / "own").as_uri(),
    }
    return Imgbuild({**kept, **named}, tmp_path_factory.mktemp("streams"))


@pytest.fixture(scope="module")
def place(imgbuild: Imgbuild, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A folder for matrices, and names that nobody else uses; the images go at the end."""
    made = Place(folder=tmp_path_factory.mktemp("matrices"), mark=f"e2e-{uuid.uuid4().hex[:8]}", environ=imgbuild.environ)
    yield made
    made.clear()


@pytest.fixture
def index(wheelhouse: Path) -> Iterator[Index]:
    """The index of small packages on loopback."""
    served = Index(wheelhouse / "own")
    yield served
    served.stop()


@pytest.fixture(scope="session")
def rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root file system with a shell, as a tar."""
    path = tmp_path_factory.mktemp("rootfs") / "rootfs.tar"
    small.write(path)
    return path


@pytest.fixture
def own_docker(running_lab: Lab) -> Iterator[OwnDocker]:
    """A Docker daemon that may be killed."""
    yield from _daemon(OwnDocker(running_lab.state))


@pytest.fixture
def pulling_docker(running_lab: Lab) -> Iterator[OwnDocker]:
    """A Docker daemon that may be killed, and reaches the lab's registry."""
    yield from _daemon(OwnDocker(running_lab.state, online=True))


def _daemon(docker: OwnDocker) -> Iterator[OwnDocker]:
    try:
        docker.start()
        yield docker
    finally:
        docker.clear()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of 96 MiB; in the lab only, because it takes root."""
    yield from _disk(tmp_path / "small", 96)


@pytest.fixture
def large_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system that has room for an engine's images, 1 GiB."""
    yield from _disk(tmp_path / "large", 1024)


def _disk(at: Path, mebibytes: int) -> Iterator[Path]:
    if found() is None:
        pytest.skip(NOT_UP)
    image, folder = at.with_suffix(".img"), at
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(mebibytes * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    if subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=False).returncode != 0:
        pytest.skip("this host has no loop devices to mount")
    try:
        yield folder
    finally:
        for point in mounts_below(folder):
            subprocess.run(["umount", "--lazy", point], check=True)
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        image.unlink()
