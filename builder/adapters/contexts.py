"""Build contexts on disk: rendered files written, large files linked from the cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from builder.adapters.files import disk_errors
from builder.adapters.scratch import scratch_folder
from builder.errors import MismatchError


class ContextFolders:
    """The contexts of one run, side by side in one folder of the cache."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def clear(self) -> None:
        """Remove what a run that was killed left behind."""
        shutil.rmtree(self._root, ignore_errors=True)

    def materialise(self, rendered: Mapping[str, bytes], large: Mapping[str, Path], name: str) -> Path:
        """Make the context ``name`` hold exactly these files, and return its folder."""
        folder = self._root / name
        write_context(rendered, large, folder)
        return folder

    def discard(self, name: str) -> None:
        """Remove the context ``name``; nothing happens when it is not there."""
        shutil.rmtree(self._root / name, ignore_errors=True)


def write_context(rendered: Mapping[str, bytes], large: Mapping[str, Path], folder: Path) -> None:
    """Make ``folder`` hold exactly these files, or leave it as it was; what was there before is removed.

    Large files become hard links (copies where the cache is on another file system). A path that
    leaves the folder is refused with ``MismatchError``; a full disk is ``HostBlockedError``.
    """
    with disk_errors(f"writing the build context {folder}"), scratch_folder(folder.parent) as scratch:
        draft = scratch / folder.name
        draft.mkdir()
        for path, data in rendered.items():
            _inside(draft, path).write_bytes(data)
        for path, source in large.items():
            place = _inside(draft, path)
            try:
                os.link(source, place)
            except OSError:
                shutil.copyfile(source, place)
        if folder.exists():
            shutil.rmtree(folder)
        draft.replace(folder)


def _inside(folder: Path, path: str) -> Path:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        msg = f"{path!r} would be written outside the build context"
        raise MismatchError(msg, hint="the lock names a file with such a path; make it anew with imgbuild matrix lock --update")
    place = folder / pure
    place.parent.mkdir(parents=True, exist_ok=True)
    return place
