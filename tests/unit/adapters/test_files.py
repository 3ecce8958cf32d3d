"""Atomic writes, links, hashes, the cache's place, and disk errors in words."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters import files
from builder.adapters.owner import new_name
from builder.errors import HostBlockedError


class Unwritable:
    """Not bytes, but long enough to get as far as writing."""

    def __len__(self) -> int:
        return 1


def test_a_write_replaces_the_whole_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "matrix.lock.yaml"
    files.write_atomically(path, b"first")
    files.write_atomically(path, b"second")
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in path.parent.iterdir()] == ["matrix.lock.yaml"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_write_keeps_to_the_users_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        files.write_atomically(tmp_path / "private", b"text")
    finally:
        os.umask(before)
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600


def test_a_write_removes_the_draft_that_a_killed_process_left(tmp_path: Path) -> None:
    host, pid, start, number = new_name().removeprefix("imgbuild-").split("-")
    left = tmp_path / f".lock.imgbuild-{host}-{pid}-{int(start) - 1}-{number}.new"
    another = tmp_path / f".lock.imgbuild-{host}-{pid}-{start}-999999.new"
    left.touch()
    another.touch()
    files.write_atomically(tmp_path / "lock", b"whole")
    assert {entry.name for entry in tmp_path.iterdir()} == {"lock", another.name}


def test_a_write_follows_a_symbolic_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(real)
    files.write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_device_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    with pytest.raises(HostBlockedError, match="the disk is full while writing"):
        files.write_atomically(link, b"text")
    assert Path("/dev/full").is_char_device()
    files.write_atomically(Path("/dev/null"), b"text")
    assert Path("/dev/null").is_char_device()


def test_an_open_stream_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with path.open("ab") as stream:
        files.write_atomically(Path(f"/dev/fd/{stream.fileno()}"), b"one\n")
        files.write_atomically(Path(f"/proc/self/fd/{stream.fileno()}"), b"two\n")
        stream.write(b"three\n")
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write_atomically(path, b"old")
    with pytest.raises(TypeError):
        files.write_atomically(path, cast("bytes", Unwritable()))
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_the_hosts_fault_and_says_what_is_needed() -> None:
    def write() -> None:
        with Path("/dev/full").open("wb", buffering=0) as stream:
            stream.write(b"x")

    with pytest.raises(HostBlockedError) as caught, files.disk_errors("writing the lock", needed=3000):
        write()
    assert caught.value.message == "the disk is full while writing the lock; it needs 2.9 KiB"
    assert caught.value.hint == "make room, then run the same command again"


def test_a_place_that_may_not_be_written_is_the_hosts_fault() -> None:
    def write() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/srv/x")

    with (
        pytest.raises(HostBlockedError, match=r"not allowed while writing x \(/srv/x\): Permission denied"),
        files.disk_errors("writing x"),
    ):
        write()


def test_something_in_the_way_is_the_hosts_fault(tmp_path: Path) -> None:
    with pytest.raises(HostBlockedError, match=rf"^something is in the way while writing {tmp_path}: Is a directory$"):
        files.write_atomically(tmp_path, b"text")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(HostBlockedError, match=r"something is in the way while writing .*: Not a directory"):
        files.write_atomically(tmp_path / "file" / "below" / "it", b"text")
    with pytest.raises(HostBlockedError, match=r"something is in the way while writing .*: File name too long"):
        files.write_atomically(tmp_path / ("x" * 300), b"text")


def test_other_errors_pass() -> None:
    def write() -> None:
        raise FileNotFoundError(errno.ENOENT, "no such file")

    with pytest.raises(FileNotFoundError), files.disk_errors("writing x"):
        write()


def test_too_little_room_is_said_before_the_work(tmp_path: Path) -> None:
    files.require_space(tmp_path, 1, "one byte")
    with pytest.raises(HostBlockedError, match=r"and downloading a\.whl needs \d+\.\d GiB"):
        files.require_space(tmp_path, 2**60, "downloading a.whl")


@given(st.binary(max_size=5000))
def test_the_hash_is_sha256(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("hash") / "file"
    path.write_bytes(data)
    assert files.sha256_of(path) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/var/cache/me", "HOME": "/home/me"}, "/var/cache/me/imgbuild"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.cache/imgbuild"),
        ({"HOME": "/home/me"}, "/home/me/.cache/imgbuild"),
    ],
)
def test_the_cache_is_where_xdg_says(environment: dict[str, str], expected: str) -> None:
    assert files.cache_root(environment) == Path(expected)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 * 2**20, "5.0 MiB"), (2**31, "2.0 GiB"), (2**42, "4096.0 GiB")],
)
def test_sizes_read_well(count: int, text: str) -> None:
    assert files.readable_bytes(count) == text


def test_a_lock_is_held_by_one_thread_at_a_time(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        with files.locked(tmp_path / "locks" / "one.lock"):
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 6
