"""What differs between a rendered context and the files on disk."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """How one file differs."""

    MISSING = "missing"
    CHANGED = "changed"
    UNEXPECTED = "unexpected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One file that is not what it should be. ``lines`` is a unified diff from disk to rendered, where both are text."""

    path: str
    kind: Kind
    lines: tuple[str, ...] = ()


def differences(expected: Mapping[str, bytes], on_disk: Mapping[str, bytes]) -> tuple[Difference, ...]:
    """Return every file that is missing, changed, or on disk without being rendered, sorted by path."""
    found: list[Difference] = []
    for path in sorted(expected.keys() | on_disk.keys()):
        want, have = expected.get(path), on_disk.get(path)
        if have is None:
            found.append(Difference(path=path, kind=Kind.MISSING))
        elif want is None:
            found.append(Difference(path=path, kind=Kind.UNEXPECTED))
        elif want != have:
            found.append(Difference(path=path, kind=Kind.CHANGED, lines=_diff(path, have, want)))
    return tuple(found)


def _diff(path: str, have: bytes, want: bytes) -> tuple[str, ...]:
    try:
        before, after = have.decode().split("\n"), want.decode().split("\n")
    except UnicodeDecodeError:
        return ()
    return tuple(difflib.unified_diff(before, after, f"{path} (on disk)", f"{path} (rendered)", lineterm=""))
