"""The cells of a matrix: product, minus ``exclude``, plus ``include``, as GitHub Actions does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from builder.documents.suggest import shown
from builder.errors import Complaint, Where
from builder.expand.exclude import Remaining
from builder.expand.include import Includes
from builder.model.matrix import Axis, Cell, Expansion, Matrix

NEEDED = ("framework", "stack", "python")
"""The axes that every cell must have."""

MAX_CELLS = 100_000
"""Cells of a product that are made at most, before ``exclude``."""


def cells_of(matrix: Matrix) -> tuple[Expansion, list[Complaint]]:
    """Return the cells of a matrix in the order of the product, those that ``include`` adds last, and complaints.

    The last axis varies fastest.
    """
    crowd = _too_many(matrix)
    if crowd is not None:
        return Expansion(cells=(), excluded=()), [crowd]
    remaining = Remaining(matrix)
    includes = Includes(matrix.include, matrix.axes)
    values = [includes.extended(cell) for cell in remaining.cells]
    new = includes.new_cells()
    cells = [Cell(index=index, axes=axes) for index, axes in enumerate([*values, *(axes for _, axes in new)])]
    new_where = [matrix.include[number].where for number, _ in new]
    complaints = [
        *remaining.complaints(),
        *includes.complaints(),
        *_repeated_values(matrix.axes),
        *_incomplete(matrix, cells, new_where),
        *_duplicates(cells, new_where),
        *_unreachable(matrix, cells),
    ]
    return Expansion(cells=tuple(cells), excluded=tuple(remaining.excluded)), complaints


def _too_many(matrix: Matrix) -> Complaint | None:
    """Return the complaint about a product that nobody can mean, and that would fill the memory."""
    number = prod(len(axis.values) for axis in matrix.axes)
    if number <= MAX_CELLS:
        return None
    message = f"the axes make {number:,} cells, and more than {MAX_CELLS:,} are not made"
    return Complaint(
        where=axes_place(matrix), message=message, hint="make several matrices of it, or write single cells under include:"
    )


def axes_place(matrix: Matrix) -> Where:
    """Return the place of the axes."""
    return matrix.axes_where or matrix.tags_where


def _repeated_values(axes: Sequence[Axis]) -> Iterator[Complaint]:
    for axis in axes:
        seen: set[object] = set()
        for position, value in enumerate(axis.values):
            if value.identity in seen:
                message = f"{shown(value.text)} stands twice on the axis {axis.name!r}"
                yield Complaint(
                    where=_value_place(axis, position), message=message, hint="remove one; it makes the same cells twice"
                )
            seen.add(value.identity)


def _value_place(axis: Axis, position: int) -> Where:
    return axis.value_where[position] if position < len(axis.value_where) else axis.where


def _incomplete(matrix: Matrix, cells: Sequence[Cell], new_where: Sequence[Where]) -> Iterator[Complaint]:
    """Find cells without framework, stack or python: of the product all alike, of the includes one by one."""
    from_product = len(cells) - len(new_where)
    if from_product:
        names = {axis for axis, _ in cells[0].axes} if from_product == 1 else _common(cells[:from_product])
        for name in NEEDED:
            if name not in names:
                message = f"there is no axis {name!r}, so the cells of the product have no {name}"
                yield Complaint(where=axes_place(matrix), message=message, hint=f"add {name}: [...] under matrix:")
    for cell, where in zip(cells[from_product:], new_where, strict=True):
        missing = [name for name in NEEDED if cell.get(name) is None]
        if missing:
            message = f"this include fits no cell, so it makes one of its own, which has no {' and no '.join(missing)}"
            yield Complaint(
                where=where, message=message, hint=f"add {', '.join(missing)}, or correct the values that fit no cell"
            )


def _common(cells: Sequence[Cell]) -> set[str]:
    """Return the axes that all of several cells have."""
    names = {axis for axis, _ in cells[0].axes}
    for cell in cells:
        if len(cell.axes) != len(names) or any(axis not in names for axis, _ in cell.axes):
            names.intersection_update(axis for axis, _ in cell.axes)
    return names


def _duplicates(cells: Sequence[Cell], new_where: Sequence[Where]) -> Iterator[Complaint]:
    """Find cells that includes make twice; the cells of the product differ, and contradict every new one."""
    seen: dict[frozenset[object], Where] = {}
    for cell, where in zip(cells[len(cells) - len(new_where) :], new_where, strict=True):
        key = frozenset((axis, value.identity) for axis, value in cell.axes)
        if key in seen:
            message = f"this include makes the same cell as the one in line {seen[key].line}"
            yield Complaint(where=where, message=message, hint="remove one")
        seen.setdefault(key, where)


def _unreachable(matrix: Matrix, cells: Sequence[Cell]) -> Iterator[Complaint]:
    """Find values that no cell has, and a matrix of no cells at all."""
    if not cells:
        message = "exclude leaves no cell" if matrix.axes else "there are no axes and no include, so there is no cell"
        yield Complaint(where=axes_place(matrix), message=message, hint="every matrix needs at least one cell")
        return
    used: dict[str, set[str]] = {}
    for cell in cells:
        for axis_name, value in cell.axes:
            used.setdefault(axis_name, set()).add(value.text)
    for axis in matrix.axes:
        for position, value in enumerate(axis.values):
            if value.text not in used.get(axis.name, ()):
                message = f"no cell is left with {axis.name}={value.text}: exclude names them all"
                yield Complaint(
                    where=_value_place(axis, position), message=message, hint="remove the value, and the excludes for it"
                )
