"""Tag templates."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.model.tag import TagTemplate


def test_a_template_is_filled_by_name() -> None:
    template = TagTemplate.parse("{framework}-{stack}-py{python}-{own-axis}")
    assert template.names == ("framework", "stack", "python", "own-axis")
    values = {"framework": "pytorch2.9.1+cu126", "stack": "cuda12.6", "python": "3.12", "own-axis": "a+b"}
    assert template.fill(values) == "pytorch2.9.1_cu126-cuda12.6-py3.12-a_b"
    assert str(template) == "{framework}-{stack}-py{python}-{own-axis}"


def test_a_value_is_never_read_as_a_template() -> None:
    assert TagTemplate.parse("{a}").fill({"a": "{b}"}) == "{b}"


def test_a_placeholder_without_a_value_is_named() -> None:
    with pytest.raises(KeyError, match="own"):
        TagTemplate.parse("x{own}").fill({})


@pytest.mark.parametrize("text", ["{", "}", "{}", "{{a}}", "{a", "a}", "{a b}", "{a.b}", "{a!r}", "{a:>3}", "{a[0]}", "{0}"])
def test_no_brace_stands_outside_a_placeholder(text: str) -> None:
    with pytest.raises(ValueError, match="not part of a placeholder"):
        TagTemplate.parse(text)


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_without_braces_fills_to_itself(text: str) -> None:
    plain = text.replace("{", "").replace("}", "").replace("+", "")
    assert TagTemplate.parse(plain).fill({}) == plain
