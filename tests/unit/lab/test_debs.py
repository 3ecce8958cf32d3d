from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.lab import debs
from tests.lab.layers import Entry

CONTROL = "Package: tiny\nVersion: 1\nArchitecture: amd64\nMulti-Arch: same\nDescription: a package\n more words\n"


def tarred(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as tar:
        for path, data in {"./": None, **files}.items():
            info = tarfile.TarInfo(path)
            info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
            info.size = len(data or b"")
            tar.addfile(info, io.BytesIO(data or b""))
        for path, target in (links or {}).items():
            info = tarfile.TarInfo(path)
            info.type, info.linkname = tarfile.LNKTYPE, target
            tar.addfile(info)
    return out.getvalue()


@pytest.fixture
def deb(tmp_path: Path) -> Path:
    """A package with a program, a hard link to it, and documentation."""
    files = {"./bin/tiny": b"program", "./usr/share/doc/tiny/copyright": b"words"}
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": tarred({"./control": CONTROL.encode(), "./postinst": b"#!/bin/sh\n"}),
        "data.tar.xz": tarred(files, {"./bin/also": "./bin/tiny"}),
    }
    data = b"!<arch>\n"
    for name, body in members.items():
        data += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(body):<10}`\n".encode() + body + b"\n" * (len(body) % 2)
    path = tmp_path / "tiny_1_amd64.deb"
    path.write_bytes(data)
    return path


def by_path(entries: list[Entry]) -> dict[str, Entry]:
    return {entry.path: entry for entry in entries}


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("bin/sh", "usr/bin/sh"),
        ("lib/x/y", "usr/lib/x/y"),
        ("bin", "bin"),
        ("library/x", "library/x"),
        ("usr/bin/x", "usr/bin/x"),
    ],
)
def test_old_folders_lie_in_usr(path: str, where: str) -> None:
    assert debs.merged(path) == where


def test_files_are_merged_and_documentation_is_left_out(deb: Path) -> None:
    with debs.opened(debs.members(deb), "data.tar") as archive:
        entries = by_path(list(debs.files(archive)))
    assert entries.keys() == {"usr/bin/tiny", "usr/bin/also"}
    assert entries["usr/bin/tiny"].data == b"program"
    assert (entries["usr/bin/also"].link, entries["usr/bin/also"].hard) == ("usr/bin/tiny", True)


def test_dpkg_is_told_what_is_installed(deb: Path) -> None:
    parts, status = debs.members(deb), list[str]()
    with debs.opened(parts, "data.tar") as archive, debs.opened(parts, "control.tar") as control:
        entries = by_path(list(debs.registered(archive, control, status)))
    assert status == [CONTROL.replace("tiny\n", "tiny\nStatus: install ok installed\n", 1)]
    listed = entries["var/lib/dpkg/info/tiny:amd64.list"].data.decode().splitlines()
    assert listed == ["/.", "/bin/tiny", "/usr/share/doc/tiny/copyright", "/bin/also"]
    assert entries["var/lib/dpkg/info/tiny:amd64.postinst"].data == b"#!/bin/sh\n"
