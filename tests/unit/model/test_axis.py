"""Axis values, and which pattern matches which."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from builder.errors import Where
from builder.model.axis import AxisValue, PatternError, any_matches, matches
from builder.model.matrix import Cell, When


def value(text: str) -> AxisValue:
    return AxisValue.parse(text)


@pytest.mark.parametrize(
    ("text", "name", "specifiers"),
    [
        ("cuda", "cuda", None),
        ("Triton_Server", "triton-server", None),
        ("pytorch==2.9.*", "pytorch", "==2.9.*"),
        ("PyTorch >= 2.9, < 3", "pytorch", ">=2.9,<3"),
        ("pytorch~=2.9", "pytorch", "~=2.9"),
        ("pytorch===2.9.0a0+145a3a7bda", "pytorch", "===2.9.0a0+145a3a7bda"),
        (">=2.9", None, ">=2.9"),
        ("3.12", None, None),
        ("ubuntu-22.04", "ubuntu-22-04", None),
        ("a b", None, None),
        ("", None, None),
        ("  cuda ", "cuda", None),
    ],
)
def test_a_value_is_a_name_a_name_with_specifiers_or_a_plain_text(text: str, name: str | None, specifiers: str | None) -> None:
    read = value(text)
    assert read.name == name
    assert read.specifiers == (SpecifierSet(specifiers) if specifiers is not None else None)
    assert str(read) == text.strip()


@pytest.mark.parametrize("text", ["pytorch=2.9", "pytorch==", "pytorch==2.9.*.*", "pytorch>=2.9;x", "==", "~2", "pytorch=>2"])
def test_what_is_no_specifier_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="specifier"):
        value(text)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("pytorch==2.9.1", "2.9.1"),
        ("pytorch==2.9.*", "2.9"),
        ("pytorch===2.9.0a0+1", "2.9.0a0+1"),
        ("pytorch", None),
        ("pytorch>=2.9", None),
        ("pytorch==2.9,!=2.9.1", None),
        ("pytorch===nightly", None),
        ("3.12", None),
    ],
)
def test_the_one_written_version(text: str, version: str | None) -> None:
    assert value(text).written_version == (Version(version) if version is not None else None)


@pytest.mark.parametrize(
    ("pattern", "against"),
    [
        ("cuda", "cuda"),
        ("3.10", "3.10"),
        ("cuda", "cuda==12.6"),
        ("CUDA", "cuda>=12"),
        ("pytorch==2.9.*", "pytorch==2.9.*"),
        ("pytorch>=2.9", "pytorch>=2.9"),
        ("PyTorch >= 2.9", "pytorch>=2.9"),
        ("pytorch<3,>=2.9", "pytorch>=2.9,<3"),
        ("pytorch==2.9.*", "pytorch==2.9.1"),
        ("pytorch==2.9", "pytorch==2.9.0"),
        ("pytorch>=2.9", "pytorch==2.9.*"),
        ("pytorch<2.10", "pytorch==2.9.*"),
        ("pytorch>=2.9", "pytorch==2.10.0a0"),
        ("pytorch==2.9.0", "pytorch==2.9.0+cu126"),
    ],
)
def test_a_pattern_that_matches(pattern: str, against: str) -> None:
    assert matches(value(pattern), value(against))


@pytest.mark.parametrize(
    ("pattern", "against"),
    [
        ("cuda", "rocm"),
        ("3.1", "3.10"),
        ("3.10", "3.1"),
        ("pytorch==2.9.*", "pytorch==2.10.*"),
        ("pytorch>2.9", "pytorch==2.9.*"),
        ("pytorch>=2.9.1", "pytorch==2.9.*"),
        ("pytorch==2.9.*", "jax==2.9.*"),
        ("pytorch==2.9.*", "jax"),
        ("pytorch==2.9.*", "3.12"),
        ("cuda", "3.12"),
        ("3.12", "cuda"),
    ],
)
def test_a_pattern_that_does_not_match(pattern: str, against: str) -> None:
    assert not matches(value(pattern), value(against))


@pytest.mark.parametrize(
    ("pattern", "against", "text"),
    [
        (">=2.9", "pytorch==2.9.*", "has a specifier but no name"),
        (">=3.10", "3.12", "has a specifier but no name"),
        ("pytorch==2.9.*", "pytorch", "has no one written version"),
        ("pytorch>=2.9", "pytorch>=2.8", "has no one written version"),
        ("cuda==12.*", "cuda>=12,<13", "has no one written version"),
    ],
)
def test_what_would_be_a_guess_is_refused(pattern: str, against: str, text: str) -> None:
    with pytest.raises(PatternError, match=text):
        matches(value(pattern), value(against))


def test_of_several_patterns_one_that_matches_for_sure_is_enough() -> None:
    assert any_matches([value("cuda>=12"), value("cuda")], value("cuda"))
    assert not any_matches([], value("cuda"))
    with pytest.raises(PatternError):
        any_matches([value("cuda>=12"), value("rocm")], value("cuda"))


names = st.sampled_from(["a", "b", "A_b", "c-1"])
versions = st.builds("{}.{}".format, st.integers(0, 3), st.integers(0, 3))
written = st.one_of(
    names,
    versions,
    st.builds("{}=={}".format, names, versions),
    st.builds("{}=={}.*".format, names, versions),
    st.builds("{}{}{}".format, names, st.sampled_from([">=", "<", "~=", "!="]), versions),
)


@settings(deadline=None)
@given(written)
def test_every_value_matches_itself_and_its_bare_name(text: str) -> None:
    read = value(text)
    assert matches(read, read)
    if read.name is not None:
        assert matches(value(read.name), read)


@settings(deadline=None)
@given(written, written)
def test_matching_follows_the_published_words(pattern: str, against: str) -> None:
    """Equal, or the bare name, or a specifier of the same name that contains the version written; else no, or a complaint."""
    left, right = value(pattern), value(against)
    same_name = left.name is not None and left.name == right.name
    if pattern == against or (same_name and left.specifiers in {None, right.specifiers}):
        expected: bool | None = True
    elif not same_name or left.specifiers is None:
        expected = False
    elif "==" not in against:
        expected = None
    else:
        specifiers = re.sub(r"^[^<>=!~]+", "", pattern)
        expected = Version(against.split("==")[1].removesuffix(".*")) in SpecifierSet(specifiers)
    if expected is None:
        with pytest.raises(PatternError):
            matches(left, right)
    else:
        assert matches(left, right) is expected


@settings(deadline=None)
@given(written, written)
def test_the_same_identity_is_the_same_to_every_pattern(one: str, other: str) -> None:
    left, right = value(one), value(other)
    assert (left.identity == right.identity) == (hash(left.identity) == hash(right.identity) and matches_both(left, right))


def matches_both(left: AxisValue, right: AxisValue) -> bool:
    try:
        return matches(left, right) and matches(right, left) and left.specifiers == right.specifiers
    except PatternError:
        return False


def cell(**axes: str) -> Cell:
    return Cell(index=0, axes=tuple((name, value(text)) for name, text in axes.items()))


def when(**axes: list[str]) -> When[str]:
    where = Where(file="m", line=1, column=1)
    return When(value="x", when={name: tuple(map(value, texts)) for name, texts in axes.items()}, where=where)


def test_a_setting_applies_where_every_axis_has_one_of_its_values() -> None:
    assert when().applies(cell(stack="cuda"))
    assert when(stack=["rocm", "cuda"]).applies(cell(stack="cuda==12.6", python="3.12"))
    assert not when(stack=["cuda"], python=["3.10"]).applies(cell(stack="cuda", python="3.12"))
    assert not when(own=["x"]).applies(cell(stack="cuda"))


def test_a_setting_is_not_guessed_at_unless_another_axis_rules_it_out() -> None:
    assert not when(stack=["cuda>=12"], python=["3.10"]).applies(cell(stack="cuda", python="3.12"))
    with pytest.raises(PatternError):
        when(stack=["cuda>=12"], python=["3.12"]).applies(cell(stack="cuda", python="3.12"))
