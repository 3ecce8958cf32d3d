"""What cannot be true of a lock, although every value by itself could be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from builder.documents.lock_models import BasePart, DebRow, LockFile, VariantPart
from builder.documents.suggest import shown

Path = tuple[int | str, ...]
Misfit = tuple[Path, str]
"""Where a value stands, from the root of the lock, and what is wrong with it."""


def misfits(lock: LockFile) -> Iterator[Misfit]:
    """Yield what is there twice, what is not there at all, and what does not go together."""
    bases: dict[tuple[str, str], BasePart] = {}
    for number, base in enumerate(lock.bases):
        if (base.key, base.platform) in bases:
            yield ("bases", number, "key"), f"the base {shown(base.key)} on {base.platform} is there twice"
        bases[base.key, base.platform] = base
        yield from _debs(base.debs, ("bases", number))
    variants: set[tuple[str, str]] = set()
    for number, variant in enumerate(lock.variants):
        at: Path = ("variants", number)
        if (variant.id, variant.platform) in variants:
            yield (*at, "id"), f"the variant {shown(variant.id)} on {variant.platform} is there twice"
        variants.add((variant.id, variant.platform))
        yield from _base(variant, bases.get((variant.base, variant.platform)), at)
        yield from _packages(variant, at)
        yield from _debs(variant.debs, at)


def _base(variant: VariantPart, base: BasePart | None, at: Path) -> Iterator[Misfit]:
    """Yield why a variant cannot stand on its base: it is not there, has another Python, or lacks what was asked for."""
    if base is None:
        yield (*at, "base"), f"the base {shown(variant.base)} on {variant.platform} is not in this lock"
        return
    has = base.facts.python_version
    if has is not None and has.split(".")[:2] != variant.python.split(".")[:2]:
        yield (*at, "python"), f"the base {shown(base.key)} has Python {has}, not {variant.python}"
    versions = {package.name: package.version for package in variant.packages}
    installed = {canonicalize_name(one.name) for one in base.facts.distributions}
    for number, text in enumerate(variant.pip):
        requirement = _requirement(text)
        if requirement is None:
            continue
        name = canonicalize_name(requirement.name)
        if name not in versions and name not in installed:
            yield (*at, "pip", number), f"nothing in this lock is {shown(text)}"
        elif name in versions and not requirement.specifier.contains(versions[name], prereleases=True):
            yield (*at, "pip", number), f"this lock has {name} {versions[name]}, which is not {shown(text)}"


def _requirement(text: str) -> Requirement | None:
    """Return what was asked for everywhere, ``None`` for what only some places need."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    return requirement if requirement.marker is None else None


def _packages(variant: VariantPart, at: Path) -> Iterator[Misfit]:
    names = [package.name for package in variant.packages]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield (*at, "packages", number), f"the package {shown(name)} is there twice"


def _debs(debs: Sequence[DebRow], at: Path) -> Iterator[Misfit]:
    found: set[tuple[str, str]] = set()
    for number, deb in enumerate(debs):
        if (deb.name, deb.architecture) in found:
            yield (*at, "debs", number), f"the package {shown(deb.name)} is there twice"
        found.add((deb.name, deb.architecture))
