"""Where the files that travel with the product are: installed in the wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(folder: str) -> Path:
    """Return the folder ``templates`` or ``matrices``, installed or in a checkout.

    Raises ``FileNotFoundError`` naming both places when neither is there.
    """
    installed = _PACKAGE / "_shipped" / folder
    checkout = _PACKAGE.parent / folder
    for place in (installed, checkout):
        if place.is_dir():
            return place
    msg = f"the folder {folder!r} that ships with imgbuild is neither at {installed} nor at {checkout}"
    raise FileNotFoundError(msg)
