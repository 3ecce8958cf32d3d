"""Reading .deb files, whole and damaged."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.adapters.debian_package import DebFile
from builder.adapters.process import LocalProcesses
from builder.errors import MismatchError
from tests.unit.adapters.deb_files import COMPRESSIONS, Entry, Package, ar, tar

HELLO = Package(
    name="hello",
    fields={"Multi-Arch": "same", "Replaces": "old (<< 2), older", "Depends": "libc6,\n libx"},
    control={"conffiles": "/etc/hello\n", "postinst": "#!/bin/sh\n"},
    entries=[Entry(path="./"), Entry(path="./etc/"), Entry(path="./etc/hello", data="hi\n", mode=0o644)],
)


def opened(tmp_path: Path, data: bytes) -> DebFile:
    path = tmp_path / "x.deb"
    path.write_bytes(data)
    return DebFile(path, LocalProcesses())


@pytest.mark.parametrize("compression", sorted(COMPRESSIONS))
def test_a_package_is_read_in_every_compression(tmp_path: Path, compression: str) -> None:
    package = Package(**{**HELLO.__dict__, "compression": compression})
    deb = opened(tmp_path, package.build())
    control = deb.control()
    assert control.get("package") == "hello"
    assert control.get("Depends") == "libc6,\n libx"
    assert control.get("Nothing") == ""
    assert control.lines("conffiles") == ("/etc/hello",)
    assert sorted(control.members) == ["conffiles", "postinst"]
    assert control.text.endswith(" with two lines\n")
    with deb.data() as archive:
        assert [(member.name, member.size) for member in archive] == [(".", 0), ("./etc", 0), ("./etc/hello", 3)]


@pytest.mark.process
def test_a_package_in_zstd_is_read_by_dpkg_deb(tmp_path: Path) -> None:
    zstd, dpkg = shutil.which("zstd"), shutil.which("dpkg-deb")
    if zstd is None or dpkg is None:
        pytest.skip("zstd or dpkg-deb is not here")

    def pack(data: bytes) -> bytes:
        return subprocess.run([zstd, "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout

    control = tar([Entry(path="./control", data="Package: hello\nVersion: 1\nArchitecture: all\n")])
    parts = {"debian-binary": b"2.0\n", "control.tar.zst": pack(control), "data.tar.zst": pack(tar(HELLO.entries))}
    deb = opened(tmp_path, ar(parts))
    assert deb.control().get("Package") == "hello"
    with deb.data() as archive:
        names = [member.name for member in archive]
    assert names == [".", "./etc", "./etc/hello"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not an ar archive"),
        (b"PK\x03\x04", "not an ar archive"),
        (ar({"debian-binary": b"2.0\n"}), "no control.tar"),
        (ar({"control.tar": tar([Entry(path="./md5sums", data="x")])}), "no control file"),
        (ar({"control.tar": b"not a tar" * 100}), "x.deb"),
        (ar({"control.tar.xz": b"\xfd7zXZ\0" + b"\0" * 50}), "x.deb"),
        (ar({"control.tar.zip": b""}), "compression '.zip'"),
        (b"!<arch>\n" + b"control.tar     0           0     0     100644  size      `\n", "no control.tar"),
    ],
)
def test_a_damaged_package_is_said(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(MismatchError, match=words) as caught:
        opened(tmp_path, data).control()
    assert "x.deb" in caught.value.message
    assert caught.value.hint


def test_a_package_cut_short_is_said(tmp_path: Path) -> None:
    noise = hashlib.shake_128(b"x").hexdigest(20_000)
    deb = opened(tmp_path, Package(name="x", entries=[Entry(path="./f", data=noise)]).build()[:-3000])
    with pytest.raises(MismatchError, match="damaged"), deb.data() as archive:
        archive.getmembers()


@settings(max_examples=60)
@given(data=st.data())
def test_any_damage_is_a_mismatch_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(HELLO.build())
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        whole[place] ^= data.draw(st.integers(1, 255))
    deb = opened(tmp_path_factory.mktemp("deb"), bytes(whole))
    with contextlib.suppress(MismatchError):
        deb.control()
        with deb.data() as archive:
            for member in archive:
                if member.isreg() and (stream := archive.extractfile(member)) is not None:
                    stream.read()


def test_control_members_with_strange_names_are_left_out(tmp_path: Path) -> None:
    package = Package(name="hello", control={"../../etc/passwd": "x", "a/b": "x", "-x": "x", "ok": "x"})
    assert sorted(opened(tmp_path, package.build()).control().members) == ["ok"]
