"""What of a plan decides a lock entry, and the names that entries go by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from builder.model.lock import LockedVariant
from builder.model.matrix import BaseKind
from builder.model.oci import DEFAULT_REGISTRY, ImageReference, Platform
from builder.model.plan import Base, Plan, Release, Variant

_LONGEST = 60


def wanted(plan: Plan) -> Iterator[tuple[Variant, Platform]]:
    """Yield every variant on each of its platforms, in the plan's order."""
    yield from ((variant, platform) for variant in plan.variants for platform in variant.platforms)


def inputs_of(variant: Variant, platform: Platform) -> LockedVariant:
    """Return the entry of a variant with nothing resolved yet: what is compared to say whether a lock still holds."""
    return LockedVariant(
        id=variant.id,
        platform=platform,
        framework=_release(variant.framework),
        stack=_release(variant.stack),
        python=variant.python,
        base=base_key(variant.base, variant.apt),
        pip=variant.pip,
        apt=variant.apt,
        indexes=tuple(index.name for index in variant.indexes),
    )


def base_key(base: Base, apt: tuple[str, ...] = ()) -> str:
    """Return the stable, readable name of a base: ``debian12``, ``nvcr.io/nvidia/pytorch:25.10-py3``.

    A vendor's image says which distribution it stands on, and is a base of its own all the same. A
    base that may be assembled here holds the Debian packages asked for, so they are part of its
    name: ``debian12+git``.
    """
    if base.kind is not BaseKind.DISTRIBUTION or base.distribution is None:
        return _short(base.reference)
    if not base.may_assemble or not apt:
        return base.distribution.label
    names = "+".join(sorted(set(apt)))
    if len(names) > _LONGEST:
        names = f"apt-{hashlib.sha256(names.encode()).hexdigest()[:8]}"
    return f"{base.distribution.label}+{names}"


def _release(release: Release) -> str:
    return release.name if release.version is None else f"{release.name}=={release.version}"


def _short(reference: ImageReference) -> str:
    """Return a reference as people write it: Docker Hub is left out."""
    return str(reference).removeprefix(f"{DEFAULT_REGISTRY}/library/").removeprefix(f"{DEFAULT_REGISTRY}/")
