"""What ``include`` adds to the cells of the product, and the cells that it adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builder.documents.suggest import shown
from builder.errors import Complaint
from builder.expand.exclude import Values
from builder.expand.patterns import PatternIndex, bits_of
from builder.model.axis import AxisValue
from builder.model.matrix import Axis, Include


class Includes:
    """Applies all includes to one cell of the product after the other.

    An include extends every cell whose values it does not contradict, never overwriting a value
    of an axis; one that fits no cell makes a cell of its own, which later includes do not extend.
    """

    def __init__(self, includes: Sequence[Include], axes: Sequence[Axis]) -> None:
        self._includes = includes
        self._names = [axis.name for axis in axes]
        original = [{axis: (value,) for axis, value in one.values.items() if axis in self._names} for one in includes]
        self._index = PatternIndex(original)
        self._fitted = self._guessed = self._effective = 0
        self._overwritten: dict[int, tuple[str, AxisValue, int]] = {}

    def extended(self, cell: Values) -> Values:
        """Return a cell of the product with what the includes add to it."""
        sure = possible = self._index.everything
        for axis, value in cell:
            masks = self._index.of(axis, value)
            sure &= masks.sure
            possible &= masks.possible
        self._fitted |= possible
        self._guessed |= possible & ~sure
        added: dict[str, tuple[AxisValue, int]] = {}
        for number in bits_of(sure):
            self._add(added, number)
        return (*cell, *((key, value) for key, (value, _) in added.items())) if added else cell

    def _add(self, added: dict[str, tuple[AxisValue, int]], number: int) -> None:
        for key, value in self._includes[number].values.items():
            if key in self._names:
                continue
            known = added.setdefault(key, (value, number))
            if known[1] == number:
                self._effective |= 1 << number
            elif known[0].identity != value.identity:
                self._overwritten.setdefault(number, (key, known[0], known[1]))

    def new_cells(self) -> list[tuple[int, Values]]:
        """Return the cells of the includes that fit none, each with the include's number; call it after all cells."""
        order = {name: position for position, name in enumerate(self._names)}
        return [
            (number, tuple(sorted(self._includes[number].values.items(), key=lambda pair: order.get(pair[0], len(order)))))
            for number in bits_of(self._index.everything & ~self._fitted)
        ]

    def complaints(self) -> Iterator[Complaint]:
        """Yield complaints about includes that would need a guess, overwrite another's value, or do nothing."""
        for number, include in enumerate(self._includes):
            bit = 1 << number
            if self._guessed & bit:
                guess = self._index.guess(number)
                where = include.value_where.get(guess.axis, include.where)
                yield Complaint(where=where, message=guess.text, hint="write one version on the axis: ==X or ==X.*")
            elif number in self._overwritten:
                yield self._overwrites(include, *self._overwritten[number])
            elif self._fitted & bit and not self._effective & bit:
                message = "this include has no effect: the cells that it fits have all of its values already"
                yield Complaint(where=include.where, message=message, hint="remove it, or correct its values")

    def _overwrites(self, include: Include, key: str, value: AxisValue, other: int) -> Complaint:
        line = self._includes[other].where.line
        message = f"this include overwrites {key}={shown(value.text)}, which the include in line {line} adds to the same cell"
        where = include.value_where.get(key, include.where)
        return Complaint(where=where, message=message, hint="name more axes in one of the two, so that they mean different cells")
