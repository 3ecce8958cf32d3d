"""Matrix document to cells: product, exclude, include."""
