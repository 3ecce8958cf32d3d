"""Which of many patterns match a cell, found by one bit each: ten thousand cells against hundreds of patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.model.axis import AxisValue, PatternError, any_matches

Alternatives = Mapping[str, Sequence[AxisValue]]
"""Axis to the values of which one must match."""


@dataclass(frozen=True, slots=True)
class Masks:
    """Bits of the patterns that match for sure, and of those that may match, some by a guess."""

    sure: int
    possible: int

    def __and__(self, other: Masks) -> Masks:
        """Return the patterns that match in both respects."""
        return Masks(self.sure & other.sure, self.possible & other.possible)

    @property
    def guesses(self) -> int:
        """Bits of the patterns of which it cannot be said whether they match."""
        return self.possible & ~self.sure


@dataclass(frozen=True, slots=True)
class Guess:
    """Why a pattern cannot be compared with a value of an axis."""

    axis: str
    text: str


class PatternIndex:
    """Patterns over axes, numbered in the order given; a pattern says nothing about the axes it does not name."""

    def __init__(self, patterns: Sequence[Alternatives]) -> None:
        self._patterns = patterns
        self.everything = (1 << len(patterns)) - 1
        self._naming: dict[str, int] = {}
        for number, pattern in enumerate(patterns):
            for axis in pattern:
                self._naming[axis] = self._naming.get(axis, 0) | 1 << number
        self._known: dict[tuple[str, str], Masks] = {}
        self._guesses: dict[int, Guess] = {}

    @property
    def axes(self) -> Iterable[str]:
        """The axes that any pattern names."""
        return self._naming

    def of(self, axis: str, value: AxisValue) -> Masks:
        """Return the patterns that one value of one axis does not rule out."""
        found = self._known.get((axis, value.text))
        if found is None:
            found = self._known[axis, value.text] = self._compare(axis, value)
        return found

    def lacking(self, axes: Iterable[str]) -> int:
        """Return the bits of the patterns that name none of these axes."""
        bits = self.everything
        for axis in axes:
            bits &= ~self._naming.get(axis, 0)
        return bits

    def of_cell(self, axes: Iterable[tuple[str, AxisValue]]) -> Masks:
        """Return the patterns that match a cell; one that names an axis the cell does not have does not."""
        masks = Masks(self.everything, self.everything)
        present = []
        for axis, value in axes:
            present.append(axis)
            masks &= self.of(axis, value)
        absent = self.lacking(axis for axis in self._naming if axis not in present)
        return Masks(masks.sure & absent, masks.possible & absent)

    def guess(self, number: int) -> Guess:
        """Return why a pattern could not be compared; only for patterns that ``guesses`` names."""
        return self._guesses[number]

    def _compare(self, axis: str, value: AxisValue) -> Masks:
        sure = possible = self.everything & ~self._naming.get(axis, 0)
        for number in bits_of(self._naming.get(axis, 0)):
            try:
                if any_matches(self._patterns[number][axis], value):
                    sure |= 1 << number
                    possible |= 1 << number
            except PatternError as error:
                possible |= 1 << number
                self._guesses.setdefault(number, Guess(axis, str(error)))
        return Masks(sure, possible)


def bits_of(mask: int) -> Iterable[int]:
    """Yield the numbers of the bits that are set, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
