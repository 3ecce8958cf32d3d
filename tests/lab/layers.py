"""Image layers made of entries in memory: the same entries are always the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MOMENT = 1_767_225_600  # 2026-01-01T00:00:00Z: the date of every file of the lab
LEVEL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One member of a layer; ``path`` is relative, ``link`` the target of a symbolic (or hard) link."""

    path: str
    data: bytes = b""
    mode: int = 0o644
    link: str | None = None
    hard: bool = False
    folder: bool = False
    owner: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A compressed layer in the cache: its own digest, and that of what it unpacks to."""

    digest: str
    diff_id: str
    size: int
    path: Path


def write(cache: Path, key: str, entries: Iterable[Entry]) -> Layer:
    """Write a layer into the cache under a key; entries that come later replace earlier ones of the same path."""
    last = {entry.path: entry for entry in entries}
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(with_parents(last), key=lambda path: (last[path].hard if path in last else False, path)):
            entry = last.get(path) or Entry(path=path, mode=0o755, folder=True)
            tar.addfile(header(entry), io.BytesIO(entry.data))
    packed = gzip.compress(plain.getbuffer(), compresslevel=LEVEL, mtime=0)
    digest = hashlib.sha256(packed).hexdigest()
    blobs = cache / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    keep(blobs / digest, packed)
    layer = Layer(
        digest=f"sha256:{digest}",
        diff_id=f"sha256:{hashlib.sha256(plain.getbuffer()).hexdigest()}",
        size=len(packed),
        path=blobs / digest,
    )
    kept = {"digest": layer.digest, "diff_id": layer.diff_id, "size": layer.size}
    keep(note(cache, key), json.dumps(kept).encode())
    return layer


def read(cache: Path, key: str) -> Layer | None:
    """Return the layer that was written under a key, ``None`` when there is none."""
    try:
        kept = json.loads(note(cache, key).read_text())
    except FileNotFoundError:
        return None
    path = cache / "blobs" / kept["digest"].partition(":")[2]
    return Layer(path=path, **kept) if path.exists() else None


def note(cache: Path, key: str) -> Path:
    """Return the file that says which blob a key is."""
    return cache / "layers" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def keep(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as draft:
        draft.write(data)
    Path(draft.name).replace(path)


def with_parents(paths: Iterable[str]) -> set[str]:
    """Return the paths and every folder above them."""
    found: set[str] = set()
    for path in paths:
        found.add(path)
        found.update(str(parent) for parent in Path(path).parents if str(parent) != ".")
    return found


def header(entry: Entry) -> tarfile.TarInfo:
    """Return the tar header of an entry."""
    info = tarfile.TarInfo(entry.path)
    info.mode, info.mtime, info.size = entry.mode, MOMENT, len(entry.data)
    info.uid, info.gid = entry.owner
    if entry.folder:
        info.type = tarfile.DIRTYPE
    elif entry.link is not None:
        info.type, info.linkname = (tarfile.LNKTYPE if entry.hard else tarfile.SYMTYPE), entry.link
    return info
