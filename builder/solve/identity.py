"""Ids and tags of variants: output, never parsed back."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from builder.model.matrix import Cell
from builder.model.plan import PlannedCell, Variant
from builder.model.tag import TagTemplate

_LONGEST = 128
_SUFFIX = 6
_BAD = re.compile(r"[^A-Za-z0-9_.-]")


def own_values(cell: Cell, known: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the values of a cell's own axes, in the order of the matrix."""
    return tuple((name, value.text) for name, value in cell.axes if name not in known)


def _plain(variant: Variant) -> str:
    """Return ``pytorch2.9.1-rocm7.2.4-py3.12[-own axis values]`` in characters every registry takes."""
    own = "".join(f"-{value}" for _, value in variant.own)
    text = f"{variant.framework.label}-{variant.stack.label}-py{variant.python}{own}"
    return _BAD.sub("_", text)


class _Names:
    """Ids that are given out once each."""

    def __init__(self, plain: Sequence[str]) -> None:
        counts = Counter(plain)
        self._alone = {text for text, number in counts.items() if number == 1 and len(text) <= _LONGEST}
        self._given: set[str] = set()
        self._asked: Counter[str] = Counter()

    def of(self, text: str, cell: Cell) -> str:
        """Return the id, with six digits of the cell's own values where it is not this cell's alone.

        Of others where these make one that is given already.
        """
        if text in self._alone:
            return text
        key = str(cell)
        while True:
            attempt = self._asked[key]
            self._asked[key] += 1
            digest = hashlib.sha256(f"{key}{attempt or ''}".encode()).hexdigest()[:_SUFFIX]
            found = f"{text[: _LONGEST - _SUFFIX - 1]}-{digest}"
            if found not in self._alone and found not in self._given:
                self._given.add(found)
                return found


def named(cells: Sequence[PlannedCell]) -> tuple[PlannedCell, ...]:
    """Return the cells with ids and tags filled in.

    An id that is too long, or that two cells would share, ends in six hex digits of the cell's
    own values, so that it does not depend on the order of cells; no two are ever the same.
    """
    plain = [None if planned.variant is None else _plain(planned.variant) for planned in cells]
    names = _Names([text for text in plain if text is not None])
    found: list[PlannedCell] = []
    for planned, text in zip(cells, plain, strict=True):
        variant = planned.variant
        if variant is None or text is None:
            found.append(planned)
            continue
        found.append(replace(planned, variant=_tagged(variant, names.of(text, planned.cell))))
    return tuple(found)


def _tagged(variant: Variant, identity: str) -> Variant:
    """Return the variant with its id, and its tags filled from their templates; ``{date}`` is left for the lock's."""
    values = {
        **dict(variant.own),
        "id": identity,
        "framework": variant.framework.label,
        "stack": variant.stack.label,
        "python": variant.python,
        "base": variant.base.label,
        "date": "{date}",
    }
    return replace(variant, id=identity, tags=tuple(TagTemplate.parse(tag).fill(values) for tag in variant.tags))
