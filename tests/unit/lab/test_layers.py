from __future__ import annotations

import gzip
import hashlib
import tarfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.lab import layers
from tests.lab.layers import Entry, Layer

NAMES = st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,3}", fullmatch=True)


def unpacked(layer: Layer) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(layer.path) as tar:
        return {member.name: member for member in tar}


def test_a_layer_is_named_by_what_it_is(tmp_path: Path) -> None:
    layer = layers.write(tmp_path, "key", [Entry(path="etc/one", data=b"1", mode=0o640, owner=(0, 42))])
    packed = layer.path.read_bytes()
    assert layer.digest == "sha256:" + hashlib.sha256(packed).hexdigest()
    assert layer.diff_id == "sha256:" + hashlib.sha256(gzip.decompress(packed)).hexdigest()
    assert layer.size == len(packed)
    member = unpacked(layer)["etc/one"]
    assert (member.mode, member.uid, member.gid, member.mtime) == (0o640, 0, 42, layers.MOMENT)


def test_parents_come_first_and_the_last_of_a_path_stays(tmp_path: Path) -> None:
    layer = layers.write(tmp_path, "key", [Entry(path="a/b/c", data=b"old"), Entry(path="a/b/c", data=b"new")])
    assert list(unpacked(layer)) == ["a", "a/b", "a/b/c"]
    with tarfile.open(layer.path) as tar:
        handle = tar.extractfile("a/b/c")
        assert handle is not None
        assert handle.read() == b"new"


def test_hard_links_come_after_what_they_name(tmp_path: Path) -> None:
    entries = [Entry(path="bin/a", link="bin/z", hard=True), Entry(path="bin/z", data=b"program", mode=0o755)]
    members = unpacked(layers.write(tmp_path, "key", entries))
    assert list(members) == ["bin", "bin/z", "bin/a"]
    assert members["bin/a"].islnk()


def test_a_layer_is_found_again_until_its_bytes_are_gone(tmp_path: Path) -> None:
    layer = layers.write(tmp_path, "key", [Entry(path="one", data=b"1")])
    assert layers.read(tmp_path, "key") == layer
    assert layers.read(tmp_path, "another") is None
    layer.path.unlink()
    assert layers.read(tmp_path, "key") is None


@given(st.dictionaries(NAMES, st.binary(max_size=20), min_size=1, max_size=8), st.randoms())
def test_order_decides_nothing(files: dict[str, bytes], order: object) -> None:
    entries = [Entry(path=path + "/f", data=data) for path, data in files.items()]
    shuffled = list(entries)
    order.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives random.Random

    def headers(of: list[Entry]) -> list[tuple[str, int]]:
        last = {entry.path: entry for entry in of}
        return [(path, layers.header(last[path]).size if path in last else 0) for path in sorted(layers.with_parents(last))]

    assert headers(entries) == headers(shuffled)


def test_the_same_entries_are_the_same_bytes(tmp_path: Path) -> None:
    entries = [Entry(path="x/y", data=b"1"), Entry(path="x/z", link="y")]
    first = layers.write(tmp_path / "one", "key", entries)
    second = layers.write(tmp_path / "two", "key", reversed(entries))
    assert first.path.read_bytes() == second.path.read_bytes()
    assert unpacked(first)["x/z"].linkname == "y"
