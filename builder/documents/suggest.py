"""The likely fix of a misspelt word, and how a value is shown in a message."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 60


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known word that was probably meant, ``None`` when none is close; case does not matter.

    ``cutoff`` is how alike they must be, from 0 to 1.
    """
    by_folded = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), list(by_folded), n=1, cutoff=cutoff) if len(word) <= _SHOWN else []
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint: the known word that was probably meant, else all of them."""
    names = tuple(known)
    close = nearest(word, names)
    if close is not None:
        return f"did you mean {close!r}?"
    return f"known here: {', '.join(names)}"


def shown(text: str) -> str:
    """Return a value in quotes for a message: on one line, without control characters, long ones cut."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
