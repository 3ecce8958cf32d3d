"""The world fails under a run: it is said in words and by code, nothing half-made stays, and the next run goes on."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.command import Ended, Imgbuild, ask, containers, partial_files
from tests.engine.daemon import OwnDocker
from tests.engine.index import Index
from tests.engine.places import Matrix, Place, small
from tests.engine.wheels import LINGERS, ONNXRUNTIME, write_slow

pytestmark = pytest.mark.lab
VARIANT = f"onnxruntime{ONNXRUNTIME[1]}-cpu-py3.12"
OTHER = f"onnxruntime{ONNXRUNTIME[0]}-cpu-py3.12"
FILE = f"onnxruntime-{ONNXRUNTIME[1]}-py3-none-any.whl"
BOTH: dict[str, list[str]] = {"framework": ["onnxruntime==1.30.*", "onnxruntime==1.31.*"], "stack": ["cpu"], "python": ["3.12"]}
ENGINE = ("--engine", "docker")
KIB = 1024
MIB = 1024 * KIB


@pytest.fixture
def own(imgbuild: Imgbuild, tmp_path: Path) -> Imgbuild:
    """The command line with a cache of this test's own."""
    return imgbuild.within(XDG_CACHE_HOME=str(tmp_path / "cache"))


def build(imgbuild: Imgbuild, matrix: Matrix, *more: str) -> Ended:
    return imgbuild("matrix", "build", matrix.path, "--json", *(more or ENGINE))


