"""Debian packages made by hand, good and hostile."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder.model.lock import LockedDeb

COMPRESSIONS: Mapping[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".xz": lzma.compress,
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One member of a package: a file with ``data``, a link to ``target``, else a folder."""

    path: str
    data: str | None = None
    target: str = ""
    hard: bool = False
    mode: int = 0o755
    group: int = 0
    kind: bytes | None = None
    mtime: float = 1_700_000_000


@dataclass(frozen=True, kw_only=True)
class Package:
    """One package, and what it says of itself."""

    name: str
    version: str = "1.0-1"
    architecture: str = "amd64"
    fields: Mapping[str, str] = field(default_factory=dict)
    control: Mapping[str, str] = field(default_factory=dict)
    entries: Sequence[Entry] = ()
    compression: str = ".xz"

    def build(self) -> bytes:
        lines = {"Package": self.name, "Version": self.version, "Architecture": self.architecture, **self.fields}
        lines["Description"] = "made by a test\n with two lines"
        text = "".join(f"{name}: {value}\n" for name, value in lines.items())
        members = [Entry(path="./control", data=text, mode=0o644)]
        members += [Entry(path=f"./{name}", data=data, mode=0o755) for name, data in self.control.items()]
        pack = COMPRESSIONS[self.compression]
        parts = {
            "debian-binary": b"2.0\n",
            f"control.tar{self.compression}": pack(tar(members)),
            f"data.tar{self.compression}": pack(tar(self.entries)),
        }
        return ar(parts)

    def put(self, cache: Path) -> LockedDeb:
        """Write the package where the cache keeps packages by hash; return how a lock names it."""
        data = self.build()
        sha256 = hashlib.sha256(data).hexdigest()
        place = cache / "debs" / sha256[:2] / f"{sha256}.deb"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        file = f"{self.name}_{self.version}_{self.architecture}.deb"
        return LockedDeb(
            name=self.name, version=self.version, architecture=self.architecture, sha256=sha256, size=len(data),
            path=f"pool/main/{self.name[0]}/{self.name}/{file}",
        )  # fmt: skip


def tar(entries: Sequence[Entry]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path)
            member.mode, member.mtime, member.gid = entry.mode, int(entry.mtime), entry.group
            member.uname, member.gname = "somebody", "somewhere"
            stream = None
            if entry.data is not None:
                data = entry.data.encode()
                member.size, stream = len(data), io.BytesIO(data)
            elif entry.target:
                member.type, member.linkname = (tarfile.LNKTYPE if entry.hard else tarfile.SYMTYPE), entry.target
            else:
                member.type = tarfile.DIRTYPE
            if entry.kind is not None:
                member.type = entry.kind
            archive.addfile(member, stream)
    return buffer.getvalue()


def ar(parts: Mapping[str, bytes]) -> bytes:
    out = b"!<arch>\n"
    for name, data in parts.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return out
