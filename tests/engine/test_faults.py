"""What is left, and what is said, when an engine dies, a disk fills up, or we are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builder.errors import HostBlockedError
from tests.contract.bench import FROM_ROOTFS, RealBench, shell
from tests.engine.daemon import OwnDocker, end_steps
from tests.lab.fixtures import Lab

pytestmark = pytest.mark.lab
HANG = f"echo hanging && sleep 55{os.getpid()}"
HANGING = b"sleep\x0055%d\x00" % os.getpid()


@pytest.fixture
def docker(own_docker: OwnDocker, tmp_path: Path, rootfs: Path) -> Iterator[RealBench]:
    yield RealBench("docker", own_docker.environ, tmp_path, rootfs)
    end_steps(HANGING)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_daemon_that_dies_in_a_build_blocks_the_host_and_loses_nothing(
    docker: RealBench, own_docker: OwnDocker, number: signal.Signals
) -> None:
    finished = docker.request(FROM_ROOTFS, "finished")
    image = docker.engine.build(finished, on_line=lambda _: None)
    killer = threading.Thread(target=own_docker.end, args=(number,))

    def kill(line: str) -> None:
        if line.endswith("hanging"):
            killer.start()

    with pytest.raises(HostBlockedError, match="docker stopped answering while it built dying") as caught:
        docker.engine.build(docker.request(FROM_ROOTFS + f"RUN {HANG}\n", "dying", seconds=60), on_line=kill)
    killer.join()
    assert "start the Docker daemon again" in (caught.value.hint or "")
    with pytest.raises(HostBlockedError, match="docker does not answer"):
        docker.engine.inspect(finished.tag)
    own_docker.start()
    assert docker.engine.inspect(finished.tag) == image
    assert docker.engine.inspect(docker.tags[-1]) is None


def test_a_daemon_that_dies_in_a_run_blocks_the_host(docker: RealBench, own_docker: OwnDocker) -> None:
    image = docker.built()
    killer = threading.Thread(target=own_docker.end, args=(signal.SIGKILL,))

    def kill(line: str) -> None:
        if line == "hanging":
            killer.start()

    with pytest.raises(HostBlockedError, match="docker does not answer"):
        docker.engine.run(shell(image, HANG, seconds=60.0), on_line=kill)
    killer.join()


FILL = "head -c 200000000 /dev/zero > /filled"


def test_a_full_disk_under_docker_blocks_the_host(running_lab: Lab, small_disk: Path, tmp_path: Path, rootfs: Path) -> None:
    daemon = OwnDocker(running_lab.state, small_disk / "docker")
    try:
        daemon.start()
        bench = RealBench("docker", daemon.environ, tmp_path, rootfs)
        with pytest.raises(HostBlockedError, match=r"the disk that docker keeps its images on .* is full") as caught:
            bench.engine.build(bench.request(FROM_ROOTFS + f"RUN {FILL}\n"), on_line=lambda _: None)
        assert str(small_disk) in caught.value.message
    finally:
        daemon.clear()


def test_a_full_disk_under_podman_blocks_the_host(small_disk: Path, tmp_path: Path, rootfs: Path) -> None:
    conf = tmp_path / "storage.conf"
    conf.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{small_disk}/graph"\nrunroot = "{small_disk}/run"\n')
    environ = {**os.environ, "CONTAINERS_STORAGE_CONF": str(conf)}
    bench = RealBench("podman", environ, tmp_path, rootfs)
    with pytest.raises(HostBlockedError, match=r"the disk that podman keeps its images on .* is full") as caught:
        bench.engine.build(bench.request(FROM_ROOTFS + f"RUN {FILL}\n"), on_line=lambda _: None)
    assert str(small_disk) in caught.value.message
    assert bench.present() == set()


KILLED = """
import sys
from pathlib import Path
from tests.contract.bench import FROM_ROOTFS, RealBench, shell
import os
kind, folder, rootfs, what = sys.argv[1:5]
bench = RealBench(kind, os.environ, Path(folder), Path(rootfs))
show = lambda line: print(line, flush=True)
if what == "run":
    bench.engine.run(shell(bench.built(), sys.argv[5], seconds=600.0), on_line=show)
else:
    bench.engine.build(bench.request(FROM_ROOTFS + f"RUN {sys.argv[5]}\\n", "killed"), on_line=show)
"""


@pytest.mark.parametrize("kind", ["podman", "docker"])
@pytest.mark.parametrize("what", ["build", "run"])
@pytest.mark.usefixtures("running_lab")
def test_what_we_leave_when_we_are_killed_is_cleared_by_the_next_run(kind: str, what: str, tmp_path: Path, rootfs: Path) -> None:
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    bench = RealBench(kind, environ, tmp_path, rootfs)
    before = bench.present()
    argv = [sys.executable, "-c", KILLED, kind, str(tmp_path), str(rootfs), what, HANG]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**environ, "PYTHONPATH": str(Path.cwd())}) as killed:
        assert killed.stdout is not None
        while not killed.stdout.readline().rstrip().endswith("hanging"):
            assert killed.poll() is None
        killed.kill()
    try:
        assert within(lambda: steps() != [])
        bench.built(name="next")
        assert within(lambda: steps() == [])
        assert bench.present() <= before
    finally:
        end_steps(HANGING)
        bench.clear()


def within(question: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Return whether something becomes true in time."""
    until = time.monotonic() + seconds
    while not question():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def steps() -> list[str]:
    """Return the pids of the steps that hang."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == HANGING:
                found.append(path.parent.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
