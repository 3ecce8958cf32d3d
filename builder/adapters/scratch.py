"""Folders for a while: gone when their work ends, and swept by the next one when their process was killed."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from builder.adapters.owner import PREFIX, left_behind, new_name

_END = ".tmp"


@contextlib.contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder that only this user may read, below ``parent`` (the system's folder for temporary files), and remove it.

    What killed processes of ours left there is removed first; ``OSError`` when it cannot be made.
    """
    where = parent if parent is not None else Path(tempfile.gettempdir())
    sweep(where)
    folder = where / f"{new_name()}{_END}"
    folder.mkdir(mode=0o700, parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove the folders of processes that are gone."""
    with contextlib.suppress(OSError):
        for folder in parent.glob(f"{PREFIX}*{_END}"):
            if left_behind(folder.name.removesuffix(_END)):
                shutil.rmtree(folder, ignore_errors=True)
