"""Files that are whole or absent: atomic writes, the shared cache's paths, hard links, disk errors in words."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from filelock import FileLock

from builder.adapters.owner import PREFIX, left_behind, new_name
from builder.errors import HostBlockedError

_CHUNK = 1024 * 1024
_DRAFT = ".new"
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
_STREAM = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")
_IN_THE_WAY = {errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP}


def cache_root(environment: Mapping[str, str]) -> Path:
    """Return the cache folder all runs of a user share: ``$XDG_CACHE_HOME/imgbuild``, else ``~/.cache/imgbuild``.

    A relative ``XDG_CACHE_HOME`` is ignored, as the XDG base directory specification says.
    """
    named = Path(environment.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named / "imgbuild"
    home = environment.get("HOME") or str(Path.home())
    return Path(home) / ".cache" / "imgbuild"


def readable_bytes(count: int) -> str:
    """Return a size for messages, such as ``1.5 GiB``."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":  # noqa: PLR2004 - the step between the units
            return f"{count} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError


@contextlib.contextmanager
def disk_errors(doing: str, *, needed: int | None = None) -> Iterator[None]:
    """Turn a full disk, and a place that may not or cannot be written, into ``HostBlockedError``.

    ``doing`` completes the sentence "the disk is full while …"; ``needed`` is how many bytes the
    step takes, where that is known.
    """
    try:
        yield
    except OSError as error:
        named = error.filename2 or error.filename
        place = f" ({named})" if named and str(named) not in doing else ""
        if error.errno in _FULL:
            need = f"; it needs {readable_bytes(needed)}" if needed is not None else ""
            msg = f"the disk is full while {doing}{place}{need}"
            raise HostBlockedError(msg, hint="make room, then run the same command again") from error
        if error.errno in _FORBIDDEN:
            msg = f"not allowed while {doing}{place}: {error.strerror}"
            raise HostBlockedError(
                msg, hint="give this user the right to write there, then run the same command again"
            ) from error
        if error.errno in _IN_THE_WAY:
            msg = f"something is in the way while {doing}{place}: {error.strerror}"
            raise HostBlockedError(msg, hint="move it away, or name another place") from error
        raise


def require_space(folder: Path, needed: int, doing: str) -> None:
    """Raise ``HostBlockedError`` when the file system of ``folder`` (which exists) has fewer than ``needed`` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        msg = f"the disk of {folder} has {readable_bytes(free)} free, and {doing} needs {readable_bytes(needed)}"
        raise HostBlockedError(msg, hint="make room, then run the same command again")


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that it is whole or as it was before, also after a crash; its folder is made.

    ``mode`` is less what the user's umask takes away.
    A symbolic link is followed, so that the file it names is replaced and not the link; a device, a pipe or an open
    stream is written to and never replaced. ``HostBlockedError`` when the disk is full or the place may not be written.
    """
    with disk_errors(f"writing {path}", needed=len(data)):
        if _STREAM.fullmatch(str(path)) or (path.exists() and not path.is_file() and not path.is_dir()):
            with path.open("ab") as stream:
                stream.write(data)
            return
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _draft(target)
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _draft(target: Path) -> Path:
    """Return where a file is written first, beside its place; drafts that killed processes left are removed."""
    begin = f".{target.name[:80]}."
    for left in target.parent.glob(f"{glob.escape(begin)}{PREFIX}*{_DRAFT}"):
        if left_behind(left.name.removeprefix(begin).removesuffix(_DRAFT)):
            left.unlink(missing_ok=True)
    return target.parent / f"{begin}{new_name()}{_DRAFT}"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file (made where missing, never removed) against other threads and processes; waits for it."""
    with disk_errors(f"locking {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, thread_local=False, is_singleton=False)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
