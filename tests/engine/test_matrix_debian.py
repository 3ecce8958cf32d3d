"""Distribution bases by the command line: Debian from its registry with packages of its own, and Debian assembled here."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from typing import Any

import pytest

from tests.engine.command import Ended, Imgbuild, ask
from tests.engine.places import Matrix, Place
from tests.lab.fixtures import Lab

pytestmark = pytest.mark.lab
DEBIAN = "docker.io/library/debian:13-slim"
SHOW = "hello; command -v python; find /var/lib/apt/lists /tmp -type f; grep -v '#' $PIP_CONSTRAINT"
LEVEL = {"x86_64": "cpu/x86-64-v2", "aarch64": "cpu/armv8"}
ON_BOTH = [pytest.param(engine, marks=pytest.mark.engine(engine)) for engine in ("docker", "podman")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A matrix with one variant, built on one engine."""

    engine: str
    matrix: Matrix
    run: Ended
    imgbuild: Imgbuild

    @property
    def outcome(self) -> dict[str, Any]:
        (found,) = self.run.outcomes.values()
        return found

    @property
    def image(self) -> dict[str, Any]:
        (record,) = self.matrix.evidence
        return dict(json.loads(ask(self.imgbuild.environ, self.engine, "image", "inspect", self.tag(record["content"])))[0])

    def tag(self, content: str) -> str:
        return f"localhost/imgbuild/{self.matrix.name}:{content}"


def cells(framework: str) -> dict[str, Any]:
    return {"framework": [framework], "stack": ["cpu"], "python": ["3.13"]}


@pytest.fixture(scope="module", params=ON_BOTH)
def pulled(request: pytest.FixtureRequest, place: Place, imgbuild: Imgbuild, lab_session: tuple[Lab, dict[str, str]]) -> Built:
    """Debian from its registry, with a Debian package and a framework of one line."""
    lab_session[0].base(DEBIAN)
    matrix = place.matrix(
        f"pulled-{request.param}",
        matrix=cells("onnxruntime==1.31.*"),
        base=["distribution"],
        bases={"distribution": "registry"},
        packages=[{"apt": ["hello"]}],
        probes=["import", "declared", "pip-check"],
    )
    run = imgbuild("matrix", "build", matrix.path, "--json", "--engine", request.param)
    return Built(engine=request.param, matrix=matrix, run=run, imgbuild=imgbuild)


def test_a_debian_of_the_registry_gets_packages_at_locked_versions(pulled: Built) -> None:
    assert pulled.run.code == 0, pulled.run.stderr
    (base,) = pulled.matrix.lock["bases"]
    (entry,) = pulled.matrix.lock["variants"]
    assert (base["key"], base["reference"]) == ("debian13", DEBIAN)
    assert base["digest"].startswith("sha256:")
    debs = {deb["name"]: deb for deb in entry["debs"]}
    assert {"hello", "python3-venv", "python3.13-venv"} <= debs.keys()
    assert all(len(deb["sha256"]) == 64 and deb["version"] for deb in debs.values())
    (record,) = pulled.matrix.evidence
    assert record["actual"]["debs"] == len(debs)
    assert (pulled.outcome["status"], pulled.outcome["tier"]) == ("passed", "imported")


def test_what_apt_brought_is_there_and_its_lists_are_not(pulled: Built) -> None:
    words = [pulled.engine, "run", "--rm", "--network", "none", pulled.image["RepoTags"][0]]
    said = ask(pulled.imgbuild.environ, *words, "sh", "-c", SHOW)
    assert said.splitlines() == ["Hello, world!", "/opt/venv/bin/python", "onnxruntime==1.31.1"]


@pytest.fixture(scope="module", params=ON_BOTH)
def assembled(request: pytest.FixtureRequest, place: Place, imgbuild: Imgbuild, lab_session: tuple[Lab, dict[str, str]]) -> Built:
    """Debian assembled here, with a framework that computes, from the package index of this host."""
    del lab_session
    own = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    here = imgbuild.within(**{"PIP_CONFIG_FILE": None, "PIP_INDEX_URL": None, **own})
    matrix = place.matrix(
        f"assembled-{request.param}",
        targets={"here": {"accelerator": LEVEL[platform.machine()], "runner": "local"}},
        matrix=cells("onnxruntime==1.31.*"),
        base=["distribution"],
        bases={"distribution": "assembled"},
        user="1000:1000",
    )
    run = here("matrix", "build", matrix.path, "--json", "--engine", request.param)
    return Built(engine=request.param, matrix=matrix, run=run, imgbuild=here)


@pytest.mark.network
def test_an_assembled_debian_computes_on_this_host(assembled: Built) -> None:
    assert assembled.run.code == 0, assembled.run.stderr
    assert (assembled.outcome["status"], assembled.outcome["tier"]) == ("passed", "device")
    (record,) = assembled.matrix.evidence
    assert (record["target"], record["tier"]) == ("here", "device")
    checked = [one for one in record["results"] if one["values"].get("checked")]
    assert {one["name"] for one in checked} >= {"matmul", "model"}
    assert all(one["status"] == "passed" for one in record["results"])


@pytest.mark.network
def test_an_assembled_debian_is_named_by_its_packages_and_needs_no_registry(assembled: Built) -> None:
    (base,) = assembled.matrix.lock["bases"]
    assert base.get("digest") is None
    assert {"libc6", "python3.13", "python3-venv"} <= {deb["name"] for deb in base["debs"]}
    image = assembled.image
    assert image["Config"]["Labels"]["imgbuild.base.rootfs"] == f"sha256:{base['rootfs_sha256']}"
    assert image["Config"]["User"] == "1000:1000"
    done = assembled.imgbuild("matrix", "table", assembled.matrix.path, "--json")
    (row,) = done.document["rows"]
    assert (row["target"], row["tier"], row["digest"]) == ("here", "device", assembled.outcome["digest"])
