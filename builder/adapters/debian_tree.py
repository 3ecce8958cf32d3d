"""Merges packages' files into one root file system tar that depends on nothing but the packages.

Nothing is written to disk but the tar: no root, no chroot. What a path may do to the tree is
decided here, so that a hostile archive cannot reach outside it or through a link.
"""

from __future__ import annotations

import copy
import hashlib
import io
import re
import stat
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO

from builder.errors import MismatchError, UnsatisfiableError

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib32": "usr/lib32", "lib64": "usr/lib64",
        "libx32": "usr/libx32", "var/run": "run", "var/lock": "run/lock",
    }
)  # fmt: skip
"""Paths that are links to others on a Debian system of today; what packages put below them goes there."""
_ALIAS_TARGETS = {"var/run": "/run", "var/lock": "/run/lock"}
_ALWAYS = frozenset({"bin", "sbin", "lib", "var/run", "var/lock"})

KEPT_ANYWAY = re.compile(
    r"usr/share/doc/[^/]+(/copyright)?|usr/share/doc|usr/share/man(/man\d)?|usr/share/locale(/locale\.alias)?"
)
LEFT_OUT = re.compile(r"usr/share/(?:doc|man|locale|info|groff|lintian|linda)/.*")
"""What slim images leave out; licences stay. ``man1`` and the like stay as folders: some set-up scripts link into them."""

_MOST_PATH = 4096
_MODES = 0o7777


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A file, link or folder that no package holds, but that the packages' own set-up would make.

    ``data`` of a file, ``target`` of a link, neither for a folder.
    """

    path: str
    data: bytes | None = None
    target: str | None = None
    mode: int = 0o644
    group: int = 0


@dataclass(slots=True)
class Harvest:
    """What was noticed while a package's files went by."""

    listing: list[str] = field(default_factory=list)
    md5: dict[str, str] = field(default_factory=dict)


class RootTree:
    """A root file system under construction, written to ``archive`` as it comes.

    ``keep`` says of which files the content is held in ``kept``, for the set-up that reads it;
    ``replaces`` names, for each package, the packages whose files it may take over (it is added first).
    """

    def __init__(self, archive: tarfile.TarFile, *, keep: re.Pattern[str], replaces: Mapping[str, frozenset[str]]) -> None:
        self._archive = archive
        self._keep = keep
        self._replaces = replaces
        self._kinds: dict[str, tuple[bytes, str]] = {"": (tarfile.DIRTYPE, "")}
        self.kept: dict[str, bytes] = {}
        self.newest = 0

    def __contains__(self, path: str) -> bool:
        """Return whether the tree has a path."""
        return path in self._kinds

    def add_package(self, name: str, members: tarfile.TarFile, *, conffiles: Iterable[str]) -> Harvest:
        """Add every file of a package that slim images keep; return its file list and its configuration files' hashes.

        ``MismatchError`` for a path that leaves the tree, passes through a link, or is neither
        file, folder nor link; ``UnsatisfiableError`` when another package holds the same file.
        """
        harvest = Harvest()
        wanted = {path.strip("/") for path in conffiles}
        for member in members:
            path = _clean(member.name, name)
            harvest.listing.append(f"/{path}" if path else "/.")
            self.newest = max(self.newest, int(member.mtime))
            if not path or (LEFT_OUT.fullmatch(path) and not _stays(path, member)):
                continue
            data = self._data(members, member)
            self._add(path, member, name, data)
            if path in wanted and data is not None:
                harvest.md5[f"/{path}"] = hashlib.md5(data, usedforsecurity=False).hexdigest()
        return harvest

    def make(self, things: Sequence[Made]) -> None:
        """Add what set-up makes, where no package has it."""
        for thing in things:
            if thing.path in self._kinds:
                continue
            entry = tarfile.TarInfo(thing.path)
            entry.mode, entry.gid, entry.mtime = thing.mode, thing.group, self.newest
            if thing.data is not None:
                entry.size = len(thing.data)
            elif thing.target is not None:
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, thing.target, 0o777
            else:
                entry.type = tarfile.DIRTYPE
            self._write(thing.path, entry, "", None if thing.data is None else io.BytesIO(thing.data))

    def finish(self) -> None:
        """Add the links that stand for merged folders."""
        links = [
            Made(path=path, target=_ALIAS_TARGETS.get(path, target))
            for path, target in ALIASES.items()
            if path in _ALWAYS or target in self._kinds
        ]
        self.make(links)

    def _data(self, members: tarfile.TarFile, member: tarfile.TarInfo) -> bytes | None:
        stream = members.extractfile(member) if member.isreg() else None
        return stream.read() if stream is not None else None

    def _add(self, path: str, member: tarfile.TarInfo, package: str, data: bytes | None) -> None:
        if path in ALIASES and member.issym():
            return  # the link that merges /bin and /usr/bin, which `finish` makes
        path = _aliased(path)
        known = self._kinds.get(path)
        if known is not None:
            if not (known[0] == tarfile.DIRTYPE and member.isdir()):
                self._clash(path, known, package)
            return
        entry = _entry(path, member, package)
        if entry.type == tarfile.LNKTYPE:
            self._hard_link(entry, package)
        if data is not None and self._keep.fullmatch(path):
            self.kept[path] = data
        self._write(path, entry, package, None if data is None else io.BytesIO(data))

    def _hard_link(self, entry: tarfile.TarInfo, package: str) -> None:
        target = _aliased(_clean(entry.linkname, package))
        if self._kinds.get(target) != (tarfile.REGTYPE, package):
            raise _refused(package, entry.name, how=f"is a hard link to {target!r}, which is no file of the package")
        entry.linkname = target

    def _clash(self, path: str, known: tuple[bytes, str], package: str) -> None:
        """Let the package that replaces another keep the file it brought; else say that two hold it."""
        other = known[1]
        if package in self._replaces.get(other, frozenset()):
            return
        if other in {package, ""}:
            raise _refused(package, path, how="comes twice")
        if known[0] == tarfile.DIRTYPE:
            raise _refused(package, path, how="is a file, and a folder of another package")
        msg = f"the Debian packages {other!r} and {package!r} both hold /{path}"
        raise UnsatisfiableError(msg, hint="leave one of them out, or set `bases: {distribution: registry}` in the matrix")

    def _write(self, path: str, entry: tarfile.TarInfo, package: str, stream: IO[bytes] | None) -> None:
        self._parents(path, package)
        self._kinds[path] = entry.type, package
        self._archive.addfile(entry, stream)

    def _parents(self, path: str, package: str) -> None:
        """Make folders that are missing above a path; refuse to pass through anything but a folder."""
        parts = path.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            above = "/".join(parts[:count])
            kind = self._kinds.get(above)
            if kind is None:
                folder = tarfile.TarInfo(above)
                folder.type, folder.mode, folder.mtime = tarfile.DIRTYPE, 0o755, self.newest
                self._kinds[above] = tarfile.DIRTYPE, package
                self._archive.addfile(folder)
            elif kind[0] != tarfile.DIRTYPE:
                raise _refused(package, path, how=f"passes through /{above}, which is not a folder")


