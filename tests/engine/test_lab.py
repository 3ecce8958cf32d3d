"""The lab does what other tests count on: names lead where they should, stand-ins work, and nothing is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab import bases
from tests.lab.fixtures import Lab
from tests.lab.place import CHECKOUT, cache_folder

pytestmark = pytest.mark.lab
PROGRAM = [sys.executable, "-S", str(CHECKOUT / "tests" / "lab" / "lab")]
READ = """
import importlib.metadata as m, json, sys
found = {d.name: d.version for d in m.distributions()}
modules = {}
for name in ("torch", "vllm"):
    if name in found:
        modules[name] = __import__(name).__version__
print(json.dumps({"python": "%d.%d" % sys.version_info[:2], "prefix": sys.prefix, "found": found, "modules": modules}))
"""


def run(*argv: str, check: bool = True, own: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(argv, env={**os.environ, **(own or {})}, capture_output=True, text=True, check=False, timeout=240)
    assert not check or done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done


@pytest.mark.usefixtures("running_lab")
@pytest.mark.parametrize("one", bases.images(), ids=lambda one: one.reference)
def test_a_vendors_name_leads_to_the_stand_in(one: bases.Image) -> None:
    seen = json.loads(run("skopeo", "inspect", "--config", f"docker://{one.reference}").stdout)["config"]
    env = dict(line.split("=", 1) for line in seen["Env"])
    assert env.items() >= one.env.items()
    assert seen["Labels"].items() >= {**one.labels, "imgbuild.lab": "stand-in"}.items()


@pytest.mark.usefixtures("running_lab")
def test_every_other_name_leads_nowhere() -> None:
    done = run("skopeo", "inspect", "docker://registry.example.com/some/image:1", check=False)
    assert done.returncode != 0
    assert "the lab has no stand-in for registry.example.com:443" in done.stderr


@pytest.mark.usefixtures("running_lab")
def test_a_tag_that_no_stand_in_has_is_not_there() -> None:
    done = run("docker", "pull", "nvcr.io/nvidia/pytorch:99.99-py3", check=False)
    assert done.returncode != 0
    assert "not found" in done.stderr


@pytest.mark.parametrize("one", [one for one in bases.images() if one.python], ids=lambda one: one.reference)
def test_the_python_of_a_stand_in_is_the_one_it_says(one: bases.Image, running_lab: Lab) -> None:
    python = running_lab.base(one.reference)["python"]
    program = ["docker", "run", "--rm", "--quiet", "--pull", "always", "--network", "none", "--entrypoint", python, one.reference]
    seen = json.loads(run(*program, "-c", READ).stdout)
    assert seen["python"] == one.python
    assert seen["prefix"] == "/" + (one.venv or one.at)
    assert seen["found"].items() >= {found.name: found.version for found in one.distributions}.items()
    for found in one.distributions:
        if found.module in {"torch", "vllm"}:
            assert seen["modules"][found.module] == found.said.get("version", found.version)
    assert "No broken requirements found" in run(*program, "-m", "pip", "check").stdout


@pytest.mark.parametrize("engine", ["docker", "docker-classic", "podman"])
@pytest.mark.parametrize("base", ["docker.io/library/debian:12-slim", "nvcr.io/nvidia/pytorch:25.10-py3"])
def test_packages_install_in_a_build_on_every_engine(engine: str, base: str, running_lab: Lab, tmp_path: Path) -> None:
    running_lab.base(base)
    (tmp_path / "Dockerfile").write_text(
        f"FROM {base}\nRUN apt-get update && apt-get install -y --no-install-recommends hello && hello\n"
    )
    program = {
        "docker": ["docker"],
        "docker-classic": ["docker", "--host", running_lab.docker_classic or ""],
        "podman": ["podman"],
    }[engine]
    run(*program, "build", "--no-cache", "--tag", "localhost/lab-hello", str(tmp_path))
    assert (
        "Hello, world!"
        in run(*program, "run", "--rm", "--network", "none", "--entrypoint", "hello", "localhost/lab-hello").stdout
    )
    run(*program, "rmi", "localhost/lab-hello")


def interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def mounts(below: Path) -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(below) in line]


@pytest.mark.usefixtures("running_lab")
def test_a_second_lab_comes_and_goes_beside_the_first(tmp_path: Path) -> None:
    own = {"IMGBUILD_LAB": str(tmp_path / "lab"), "IMGBUILD_LAB_CACHE": str(cache_folder())}
    before = interfaces(), run("iptables-save").stdout.count("imgbuild lab")
    try:
        run(*PROGRAM, "up", "--no-bases", own=own)
        status = json.loads(run(*PROGRAM, "status", "--json", own=own).stdout)
        assert status["running"].keys() == {"docker", "proxy", "registry", "registry-tls"}
        shell = f'eval "$({" ".join(PROGRAM)} env)" && docker info --format "{{{{.DockerRootDir}}}}"'
        assert run("bash", "-c", shell, own=own).stdout.strip() == str(tmp_path / "lab" / "docker")
        assert "lab: up" in run(*PROGRAM, "up", "--no-bases", own=own).stderr
    finally:
        run(*PROGRAM, "down", own=own)
    assert (interfaces(), run("iptables-save").stdout.count("imgbuild lab")) == before
    assert mounts(tmp_path) == []
    assert run(*PROGRAM, "status", check=False, own=own).returncode == 1
    assert "nothing runs here" in run(*PROGRAM, "env", check=False, own=own).stderr
    assert run(*PROGRAM, "down", "--purge", own=own).returncode == 0
    assert not (tmp_path / "lab").exists()


@pytest.mark.usefixtures("running_lab")
def test_a_daemon_that_was_killed_is_started_again(tmp_path: Path) -> None:
    own = {"IMGBUILD_LAB": str(tmp_path / "lab"), "IMGBUILD_LAB_CACHE": str(cache_folder())}
    try:
        run(*PROGRAM, "up", "--no-bases", own=own)
        killed = json.loads(run(*PROGRAM, "status", "--json", own=own).stdout)["running"]["docker"]
        run("kill", "-9", str(killed))
        run(*PROGRAM, "up", "--no-bases", own=own)
        assert json.loads(run(*PROGRAM, "status", "--json", own=own).stdout)["running"]["docker"] != killed
    finally:
        run(*PROGRAM, "down", own=own)
    assert mounts(tmp_path) == []
