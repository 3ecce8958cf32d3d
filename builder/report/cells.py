"""What every report says of a row, in the same words."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from builder.model.oci import Digest
from builder.model.table import LeftOut, Table, TableRow
from builder.model.verdict import Verdict

NONE = "-"
_SHORT = 12
_MARKS = {
    Verdict.SUPPORTED: "✓",
    Verdict.CONDITIONAL: "!",
    Verdict.UNKNOWN: "?",
    Verdict.UNSUPPORTED: "✗",
}


def one_line(text: str) -> str:
    """Return text as one line that no terminal, browser or spreadsheet acts on: control and bidirectional characters go."""
    return " ".join("".join(one if unicodedata.category(one)[0] != "C" else " " for one in text).split())


def short(digest: Digest) -> str:
    """Return the first digits of a digest, as people compare them."""
    return digest.encoded[:_SHORT]


def image_of(row: TableRow) -> str:
    """Return the digest in short, or the image id where there is no manifest yet; never one for the other."""
    if row.digest is not None:
        return short(row.digest)
    return f"image {short(row.image_id)}" if row.image_id is not None else NONE


def target_of(row: TableRow) -> str:
    """Return the target's name and, where they are known, its accelerator and driver."""
    if row.target is None:
        return NONE
    more = [row.accelerator or "", f"driver {row.driver}" if row.driver else ""]
    known = ", ".join(one for one in more if one)
    return one_line(f"{row.target} ({known})" if known else row.target)


def mark_of(verdict: Verdict | None) -> str:
    """Return a sign for a verdict, so that colour is never the only difference."""
    return _MARKS[verdict] if verdict is not None else NONE


def verdict_of(row: TableRow) -> str:
    """Return the verdict as a word."""
    return row.verdict.value if row.verdict is not None else NONE


def tier_of_row(row: TableRow) -> str:
    """Return the tier as a word, flagged where verdict and evidence disagree."""
    tier = row.tier.value if row.tier is not None else NONE
    return f"{tier} (!)" if row.disagreement else tier


def day_of(row: TableRow) -> str:
    """Return the day of the evidence."""
    return row.recorded[:10] if row.recorded else NONE


def remarks(row: TableRow) -> tuple[str, ...]:
    """Return what a reader must know of a row: a disagreement first, then notes, then what the verdict rests on."""
    texts = [f"verdict and evidence disagree: {row.disagreement}"] if row.disagreement else []
    texts += row.notes
    if row.verdict not in {None, Verdict.SUPPORTED}:
        texts += [reason.text for reason in row.reasons if reason.effect.value != "supports"]
    return tuple(dict.fromkeys(one_line(text) for text in texts if one_line(text)))


def left_out_text(left: LeftOut) -> str:
    """Return one thing left out as a sentence: what, on which target, why."""
    where = f" on {left.target}" if left.target is not None and left.target != left.subject else ""
    return one_line(f"{left.subject}{where}: {'; '.join(left.reasons)}")


def counted(words: Iterable[str]) -> str:
    """Return ``3 passed, 1 failed``: each word with its number, in the order in which it first comes."""
    return ", ".join(f"{number} {word}" for word, number in Counter(words).items())


def summary(table: Table) -> str:
    """Return the table in one sentence."""
    variants = dict.fromkeys(row.variant for row in table.rows)
    tiers = counted(row.tier.value if row.tier else "not rendered" for row in table.rows)
    return f"{plural(len(variants), 'variant')}, {plural(len(table.rows), 'row')}" + (f": {tiers}" if tiers else "")


def plural(number: int, word: str) -> str:
    """Return ``1 row`` or ``2 rows``."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def ordered_left_out(table: Table) -> Sequence[LeftOut]:
    """Return what is left out, of one kind together, else in the order of the plan."""
    kinds = list(dict.fromkeys(left.kind for left in table.left_out))
    return sorted(table.left_out, key=lambda left: kinds.index(left.kind))
