"""What no quoting can express is refused in words."""

from __future__ import annotations

import pytest

from builder.model.image_text import why_not_argument, why_not_env_name, why_not_one_line, why_not_user


@pytest.mark.parametrize("character", ["\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"])
def test_line_breaks_of_any_kind(character: str) -> None:
    assert why_not_one_line(f"a{character}b") == "has a line break, which a Dockerfile cannot hold"


@pytest.mark.parametrize("character", ["\x01", "\x1b", "\x7f", "\x9f"])
def test_control_characters_are_named(character: str) -> None:
    assert why_not_one_line(character) == f"has the control character U+{ord(character):04X}, which a Dockerfile cannot hold"


@pytest.mark.parametrize("text", ["", " ", "\t", "plain", "é ✓ 漢 \U0001f600", "$ \" ' ` \\ # {{ }}", "\u00a0\ufeff\u200b"])
def test_everything_else_can_stand_in_one_line(text: str) -> None:
    assert why_not_one_line(text) is None
    assert why_not_argument(text) is None


def test_an_argument_may_have_line_breaks_and_no_nul() -> None:
    assert why_not_argument("a\nb\x1b") is None
    assert why_not_argument("a\0") == "has a NUL character, which no program can be given"
    assert why_not_one_line("a\0") == "has a NUL character, which no program can be given"
    assert why_not_argument("\udcff") == "has half of a surrogate pair, which is not text"


@pytest.mark.parametrize(
    ("name", "fits"),
    [("A", True), ("_a1", True), ("a.b-c", True), ("1A", False), ("A B", False), ("", False), ("A=", False), ("A\n", False)],
)
def test_names_of_variables(name: str, fits: bool) -> None:  # noqa: FBT001 - a column of the table
    assert (why_not_env_name(name) is None) is fits


@pytest.mark.parametrize(
    ("user", "fits"),
    [
        ("0", True),
        ("1000:1000", True),
        ("www-data", True),
        ("a.b:c", True),
        ("", False),
        (":1", False),
        ("a b", False),
        ("-u", False),
        ("$USER", False),
        ("a\n", False),
    ],
)
def test_users(user: str, fits: bool) -> None:  # noqa: FBT001 - a column of the table
    assert (why_not_user(user) is None) is fits
