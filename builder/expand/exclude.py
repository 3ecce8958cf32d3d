"""The product of the axes without the cells that ``exclude`` names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product

from builder.documents.suggest import nearest, shown
from builder.errors import Complaint
from builder.expand.patterns import PatternIndex
from builder.model.axis import AxisValue, PatternError, matches
from builder.model.matrix import Axis, Exclude, ExcludedCell, Matrix

Values = tuple[tuple[str, AxisValue], ...]
"""Axes and values of one cell, in the order written."""


class Remaining:
    """What ``exclude`` leaves of the product, and what it takes away.

    Of several excludes that match a cell, the first gives the reason.
    """

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._index = PatternIndex([{axis: (value,) for axis, value in one.pattern.items()} for one in matrix.exclude])
        self.cells: list[Values] = []
        self.excluded: list[ExcludedCell] = []
        self._matched = self._first = self._guessed = 0
        self._expand()

    def _expand(self) -> None:
        axes = self._matrix.axes
        absent = self._index.lacking(set(self._index.axes) - {axis.name for axis in axes})
        choices = [[((axis.name, value), self._index.of(axis.name, value)) for value in axis.values] for axis in axes]
        for combination in product(*choices) if choices else ():
            sure = possible = absent
            for _, masks in combination:
                sure &= masks.sure
                possible &= masks.possible
            values = tuple(pair for pair, _ in combination)
            self._guessed |= possible & ~sure
            if sure:
                self._take_away(values, sure)
            else:
                self.cells.append(values)

    def _take_away(self, values: Values, sure: int) -> None:
        first = sure & -sure
        self._matched |= sure
        self._first |= first
        reason = self._matrix.exclude[first.bit_length() - 1].reason
        self.excluded.append(ExcludedCell(axes=values, reason=reason))

    def complaints(self) -> Iterator[Complaint]:
        """Yield a complaint per exclude that would need a guess, matches nothing, or has no effect."""
        for number, exclude in enumerate(self._matrix.exclude):
            bit = 1 << number
            if self._guessed & bit:
                guess = self._index.guess(number)
                where = exclude.value_where.get(guess.axis, exclude.where)
                yield Complaint(where=where, message=guess.text, hint="write one version on the axis: ==X or ==X.*")
            elif not self._matched & bit:
                yield self._dead(exclude)
            elif not self._first & bit:
                message = "this exclude has no effect: what it names is left out by the ones above it"
                yield Complaint(
                    where=exclude.where, message=message, hint="remove it, or put it first if its reason is the better one"
                )

    def _dead(self, exclude: Exclude) -> Complaint:
        """Return the complaint about an exclude that matches no cell, with the value that was probably meant."""
        lost = _lost_value(exclude, self._matrix.axes)
        if lost is not None:
            return lost
        unknown = next((name for name in exclude.pattern if name not in {axis.name for axis in self._matrix.axes}), None)
        message = "this exclude matches no cell" + (f": there is no axis {shown(unknown)}" if unknown else "")
        return Complaint(where=exclude.where, message=message, hint="remove it, or correct its values")


def lost_values(matrix: Matrix, fields: Collection[str]) -> Iterator[Complaint]:
    """Yield the complaint about each exclude that names no value of an axis, where the cells are not known.

    ``fields`` are those that are complained about already: nothing is said of their axes and excludes.
    """
    axes = [axis for axis in matrix.axes if not any(_within(field, axis.where.field) for field in fields)]
    for exclude in matrix.exclude:
        if not any(_within(field, exclude.where.field) for field in fields):
            lost = _lost_value(exclude, axes)
            if lost is not None:
                yield lost


def _within(field: str, whole: str) -> bool:
    return field == whole or field.startswith((f"{whole}.", f"{whole}["))


def _lost_value(exclude: Exclude, axes: Sequence[Axis]) -> Complaint | None:
    """Return the complaint about the first value of an exclude that is no value of its axis."""
    for axis in axes:
        pattern = exclude.pattern.get(axis.name)
        if pattern is None or any(_may_match(pattern, value) for value in axis.values):
            continue
        close = nearest(pattern.text, [known for value in axis.values for known in (value.text, value.name) if known])
        hint = f"did you mean {close!r}?" if close else f"values of the axis: {', '.join(value.text for value in axis.values)}"
        message = f"this exclude matches no cell: {shown(pattern.text)} is no value of the axis {axis.name!r}"
        return Complaint(where=exclude.value_where.get(axis.name, exclude.where), message=message, hint=hint)
    return None


def _may_match(pattern: AxisValue, value: AxisValue) -> bool:
    """Return whether a pattern matches, or may by a guess."""
    try:
        return matches(pattern, value)
    except PatternError:
        return True
