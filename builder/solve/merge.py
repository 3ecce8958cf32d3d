"""Reasons for one cause over many versions, merged into a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from builder.model.verdict import Reason
from builder.solve.candidate import Candidate


def merged(kind: str, passed: Sequence[tuple[Candidate, Reason]]) -> list[Reason]:
    """Return one reason per cause for the candidates of a kind of base that were passed over, in their order."""
    causes: dict[tuple[str, str], list[Candidate]] = {}
    reasons: dict[tuple[str, str], Reason] = {}
    for candidate, reason in passed:
        key = (reason.rule, reason.text)
        causes.setdefault(key, []).append(candidate)
        reasons.setdefault(key, reason)
    return [
        replace(reasons[key], text=f"passed over {kind}: {_range(found)}: {reasons[key].text}") for key, found in causes.items()
    ]


def _range(found: Sequence[Candidate]) -> str:
    """Return the candidates of one cause in words: one by name, several as a range from oldest to newest."""
    names = list(dict.fromkeys(_name(candidate) for candidate in found))
    if len(names) == 1:
        return names[0]
    newest, oldest = found[0], found[-1]
    frameworks = _span(_version(oldest), _version(newest))
    stacks = _span(str(oldest.stack.version or ""), str(newest.stack.version or ""))
    return f"{newest.framework.name} {frameworks} on {newest.stack.name} {stacks} ({len(names)} builds)".replace("  ", " ")


def _version(candidate: Candidate) -> str:
    release = f" ({candidate.vendor_release})" if candidate.vendor_release else ""
    return f"{candidate.framework.version}{release}"


def _name(candidate: Candidate) -> str:
    return f"{candidate.framework.name} {_version(candidate)} on {candidate.stack.name} {candidate.stack.version or ''}".rstrip()


def _span(oldest: str, newest: str) -> str:
    return newest if oldest == newest else f"{oldest} to {newest}"
