"""What is built: one variant on one platform, with all that decides its image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from builder.errors import ImgbuildError, MismatchError
from builder.model.build import RenderedContext
from builder.model.lock import Lock, LockedBase, LockedVariant
from builder.model.matrix import Matrix
from builder.model.mirror import mirrored
from builder.model.oci import ImageReference, Platform
from builder.model.plan import Plan, Variant
from builder.pipeline.content import content_id
from builder.render.render import render


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One variant on one platform. ``content`` is its content id, ``tag`` the local image reference."""

    variant: Variant
    platform: Platform
    locked: LockedVariant
    base: LockedBase
    context: RenderedContext
    content: str
    tag: str


def local_name(matrix: Matrix) -> ImageReference:
    """Return the image name of a matrix: its ``repository``, else one of this host alone."""
    if matrix.repository is not None:
        return matrix.repository
    return ImageReference(registry="localhost", repository=f"imgbuild/{matrix.name}")


def piece(
    variant: Variant, platform: Platform, lock: Lock, name: ImageReference, mirrors: Mapping[str, str] | None = None
) -> Piece:
    """Return the piece of a variant; ``MismatchError`` when the lock lacks it."""
    locked = lock.variant(variant.id, platform)
    base = lock.base(locked.base, platform) if locked else None
    if locked is None or base is None:
        msg = f"{variant.id} on {platform} is not in the lock"
        raise MismatchError(msg, hint="run imgbuild matrix lock on the matrix file")
    base = _from_mirror(base, mirrors)
    context = render(variant, platform, locked, base)
    content = content_id(context, base, platform)
    return Piece(
        variant=variant,
        platform=platform,
        locked=locked,
        base=base,
        context=context,
        content=content,
        tag=str(name.with_tag(content)),
    )


def _from_mirror(base: LockedBase, mirrors: Mapping[str, str] | None) -> LockedBase:
    """Return the base as the build gets it: from its mirror, where there is one; the digest is the same."""
    if base.assembled or not mirrors:
        return base
    return replace(base, reference=str(mirrored(ImageReference.parse(base.reference), mirrors)))


def pieces(plan: Plan, lock: Lock, matrix: Matrix) -> tuple[tuple[Piece, ...], Mapping[str, ImgbuildError]]:
    """Return every piece of a plan, and for each variant that has none the error that says why."""
    found: list[Piece] = []
    failed: dict[str, ImgbuildError] = {}
    name = local_name(matrix)
    for variant in plan.variants:
        for platform in variant.platforms:
            try:
                found.append(piece(variant, platform, lock, name, matrix.mirrors))
            except ImgbuildError as error:
                failed.setdefault(variant.id, error)
    return tuple(one for one in found if one.variant.id not in failed), failed
