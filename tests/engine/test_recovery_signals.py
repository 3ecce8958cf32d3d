"""Runs that are interrupted, told to end, killed, or not alone: what they say, what they leave, and the run after them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.engine.command import Imgbuild, ask, containers
from tests.engine.index import Index
from tests.engine.places import Place, small
from tests.engine.scene import Scene, command_lines, installing
from tests.engine.wheels import LINGERS, ONNXRUNTIME, write_slow

pytestmark = pytest.mark.lab
FIRST, SECOND = (f"onnxruntime{version}-cpu-py3.12" for version in ONNXRUNTIME)
LINGERING = f"onnxruntime{LINGERS}-cpu-py3.12"
FILE = f"onnxruntime-{ONNXRUNTIME[1]}-py3-none-any.whl"
BOTH = {"framework": ["onnxruntime==1.30.*", "onnxruntime==1.31.1"], "stack": ["cpu"], "python": ["3.12"]}
KILLED = -signal.SIGKILL
DOCKER = pytest.param("docker", marks=pytest.mark.engine("docker"))
on_docker = pytest.mark.parametrize("scene", [DOCKER], indirect=True)
on_both = pytest.mark.parametrize("scene", [DOCKER, pytest.param("podman", marks=pytest.mark.engine("podman"))], indirect=True)


@pytest.fixture
def scene(request: pytest.FixtureRequest, imgbuild: Imgbuild, place: Place, index: Index, tmp_path: Path) -> Scene:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    own = imgbuild.within(XDG_CACHE_HOME=str(tmp_path / "cache"), TMPDIR=str(temporary), PIP_INDEX_URL=index.url)
    return Scene(engine=request.param, place=place, imgbuild=own, index=index, temporary=temporary)


def slow(scene: Scene, framework: str) -> list[dict[str, object]]:
    """Return packages that make the build of one cell take seconds."""
    return [{"when": {"framework": framework}, "pip": [write_slow(scene.index.folder)]}]


# -- one interrupt ends a run in order


@pytest.mark.parametrize(
    ("scene", "number", "code", "word"),
    [
        pytest.param("docker", signal.SIGINT, 130, "interrupted", marks=pytest.mark.engine("docker"), id="docker-interrupted"),
        pytest.param("podman", signal.SIGINT, 130, "interrupted", marks=pytest.mark.engine("podman"), id="podman-interrupted"),
        pytest.param("docker", signal.SIGTERM, 143, "told to end", marks=pytest.mark.engine("docker"), id="docker-terminated"),
    ],
    indirect=["scene"],
)
def test_a_signal_in_a_build_ends_in_order(scene: Scene, number: signal.Signals, code: int, word: str) -> None:
    matrix = scene.place.matrix(
        f"signal-{scene.engine}-{code}", **small(matrix=BOTH, packages=slow(scene, "onnxruntime==1.31.1"))
    )
    scene.lock(matrix)
    with scene.building(matrix, "--json") as run:
        run.until(installing(matrix, SECOND))
        run.send(number)
        done = run.ended(30)
    assert done.code == code
    assert done.says(f"error: the run was {word}", "hint: run the same command again: what had ended is kept")
    first, second = done.outcomes[FIRST], done.outcomes[SECOND]
    assert (first["status"], first["tier"]) == ("passed", "imported")
    assert (second["status"], second["tier"], second["digest"], second["exit_code"]) == ("aborted", None, None, code)
    scene.nothing_left(matrix, run)
    again = scene.build(matrix)
    assert again.code == 0, again.stderr
    assert (again.outcomes[FIRST]["fresh"], again.outcomes[SECOND]["fresh"]) == (False, True)


@on_both
def test_an_interrupt_in_a_test_takes_the_container_away(scene: Scene) -> None:
    matrix = scene.place.matrix(f"probing-{scene.engine}", **small(f"onnxruntime=={LINGERS}", probes=["import"]))
    with scene.building(matrix) as run:
        run.until(scene.probing(run))
        run.send(signal.SIGINT)
        done = run.ended(30)
    assert done.code == 130
    assert f"aborted  {LINGERING}" in done.stdout
    assert "1 aborted" in done.stdout
    scene.nothing_left(matrix, run)
    assert matrix.evidence == []
    (row,) = scene.imgbuild("matrix", "table", matrix.path, "--json").document["rows"]
    assert (row["tier"], row["digest"]) == ("rendered", None)


@on_docker
def test_an_interrupt_says_which_variants_had_not_begun(scene: Scene) -> None:
    matrix = scene.place.matrix("waiting", **small(matrix=BOTH, packages=slow(scene, "onnxruntime==1.30.*")))
    with scene.building(matrix) as run:
        run.until(installing(matrix, FIRST))
        run.send(signal.SIGINT)
        done = run.ended(30)
    assert done.code == 130
    assert done.stdout.startswith("VARIANT ")
    assert "the run was interrupted before this variant began" in done.stdout
    assert "2 aborted" in done.stdout
    scene.nothing_left(matrix, run)


@on_docker
def test_an_interrupt_while_locking(scene: Scene) -> None:
    matrix = scene.place.matrix("locking", **small())
    with scene.index.holding("/onnxruntime/"), scene.building(matrix, "--json") as run:
        run.until(scene.asked("/onnxruntime/"))
        run.send(signal.SIGINT)
        done = run.ended(30)
    assert done.code == 130
    assert done.says("error: the run was interrupted")
    assert not matrix.lock_path.exists()
    assert (done.outcomes[SECOND]["status"], done.outcomes[SECOND]["exit_code"]) == ("aborted", 130)
    scene.nothing_left(matrix, run)


@on_docker
def test_an_interrupt_while_fetching_does_not_wait_for_the_index(scene: Scene) -> None:
    matrix = scene.place.matrix("fetching", **small())
    scene.lock(matrix)
    asked = scene.asked(FILE)
    with scene.index.holding(FILE), scene.building(matrix, "--json") as run:
        run.until(asked)
        run.send(signal.SIGINT)
        done = run.ended(10)
    assert (done.code, done.outcomes[SECOND]["status"]) == (130, "aborted")
    scene.nothing_left(matrix, run)


STUBBORN = """#!/bin/sh
if [ "$1 $2" = "buildx build" ]; then
  trap 'touch "{told}"' TERM
  touch "{begun}"
  while :; do sleep 0.05; done
