"""Settings of a matrix that may differ per cell, resolved for one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from builder.errors import Complaint, DocumentError
from builder.model.axis import PatternError
from builder.model.matrix import BaseChoice, Cell, Matrix, Packages, When

T = TypeVar("T")


class Settings:
    """Of the entries that apply to a cell the last wins; ``env`` merges by name and ``packages`` add up."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix

    def bases(self, cell: Cell) -> tuple[BaseChoice, ...]:
        """Return the kinds of base to try, in order; empty where the matrix names none."""
        return _last(self._matrix.base, cell) or ()

    def packages(self, cell: Cell) -> Packages:
        """Return all packages for a cell, in the order written, each once."""
        found = _applying(self._matrix.packages, cell)
        pip = dict.fromkeys(name for packages in found for name in packages.pip)
        apt = dict.fromkeys(name for packages in found for name in packages.apt)
        return Packages(pip=tuple(pip), apt=tuple(apt))

    def env(self, cell: Cell) -> Mapping[str, str]:
        """Return the environment variables for a cell."""
        return {name: value for entry in _applying(self._matrix.env, cell) for name, value in entry.items()}

    def probes(self, cell: Cell) -> tuple[str, ...]:
        """Return the probes for a cell; empty means every probe that applies."""
        return _last(self._matrix.probes, cell) or ()

    def user(self, cell: Cell) -> str | None:
        """Return the user to run as."""
        return _last(self._matrix.user, cell)

    def entrypoint(self, cell: Cell) -> tuple[str, ...] | None:
        """Return the entry point."""
        return _last(self._matrix.entrypoint, cell)


def _applying(entries: Sequence[When[T]], cell: Cell) -> list[T]:
    found: list[T] = []
    for entry in entries:
        try:
            if entry.applies(cell):
                found.append(entry.value)
        except PatternError as error:
            complaint = Complaint(
                where=entry.where, message=str(error), hint="write the name alone, or a specifier with one version"
            )
            raise DocumentError((complaint,)) from error
    return found


def _last(entries: Sequence[When[T]], cell: Cell) -> T | None:
    found = _applying(entries, cell)
    return found[-1] if found else None
