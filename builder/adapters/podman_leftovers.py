"""What a build that podman did not end by itself leaves: working containers, a running step, files.

podman ends at once when it is told to end, and leaves all three. Every build of ours therefore has
a folder of its own for podman's temporary files, whose ``buildah*`` folders name the running steps,
and an unused build secret of its own, whose name stands in the record of each working container.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.adapters.owner import PREFIX, end_orphans, left_behind, new_name
from builder.errors import ImgbuildError
from builder.ports import ProcessRunner

_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Where podman keeps its images, and the program that runs its containers."""

    root: Path
    runtime: str


class Scratch:
    """One build's own folder and name."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.iidfile = folder / "iid"
        self._mark = folder / "mark"

    @classmethod
    def make(cls, environ: Mapping[str, str]) -> Scratch:
        """Make the folder where podman would make its own."""
        name = new_name()
        folder = temporary_folder(environ) / name
        folder.mkdir(mode=0o700)
        scratch = cls(name, folder)
        scratch._mark.touch()
        return scratch

    @property
    def arguments(self) -> tuple[str, ...]:
        """What marks the build's working containers; no step sees it."""
        return ("--secret", f"id={self.name},src={self._mark}")

    @property
    def env(self) -> Mapping[str, str]:
        """What makes podman use the folder."""
        return {"TMPDIR": str(self.folder)}

    def clear(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def temporary_folder(environ: Mapping[str, str]) -> Path:
    """Return where podman keeps large temporary files."""
    given = environ.get("TMPDIR", "")
    for place in (Path(given) if given else None, Path("/var/tmp"), Path(tempfile.gettempdir())):  # noqa: S108 - podman's own
        if place is not None and place.is_dir() and os.access(place, os.W_OK):
            return place
    return Path(tempfile.gettempdir())


def end_build(processes: ProcessRunner, store: Store, scratch: Scratch) -> None:
    """End the step that still runs and remove every working container of one build."""
    for bundle in scratch.folder.glob("buildah*"):
        _quietly(processes, [store.runtime, "delete", "--force", f"buildah-{bundle.name}"])
    remove_containers(processes, _working_containers(store, {scratch.name}))


def sweep(processes: ProcessRunner, store: Store, environ: Mapping[str, str]) -> None:
    """End and remove what killed processes of ours left: containers, builds, working containers, folders."""
    listed = _quietly(processes, ["podman", "ps", "--all", "--filter", f"name=^{PREFIX}", "--format", "{{.Names}}"])
    remove_containers(processes, [name for name in listed.split() if left_behind(name)])
    end_orphans("podman")
    with contextlib.suppress(OSError):
        for folder in temporary_folder(environ).glob(f"{PREFIX}*"):
            if left_behind(folder.name):
                scratch = Scratch(folder.name, folder)
                end_build(processes, store, scratch)
                scratch.clear()


def remove_containers(processes: ProcessRunner, names: Iterable[str]) -> None:
    """Remove containers at once, running or not; no error when one is not there."""
    for name in names:
        _quietly(processes, ["podman", "rm", "--force", "--ignore", "--time", "0", name])


def _working_containers(store: Store, names: set[str]) -> list[str]:
    found: list[str] = []
    with contextlib.suppress(OSError):
        for record in store.root.glob("*-containers/*/userdata/buildah.json"):
            with contextlib.suppress(OSError):
                text = record.read_text(encoding="utf-8", errors="replace")
                if any(f"id={name}," in text for name in names):
                    found.append(record.parents[1].name)
    return found


def _quietly(processes: ProcessRunner, argv: list[str]) -> str:
    """Run a program for what it does; a tidying step that fails must not hide why we tidy."""
    try:
        return processes.run(argv, seconds=_SECONDS).stdout
    except ImgbuildError:
        return ""
