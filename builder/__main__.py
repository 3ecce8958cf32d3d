"""``python -m builder`` and the console script ``imgbuild``."""

from __future__ import annotations

from builder.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
