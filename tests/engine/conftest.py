"""Engines that a test may break, and a disk that is soon full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import rootfs as small
from tests.engine.daemon import OwnDocker
from tests.lab.fixtures import Lab


@pytest.fixture(scope="session")
def rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root file system with a shell, as a tar."""
    path = tmp_path_factory.mktemp("rootfs") / "rootfs.tar"
    small.write(path)
    return path


@pytest.fixture
def own_docker(running_lab: Lab) -> Iterator[OwnDocker]:
    """A Docker daemon that may be killed."""
    docker = OwnDocker(running_lab.state)
    try:
        docker.start()
        yield docker
    finally:
        docker.clear()


@pytest.fixture
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of 96 MiB; in the lab only, because it takes root."""
    request.getfixturevalue("running_lab")
    image, folder = tmp_path / "disk.img", tmp_path / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(96 * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    if subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=False).returncode != 0:
        pytest.skip("this host has no loop devices to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
