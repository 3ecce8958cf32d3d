"""Reads .deb files: an ar archive of two tar archives, streamed; nothing is unpacked to disk."""

from __future__ import annotations

import contextlib
import io
import lzma
import re
import sys
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from builder.adapters.scratch import scratch_folder
from builder.errors import MismatchError, ProgramError
from builder.ports import ProcessRunner

_MAGIC = b"!<arch>\n"
_HEADER = 60
_END = b"`\n"
_SECONDS = 300.0
_MOST_CONTROL_BYTES = 64 * 1024 * 1024
_READABLE = frozenset({"", ".gz", ".xz", ".bz2", ".lzma"} | ({".zst"} if sys.version_info >= (3, 14) else set()))
_MEMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FIELD = re.compile(r"^(?P<name>[A-Za-z0-9-]+):[ \t]*(?P<value>.*(?:\n[ \t].*)*)", re.MULTILINE)


class _Part(io.RawIOBase):
    """A stretch of a file, as a file of its own."""

    def __init__(self, stream: IO[bytes], start: int, size: int) -> None:
        super().__init__()
        self._stream = stream
        self._at = start
        self._end = start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the stub wants any buffer; we are given this one
        wanted = min(len(buffer), self._end - self._at)
        if wanted <= 0:
            return 0
        self._stream.seek(self._at)
        data = self._stream.read(wanted)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What a package says about itself: the text of ``control``, and every other member (scripts, lists) by name."""

    text: str
    members: Mapping[str, bytes]

    def get(self, field: str) -> str:
        """Return a field's value, empty when it is not there."""
        return next(
            (match["value"].strip() for match in _FIELD.finditer(self.text) if match["name"].lower() == field.lower()), ""
        )

    def lines(self, member: str) -> tuple[str, ...]:
        """Return the lines of a member that is a list, such as ``conffiles``; none when it is not there."""
        return tuple(line for line in self.members.get(member, b"").decode(errors="replace").splitlines() if line.strip())


class DebFile:
    """One .deb file. ``processes`` runs ``dpkg-deb`` for what Python cannot decompress (zstd)."""

    def __init__(self, path: Path, processes: ProcessRunner) -> None:
        self.path = path
        self._processes = processes

    def control(self) -> Control:
        """Read the control archive; ``MismatchError`` when the file is damaged."""
        with self._archive("control.tar") as archive:
            members: dict[str, bytes] = {}
            left = _MOST_CONTROL_BYTES
            for member in archive:
                name = member.name.removeprefix("./")
                stream = archive.extractfile(member) if member.isreg() and _MEMBER.fullmatch(name) else None
                if stream is not None:
                    left -= member.size
                    if left < 0:
                        raise self._damaged(why="its control archive is too large")
                    members[name] = stream.read()
        text = members.pop("control", b"").decode(errors="replace")
        if not text:
            raise self._damaged(why="it has no control file")
        return Control(text=text.strip("\n") + "\n", members=members)

    @contextlib.contextmanager
    def data(self) -> Iterator[tarfile.TarFile]:
        """Open the archive of the package's files, to be read once, from front to back."""
        with self._archive("data.tar") as archive:
            yield archive

    @contextlib.contextmanager
    def _archive(self, name: str) -> Iterator[tarfile.TarFile]:
        try:
            with self.path.open("rb") as stream:
                suffix, start, size = self._find(stream, name)
                if suffix in _READABLE:
                    part = io.BufferedReader(_Part(stream, start, size), 1024 * 1024)
                    with tarfile.open(fileobj=part, mode="r|*", encoding="utf-8", errorlevel=2) as archive:
                        yield archive
                    return
            if suffix != ".zst":
                raise self._damaged(why=f"its compression {suffix!r} is not one of a Debian package")
            with self._unpacked(name) as plain, tarfile.open(plain, mode="r:", encoding="utf-8", errorlevel=2) as archive:
                yield archive
        except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise self._damaged(why=str(error)) from error

    def _find(self, stream: IO[bytes], name: str) -> tuple[str, int, int]:
        """Return the compression, place and size of an ar member."""
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise self._damaged(why="it is not an ar archive")
        at = len(_MAGIC)
        while len(header := stream.read(_HEADER)) == _HEADER and header.endswith(_END):
            found = header[:16].decode("ascii", "replace").rstrip(" /")
            digits = header[48:58].strip()
            if not digits.isdigit():
                break
            size = int(digits)
            if found == name or found.startswith(f"{name}."):
                return found.removeprefix(name), at + _HEADER, size
            at += _HEADER + size + size % 2
            stream.seek(at)
        raise self._damaged(why=f"it has no {name}")

    @contextlib.contextmanager
    def _unpacked(self, name: str) -> Iterator[Path]:
        """Let dpkg-deb decompress a member into a file: its output is bytes, so a shell redirects it."""
        option = "--ctrl-tarfile" if name.startswith("control") else "--fsys-tarfile"
        with scratch_folder() as folder:
            target = folder / "tar"
            script = 'exec dpkg-deb "$1" "$2" >"$3"'
            done = self._processes.run(["sh", "-c", script, "sh", option, str(self.path), str(target)], seconds=_SECONDS)
            if done.code != 0:
                msg = f"dpkg-deb could not read the package {self.path.name!r}: {done.stderr.strip()[-200:]}"
                raise ProgramError(msg, hint="install dpkg, of a release that knows zstd (1.21.18 or newer)")
            yield target

    def _damaged(self, *, why: str) -> MismatchError:
        return MismatchError(f"the Debian package {self.path.name!r} is damaged: {why}", hint="remove that file and run it again")
