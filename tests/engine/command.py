"""The command line as a user starts it: a process of its own, its streams, its files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = (sys.executable, "-m", "builder")
SECONDS = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended, with all that it wrote."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout; anything beside it is an error."""
        found = json.loads(self.stdout)
        assert isinstance(found, dict)
        return found

    @property
    def outcomes(self) -> dict[str, dict[str, Any]]:
        """What ``matrix build --json`` says of each variant, by its id."""
        document = self.document
        assert document["schema"] == "imgbuild/build/1"
        return {one["variant"]: one for one in document["outcomes"]}

    def says(self, *parts: str) -> bool:
        """Whether stderr holds all of these; the whole text is shown where it does not."""
        missing = [part for part in parts if part not in self.stderr]
        assert not missing, f"it does not say {missing}:\n{self.stderr}"
        return True


class Running:
    """A command that has not ended yet."""

    def __init__(self, argv: tuple[str, ...], environ: Mapping[str, str], folder: Path) -> None:
        self._out = Path(tempfile.mkstemp(dir=folder, prefix="stdout-")[1])
        self._err = Path(tempfile.mkstemp(dir=folder, prefix="stderr-")[1])
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [*PROGRAM, *argv], env=dict(environ), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        """What it wrote there so far."""
        return self._err.read_text(errors="replace")

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def until(self, question: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait until something is so; an error when the command ends before, or takes too long."""
        end = time.monotonic() + seconds
        while not question():
            assert self.runs, f"it ended with {self._process.returncode} before that:\n{self.stderr}"
            assert time.monotonic() < end, f"that did not happen in {seconds:.0f} s:\n{self.stderr}"
            time.sleep(0.02)

    def until_said(self, part: str) -> None:
        """Wait until stderr holds this."""
        self.until(lambda: part in self.stderr)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process alone, as a supervisor does."""
        self._process.send_signal(number)

    def ended(self, seconds: float = SECONDS) -> Ended:
        """Wait for its end."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            msg = f"it did not end in {seconds:.0f} s:\n{self.stderr}"
            raise AssertionError(msg) from None
        return Ended(code=code, stdout=self._out.read_text(), stderr=self.stderr)


class Imgbuild:
    """The command line in one environment; each call is a process."""

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        self.environ = dict(environ)
        self._folder = folder

    def within(self, **changes: str | None) -> Imgbuild:
        """Return the same with other variables; ``None`` takes one away."""
        environ = {**self.environ, **{name: value for name, value in changes.items() if value is not None}}
        return Imgbuild({name: value for name, value in environ.items() if changes.get(name, "") is not None}, self._folder)

    def __call__(self, *argv: str | Path, seconds: float = SECONDS) -> Ended:
        """Run a command to its end."""
        return self._start(argv).ended(seconds)

    @contextmanager
    def running(self, *argv: str | Path) -> Iterator[Running]:
        """Start a command, and kill it at the end of the block when it still runs."""
        child = self._start(argv)
        try:
            yield child
        finally:
            if child.runs:
                child.send(signal.SIGKILL)
                child.ended()

    def _start(self, argv: tuple[str | Path, ...]) -> Running:
        return Running(tuple(map(str, argv)), self.environ, self._folder)

    @property
    def cache(self) -> Path:
        """Where it keeps what may be fetched again."""
        return Path(self.environ["XDG_CACHE_HOME"]) / "imgbuild"


def ask(environ: Mapping[str, str], *argv: str, check: bool = True) -> str:
    """Run another program and return its stdout."""
    done = subprocess.run(list(argv), env=dict(environ), capture_output=True, text=True, check=False, timeout=SECONDS)
    assert not check or done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


def write_matrix(path: Path, document: Mapping[str, Any]) -> Path:
    """Write a matrix; JSON is YAML too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"imgbuild": 1, **document}, indent=1) + "\n")
    return path


def containers(environ: Mapping[str, str], engine: str) -> set[str]:
    """Return the names of all containers, working ones included."""
    external = ("--external",) if engine == "podman" else ()
    return set(ask(environ, engine, "ps", "--all", *external, "--format", "{{.Names}}").split())


def partial_files(cache: Path) -> list[Path]:
    """Return everything half-made below a cache folder: parts of downloads, drafts of files, build contexts."""
    found = [path for pattern in ("*.part", "*.new", "imgbuild-*.tmp") for path in cache.rglob(pattern)]
    return [*found, *cache.glob("contexts/*/*")]


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
