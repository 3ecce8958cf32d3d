"""Matrix document to cells: product, exclude, include."""

from builder.expand.complaints import examine, expand, lint
from builder.expand.selection import select

__all__ = ["examine", "expand", "lint", "select"]
