"""What the cells say about the settings for them: entries for no cell, tags that several cells would share, ids too long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.documents.suggest import nearest, shown
from builder.errors import Complaint, Where
from builder.expand.cells import NEEDED, axes_place
from builder.expand.patterns import Masks, PatternIndex
from builder.model.axis import AxisValue
from builder.model.matrix import Cell, Matrix
from builder.model.tag import TagTemplate

MAX_ID = 128
"""The longest id of a variant, and the longest tag that registries take."""

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def setting_complaints(matrix: Matrix, cells: Sequence[Cell]) -> Iterator[Complaint]:
    """Yield complaints about ``when:``, ``tags`` and the ids that the cells will have."""
    yield from _dead_entries(matrix, cells)
    yield from _Tags(matrix).complaints(cells)
    yield from _long_ids(matrix, cells)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A setting that is for some cells only, without what it sets."""

    when: Mapping[str, tuple[AxisValue, ...]]
    where: Where
    value_where: Mapping[str, Where]


def _entries(matrix: Matrix) -> list[_Entry]:
    settings = (matrix.base, matrix.packages, matrix.env, matrix.probes, matrix.user, matrix.entrypoint)
    return [_Entry(entry.when, entry.where, entry.value_where) for setting in settings for entry in setting if entry.when]


def _dead_entries(matrix: Matrix, cells: Sequence[Cell]) -> Iterator[Complaint]:
    """Find entries whose ``when`` matches no cell, or cannot be compared."""
    entries = _entries(matrix)
    index = PatternIndex([entry.when for entry in entries])
    total = Masks(0, 0)
    for cell in cells if entries else ():
        masks = index.of_cell(cell.axes)
        total = Masks(total.sure | masks.sure, total.possible | masks.guesses)
    for number, entry in enumerate(entries):
        bit = 1 << number
        if total.possible & bit:
            guess = index.guess(number)
            where = entry.value_where.get(guess.axis, entry.where)
            yield Complaint(where=where, message=guess.text, hint="write one version on the axis: ==X or ==X.*")
        elif not total.sure & bit:
            yield _dead_entry(entry, cells)


def _dead_entry(entry: _Entry, cells: Sequence[Cell]) -> Complaint:
    for axis, patterns in entry.when.items():
        known = list(dict.fromkeys(text for cell in cells for text in _texts(cell.get(axis))))
        for pattern in patterns:
            close = nearest(pattern.text, known)
            if pattern.text not in known and close is not None:
                message = f"this when matches no cell: {shown(pattern.text)} is no value of {axis!r}"
                hint = f"did you mean {close!r}? if not, remove the entry"
                return Complaint(where=entry.value_where.get(axis, entry.where), message=message, hint=hint)
    return Complaint(where=entry.where, message="this when matches no cell", hint="remove the entry, or correct its values")


def _texts(value: AxisValue | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value.text, value.name) if value.name is not None else (value.text,)


class _Tags:
    """Fills the tag templates as far as the cells say what stands in them.

    What is decided later, the release of a framework or stack and the kind of base, is stood for
    by what decides it: cells that ask for the same get the same.
    """

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._templates = [TagTemplate.parse(text) for text in matrix.tags]
        self._stands_for: dict[object, str] = {}
        self._bases = PatternIndex([entry.when for entry in matrix.base])

    def complaints(self, cells: Sequence[Cell]) -> Iterator[Complaint]:
        """Yield at most one complaint per template."""
        seen: dict[str, tuple[int, Cell]] = {}
        for number, template in enumerate(self._templates):
            complaint = next(self._of(template, cells, seen), None)
            if complaint is not None:
                where = replace(self._matrix.tags_where, field=f"tags[{number}]")
                yield replace(complaint, where=where)

    def _of(self, template: TagTemplate, cells: Sequence[Cell], seen: dict[str, tuple[int, Cell]]) -> Iterator[Complaint]:
        where = self._matrix.tags_where
        for cell in cells:
            lacking = next((name for name in template.names if not self._has(cell, name)), None)
            if lacking is not None:
                message = f"{shown(template.text)} names {lacking!r}, which this cell does not have: {cell}"
                yield Complaint(where=where, message=message, hint="give every cell a value, or leave it out of the template")
                continue
            yield from self._refused(template, cell)
            tag = template.fill({name: self._symbol(cell, name) for name in template.names})
            index, other = seen.setdefault(tag, (cell.index, cell))
            if index != cell.index:
                yield self._shared(template, cell, other)

    @staticmethod
    def _has(cell: Cell, name: str) -> bool:
        return name in {"id", "base", "date", *NEEDED} or cell.get(name) is not None

    def _refused(self, template: TagTemplate, cell: Cell) -> Iterator[Complaint]:
        """Find tags that a registry would refuse whatever is decided later."""
        tag = template.fill({name: _shortest(cell, name) for name in template.names})
        where = self._matrix.tags_where
        if len(tag) > MAX_ID:
            message = f"{shown(template.text)} makes a tag of {len(tag)} characters or more, and registries take {MAX_ID}"
            yield Complaint(where=where, message=message, hint="write a shorter template, or shorter values")
        elif _TAG.fullmatch(tag) is None:
            message = f"{shown(template.text)} makes the tag {shown(tag)}, which no registry takes"
            yield Complaint(where=where, message=message, hint="letters, digits, . _ and -; the first a letter, digit or _")

    def _shared(self, template: TagTemplate, cell: Cell, other: Cell) -> Complaint:
        differing = [axis for axis, value in cell.axes if _identity(other.get(axis)) != value.identity]
        differing += [axis for axis, _ in other.axes if cell.get(axis) is None]
        message = f"{shown(template.text)} gives two cells one tag: {cell}; and {other}"
        return Complaint(
            where=self._matrix.tags_where, message=message, hint=f"add {' or '.join(f'{{{axis}}}' for axis in differing)}"
        )

    def _symbol(self, cell: Cell, name: str) -> str:
        """Return the text of a placeholder, or a sign that stands for it."""
        if name == "id":
            return self._sign((name, cell.index))
        if name == "base":
            return self._sign((name, self._bases.of_cell(cell.axes).sure.bit_length() if self._matrix.base else 0))
        value = cell.get(name)
        if name in {"framework", "stack"}:
            return self._sign((name, _identity(value)))
        return value.text if value is not None else ""

    def _sign(self, meaning: object) -> str:
        return self._stands_for.setdefault(meaning, f"\0{len(self._stands_for)}\0")


def _identity(value: AxisValue | None) -> object:
    return value.identity if value is not None else None


def _shortest(cell: Cell, name: str) -> str:
    """Return the least that a placeholder can become: a name without its version."""
    value = cell.get(name)
    if value is None:
        return "x"
    return value.name or value.text


def _long_ids(matrix: Matrix, cells: Sequence[Cell]) -> Iterator[Complaint]:
    """Find the first cell whose id would be too long whatever is decided later."""
    for cell in cells:
        own = [value.text for axis, value in cell.axes if axis not in NEEDED]
        shortest = "-".join([*(_shortest(cell, name) for name in NEEDED), *own])
        if len(shortest) + len("py") > MAX_ID:
            message = f"the id of this cell would have more than {MAX_ID} characters: {cell}"
            yield Complaint(where=axes_place(matrix), message=message, hint="use shorter values on your own axes")
            return
