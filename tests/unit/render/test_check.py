"""What --check finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builder.render.check import Difference, Kind, differences

FILES = st.dictionaries(st.sampled_from(["Dockerfile", "a.txt", "b.txt"]), st.binary(max_size=6))


@given(FILES)
def test_the_same_is_no_difference(files: dict[str, bytes]) -> None:
    assert differences(files, dict(files)) == ()


@given(FILES, FILES)
def test_every_path_that_differs_is_named_once(expected: dict[str, bytes], on_disk: dict[str, bytes]) -> None:
    found = differences(expected, on_disk)
    assert [one.path for one in found] == sorted(p for p in {*expected, *on_disk} if expected.get(p) != on_disk.get(p))


def test_kinds_and_lines() -> None:
    found = differences({"a": b"one\ntwo\n", "b": b"x"}, {"a": b"one\n2\n", "c": b"y"})
    assert found[0].kind is Kind.CHANGED
    assert found[0].lines == ("--- a (on disk)", "+++ a (rendered)", "@@ -1,3 +1,3 @@", " one", "-2", "+two", " ")
    assert found[1:] == (Difference(path="b", kind=Kind.MISSING), Difference(path="c", kind=Kind.UNEXPECTED))


def test_a_missing_line_end_is_seen() -> None:
    assert differences({"a": b"x\n"}, {"a": b"x"})[0].kind is Kind.CHANGED


def test_what_is_not_text_has_no_lines() -> None:
    assert differences({"a": b"\xff"}, {"a": b"x"}) == (Difference(path="a", kind=Kind.CHANGED),)
