"""A matrix to its cells, and everything that is wrong with it at once."""

from __future__ import annotations

from builder.documents.matrix import Reading, distinct
from builder.documents.text import mend
from builder.errors import Complaint, DocumentError
from builder.expand.cells import cells_of
from builder.expand.exclude import lost_values
from builder.expand.settings import setting_complaints
from builder.model.matrix import Expansion, Matrix


def examine(matrix: Matrix) -> tuple[Expansion, tuple[Complaint, ...]]:
    """Return the cells of a matrix and every complaint that follows from them.

    These are: an exclude that matches nothing or has no effect, cells that are made twice or
    lack framework, stack or python, values and settings for no cell, an include that overwrites
    another's value, comparisons that would be guesses, tags that several cells would share.
    """
    expansion, complaints = cells_of(matrix)
    return expansion, distinct(complaints, setting_complaints(matrix, expansion.cells))


def expand(matrix: Matrix) -> Expansion:
    """Return the cells of a matrix, in a stable order; ``DocumentError`` with every complaint about them."""
    expansion, complaints = examine(matrix)
    if complaints:
        raise DocumentError(complaints, hint=mend(matrix.path))
    return expansion


def lint(reading: Reading) -> tuple[Complaint, ...]:
    """Return all complaints about a matrix file: those of its reading, and those of its cells as far as they are known."""
    if reading.matrix is None:
        return reading.complaints
    if not reading.cells_known:
        fields = {complaint.where.field for complaint in reading.complaints}
        return distinct(reading.complaints, lost_values(reading.matrix, fields))
    return distinct(reading.complaints, examine(reading.matrix)[1])
