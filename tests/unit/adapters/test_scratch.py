"""Folders for a while: what stays, what goes, and whose."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from builder.adapters.owner import new_name
from builder.adapters.scratch import scratch_folder


def of_a_dead_process(name: str) -> str:
    """Return a name that a process would have given which was started at another time under this number."""
    host, pid, start, number = name.removeprefix("imgbuild-").split("-")
    return f"imgbuild-{host}-{pid}-{int(start) - 1}-{number}"


def test_a_folder_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "below") as folder:
        (folder / "file").write_text("something")
        assert folder.parent == tmp_path / "below"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list((tmp_path / "below").iterdir()) == []


def test_a_folder_is_gone_when_its_work_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), scratch_folder(tmp_path):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_and_nothing_else(tmp_path: Path) -> None:
    name = new_name()
    left, living, build = (
        tmp_path / f"{of_a_dead_process(name)}.tmp",
        tmp_path / f"{name}.tmp",
        tmp_path / of_a_dead_process(name),
    )
    for folder in (left, living, build, tmp_path / "imgbuild-something.tmp"):
        folder.mkdir()
        (folder / "file").touch()
    with scratch_folder(tmp_path) as own:
        assert {path.name for path in tmp_path.iterdir()} == {own.name, living.name, build.name, "imgbuild-something.tmp"}
