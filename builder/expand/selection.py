"""``--only``: some of the cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from builder.documents.suggest import did_you_mean, shown
from builder.errors import UsageError
from builder.model.matrix import Cell

Candidate = tuple[Cell, str | None]
"""A cell and the id of its variant, ``None`` where it has none."""


def select(candidates: Iterable[Candidate], only: Sequence[str]) -> tuple[Cell, ...]:
    """Return the cells that ``--only`` means, in their order; all when ``only`` is empty.

    Each text is ``axis=glob`` over the values of an axis, or a glob over variant ids. A glob
    meets a value as written or its bare name. Several for one axis, and several ids, mean any of
    them; different axes must all fit. ``UsageError`` for an axis that no cell has, and for a glob
    that nothing meets.
    """
    known = tuple(candidates)
    asked = _by_axis(only)
    for axis, globs in asked.items():
        _check(axis, globs, known)
    return tuple(cell for cell, variant in known if all(_meets(axis, globs, cell, variant) for axis, globs in asked.items()))


def _by_axis(only: Sequence[str]) -> dict[str, list[str]]:
    """Return the globs by axis; those over variant ids stand under the empty name."""
    asked: dict[str, list[str]] = {}
    for text in only:
        axis, equals, glob = text.partition("=")
        asked.setdefault(axis.strip() if equals else "", []).append(glob.strip() if equals else text.strip())
    return asked


def _check(axis: str, globs: Sequence[str], known: Sequence[Candidate]) -> None:
    axes = list(dict.fromkeys(name for cell, _ in known for name, _ in cell.axes))
    if axis and axis not in axes:
        msg = f"--only names the axis {shown(axis)}, which no cell has"
        raise UsageError(msg, hint=did_you_mean(axis, axes))
    for glob in globs:
        if not any(_meets(axis, [glob], cell, variant) for cell, variant in known):
            msg = f"--only {shown(f'{axis}={glob}' if axis else glob)} meets no cell"
            raise UsageError(msg, hint=_hint(axis, glob, known))


def _hint(axis: str, glob: str, known: Sequence[Candidate]) -> str:
    if axis:
        values = dict.fromkeys(value.text for cell, _ in known for name, value in cell.axes if name == axis)
        return did_you_mean(glob, values)
    ids = [variant for _, variant in known if variant is not None]
    if not ids:
        return "no cell has a variant; choose by axis, such as --only stack=cuda"
    return f"ids are such as {ids[0]}; in a shell, quote a glob: --only '{ids[0][:3]}*'"


def _meets(axis: str, globs: Sequence[str], cell: Cell, variant: str | None) -> bool:
    if not axis:
        return variant is not None and any(fnmatchcase(variant, glob) for glob in globs)
    value = cell.get(axis)
    if value is None:
        return False
    return any(fnmatchcase(text, glob) or text == glob for text in (value.text, value.name) if text is not None for glob in globs)
