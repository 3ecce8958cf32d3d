"""The constraint file that stays in the image, so that a later install keeps the framework as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from builder.errors import MismatchError, UnsatisfiableError
from builder.model.lock import Installed, LockedBase, LockedVariant
from builder.model.matrix import BaseKind
from builder.model.plan import Variant

CONSTRAINTS = "/etc/imgbuild/constraints.txt"

INSTALL_VARIABLES = ("PIP_CONSTRAINT", "UV_CONSTRAINT")
BUILD_VARIABLES = ("PIP_BUILD_CONSTRAINT", "UV_BUILD_CONSTRAINT")
VARIABLES = INSTALL_VARIABLES + BUILD_VARIABLES

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_HEADER = (
    "# The framework of this image, as it was tested: pip and uv keep these versions.\n"
    "# PIP_CONSTRAINT, UV_CONSTRAINT and their BUILD forms name this file.\n"
)


def protected(
    variant: Variant, locked: LockedVariant, base: LockedBase, patterns: Sequence[str], *, expected: bool = True
) -> dict[str, str]:
    """Return the distributions to keep and their versions, sorted by name.

    They are those whose names match ``patterns`` or that the vendor put there, in the base or in the
    lock, and what they and the base's other distributions tie to them by ``==``. ``UnsatisfiableError``
    where the lock would replace a vendor's; ``MismatchError`` where the vendor's are ``expected`` and
    none is there.
    """
    names = [*patterns, *variant.base.frameworks]
    there = _tied(base.facts.distributions, names)
    added = {package.name: package.version for package in locked.packages if _matches(package.name, names)}
    if variant.base.kind is BaseKind.VENDOR:
        if expected:
            _vendor_is_there(variant, base, there)
        _vendor_stays(variant, base, there, {package.name: package.version for package in locked.packages})
    return dict(sorted({**there, **added}.items()))


def constraints(versions: Mapping[str, str]) -> bytes:
    """Return the constraint file of these distributions."""
    return (_HEADER + "".join(f"{_constraint(name, version)}\n" for name, version in sorted(versions.items()))).encode()


def variables(*envs: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name the constraint file, after every file that ``envs`` name already.

    uv follows the files that pip is told of where it is told of none itself.
    """
    named = {name: list(dict.fromkeys(path for env in envs for path in env.get(name, "").split())) for name in VARIABLES}
    named["UV_CONSTRAINT"] = named["UV_CONSTRAINT"] or named["PIP_CONSTRAINT"]
    return {name: " ".join([*(path for path in paths if path != CONSTRAINTS), CONSTRAINTS]) for name, paths in named.items()}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _tied(distributions: Sequence[Installed], patterns: Sequence[str]) -> dict[str, str]:
    """Return the matching distributions, those they pin exactly, and those that pin one of them exactly."""
    installed: dict[str, Installed] = {}
    for distribution in distributions:
        installed.setdefault(canonicalize_name(distribution.name), distribution)
    pins = {name: _pinned_by(distribution) for name, distribution in installed.items()}
    kept = {name for name in installed if _matches(name, patterns)}
    kept |= {name for name, pinned in pins.items() if pinned & kept}
    waiting = list(kept)
    while waiting:
        new = (pins[waiting.pop()] & installed.keys()) - kept
        kept |= new
        waiting += new
    return {name: installed[name].version for name in kept}


def _pinned_by(distribution: Installed) -> set[str]:
    """Return the names a distribution requires at exactly one version; a requirement nobody can read pins nothing."""
    names: set[str] = set()
    for text in distribution.requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if any(one.operator in {"==", "==="} and not one.version.endswith(".*") for one in requirement.specifier):
            names.add(canonicalize_name(requirement.name))
    return names


def _vendor_is_there(variant: Variant, base: LockedBase, there: Mapping[str, str]) -> None:
    frameworks = variant.base.frameworks
    if frameworks and there.keys().isdisjoint(frameworks):
        msg = f"{base.reference} should bring {', '.join(frameworks)}, but none was found in it"
        raise MismatchError(
            msg, hint="another image may be under this name now; run imgbuild matrix lock --update on the matrix file"
        )


def _vendor_stays(variant: Variant, base: LockedBase, there: Mapping[str, str], added: Mapping[str, str]) -> None:
    for name in sorted(there.keys() & added.keys()):
        msg = f"{variant.id} would replace {name} {there[name]} of {base.reference} by {added[name]}"
        hint = f"take out or loosen what asks for {name} in packages:, or use base: distribution"
        raise UnsatisfiableError(msg, hint=hint)


def _constraint(name: str, version: str) -> str:
    if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
        msg = f"the distribution {name!r} has the version {version!r}, which no constraint file can hold"
        raise MismatchError(msg, hint="the base's metadata is damaged; choose another base")
    try:
        Version(version)
    except InvalidVersion:
        return f"{name}==={version}"
    return f"{name}=={version}"
