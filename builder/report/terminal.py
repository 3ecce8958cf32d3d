"""Plain aligned text for a terminal of a given width, without colour."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from builder.model.evidence import Outcome
from builder.model.table import Table
from builder.report.cells import (
    NONE,
    counted,
    day_of,
    image_of,
    left_out_text,
    one_line,
    ordered_left_out,
    remarks,
    target_of,
    tier_of_row,
    verdict_of,
)

_GAP = "  "
_INDENT = "    "
_NARROWEST = 40
_LAST_RESORTS = ("TESTED", "DIGEST")
_MINUTE = 60


def text(table: Table, width: int = 100) -> str:
    """Return the table for a terminal ``width`` columns wide; notes follow their row, indented.

    Where it does not fit, targets are named alone, then the day and the digest are left out, then the
    variant gets a line of its own.
    """
    width = max(width, _NARROWEST)
    columns = {
        "VARIANT": [one_line(row.variant) for row in table.rows],
        "TARGET": [target_of(row) for row in table.rows],
        "VERDICT": [verdict_of(row) for row in table.rows],
        "TIER": [tier_of_row(row) for row in table.rows],
        "DIGEST": [image_of(row) for row in table.rows],
        "TESTED": [day_of(row) for row in table.rows],
    }
    if all(row.target is None for row in table.rows):
        del columns["TARGET"], columns["VERDICT"]
    if _total(columns) > width and "TARGET" in columns:
        columns["TARGET"] = [one_line(row.target or NONE) for row in table.rows]
    for name in _LAST_RESORTS:
        if _total(columns) > width:
            del columns[name]
    lines = list(_grid(columns, [remarks(row) for row in table.rows], width)) if table.rows else ["no variants"]
    lines += _left_out(table, width)
    variants = {row.variant for row in table.rows}
    if len(variants) > 1 and variants == set(table.fleet):
        lines += ["", f"on the device of every target: all {len(variants)} variants"]
    elif table.fleet:
        lines += ["", "on the device of every target:"]
        lines += [f"{_INDENT}{part}" for name in table.fleet for part in wrapped(one_line(name), width - len(_INDENT))]
    return "\n".join(lines) + "\n"


def outcomes_text(outcomes: Sequence[Outcome], width: int = 100) -> str:
    """Return how each variant ended, what to do about those that failed, and the count of each status last."""
    width = max(width, _NARROWEST)
    columns = {
        "STATUS": [outcome.status.value for outcome in outcomes],
        "VARIANT": [one_line(outcome.variant) for outcome in outcomes],
        "TIER": [outcome.tier.value if outcome.tier else NONE for outcome in outcomes],
        "TIME": [_seconds(outcome) for outcome in outcomes],
    }
    lines = list(_grid(columns, [_outcome_notes(outcome) for outcome in outcomes], width)) if outcomes else []
    count = counted(outcome.status.value for outcome in outcomes) or "nothing to do"
    return "\n".join([*lines, count]) + "\n"


def columns_of(line: str) -> int:
    """Return how many terminal columns a line takes: wide characters two, combining ones none."""
    return sum(_columns(character) for character in line)


def wrapped(line: str, width: int) -> list[str]:
    """Return a line cut into lines of at most ``width`` columns, at spaces where there are any."""
    lines = [""]
    for word in line.split():
        if lines[-1] and columns_of(lines[-1]) + 1 + columns_of(word) <= width:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if columns_of(lines[-1]) + _columns(character) > width:
                lines.append("")
            lines[-1] += character
    return lines


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - columns_of(cell))


def _total(columns: dict[str, list[str]]) -> int:
    return sum(_widest(name, cells) for name, cells in columns.items()) + len(_GAP) * (len(columns) - 1)


def _widest(name: str, cells: Sequence[str]) -> int:
    return max(columns_of(cell) for cell in (name, *cells))


def _grid(columns: dict[str, list[str]], notes: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield a heading and the rows, each followed by its notes; over two lines a row where one is too narrow."""
    narrow = _total(columns) > width
    aside = {name: cells for name, cells in columns.items() if not (narrow and name == "VARIANT")}
    widths = [_widest(name, cells) for name, cells in aside.items()]

    def line(cells: Sequence[str]) -> str:
        return _GAP.join(_padded(cell, size) for cell, size in zip(cells, widths, strict=True)).rstrip()

    if not narrow:
        yield line(list(aside))
    for index, said in enumerate(notes):
        cells = [cells[index] for cells in aside.values()]
        if narrow:
            yield from wrapped(columns["VARIANT"][index], width)
            yield from (f"{_INDENT}{part}" for part in wrapped(" · ".join(cells), width - len(_INDENT)))
        else:
            yield line(cells)
        for note in said:
            yield from (f"{_INDENT}{part}" for part in wrapped(note, width - len(_INDENT)))


def _left_out(table: Table, width: int) -> Iterator[str]:
    kind = None
    for left in ordered_left_out(table):
        if left.kind is not kind:
            kind = left.kind
            yield from ("", f"{kind.value}:")
        first, *rest = wrapped(left_out_text(left), width - len(_INDENT))
        yield f"{_INDENT}{first}"
        yield from (f"{_INDENT}{_GAP}{part}" for part in wrapped(" ".join(rest), width - len(_INDENT) - len(_GAP)) if rest)


def _seconds(outcome: Outcome) -> str:
    if not outcome.fresh:
        return "unchanged"
    whole = round(outcome.seconds)
    return f"{whole} s" if whole < _MINUTE else f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"


def _outcome_notes(outcome: Outcome) -> tuple[str, ...]:
    hint = f"hint: {outcome.hint}" if outcome.hint else None
    log = f"log: {outcome.log}" if outcome.log and outcome.exit_code else None
    return tuple(one_line(note) for note in (outcome.reason, hint, log) if note)
