"""Locks and renders by the command line: made, checked, refused when stale, and good for a build without us."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.command import Imgbuild
from tests.engine.places import Place, small
from tests.engine.registries import Repository, amd64_digest
from tests.lab.fixtures import Lab

pytestmark = pytest.mark.lab
FIRST, SECOND = "onnxruntime1.30.0-cpu-py3.12", "onnxruntime1.31.1-cpu-py3.12"
BOTH = {"framework": ["onnxruntime==1.30.*", "onnxruntime==1.31.*"], "stack": ["cpu"], "python": ["3.12"]}
ENGINE = ("--engine", "docker")


@pytest.fixture
def repository(lab_session: tuple[Lab, dict[str, str]], place: Place, request: pytest.FixtureRequest) -> Iterator[Repository]:
    """A repository of this test's own in the lab's registry."""
    name = request.node.name.partition("[")[0].replace("test_", "").replace("_", "-")[:40]
    made = Repository(address=lab_session[0].registry, name=f"{place.mark}/{name}")
    yield made
    made.clear()


def test_a_base_that_was_pushed_anew_is_told(repository: Repository, place: Place, imgbuild: Imgbuild) -> None:
    before = repository.copy("library/ubuntu:24.04", "1")
    matrix = place.matrix("moved", **small(base=[repository.reference("1")]))
    assert imgbuild("matrix", "lock", matrix.path, *ENGINE).code == 0
    assert imgbuild("matrix", "lock", matrix.path, "--check").code == 0
    text = matrix.lock_path.read_text()

    after = repository.copy("library/debian:13-slim", "1")
    assert after != before
    checked = imgbuild("matrix", "lock", matrix.path, "--check")
    assert checked.code == 5
    assert checked.says(f"base {repository.reference('1')}", before, after, f"imgbuild matrix lock {matrix.path} --update")
    assert checked.stdout == ""
    told = imgbuild("matrix", "lock", matrix.path, "--check", "--json")
    (difference,) = told.document["differences"]
    assert (told.code, difference["field"], difference["locked"], difference["expected"]) == (5, "digest", before, after)
    assert matrix.lock_path.read_text() == text


def test_a_lock_that_holds_builds_what_it_pins_although_the_tag_moved(
    repository: Repository, place: Place, imgbuild: Imgbuild
) -> None:
    before = repository.copy("library/ubuntu:24.04", "1")
    matrix = place.matrix("pinned", **small(base=[repository.reference("1")]))
    assert imgbuild("matrix", "lock", matrix.path, *ENGINE).code == 0
    repository.copy("library/debian:13-slim", "1")
    done = imgbuild("matrix", "build", matrix.path, "--json", *ENGINE)
    assert (done.code, done.outcomes[SECOND]["status"]) == (0, "passed"), done.stderr
    assert matrix.lock["bases"][0]["digest"] == before


def test_a_missing_lock_is_said_and_made(place: Place, imgbuild: Imgbuild, lab_session: tuple[Lab, dict[str, str]]) -> None:
    matrix = place.matrix("missing", **small())
    none = imgbuild("matrix", "lock", matrix.path, "--check")
    assert none.code == 5
    assert none.says(f"there is no lock {matrix.lock_path}", f"imgbuild matrix lock {matrix.path}\n")
    assert not matrix.lock_path.exists()
    made = imgbuild("matrix", "lock", matrix.path, "--json", *ENGINE)
    assert made.code == 0, made.stderr
    (image,) = made.document["images"]
    assert image["digest"] == amd64_digest(lab_session[0].registry, "docker.io/library/ubuntu:24.04")
    assert [one["file"] for one in made.document["files"]] == ["onnxruntime-1.31.1-py3-none-any.whl"]
    text = matrix.lock_path.read_text()
    assert imgbuild("matrix", "lock", matrix.path, *ENGINE).says("0 resolved, 1 as they were")
    assert matrix.lock_path.read_text() == text


def test_a_stale_lock_is_refused_with_the_command_that_mends_it(place: Place, imgbuild: Imgbuild) -> None:
    matrix = place.matrix("stale", **small())
    assert imgbuild("matrix", "lock", matrix.path, *ENGINE).code == 0
    text = matrix.lock_path.read_text()
    place.matrix("stale", **small(packages=[{"pip": ["imgbuild-plain"]}]))
    for command in (("build", *ENGINE), ("lock", "--check")):
        refused = imgbuild("matrix", command[0], matrix.path, *command[1:])
        assert refused.code == 5
        assert refused.says(SECOND, "imgbuild-plain", f"imgbuild matrix lock {matrix.path}")
        assert refused.stdout == ""
    assert matrix.lock_path.read_text() == text
    assert imgbuild("matrix", "lock", matrix.path, *ENGINE).code == 0
    assert imgbuild("matrix", "lock", matrix.path, "--check").code == 0
    assert [package["name"] for package in matrix.lock["variants"][0]["packages"]] == ["imgbuild-plain", "onnxruntime"]


def test_only_adds_to_a_lock_and_leaves_the_rest_byte_for_byte(place: Place, imgbuild: Imgbuild) -> None:
    matrix = place.matrix("only", **small(matrix=BOTH))
    first = imgbuild("matrix", "build", matrix.path, "--json", "--only", FIRST, *ENGINE)
    assert (first.code, list(first.outcomes)) == (0, [FIRST])
    assert [entry["id"] for entry in matrix.lock["variants"]] == [FIRST]
    incomplete = imgbuild("matrix", "lock", matrix.path, "--check")
    assert incomplete.code == 5
    assert incomplete.says(SECOND)
    assert imgbuild("matrix", "lock", matrix.path, "--check", "--only", FIRST).code == 0
    entry = matrix.lock_path.read_text().partition(f"- id: {FIRST}")[2]
    assert imgbuild("matrix", "lock", matrix.path, "--only", "framework=onnxruntime==1.31.*", *ENGINE).code == 0
    assert [entry["id"] for entry in matrix.lock["variants"]] == [FIRST, SECOND]
    assert matrix.lock_path.read_text().partition(f"- id: {FIRST}")[2].startswith(entry.rstrip("\n"))
    assert imgbuild("matrix", "lock", matrix.path, "--check").code == 0


def test_render_check_finds_what_was_edited(place: Place, imgbuild: Imgbuild) -> None:
    matrix = place.matrix("rendered", **small())
    early = imgbuild("matrix", "render", matrix.path)
    assert early.code == 5
    assert early.says("there is no lock", f"run imgbuild matrix lock {matrix.path}")
    assert imgbuild("matrix", "lock", matrix.path, *ENGINE).code == 0
    rendered = imgbuild("matrix", "render", matrix.path, "--json")
    assert rendered.code == 0, rendered.stderr
    folder = Path(rendered.document["contexts"][0]["folder"])
    assert imgbuild("matrix", "render", matrix.path, "--check").code == 0
    dockerfile = folder / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text().replace("LABEL ", "LABEL edited=yes "))
    edited = imgbuild("matrix", "render", matrix.path, "--check", "--json")
    assert edited.code == 5
    (difference,) = edited.document["differences"]
    assert (difference["folder"], difference["path"]) == (str(folder), "Dockerfile")
    assert any(line.startswith(("-LABEL edited=yes", "+LABEL edited=yes")) for line in difference["diff"])
    assert imgbuild("matrix", "render", matrix.path).code == 0
    assert imgbuild("matrix", "render", matrix.path, "--check").code == 0


@pytest.mark.parametrize("engine", [pytest.param(name, marks=pytest.mark.engine(name)) for name in ("docker", "podman")])
def test_contexts_build_without_us_and_without_a_network(engine: str, place: Place, imgbuild: Imgbuild, tmp_path: Path) -> None:
    matrix = place.matrix(f"contexts-{engine}", **small(packages=[{"pip": ["imgbuild-plain"]}]))
    assert imgbuild("matrix", "lock", matrix.path, "--engine", engine).code == 0
    rendered = imgbuild("matrix", "render", matrix.path, "--contexts", "--out", tmp_path / "contexts", "--json")
    assert rendered.code == 0, rendered.stderr
    (context,) = rendered.document["contexts"]
    folder = Path(context["folder"])
    assert sorted(path.name for path in (folder / "wheels").iterdir()) == [
        "imgbuild_plain-1.0-py3-none-any.whl",
        "onnxruntime-1.31.1-py3-none-any.whl",
    ]
    assert imgbuild("matrix", "render", matrix.path, "--out", tmp_path / "contexts", "--check").code == 0
    tag = f"localhost/imgbuild/{matrix.name}:by-hand"
    words = [engine, "build", "--network", "none", "--tag", tag, str(folder)]
    built = subprocess.run(words, env=imgbuild.environ, capture_output=True, text=True, check=False, timeout=120)
    assert built.returncode == 0, built.stderr
    run = [engine, "run", "--rm", "--network", "none", tag, "python3", "-c", "import onnxruntime, imgbuild_plain; print('there')"]
    said = subprocess.run(run, env=imgbuild.environ, capture_output=True, text=True, check=False, timeout=60)
    assert said.stdout == "there\n", said.stderr


def test_a_base_that_never_was_cannot_be_satisfied(repository: Repository, place: Place, imgbuild: Imgbuild) -> None:
    matrix = place.matrix("nowhere", **small(base=[repository.reference("1")]))
    done = imgbuild("matrix", "build", matrix.path, "--json", *ENGINE)
    assert done.code == 4
    outcome = done.outcomes[SECOND]
    assert (outcome["status"], outcome["exit_code"], outcome["tier"], outcome["digest"]) == ("failed", 4, None, None)
    assert outcome["reason"] == f"there is no image {repository.reference('1')} for linux/amd64"
    assert "check its name and tag in the registry" in outcome["hint"]
    assert not matrix.lock_path.exists()


def test_a_locked_base_that_is_gone_is_not_what_the_lock_says(repository: Repository, place: Place, imgbuild: Imgbuild) -> None:
    digest = repository.copy("library/ubuntu:24.04", "1")
    matrix = place.matrix("gone", **small(base=[repository.reference("1")]))
    assert imgbuild("matrix", "lock", matrix.path, *ENGINE).code == 0
    pinned = f"{repository.reference('1').rpartition(':')[0]}@{digest}"
    subprocess.run(["docker", "image", "rm", "--force", pinned], env=imgbuild.environ, capture_output=True, check=False)
    repository.remove(digest)
    checked = imgbuild("matrix", "lock", matrix.path, "--check")
    assert checked.code == 5
    assert checked.says(digest, "the registry no longer has it")
    done = imgbuild("matrix", "build", matrix.path, "--json", *ENGINE)
    assert done.code == 5
    outcome = done.outcomes[SECOND]
    assert "is not in its registry" in outcome["reason"]
    assert "imgbuild matrix lock --update" in outcome["hint"]
    assert json.loads(imgbuild("matrix", "table", matrix.path, "--json").stdout)["rows"][0]["tier"] == "rendered"
