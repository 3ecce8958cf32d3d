"""A base's own constraint files, held against what was resolved.

pip applies them when the packages are installed, so a version they forbid has to be found out
while there is still a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from builder.model.lock import BaseFacts, LockedPackage


def constraints_of(facts: BaseFacts) -> tuple[Requirement, ...]:
    """Return the constraints that say something about what the base has not: plain names with versions.

    URLs, options, markers and names of what the base has (which stays as it is anyway) are passed over.
    """
    here = {canonicalize_name(one.name) for one in facts.distributions}
    lines = (line for _, text in sorted(facts.constraints.items()) for line in text.splitlines())
    found = (_constraint(line) for line in lines)
    return tuple(one for one in found if one is not None and canonicalize_name(one.name) not in here)


def broken(packages: Iterable[LockedPackage], constraints: Sequence[Requirement]) -> tuple[str, ...]:
    """Return, as requirements, each constraint that a package does not keep."""
    versions = {package.name: package.version for package in packages}
    return tuple(
        f"{one.name}{one.specifier}"
        for one in constraints
        if (version := versions.get(canonicalize_name(one.name))) is not None
        and not one.specifier.contains(version, prereleases=True)
    )


def _constraint(line: str) -> Requirement | None:
    try:
        found = Requirement(line.partition("#")[0].strip())
    except InvalidRequirement:
        return None
    return found if found.url is None and found.marker is None and len(found.specifier) > 0 else None
