"""Runs that are disturbed: the command line with nothing that anybody else uses, and what it leaves behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.engine.command import Ended, Imgbuild, Running, containers, partial_files
from tests.engine.index import Index
from tests.engine.places import Matrix, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One engine, the command line with a cache, temporary files and an index on loopback of its own."""

    engine: str
    place: Place
    imgbuild: Imgbuild
    index: Index
    temporary: Path

    def build(self, matrix: Matrix, *more: str) -> Ended:
        """Build a matrix to the end; stdout has to be one document."""
        return self.imgbuild("matrix", "build", matrix.path, "--json", "--engine", self.engine, *more)

    @contextmanager
    def building(self, matrix: Matrix, *more: str) -> Iterator[Running]:
        """Start to build a matrix, one variant after another."""
        with self.imgbuild.running("matrix", "build", matrix.path, "--engine", self.engine, "--jobs", "1", *more) as run:
            yield run

    def lock(self, matrix: Matrix) -> None:
        """Lock a matrix."""
        done = self.imgbuild("matrix", "lock", matrix.path, "--engine", self.engine)
        assert done.code == 0, done.stderr

    def asked(self, end: str) -> Callable[[], bool]:
        """Return the question whether the index is asked, from now on, for a path with this end."""
        before = len(self.index.asked)
        return lambda: any(path.endswith(end) for path in self.index.asked[before:])

    def probing(self, run: Running) -> Callable[[], bool]:
        """Return the question whether a run has come to its one probe, and the container is there."""
        return lambda: ": 1 probe" in run.stderr and bool(self.of(run))

    def of(self, run: Running) -> set[str]:
        """Return the containers of a run, and the engine's programs that it started and that still run."""
        mark = f"-{run.pid}-"
        found = {name for name in containers(self.imgbuild.environ, self.engine) if mark in name}
        lines = [words for words in command_lines() if Path(words[0]).name == self.engine]
        return found | {" ".join(words)[:200] for words in lines if any(mark in word for word in words)}

    def nothing_left(self, matrix: Matrix, run: Running) -> None:
        """Fail when anything of a run is still there; programs get a moment to end."""
        end = time.monotonic() + 10
        while self.of(run) and time.monotonic() < end:
            time.sleep(0.05)
        assert self.of(run) == set()
        beside = [*matrix.state.glob("run.json"), *matrix.path.parent.glob(".*.new")]
        assert [*partial_files(self.imgbuild.cache), *self.temporary.iterdir(), *beside] == []


def installing(matrix: Matrix, variant: str) -> Callable[[], bool]:
    """Return the question whether a build has come to its installing step."""
    log = matrix.log(variant)
    return lambda: log.exists() and "Installing collected packages" in log.read_text()


def command_lines() -> Iterator[list[str]]:
    """Yield the words of every program that runs."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[0]:
            yield words
