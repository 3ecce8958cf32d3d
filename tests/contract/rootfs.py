"""A small root file system made of this host's own shell and tools: no network, no image needed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

TOOLS = ("sh", "cat", "sleep", "env", "id", "head", "touch")
ACCOUNTS = {"etc/passwd": "root:x:0:0::/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n", "etc/group": "root:x:0:\napp:x:1000:\n"}


def write(tar: Path) -> None:
    """Write the tar; the same host always makes the same bytes."""
    files: dict[str, Path] = {}
    for name in TOOLS:
        found = shutil.which(name, path="/usr/bin:/bin")
        if found is None:
            msg = f"this host has no {name!r}"
            raise RuntimeError(msg)
        files[f"bin/{name}"] = Path(found)
        listed = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
        files.update({path.lstrip("/"): Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+)", listed, re.MULTILINE)})
    with tarfile.open(tar, "w") as archive:
        for folder in ("tmp", *sorted({parent for name in (*files, *ACCOUNTS) for parent in _parents(name)})):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        for name, path in sorted(files.items()):
            _add(archive, name, path.resolve())
        for name, text in ACCOUNTS.items():
            place = tar.with_name(Path(name).name)
            place.write_text(text)
            _add(archive, name, place)


def _parents(name: str) -> list[str]:
    return [str(parent) for parent in Path(name).parents if str(parent) != "."]


def _add(archive: tarfile.TarFile, name: str, path: Path) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = path.stat().st_size, 0o755 if name.startswith(("bin/", "lib")) else 0o644
    with path.open("rb") as file:
        archive.addfile(entry, file)
