"""Merging packages into one tree: what goes where, and what is refused."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters.debian_tree import Harvest, Made, RootTree, replacing_first
from builder.errors import ImgbuildError, MismatchError, UnsatisfiableError
from tests.unit.adapters.deb_files import Entry, tar


def merge(
    *packages: tuple[str, Sequence[Entry]], replaces: Mapping[str, frozenset[str]] | None = None, conffiles: Sequence[str] = ()
) -> tuple[dict[str, tarfile.TarInfo], dict[str, bytes], RootTree, Harvest]:
    """Merge packages; return the members by name, files' contents, the tree and the last harvest."""
    buffer = io.BytesIO()
    harvest = Harvest()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        tree = RootTree(archive, keep=re.compile("etc/kept"), replaces=replaces or {})
        for name, entries in packages:
            with tarfile.open(fileobj=io.BytesIO(tar(entries)), mode="r|") as members:
                harvest = tree.add_package(name, members, conffiles=conffiles)
        tree.finish()
    buffer.seek(0)
    with tarfile.open(fileobj=buffer) as archive:
        found = archive.getmembers()
        assert len({member.name for member in found}) == len(found)
        contents = {member.name: stream.read() for member in found if (stream := member.isreg() and archive.extractfile(member))}
    return {member.name: member for member in found}, contents, tree, harvest


def test_merged_folders() -> None:
    members, contents, _, _ = merge(
        ("libc6", [Entry(path="./lib/"), Entry(path="./lib/x/ld", data="elf"), Entry(path="./lib64/ld", target="/lib/x/ld")]),
        ("dash", [Entry(path="./bin/sh", target="dash"), Entry(path="./bin/dash", data="d")]),
        ("f", [Entry(path="./bin", target="usr/bin"), Entry(path="./var/lock/", mode=0o1777)]),
        ("g", [Entry(path="./var/run/x", data="")]),
    )  # fmt: skip
    assert contents["usr/lib/x/ld"] == b"elf"
    assert members["usr/bin/sh"].linkname == "dash"
    links = {name: member.linkname for name, member in members.items() if member.issym()}
    assert links == {
        "usr/lib64/ld": "/lib/x/ld", "usr/bin/sh": "dash", "bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib",
        "lib64": "usr/lib64", "var/run": "/run", "var/lock": "/run/lock",
    }  # fmt: skip
    assert members["run/lock"].mode == 0o1777
    assert contents["run/x"] == b""


def test_parents_come_before_what_is_in_them_and_owners_are_numbers() -> None:
    members, _, tree, _ = merge(("a", [Entry(path="./usr/x/y/z", data="1", mode=0o2755, group=42, mtime=7)]))
    assert list(members)[:4] == ["usr", "usr/x", "usr/x/y", "usr/x/y/z"]
    file = members["usr/x/y/z"]
    assert (file.mode, file.uid, file.gid, file.uname, file.gname, file.mtime) == (0o2755, 0, 42, "", "", 7)
    assert tree.newest == 7
    assert "usr/x" in tree
    assert "usr/q" not in tree


def test_slim_images_have_licences_and_no_documentation() -> None:
    share = "./usr/share"
    paths = [
        "doc/a/copyright", "doc/a/README", "doc/a/examples/copyright", "man/man1/a.1", "man/de/man1/a.1", "locale/de/x.mo",
        "locale/locale.alias", "info/a.info", "lintian/overrides/a", "icons/a.png",
    ]  # fmt: skip
    entries = [Entry(path=f"{share}/man/man8/"), *(Entry(path=f"{share}/{path}", data="x") for path in paths)]
    members, contents, _, harvest = merge(("a", [*entries, Entry(path=f"{share}/doc/b", target="a")]))
    assert sorted(contents) == ["usr/share/doc/a/copyright", "usr/share/icons/a.png", "usr/share/locale/locale.alias"]
    assert members["usr/share/doc/b"].issym()
    assert members["usr/share/man/man8"].isdir()
    assert "/usr/share/doc/a/README" in harvest.listing  # dpkg lists what it was told to leave out


def test_what_is_noticed_on_the_way() -> None:
    entries = [
        Entry(path="./"),
        Entry(path="./etc/"),
        Entry(path="./etc/kept", data="hello"),
        Entry(path="./etc/other", data="x"),
    ]
    _, _, tree, harvest = merge(("a", entries), conffiles=["/etc/kept", "/etc/gone"])
    assert harvest.listing == ["/.", "/etc", "/etc/kept", "/etc/other"]
    assert harvest.md5 == {"/etc/kept": "5d41402abc4b2a76b9719d911017c592"}
    assert tree.kept == {"etc/kept": b"hello"}


def test_hard_links_stay_links() -> None:
    entries = [Entry(path="./bin/perl", data="p"), Entry(path="./usr/bin/perl5", target="./bin/perl", hard=True)]
    members, _, _, _ = merge(("perl", entries))
    assert members["usr/bin/perl5"].islnk()
    assert members["usr/bin/perl5"].linkname == "usr/bin/perl"


