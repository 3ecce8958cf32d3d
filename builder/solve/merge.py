"""Reasons for one cause over many versions, merged into a range."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from packaging.version import Version

from builder.model.verdict import Reason
from builder.solve.candidate import Candidate

Passed = tuple[Candidate, Reason]
Piece = tuple[str, Callable[[Version], str]]

_HOLE = "\0{}\0"


def merged(kind: str, passed: Sequence[Passed]) -> list[Reason]:
    """Return one reason per cause for the candidates of a kind of base that were passed over, best first.

    A cause is a rule and what it says, whatever version of the stack it names. Of several builds of
    the same releases only the one that came nearest counts; where all of them are for other
    Pythons, these are named together.
    """
    causes: dict[tuple[str, str], list[Passed]] = {}
    for candidate, reason in _nearest(passed):
        causes.setdefault((reason.rule, _cause(candidate, reason.text)), []).append((candidate, reason))
    return [_reason(kind, cause, found) for (_, cause), found in causes.items()]


def _nearest(passed: Sequence[Passed]) -> Iterable[Passed]:
    for _, group in groupby(passed, key=lambda item: item[0].rank):
        found = list(group)
        fewest = min(len(candidate.barriers) for candidate, _ in found)
        near = [item for item in found if len(item[0].barriers) == fewest]
        candidate, reason = near[0]
        pythons = sorted(
            {python for item, _ in near for python in item.build.pythons}, key=lambda text: [*map(int, text.split("."))]
        )
        if reason.rule == "PKG001" and len(near) > 1 and all(other.rule == "PKG001" for _, other in near):
            reason = replace(
                reason, text=f"its builds are for Python {' '.join(pythons)}, and the cell asks for {candidate.python}"
            )
        yield candidate, reason


def _pieces(stack: str) -> tuple[Piece, ...]:
    """Return how a text may name the version of a stack: in full, by series, as a package, as a driver's release."""
    return (
        (f"{stack} ", str),
        (f"{stack} ", lambda version: f"{version.major}.{version.minor}"),
        (f"{stack}-compat-", lambda version: f"{version.major}-{version.minor}"),
        ("driver ", lambda version: f"{version.major}.{version.minor}.x"),
    )


def _cause(candidate: Candidate, text: str) -> str:
    """Return a text with a hole wherever it names the candidate's own version of the stack."""
    version = candidate.stack.version
    if version is None:
        return text
    for number, (before, write) in enumerate(_pieces(candidate.stack.name)):
        written = re.compile(rf"(?<!\w)({re.escape(before)}){re.escape(write(version))}(?!\.?\w)")
        text = written.sub(rf"\g<1>{_HOLE.format(number)}", text)
    return text


def _reason(kind: str, cause: str, found: Sequence[Passed]) -> Reason:
    candidates = [candidate for candidate, _ in found]
    text = cause
    versions = [candidate.stack.version for candidate in candidates if candidate.stack.version is not None]
    if versions:
        for number, (_, write) in enumerate(_pieces(candidates[0].stack.name)):
            text = text.replace(_HOLE.format(number), _span(write(min(versions)), write(max(versions))))
    return replace(found[0][1], text=f"passed over {kind}: {_range(candidates)}: {text}")


def _range(found: Sequence[Candidate]) -> str:
    """Return the candidates of one cause in words: one by name, several as a range from oldest to newest."""
    names = list(dict.fromkeys(_name(candidate) for candidate in found))
    if len(names) == 1:
        return names[0]
    newest, oldest = max(found, key=_release), min(found, key=_release)
    frameworks = _span(_version(oldest), _version(newest))
    versions = [candidate.stack.version for candidate in found if candidate.stack.version is not None]
    stacks = _span(str(min(versions)), str(max(versions))) if versions else ""
    head = f"{newest.framework.name} {frameworks} on {newest.stack.name} {stacks}".rstrip()
    return f"{head} ({len(names)} releases)"


def _release(candidate: Candidate) -> tuple[Version, tuple[int, ...]]:
    return candidate.rank[:2]


def _version(candidate: Candidate) -> str:
    release = f" ({candidate.vendor_release})" if candidate.vendor_release else ""
    return f"{candidate.framework.version}{release}"


def _name(candidate: Candidate) -> str:
    return f"{candidate.framework.name} {_version(candidate)} on {candidate.stack.name} {candidate.stack.version or ''}".rstrip()


def _span(oldest: str, newest: str) -> str:
    return newest if oldest == newest else f"{oldest} to {newest}"