def test_without_an_engine_it_says_how_to_get_one(place: Place, imgbuild: Imgbuild, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    nothing = imgbuild.within(PATH=str(tmp_path / "bin"), DOCKER_HOST=None)
    matrix = place.matrix("without", **small())
    done = build(nothing, matrix, "--engine", "auto")
    assert (done.code, done.stdout) == (8, "")
    assert done.says("no container engine", "apt-get install podman")
    assert not matrix.lock_path.exists()


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_an_engine_that_is_named_and_not_installed(engine: str, place: Place, imgbuild: Imgbuild, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    nothing = imgbuild.within(PATH=str(tmp_path / "bin"), DOCKER_HOST=None)
    done = build(nothing, place.matrix("named", **small()), "--engine", engine)
    assert (done.code, done.stdout) == (9, "")
    assert done.says(f"the program {engine!r} was not found", "apt-get install")


def test_a_daemon_that_does_not_answer_blocks(place: Place, imgbuild: Imgbuild, tmp_path: Path) -> None:
    nobody = imgbuild.within(DOCKER_HOST=f"unix://{tmp_path}/nobody.sock")
    done = build(nobody, place.matrix("nobody", **small()))
    assert (done.code, done.stdout) == (8, "")
    assert done.says("docker does not answer", "start the Docker daemon")


def in_a_build(matrix: Matrix, variant: str = VARIANT) -> Callable[[], bool]:
    """Return the question whether the installing step of a variant's build has begun."""
    log = matrix.log(variant)
    return lambda: log.exists() and "Installing collected packages" in log.read_text()


def test_a_daemon_that_dies_in_a_build(place: Place, imgbuild: Imgbuild, index: Index, pulling_docker: OwnDocker) -> None:
    there = imgbuild.within(DOCKER_HOST=pulling_docker.environ["DOCKER_HOST"], PIP_INDEX_URL=index.url)
    matrix = place.matrix("dies", **small(packages=[{"pip": [write_slow(index.folder)]}]))
    with there.running("matrix", "build", matrix.path, "--json", *ENGINE) as run:
        run.until(in_a_build(matrix))
        pulling_docker.end(signal.SIGKILL)
        done = run.ended()
    assert done.code == 8
    outcome = done.outcomes[VARIANT]
    assert (outcome["status"], outcome["tier"], outcome["digest"]) == ("failed", None, None)
    assert outcome["reason"].startswith(f"docker stopped answering while it built {VARIANT}")
    assert "start the Docker daemon again, and run the same command again" in outcome["hint"]
    assert partial_files(there.cache) == []
    pulling_docker.start()
    again = build(there, matrix)
    assert (again.code, again.outcomes[VARIANT]["status"]) == (0, "passed"), again.stderr


def test_a_daemon_that_dies_in_a_test(place: Place, imgbuild: Imgbuild, pulling_docker: OwnDocker) -> None:
    there = imgbuild.within(DOCKER_HOST=pulling_docker.environ["DOCKER_HOST"])
    matrix = place.matrix("dies-late", **small(f"onnxruntime=={LINGERS}", probes=["import"]))
    with there.running("matrix", "build", matrix.path, "--json", *ENGINE) as run:
        run.until_said(": 1 probe")
        run.until(lambda: any(f"-{run.pid}-" in name for name in containers(there.environ, "docker")))
        pulling_docker.end(signal.SIGKILL)
        done = run.ended()
    assert done.code == 8
    (outcome,) = done.outcomes.values()
    assert (outcome["status"], outcome["tier"], outcome["digest"]) == ("failed", None, None)
    assert "docker does not answer" in outcome["reason"]
    assert matrix.evidence == []
    (row,) = there("matrix", "table", matrix.path, "--json").document["rows"]
    assert (row["tier"], row["digest"]) == ("rendered", None)


@pytest.fixture
def room() -> Iterator[Callable[[Path, int], None]]:
    """Fills a disk until only so many bytes are free; called with a size again it makes that much room."""
    fillers: dict[Path, Path] = {}

    def leave(disk: Path, free: int) -> None:
        filler = fillers.setdefault(disk, disk / "filler")
        filler.unlink(missing_ok=True)
        left = os.statvfs(disk)
        size = left.f_bavail * left.f_frsize - free
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, size - 64 * KIB if free == 0 else size)
            file.seek(0, os.SEEK_END)
            while free == 0:
                file.write(bytes(KIB))

    yield leave
    for filler in fillers.values():
        filler.unlink(missing_ok=True)


def test_a_cache_on_a_full_disk(
    place: Place, imgbuild: Imgbuild, index: Index, small_disk: Path, room: Callable[[Path, int], None]
) -> None:
    there = imgbuild.within(XDG_CACHE_HOME=str(small_disk), PIP_INDEX_URL=index.url)
    large = {"when": {"framework": "onnxruntime==1.31.*"}, "pip": ["imgbuild-large"]}
    matrix = place.matrix("full", **small(matrix=BOTH, packages=[large]))
    assert there("matrix", "lock", matrix.path, *ENGINE).code == 0
    room(small_disk, 8 * MIB)
    done = build(there, matrix)
    assert done.code == 8
    assert done.outcomes[OTHER]["status"] == "passed"
    full = done.outcomes[VARIANT]
    assert (full["status"], full["exit_code"], full["digest"]) == ("failed", 8, None)
    assert "imgbuild_large-1.0-py3-none-any.whl" in full["reason"]
    assert "make room, then run the same command again" in full["hint"]
    assert list(there.cache.rglob("imgbuild_large*.whl")) == []
    room(small_disk, 60 * MIB)
    again = build(there, matrix)
    assert (again.code, again.outcomes[VARIANT]["status"], again.outcomes[OTHER]["fresh"]) == (0, "passed", False), again.stderr
    assert partial_files(there.cache) == []


def test_records_on_a_full_disk(place: Place, imgbuild: Imgbuild, small_disk: Path, room: Callable[[Path, int], None]) -> None:
    there = Place(folder=small_disk, mark=place.mark, environ=place.environ)
    matrix = there.matrix("records", **small())
    assert imgbuild("matrix", "lock", matrix.path, *ENGINE).code == 0
    lock = matrix.lock_path.read_bytes()
    room(small_disk, 0)
    done = build(imgbuild, matrix)
    assert done.code == 8
    assert done.says("the disk is full", "make room, then run the same command again")
    assert imgbuild("matrix", "lock", matrix.path, "--update", *ENGINE).code == 8
    assert matrix.lock_path.read_bytes() == lock
    assert matrix.evidence == []
    room(small_disk, 8 * MIB)
    again = build(imgbuild, matrix)
    assert (again.code, again.outcomes[VARIANT]["status"]) == (0, "passed"), again.stderr
    assert len(matrix.evidence) == 1


def test_an_engines_disk_that_fills_up(
    place: Place, imgbuild: Imgbuild, large_disk: Path, room: Callable[[Path, int], None], tmp_path: Path
) -> None:
    conf = tmp_path / "storage.conf"
    conf.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{large_disk}/graph"\nrunroot = "{large_disk}/run"\n')
    there = imgbuild.within(CONTAINERS_STORAGE_CONF=str(conf))
    matrix = place.matrix("graph", **small(packages=[{"pip": ["imgbuild-large"]}]))
    assert there("matrix", "lock", matrix.path, "--engine", "podman").code == 0
    ask(there.environ, "podman", "pull", "--quiet", f"docker.io/library/ubuntu@{matrix.lock['bases'][0]['digest']}")
    room(large_disk, 16 * MIB)
    done = build(there, matrix, "--engine", "podman")
    assert done.code == 8
    outcome = done.outcomes[VARIANT]
    assert (outcome["status"], outcome["digest"]) == ("failed", None)
    assert f"the disk that podman keeps its images on ({str(large_disk / 'graph')!r}) is full" in outcome["reason"]
    assert place.tags("podman", there.environ) == []
    room(large_disk, 200 * MIB)
    again = build(there, matrix, "--engine", "podman")
    assert (again.code, again.outcomes[VARIANT]["status"]) == (0, "passed"), again.stderr


def test_an_index_that_cannot_be_asked(place: Place, own: Imgbuild, index: Index) -> None:
    there = own.within(PIP_INDEX_URL=index.url)
    matrix = place.matrix("unreachable", **small(matrix=BOTH))
    index.stop()
    done = build(there, matrix)
    assert done.code == 10
    assert {outcome["exit_code"] for outcome in done.outcomes.values()} == {10}
    assert "could not be asked" in done.outcomes[VARIANT]["reason"]
    assert "127.0.0.1" in done.outcomes[VARIANT]["reason"] + str(done.outcomes[VARIANT]["hint"]) + done.stderr
    assert not matrix.lock_path.exists()

    index.start()
    assert there("matrix", "lock", matrix.path, *ENGINE).code == 0
    index.stop()
    cut = build(there, matrix)
    assert cut.code == 10
    assert "could not be asked" in cut.outcomes[VARIANT]["reason"]

    index.start()
    again = build(there, matrix)
    assert (again.code, again.outcomes[VARIANT]["status"]) == (0, "passed"), again.stderr


def test_a_registry_that_cannot_be_asked(place: Place, own: Imgbuild) -> None:
    closed = own.within(**dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9"))
    matrix = place.matrix("proxy", **small())
    done = build(closed, matrix)
    assert done.code == 10
    assert "could not be asked" in done.outcomes[VARIANT]["reason"]
    assert "its proxy '127.0.0.1:9' could not be reached" in done.outcomes[VARIANT]["reason"]
    assert not matrix.lock_path.exists()
    assert closed("matrix", "lock", matrix.path, "--json", *ENGINE).code == 10


def test_what_is_built_needs_no_registry_and_no_index_any_more(place: Place, imgbuild: Imgbuild, index: Index) -> None:
    there = imgbuild.within(PIP_INDEX_URL=index.url)
    matrix = place.matrix("offline", **small())
    assert build(there, matrix).code == 0
    index.stop()
    offline = there.within(**dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9"))
    done = build(offline, matrix)
    assert (done.code, done.outcomes[VARIANT]["fresh"]) == (0, False), done.stderr
    index.start()


@pytest.mark.parametrize(
    ("announced", "hint"), [("locked", "the file was damaged there or on its way"), ("other", "before you trust it")]
)
def test_other_bytes_under_a_files_name(announced: str, hint: str, place: Place, own: Imgbuild, index: Index) -> None:
    there = own.within(PIP_INDEX_URL=index.url)
    matrix = place.matrix(f"bytes-{announced}", **small(matrix=BOTH))
    assert there("matrix", "lock", matrix.path, *ENGINE).code == 0
    whole = (index.folder / "onnxruntime" / FILE).read_bytes()
    other = whole[:-1] + bytes([whole[-1] ^ 1])
    index.instead[FILE] = other
    if announced == "other":
        index.announced[FILE] = hashlib.sha256(other).hexdigest()
    done = build(there, matrix)
    assert done.code == 5
    assert done.outcomes[OTHER]["status"] == "passed"
    outcome = done.outcomes[VARIANT]
    assert (outcome["status"], outcome["exit_code"], outcome["digest"]) == ("failed", 5, None)
    assert outcome["reason"].startswith(f"{FILE} from the index")
    assert hashlib.sha256(other).hexdigest() in outcome["reason"]
    assert hint in outcome["hint"]
    assert list(there.cache.rglob(FILE)) == []
    assert partial_files(there.cache) == []

    index.instead.clear()
    index.announced.clear()
    again = build(there, matrix)
    assert again.code == 0, again.stderr
    assert (again.outcomes[VARIANT]["fresh"], again.outcomes[OTHER]["fresh"]) == (True, False)


def test_a_probe_that_hangs_is_ended_at_its_limit(place: Place, imgbuild: Imgbuild) -> None:
    sections = small(f"onnxruntime=={LINGERS}")
    matrix = place.matrix("hangs", **{**sections, "probes": ["pip-check"]})
    built = build(imgbuild, matrix)
    assert built.code == 0, built.stderr
    place.matrix("hangs", **{**sections, "probes": ["import", "pip-check"]}, limits={"seconds": 2})
    with imgbuild.running("matrix", "test", matrix.path, "--json", *ENGINE) as run:
        run.until(lambda: any(f"-{run.pid}-" in name for name in containers(imgbuild.environ, "docker")))
        done = run.ended()
    assert done.code == 7
    (outcome,) = done.outcomes.values()
    assert (outcome["status"], outcome["exit_code"]) == ("failed", 7)
    assert outcome["reason"].endswith("probe import: it did not end within 2 s")
    assert not any(f"-{run.pid}-" in name for name in containers(imgbuild.environ, "docker"))
    (row,) = imgbuild("matrix", "table", matrix.path, "--json").document["rows"]
    assert (row["tier"], row["digest"]) == ("built", next(iter(built.outcomes.values()))["digest"])
    (record,) = matrix.evidence
    assert {one["name"]: one["status"] for one in record["results"]} == {"import": "failed", "pip-check": "passed"}


def test_the_table_after_a_failure_says_only_what_was_shown(place: Place, imgbuild: Imgbuild) -> None:
    matrix = place.matrix("partly", **small(matrix={**BOTH, "framework": [*BOTH["framework"], f"onnxruntime=={LINGERS}"]}))
    first = build(imgbuild, matrix, *ENGINE, "--only", f"*{ONNXRUNTIME[0]}*")
    assert first.code == 0, first.stderr
    listed = imgbuild("matrix", "table", matrix.path, "--json").document
    rows = {row["variant"]: row for row in listed["rows"]}
    assert (rows[OTHER]["tier"], rows[OTHER]["digest"]) == ("imported", first.outcomes[OTHER]["digest"])
    for variant in rows.keys() - {OTHER}:
        assert (rows[variant]["tier"], rows[variant]["digest"], rows[variant]["actual"]) == (None, None, {})
