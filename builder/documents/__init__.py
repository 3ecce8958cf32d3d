"""Reading files into types, and writing them: matrix, lock, evidence."""