fi
exec "{real}" "$@"
"""


@on_docker
def test_a_second_interrupt_ends_at_once(scene: Scene, tmp_path: Path) -> None:
    begun, told, program = tmp_path / "begun", tmp_path / "told", tmp_path / "bin" / "docker"
    program.parent.mkdir()
    real = ask(scene.imgbuild.environ, "sh", "-c", "command -v docker").strip()
    program.write_text(STUBBORN.format(begun=begun, told=told, real=real))
    program.chmod(0o755)
    stubborn = scene.imgbuild.within(PATH=f"{program.parent}:{scene.imgbuild.environ['PATH']}")
    matrix = scene.place.matrix("twice", **small())
    with stubborn.running("matrix", "build", matrix.path, "--engine", "docker") as run:
        run.until(begun.exists)
        run.send(signal.SIGINT)
        run.until(told.exists)
        before = time.monotonic()
        run.send(signal.SIGINT)
        done = run.ended(30)
    assert done.code == 130
    assert time.monotonic() - before < 2
    end = time.monotonic() + 10
    while any(str(program) in words for words in command_lines()):
        assert time.monotonic() < end, "the program that would not end still runs"
        time.sleep(0.05)
    again = scene.build(matrix)
    assert again.code == 0, again.stderr
    scene.nothing_left(matrix, run)


# -- killed: the next run goes on, and clears up


@on_docker
def test_killed_while_locking(scene: Scene) -> None:
    matrix = scene.place.matrix("kill-lock", **small())
    with scene.index.holding("/onnxruntime/"), scene.building(matrix) as run:
        run.until(scene.asked("/onnxruntime/"))
        run.send(signal.SIGKILL)
        assert run.ended().code == KILLED
    assert not matrix.lock_path.exists()
    again = scene.build(matrix)
    assert again.code == 0, again.stderr
    scene.nothing_left(matrix, run)


@on_docker
def test_killed_while_fetching(scene: Scene) -> None:
    matrix = scene.place.matrix("kill-fetch", **small(matrix=BOTH))
    scene.lock(matrix)
    lock, asked = matrix.lock_path.read_bytes(), scene.asked(FILE)
    with scene.index.holding(FILE), scene.building(matrix) as run:
        run.until(asked)
        run.send(signal.SIGKILL)
        assert run.ended().code == KILLED
    again = scene.build(matrix)
    assert again.code == 0, again.stderr
    assert matrix.lock_path.read_bytes() == lock
    scene.nothing_left(matrix, run)


@on_both
def test_killed_while_building(scene: Scene) -> None:
    matrix = scene.place.matrix(f"kill-build-{scene.engine}", **small(matrix=BOTH, packages=slow(scene, "onnxruntime==1.31.1")))
    before = containers(scene.imgbuild.environ, scene.engine)
    with scene.building(matrix) as run:
        run.until(installing(matrix, SECOND))
        run.send(signal.SIGKILL)
        assert run.ended().code == KILLED
    tags = [tag for tag in scene.place.tags(scene.engine) if tag.startswith(f"localhost/imgbuild/{matrix.name}:")]
    assert len(tags) == 1
    again = scene.build(matrix)
    assert again.code == 0, again.stderr
    assert (again.outcomes[FIRST]["fresh"], again.outcomes[SECOND]["fresh"]) == (False, True)
    scene.nothing_left(matrix, run)
    assert [name for name in containers(scene.imgbuild.environ, scene.engine) - before if "working-container" in name] == []


@on_both
def test_killed_while_testing(scene: Scene) -> None:
    matrix = scene.place.matrix(f"kill-test-{scene.engine}", **small(f"onnxruntime=={LINGERS}", probes=["import"]))
    with scene.building(matrix) as run:
        run.until(scene.probing(run))
        run.send(signal.SIGKILL)
        assert run.ended().code == KILLED
    assert matrix.evidence == []
    again = scene.build(matrix)
    assert again.code == 0, again.stderr
    assert (again.outcomes[LINGERING]["tier"], again.outcomes[LINGERING]["fresh"]) == ("imported", True)
    assert "building with" not in again.stderr
    scene.nothing_left(matrix, run)


@on_docker
def test_killed_while_assembling(scene: Scene, imgbuild: Imgbuild) -> None:
    """The packages come from the cache that this session shares, as far as it has them."""
    for name in ("apt", "debs"):
        if (imgbuild.cache / name).is_dir():
            shutil.copytree(imgbuild.cache / name, scene.imgbuild.cache / name, copy_function=os.link)
    cells = {"framework": ["onnxruntime==1.31.1"], "stack": ["cpu"], "python": ["3.13"]}
    sections = {"matrix": cells, "base": ["distribution"], "bases": {"distribution": "assembled"}, "probes": ["import"]}
    matrix = scene.place.matrix("kill-assembling", **sections)
    with scene.building(matrix) as run:
        run.until(lambda: any((scene.imgbuild.cache / "rootfs").glob("imgbuild-*.tmp/*.tar")), seconds=120)
        run.send(signal.SIGKILL)
        assert run.ended().code == KILLED
    again = scene.build(matrix)
    assert again.code == 0, again.stderr
    scene.nothing_left(matrix, run)


# -- two runs at once


@on_docker
def test_a_second_run_says_who_holds_the_matrix_and_can_wait(scene: Scene) -> None:
    matrix = scene.place.matrix("two", **small())
    with scene.index.holding("/onnxruntime/"), scene.building(matrix, "--json") as first:
        first.until(scene.asked("/onnxruntime/"))
        held = json.loads((matrix.state / "run.json").read_text())
        assert held["pid"] == first.pid
        who = f"another run holds this matrix: process {first.pid}, since {held['started']}"
        for command in ("build", "lock", "test"):
            refused = scene.imgbuild("matrix", command, matrix.path, "--json", "--engine", "docker")
            assert (refused.code, refused.stdout) == (8, "")
            assert refused.says(who, "--wait")
        with scene.building(matrix, "--json", "--wait") as second:
            second.until_said(f"waiting: {who}")
            scene.index.release("/onnxruntime/")
            done, after = first.ended(), second.ended()
    assert (done.code, done.outcomes[SECOND]["fresh"]) == (0, True)
    assert (after.code, after.outcomes[SECOND]["fresh"]) == (0, False), after.stderr
    assert after.says("nothing to build or test again")
    assert after.outcomes[SECOND]["digest"] == done.outcomes[SECOND]["digest"]
    scene.nothing_left(matrix, first)


@on_docker
def test_a_run_that_waits_can_be_interrupted(scene: Scene) -> None:
    matrix = scene.place.matrix("impatient", **small())
    with scene.index.holding("/onnxruntime/"), scene.building(matrix) as first:
        first.until(scene.asked("/onnxruntime/"))
        with scene.building(matrix, "--wait") as second:
            second.until_said("waiting: another run holds this matrix")
            second.send(signal.SIGINT)
            assert second.ended(10).code == 130
        assert first.runs
        scene.index.release("/onnxruntime/")
        assert first.ended().code == 0


@on_docker
def test_two_matrices_fetch_a_file_once(scene: Scene) -> None:
    matrices = [scene.place.matrix(name, **small()) for name in ("left", "right")]
    for matrix in matrices:
        scene.lock(matrix)
    asked = len(scene.index.asked)
    with scene.index.holding(FILE), scene.building(matrices[0], "--json") as left, scene.building(matrices[1], "--json") as right:
        left.until_said(f"{FILE} (1 of 1)")
        right.until_said(f"{FILE} (1 of 1)")
        left.until(lambda: any(path.endswith(FILE) for path in scene.index.asked[asked:]))
        scene.index.release(FILE)
        assert [left.ended().code, right.ended().code] == [0, 0]
    assert sum(path.endswith(FILE) for path in scene.index.asked[asked:]) == 1
