"""The quickstart script chooses the engine that answers, brings one where it may, and says so where it may not."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.process
YES, NO = "exit 0", "exit 1"
ONLY_OWN = '[ -n "${CONTAINERS_CONF:-}" ]'  # a podman that runs nothing with the settings it came with


@dataclass
class Host:
    """A checkout whose programs answer as told; ``imgbuild`` only says how it was called."""

    root: Path
    programs: dict[str, str] = field(default_factory=dict)

    def run(self) -> subprocess.CompletedProcess[str]:
        shims = self.root / "shims"
        for folder in (shims, self.root / ".venv" / "bin"):
            folder.mkdir(parents=True, exist_ok=True)
        for name, script in self.programs.items():
            self._write(shims / name, script)
        self._write(self.root / ".venv" / "bin" / "imgbuild", 'echo "imgbuild $* conf=${CONTAINERS_CONF:-none}"')
        place = self.root / ".ci" / "quickstart"
        place.parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / ".ci" / "quickstart", place)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CONTAINERS_", "DOCKER_"))}
        environ = {**kept, "PATH": f"{shims}:{os.environ['PATH']}"}
        return subprocess.run([str(place)], env=environ, capture_output=True, text=True, check=False, timeout=60)

    def _write(self, path: Path, script: str) -> None:
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path, {"docker": NO, "podman": NO, "id": "echo 1000", "apt-get": 'echo "apt-get $*"; exit 1'})


@pytest.fixture
def root_of_debian(host: Host) -> Host:
    words = Path("/etc/os-release").read_text()
    if "ID=debian" not in words and "ID=ubuntu" not in words:
        pytest.skip("podman is installed on Debian and Ubuntu only")
    host.programs |= {"id": "echo 0", "podman": ONLY_OWN, "dpkg-query": "printf installed"}
    return host


def test_where_nothing_answers_it_says_how_to_get_an_engine(host: Host) -> None:
    done = host.run()
    assert done.returncode == 8
    assert "no container engine answers" in done.stderr
    assert "https://podman.io/docs/installation" in done.stderr
    assert done.stdout == ""
    assert not (host.root / ".state").exists()


def test_docker_that_answers_is_used(host: Host) -> None:
    host.programs |= {"docker": "echo 26.1.5"}
    done = host.run()
    assert (done.returncode, done.stdout) == (0, "imgbuild matrix build matrices/quickstart.yaml conf=none\n")
    assert "using Docker, which answers (26.1.5)" in done.stderr


def test_docker_without_buildx_does_not_count(host: Host) -> None:
    host.programs |= {"docker": '[ "$1" != buildx ]', "podman": YES}
    assert "using podman, which answers" in host.run().stderr


def test_podman_that_answers_is_used_as_it_is(host: Host) -> None:
    host.programs |= {"podman": YES}
    done = host.run()
    assert (done.returncode, done.stdout) == (0, "imgbuild matrix build matrices/quickstart.yaml conf=none\n")


def test_root_gets_podman_with_settings_in_the_checkout(root_of_debian: Host) -> None:
    state = root_of_debian.root / ".state" / "quickstart"
    done = root_of_debian.run()
    assert (done.returncode, done.stdout) == (0, f"imgbuild matrix build matrices/quickstart.yaml conf={state}/containers.conf\n")
    settings = (state / "containers.conf").read_text()
    assert 'runtime = "runc"' in settings
    assert 'cgroup_manager = "cgroupfs"' in settings
    assert f'graphroot = "{state}/storage"' in (state / "storage.conf").read_text()
    assert "installing" not in done.stderr


def test_a_second_run_keeps_to_the_settings_of_the_first(root_of_debian: Host) -> None:
    first = root_of_debian.run()
    root_of_debian.programs |= {"podman": YES}  # its own settings would do by now, and would know none of the images
    assert root_of_debian.run().stdout == first.stdout


def test_what_is_installed_is_named_first(root_of_debian: Host) -> None:
    root_of_debian.programs |= {"dpkg-query": NO, "apt-get": "for n in {1..40}; do echo line $n; done; exit 0"}
    done = root_of_debian.run()
    assert done.returncode == 0
    assert "installing this release's podman: podman buildah runc netavark" in done.stderr
    assert "line" not in done.stderr


def test_a_package_that_was_removed_is_installed_again(root_of_debian: Host) -> None:
    gone = '[ "${@: -1}" = runc ] && printf config-files || printf installed'
    root_of_debian.programs |= {"dpkg-query": gone, "apt-get": YES}
    assert "installing this release's podman: runc\n" in root_of_debian.run().stderr


def test_an_install_that_fails_blocks_and_shows_the_end_of_apts_words(root_of_debian: Host) -> None:
    root_of_debian.programs |= {"dpkg-query": NO, "apt-get": "for n in {1..40}; do echo line $n; done; exit 100"}
    done = root_of_debian.run()
    log = root_of_debian.root / ".state" / "quickstart" / "apt.log"
    assert (done.returncode, done.stdout) == (8, "")
    assert "line 26\n" in done.stderr
    assert "line 25\n" not in done.stderr
    assert f"could not be installed; all of apt's words are in {log}" in done.stderr
    assert "line 1\n" in log.read_text()


def test_a_podman_that_runs_nothing_blocks(root_of_debian: Host) -> None:
    root_of_debian.programs |= {"podman": "echo why >&2; exit 1"}
    done = root_of_debian.run()
    assert done.returncode == 8
    assert "podman is installed and runs no container" in done.stderr
    assert "why" in done.stderr
