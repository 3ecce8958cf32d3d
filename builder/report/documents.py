"""The table as documents for people and spreadsheets: Markdown, one HTML page, CSV.

Nothing that a matrix, a lock or a probe says can leave its cell in any of them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence

import jinja2

from builder.model.evidence import JsonValue
from builder.model.table import Table, TableRow
from builder.report.cells import (
    NONE,
    day_of,
    image_of,
    left_out_text,
    mark_of,
    one_line,
    ordered_left_out,
    remarks,
    short,
    summary,
    target_of,
    tier_of_row,
    verdict_of,
)
from builder.resources import shipped

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+=-]*")
_MARKDOWN = re.compile(r"([\\`*_\[\]#|~$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
_ADDRESS = re.compile(r"(?i)(?<=\bwww)\.|:(?=//)")  # GitHub makes links of these by itself
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are their full-width forms
_HEADINGS = ("Variant", "Target", "Verdict", "Tier", "Digest", "Tested", "Notes")
_COLUMNS = (
    "variant",
    "target",
    "platform",
    "accelerator",
    "driver",
    "verdict",
    "tier",
    "signed",
    "digest",
    "image_id",
    "base",
    "recorded",
    "tags",
    "framework",
    "framework_version",
    "stack",
    "stack_version",
    "python",
    "actual_framework_version",
    "actual_python",
    "disagreement",
    "notes",
)


def markdown(table: Table) -> str:
    """Return the table as GitHub-flavoured Markdown, with what is left out below it."""
    lines = [f"# {_escaped(one_line(table.name))}", "", f"{_escaped(summary(table))}.", ""]
    if table.rows:
        lines += [_line(_HEADINGS), _line(["---"] * len(_HEADINGS))]
        lines += [_line(tuple(_markdown_cells(row))) for row in table.rows]
    if table.fleet:
        names = ", ".join(_code(name) for name in table.fleet)
        lines += ["", f"Shown on the device of every applicable target: {names}."]
    if table.left_out:
        lines += ["", "## Left out", ""]
        lines += [f"- {left.kind.value}: {_escaped(left_out_text(left))}" for left in ordered_left_out(table)]
    return "\n".join(lines).rstrip("\n") + "\n"


def html(table: Table) -> str:
    """Return the table as one page that needs nothing else: no script, no font, no picture, light and dark."""
    loader = jinja2.FileSystemLoader(shipped("templates") / "table")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["line"] = one_line
    page = environment.get_template("table.html.j2")
    left_out = [(left.kind.value, one_line(left.subject), left_out_text(left)) for left in ordered_left_out(table)]
    rows = [_html_row(row) for row in table.rows]
    return page.render(table=table, rows=rows, left_out=left_out, summary=summary(table)).rstrip("\n") + "\n"


def csv_text(table: Table) -> str:
    """Return the table as CSV with a heading; no cell is read as a formula by a spreadsheet."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in table.rows:
        values = _csv_values(row)
        writer.writerow([_cell(values[name]) for name in _COLUMNS])
    return out.getvalue()


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cells(row: TableRow) -> Iterator[str]:
    yield _code(row.variant)
    yield _escaped(target_of(row))
    yield f"{mark_of(row.verdict)} {verdict_of(row)}" if row.verdict else NONE
    yield tier_of_row(row)
    yield _code(image_of(row))
    yield day_of(row)
    yield "<br>".join(_escaped(remark) for remark in remarks(row)) or NONE


def _code(text: str) -> str:
    """Return text as a code span where it holds nothing that could end one, else escaped."""
    line = one_line(text)
    return f"`{line}`" if _CODE.fullmatch(line) else _escaped(line)


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, no HTML, no link made of an address, no mention."""
    marked = _MARKDOWN.sub(r"\\\1", one_line(text))
    plain = "".join(_ENTITIES.get(character, character) for character in marked)
    return _ADDRESS.sub(lambda match: f"&#{ord(match[0])};", plain)


def _html_row(row: TableRow) -> Mapping[str, object]:
    return {
        "row": row,
        "target": target_of(row),
        "verdict": verdict_of(row),
        "mark": mark_of(row.verdict),
        "tier": row.tier.value if row.tier else NONE,
        "image": image_of(row),
        "digest_short": short(row.digest) if row.digest else None,
        "day": day_of(row),
        "remarks": remarks(row),
        "facts": _facts(row),
    }


def _facts(row: TableRow) -> list[tuple[str, str, str]]:
    """Return what is declared beside what was read inside the image, by name."""
    names = dict.fromkeys([*row.declared, *sorted(row.actual)])
    return [(name, _plain(row.declared.get(name)), _plain(row.actual.get(name))) for name in names]


def _plain(value: JsonValue) -> str:
    if value is None:
        return NONE
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))


def _csv_values(row: TableRow) -> Mapping[str, object]:
    given = {name: row.declared.get(name) for name in ("framework", "framework_version", "stack", "stack_version", "python")}
    return {
        **given,
        "variant": row.variant,
        "target": row.target,
        "platform": row.platform,
        "accelerator": row.accelerator,
        "driver": row.driver,
        "verdict": row.verdict,
        "tier": row.tier,
        "signed": "yes" if row.signed else "no",
        "digest": row.digest,
        "image_id": row.image_id,
        "base": row.base,
        "recorded": row.recorded,
        "tags": " ".join(row.tags),
        "actual_framework_version": row.actual.get("framework_version"),
        "actual_python": row.actual.get("python"),
        "disagreement": row.disagreement,
        "notes": "; ".join(remarks(row)),
    }


def _cell(value: object) -> str:
    text = one_line("" if value is None else str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text
