"""Build contexts: exactly the files that are given, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.adapters.contexts import ContextFolders, write_context
from builder.errors import MismatchError


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_context_holds_exactly_the_files_that_are_given(tmp_path: Path) -> None:
    wheel = tmp_path / "cached.whl"
    wheel.write_bytes(b"wheel")
    folder = tmp_path / "contexts" / "one"
    write_context({"Dockerfile": b"FROM a\n", "old.txt": b"old"}, {}, folder)
    write_context({"Dockerfile": b"FROM b\n"}, {"wheels/a.whl": wheel}, folder)
    assert tree(tmp_path / "contexts") == {"one/Dockerfile": b"FROM b\n", "one/wheels/a.whl": b"wheel"}
    assert (folder / "wheels" / "a.whl").stat().st_ino == wheel.stat().st_ino


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b", "."])
def test_a_path_that_leaves_the_context_is_refused_and_nothing_changes(path: str, tmp_path: Path) -> None:
    folder = tmp_path / "contexts" / "one"
    write_context({"Dockerfile": b"FROM a\n"}, {}, folder)
    with pytest.raises(MismatchError, match="would be written outside the build context"):
        write_context({"Dockerfile": b"FROM b\n", path: b""}, {}, folder)
    assert tree(tmp_path) == {"contexts/one/Dockerfile": b"FROM a\n"}


def test_a_file_that_is_gone_leaves_the_context_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "contexts" / "one"
    write_context({"Dockerfile": b"FROM a\n"}, {}, folder)
    with pytest.raises(FileNotFoundError):
        write_context({"Dockerfile": b"FROM b\n"}, {"wheels/a.whl": tmp_path / "gone.whl"}, folder)
    assert tree(tmp_path) == {"contexts/one/Dockerfile": b"FROM a\n"}


def test_the_contexts_of_a_run_come_and_go(tmp_path: Path) -> None:
    contexts = ContextFolders(tmp_path / "contexts")
    folder = contexts.materialise({"Dockerfile": b"FROM a\n"}, {}, "c-1")
    assert tree(folder) == {"Dockerfile": b"FROM a\n"}
    contexts.discard("c-1")
    contexts.discard("c-1")
    assert list((tmp_path / "contexts").iterdir()) == []
    contexts.materialise({"Dockerfile": b"FROM a\n"}, {}, "c-2")
    contexts.clear()
    assert not (tmp_path / "contexts").exists()
