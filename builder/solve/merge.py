"""Reasons for one cause over many versions, merged into a range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from packaging.version import Version

from builder.model.verdict import Reason
from builder.solve.candidate import Candidate

Passed = tuple[Candidate, Reason]


def merged(kind: str, passed: Sequence[Passed]) -> list[Reason]:
    """Return one reason per cause for the candidates of a kind of base that were passed over, best first.

    Of several builds of the same releases only the one that came nearest counts; where all of them
    are for other Pythons, these are named together.
    """
    causes: dict[tuple[str, str], list[Candidate]] = {}
    reasons: dict[tuple[str, str], Reason] = {}
    for candidate, reason in _nearest(passed):
        key = (reason.rule, reason.text)
        causes.setdefault(key, []).append(candidate)
        reasons.setdefault(key, reason)
    return [
        replace(reasons[key], text=f"passed over {kind}: {_range(found)}: {reasons[key].text}") for key, found in causes.items()
    ]


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


def _pythons(found: Sequence[Passed]) -> str:
    pythons = {python for candidate, _ in found for python in candidate.build.pythons}
    return " ".join(sorted(pythons, key=Version))


def _range(found: Sequence[Candidate]) -> str:
    """Return the candidates of one cause in words: one by name, several as a range from oldest to newest."""
    names = list(dict.fromkeys(_name(candidate) for candidate in found))
    if len(names) == 1:
        return names[0]
    newest, oldest = found[0], found[-1]
    frameworks = _span(_version(oldest), _version(newest))
    stacks = _span(str(oldest.stack.version or ""), str(newest.stack.version or ""))
    head = f"{newest.framework.name} {frameworks} on {newest.stack.name} {stacks}".rstrip()
    return f"{head} ({len(names)} releases)"


def _version(candidate: Candidate) -> str:
    release = f" ({candidate.vendor_release})" if candidate.vendor_release else ""
    return f"{candidate.framework.version}{release}"


def _name(candidate: Candidate) -> str:
    return f"{candidate.framework.name} {_version(candidate)} on {candidate.stack.name} {candidate.stack.version or ''}".rstrip()


def _span(oldest: str, newest: str) -> str:
    return newest if oldest == newest else f"{oldest} to {newest}"
