"""Every rule has one code and one page, and no page is left over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import builder.solve
from builder.solve.rules import codes, page

FOLDER = Path(builder.solve.__file__).parent


def used() -> set[str]:
    return {code for path in FOLDER.rglob("*.py") for code in re.findall(r'"([A-Z]{3}\d{3})"', path.read_text("utf-8"))}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert set(codes()) == used()
    assert list(codes()) == sorted(codes())


@pytest.mark.parametrize("code", codes())
def test_a_page_says_what_why_an_example_what_to_do_and_where_it_is_from(code: str) -> None:
    text = page(code)
    assert text is not None
    assert text.startswith(f"# {code}: ")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["What it says", "Why", "Example", "What to do", "Source"]
    assert re.search(r"^Says: (supports|conditions|refuses|unknown \(decides\)|note)\.$", text, re.MULTILINE)
    assert all(section.strip() for section in re.split(r"^## .+$", text, flags=re.MULTILINE))


def test_a_page_is_found_however_the_code_is_written() -> None:
    assert page(" drv004 ") == page("DRV004")
    assert page("DRV999") is None
    assert page("../../errors") is None
