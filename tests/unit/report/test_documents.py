from __future__ import annotations

import csv
import io
import itertools
from html.parser import HTMLParser

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from builder.model.table import Table
from builder.report import csv_text, html, markdown
from builder.report.cells import one_line
from tests.unit.report.sample import HOSTILE, full_table, hostile_table

VOID = {"meta", "link", "br", "img", "hr", "input"}
READER = MarkdownIt("commonmark", {"linkify": False}).enable(["table", "strikethrough"])
texts = st.one_of(st.sampled_from(HOSTILE), st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))


class Page(HTMLParser):
    """The elements of a page, their nesting held, and the cells of its first table."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def cells_of(text: str) -> list[list[str]]:
    """The cells of the first table of a Markdown text, as a reader of GitHub's Markdown sees them."""
    rows: list[list[str]] = []
    tokens = READER.parse(text)
    for token, inner in itertools.pairwise(tokens):
        if token.type == "tr_open":
            rows.append([])
        if token.type in {"th_open", "td_open"}:
            children = inner.children or []
            assert {child.type for child in children} <= {"text", "code_inline", "html_inline", "text_special"}
            assert {child.content for child in children if child.type == "html_inline"} <= {"<br>"}
            rows[-1].append("".join(child.content for child in children))
    return rows


def test_markdown_reads_well() -> None:
    assert markdown(full_table()) == (
        "# pytorch\n"
        "\n"
        "2 variants, 3 rows: 1 device, 1 imported, 1 not rendered.\n"
        "\n"
        "| Variant | Target | Verdict | Tier | Digest | Tested | Notes |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| `pytorch2.9.1-cuda12.8-py3.12` | h100 (nvidia/h100, driver 580.95.05) | ! conditional | device | `1f1f1f1f1f1f` "
        "| 2026-12-01 | train was skipped: no data<br>driver 580.65.06 or newer |\n"
        "| `pytorch2.9.1-cuda12.8-py3.12` | a100 (nvidia/h100, driver 580.95.05) | ✓ supported | imported (!) | `1f1f1f1f1f1f` "
        "| 2026-12-01 | verdict and evidence disagree: model failed there |\n"
        "| `pytorch2.9.1-cpu-py3.12` | - | - | - | - | - | train was skipped: no data |\n"
        "\n"
        "Shown on the device of every applicable target: `pytorch2.9.1-cuda12.8-py3.12`.\n"
        "\n"
        "## Left out\n"
        "\n"
        "- excluded: stack=cuda, python=3.10: we are on 3.12\n"
        "- refused: pytorch2.9.0-gaudi1.23 on gaudi3: driver 1.24; old\n"
    )


@given(texts)
def test_no_text_leaves_its_markdown_cell(text: str) -> None:
    written = markdown(hostile_table(text))
    heading, first, second = cells_of(written)
    assert heading == ["Variant", "Target", "Verdict", "Tier", "Digest", "Tested", "Notes"]
    assert len(first) == len(second) == 7
    assert first[0] == one_line(text)
    assert second[0] == "pytorch2.9.1-cuda12.8-py3.12"
    tokens = READER.parse(written)
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", "h2"]
    assert sum(token.type == "list_item_open" for token in tokens) == 1


@given(texts)
def test_no_text_becomes_markup_or_leaves_its_place_in_html(text: str) -> None:
    assume(one_line(text))  # an empty remark is left out
    page, plain = Page(html(hostile_table(text))), Page(html(hostile_table("plain")))
    assert page.count == plain.count
    assert page.attributes == plain.attributes
    assert "".join(page.text).count(one_line(text)) >= 4


def test_the_page_needs_nothing_else_and_reads_without_a_screen() -> None:
    written = html(full_table())
    page = Page(written)
    assert not {"script", "link", "img", "iframe", "form", "object"} & page.count.keys()
    assert "http" not in written.replace("http-equiv", "")
    assert "default-src 'none'" in written
    assert '<html lang="en">' in written
    assert page.count["h1"] == page.count["main"] == page.count["title"] == 1
    assert "prefers-color-scheme: dark" in written
    assert written.count('scope="col"') == 8 + 3 * 3
    assert 'role="region" aria-label="Compatibility table" tabindex="0"' in written
    said = " ".join("".join(page.text).split())
    for words in ("conditional", "2026-12-01", "driver 580.65.06 or newer", "2.9.1+cu128", "Locked on 2026-11-30", "disagrees"):
        assert words in said


@given(texts)
def test_no_cell_of_the_csv_is_a_formula_or_breaks_its_row(text: str) -> None:
    written = csv_text(hostile_table(text))
    rows = list(csv.DictReader(io.StringIO(written, newline="")))
    assert len(rows) == 2
    assert written.count("\n") == 3
    for row in rows:
        assert None not in row
        assert not [
            cell
            for cell in row.values()
            if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"))
        ]
    assert rows[0]["variant"].removeprefix("'") == one_line(text).removeprefix("'")
    assert rows[1]["actual_framework_version"] == "2.9.1+cu128"


def test_csv_has_what_a_sheet_sorts_by() -> None:
    first, _, third = csv.DictReader(io.StringIO(csv_text(full_table()), newline=""))
    assert (first["tier"], first["signed"], first["python"], first["actual_python"]) == ("device", "no", "3.12", "3.12.3")
    assert first["tags"] == "pytorch-cuda latest-but-one"
    assert (third["target"], third["verdict"], third["tier"], third["digest"]) == ("", "", "", "")


@pytest.mark.parametrize("writer", [markdown, html, csv_text])
def test_an_empty_table_is_said_and_ends_in_one_line_end(writer: object) -> None:
    assert callable(writer)
    written = writer(Table(name="nothing"))
    assert written.endswith("\n")
    assert not written.endswith("\n\n")
    assert writer(full_table()) == writer(full_table())