def replacing_first(order: Mapping[str, frozenset[str]], first: Sequence[str]) -> tuple[str, ...]:
    """Return the packages by name, ``first`` at the head, each before those it replaces files of.

    ``order`` maps every package to the names it replaces. A circle is broken by name.
    """
    done: list[str] = []
    under_way: set[str] = set()

    def visit(name: str) -> None:
        if name in done or name in under_way:
            return
        under_way.add(name)
        for other in sorted(order):
            if name in order[other] and other not in first:
                visit(other)
        done.append(name)

    for name in (*(name for name in first if name in order), *sorted(order)):
        visit(name)
    return tuple(done)


def _clean(path: str, package: str) -> str:
    """Return a member's path without ``./`` and a slash at its end; ``MismatchError`` when it leaves the tree."""
    parts = [part for part in path.split("/") if part != "."]
    while parts and not parts[-1]:
        parts.pop()
    if any(part in {"", ".."} for part in parts) or "\0" in path or len(path) > _MOST_PATH:
        raise _refused(package, path, how="leaves the file system")
    return "/".join(parts)


def _aliased(path: str) -> str:
    """Return where a path really is on a system with merged folders."""
    for alias, target in ALIASES.items():
        if path == alias or path.startswith(f"{alias}/"):
            return target + path[len(alias) :]
    return path


def _stays(path: str, member: tarfile.TarInfo) -> bool:
    kept = KEPT_ANYWAY.fullmatch(path) is not None
    return kept and (member.isdir() or member.issym() or path.endswith(("/copyright", "/locale.alias")))


def _entry(path: str, member: tarfile.TarInfo, package: str) -> tarfile.TarInfo:
    """Return a member as it is written: numeric owners, its own time to the second, nothing else that varies."""
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise _refused(package, path, how="is a device, pipe or socket")
    entry = copy.copy(member)
    entry.name = path
    entry.type = tarfile.REGTYPE if member.isreg() else member.type
    entry.size = member.size if member.isreg() else 0
    entry.mode = stat.S_IMODE(member.mode) & _MODES
    entry.uname = entry.gname = ""
    entry.mtime = max(int(member.mtime), 0)
    entry.pax_headers = {}
    entry.devmajor = entry.devminor = 0
    return entry


def _refused(package: str, path: str, *, how: str) -> MismatchError:
    shown = "".join(letter if letter.isprintable() else "?" for letter in path)[:200]
    msg = f"the Debian package {package!r} cannot be unpacked safely: {shown!r} {how}"
    return MismatchError(msg, hint="check where that package comes from; it is not one of the distribution's")
