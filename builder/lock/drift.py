"""Where a lock is not what the plan asks for, field by field, and how that is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from builder.lock.inputs import inputs_of, wanted
from builder.model.lock import Difference, Lock, LockedBase, LockedVariant
from builder.model.oci import Platform
from builder.model.plan import Base, Plan, Variant

ABSENT = "absent"
PRESENT = "present"
_NOTHING = "nothing"
_FROM_REGISTRY = frozenset({"digest", "index_digest"})


def drift(lock: Lock, plan: Plan, *, partial: bool = False) -> tuple[Difference, ...]:
    """Return every difference between a lock and a plan, in the plan's order, then what the plan no longer has.

    ``partial`` says that the plan holds only some of the matrix's variants (``--only``), so that
    entries it does not name are not held against the lock.
    """
    found: list[Difference] = []
    asked = set()
    for variant, platform in wanted(plan):
        asked.add((variant.id, platform))
        found += variant_drift(lock, variant, platform)
    if not partial:
        extra = (entry for entry in lock.variants if (entry.id, entry.platform) not in asked)
        found += [
            Difference(where=place(entry.id, entry.platform), field="variant", locked=PRESENT, expected=ABSENT) for entry in extra
        ]
    return tuple(found)


def variant_drift(lock: Lock, variant: Variant, platform: Platform) -> tuple[Difference, ...]:
    """Return the differences between a variant on one platform and its entry; none when the entry still holds."""
    entry = lock.variant(variant.id, platform)
    where = place(variant.id, platform)
    if entry is None:
        return (Difference(where=where, field="variant", locked=ABSENT, expected=PRESENT),)
    inputs = inputs_of(variant, platform)
    pairs = [
        *((field, getattr(entry, field), getattr(inputs, field)) for field in ("framework", "stack", "python")),
        _base_pair(lock.base(entry.base, platform), variant.base),
        *_list_pairs(entry, inputs),
    ]
    return tuple(
        Difference(where=where, field=field, locked=locked, expected=expected)
        for field, locked, expected in pairs
        if locked != expected
    )


def describe(differences: Iterable[Difference]) -> list[str]:
    """Return each difference as one line of words."""
    return [_described(difference) for difference in differences]


def place(identifier: str, platform: Platform) -> str:
    """Return how a variant or base on a platform is named in a difference."""
    return f"{identifier} on {platform}"


def _described(difference: Difference) -> str:
    field, locked, expected = difference.field, difference.locked, difference.expected
    if field in {"variant", "base"} and locked == ABSENT:
        text = "it is not in the lock"
    elif field == "variant":
        text = "it is in the lock, but no longer in the matrix"
    elif field in _FROM_REGISTRY and expected == ABSENT:
        text = f"the registry no longer has it (the lock says {locked})"
    elif field in _FROM_REGISTRY:
        text = f"the registry has {expected} now, the lock {locked}"
    elif locked == _NOTHING:
        text = f"{field}: the matrix asks for {expected} as well"
    elif expected == _NOTHING:
        text = f"{field}: the matrix no longer asks for {locked}"
    else:
        text = f"{field}: the lock has {locked}, the matrix asks for {expected}"
    return f"{difference.where}: {text}"


def _base_pair(locked: LockedBase | None, asked: Base) -> tuple[str, str, str]:
    """Return what the lock and the plan call the base; how it is had counts only where the plan decides it."""
    expected = str(asked.reference)
    if locked is None:
        return "base", ABSENT, expected
    if locked.assembled and not asked.may_assemble and locked.reference == expected:
        return "base", f"{locked.reference} assembled here", f"{expected} from its registry"
    return "base", locked.reference, expected


def _list_pairs(entry: LockedVariant, inputs: LockedVariant) -> list[tuple[str, str, str]]:
    """Return, for each list, what only the lock has and what only the plan has; their order does not matter, save indexes'."""
    pairs = []
    for field in ("pip", "apt"):
        locked = {_normal(text): text for text in getattr(entry, field)}
        asked = {_normal(text): text for text in getattr(inputs, field)}
        if locked.keys() != asked.keys():
            pairs.append((field, _shown(locked, asked), _shown(asked, locked)))
    if entry.indexes != inputs.indexes:
        pairs.append(("indexes", _joined(entry.indexes), _joined(inputs.indexes)))
    return pairs


def _shown(these: dict[str, str], others: dict[str, str]) -> str:
    return _joined(text for key, text in these.items() if key not in others)


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(texts) or _NOTHING


def _normal(text: str) -> str:
    """Return a requirement so that the ways to write one are the same text."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return text
    requirement.name = canonicalize_name(requirement.name)
    return str(requirement)


def stale_hint(differences: Sequence[Difference], file: str) -> str:
    """Return the command that mends a lock with these differences; ``file`` is the matrix file."""
    online = any(difference.field in _FROM_REGISTRY for difference in differences)
    return f"bring it up to date: imgbuild matrix lock {file}{' --update' if online else ''}"