def test_a_package_may_take_over_files_of_one_it_replaces() -> None:
    new, old = ("new", [Entry(path="./usr/f", data="new")]), ("old", [Entry(path="./usr/f", data="old")])
    _, contents, _, _ = merge(new, old, replaces={"new": frozenset({"old"}), "old": frozenset()})
    assert contents["usr/f"] == b"new"
    with pytest.raises(UnsatisfiableError, match="'new' and 'old' both hold /usr/f"):
        merge(new, old)


def test_folders_are_shared_and_the_first_says_their_mode() -> None:
    members, _, _, _ = merge(("a", [Entry(path="./srv/", mode=0o2775)]), ("b", [Entry(path="./srv/", mode=0o755)]))
    assert members["srv"].mode == 0o2775


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([Entry(path="../etc/passwd", data="x")], "leaves the file system"),
        ([Entry(path="./a/../../etc/passwd", data="x")], "leaves the file system"),
        ([Entry(path="/etc/passwd", data="x")], "leaves the file system"),
        ([Entry(path="./a//b", data="x")], "leaves the file system"),
        ([Entry(path="./" + "x/" * 3000 + "y", data="x")], "leaves the file system"),
        ([Entry(path="./out", target="/etc"), Entry(path="./out/passwd", data="x")], "passes through /out"),
        ([Entry(path="./f", data="x"), Entry(path="./f/g", data="x")], "passes through /f"),
        ([Entry(path="./h", target="./etc/shadow", hard=True)], "is a hard link to"),
        ([Entry(path="./h", target="../etc/shadow", hard=True)], "leaves the file system"),
        ([Entry(path="./l", target="x"), Entry(path="./h", target="./l", hard=True)], "is a hard link to"),
        ([Entry(path="./sda", kind=tarfile.BLKTYPE)], "is a device"),
        ([Entry(path="./null", kind=tarfile.CHRTYPE)], "is a device"),
        ([Entry(path="./pipe", kind=tarfile.FIFOTYPE)], "is a device, pipe"),
        ([Entry(path="./f", data="1"), Entry(path="./f", data="2")], "comes twice"),
        ([Entry(path="./f", data="1"), Entry(path="./f")], "comes twice"),
        ([Entry(path="./bin/f", data="1"), Entry(path="./usr/bin/f", data="2")], "comes twice"),
    ],
)
def test_what_a_hostile_package_tries(entries: Sequence[Entry], words: str) -> None:
    with pytest.raises(MismatchError) as caught:
        merge(("evil", entries))
    assert words in caught.value.message
    assert "'evil'" in caught.value.message
    assert len(caught.value.message) < 500


def test_a_file_where_another_package_has_a_folder() -> None:
    with pytest.raises(MismatchError, match="folder of another package"):
        merge(("a", [Entry(path="./etc/x/")]), ("b", [Entry(path="./etc/x", data="")]))


_PATHS = st.lists(st.sampled_from(["..", ".", "", "a", "b", "bin", "lib64", "var", "run", "etc"]), min_size=1, max_size=4)


def _entry(parts: list[str], what: str) -> Entry:
    data, target = ("x" if what == "file" else None), ("../../../etc" if what == "link" else "")
    return Entry(path="./" + "/".join(parts), data=data, target=target)


_ENTRIES = st.builds(_entry, _PATHS, st.sampled_from(["file", "link", "folder"]))


@given(st.lists(_ENTRIES, max_size=8))
def test_nothing_ever_leaves_the_tree_or_passes_through_a_link(entries: list[Entry]) -> None:
    try:
        members, _, _, _ = merge(("a", entries[::2]), ("b", entries[1::2]))
    except ImgbuildError:
        return
    for name, member in members.items():
        parts = name.split("/")
        assert not {"", ".", ".."} & set(parts)
        for count in range(1, len(parts)):
            assert members["/".join(parts[:count])].isdir()
        assert member.isreg() or member.isdir() or member.issym()


def test_what_is_made_never_replaces_what_a_package_has() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        tree = RootTree(archive, keep=re.compile("-"), replaces={})
        with tarfile.open(fileobj=io.BytesIO(tar([Entry(path="./etc/a", data="package", mtime=9)])), mode="r|") as members:
            tree.add_package("a", members, conffiles=())
        tree.make([Made(path="etc/a", data=b"made"), Made(path="tmp", mode=0o1777), Made(path="etc/l", target="a")])
        tree.make([Made(path="etc/new/f", data=b"f", mode=0o640, group=42)])
    buffer.seek(0)
    with tarfile.open(fileobj=buffer) as archive:
        found = {member.name: member for member in archive}
        stream = archive.extractfile("etc/a")
        assert stream is not None
        assert stream.read() == b"package"
    assert (found["tmp"].isdir(), found["tmp"].mode) == (True, 0o1777)
    assert found["etc/l"].linkname == "a"
    assert (found["etc/new/f"].mode, found["etc/new/f"].gid, found["etc/new/f"].mtime) == (0o640, 42, 9)


def test_the_order_of_packages() -> None:
    order = {
        "b": frozenset({"a"}),
        "a": frozenset(),
        "base-files": frozenset(),
        "c": frozenset({"b"}),
        "z": frozenset({"base-files"}),
    }
    assert replacing_first(order, ["base-files"]) == ("z", "base-files", "c", "b", "a")
    circle = {"a": frozenset({"b"}), "b": frozenset({"a"})}
    assert replacing_first(circle, []) == ("b", "a")
