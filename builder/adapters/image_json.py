"""Reading what ``docker inspect`` and ``podman inspect`` say about an image."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from builder.errors import MismatchError, ProgramError
from builder.model.build import ImageInfo
from builder.model.oci import Digest, Platform


def first_object(text: str, program: str) -> Mapping[str, Any] | None:
    """Return the first object of a JSON list, ``None`` for an empty one; ``ProgramError`` for anything else."""
    found = parsed(text, program)
    if isinstance(found, list) and not found:
        return None
    if isinstance(found, list) and isinstance(found[0], dict):
        return found[0]
    raise not_understood(text, program)


def parsed(text: str, program: str) -> Any:  # noqa: ANN401 - JSON of another program
    """Return what a program wrote as JSON; ``ProgramError`` when it is not."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise not_understood(text, program) from error


def image_info(found: Mapping[str, Any], *, image_id: Digest, digest: Digest | None) -> ImageInfo:
    """Return an image from its inspect object; absent and ``null`` settings are empty ones."""
    config: Mapping[str, Any] = found.get("Config") or {}
    variant = found.get("Variant") or ""
    return ImageInfo(
        image_id=image_id,
        digest=digest,
        size=int(found.get("Size") or 0),
        platform=Platform(found.get("Os") or "linux", found.get("Architecture") or "", variant),
        env=dict(_pair(text) for text in config.get("Env") or ()),
        labels=dict(config.get("Labels") or {}),
        user=config.get("User") or "",
        workdir=config.get("WorkingDir") or "",
        entrypoint=tuple(config.get("Entrypoint") or ()),
        cmd=tuple(config.get("Cmd") or ()),
    )


def refuse_other_platform(image: ImageInfo, name: str, platform: Platform, engine: str) -> None:
    """Raise ``MismatchError`` when an engine hands out another platform than the one it was to pull."""
    wanted, found = (platform.os, platform.architecture), (image.platform.os, image.platform.architecture)
    if wanted != found or (platform.variant and image.platform.variant not in {"", platform.variant}):
        msg = f"{engine} has {name!r} for {image.platform}, not for {platform}"
        raise MismatchError(msg, hint="name the image by the digest of its manifest for that platform")


def digest_from(text: str) -> Digest:
    """Read a digest, with ``sha256:`` before it or without, as engines print image ids."""
    text = text.strip()
    return Digest.parse(text if ":" in text else f"sha256:{text}")


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def not_understood(text: str, program: str) -> ProgramError:
    """Return the error for an answer of a program that is not what it should be."""
    return ProgramError(
        f"{program!r} answered something that is not understood: {text.strip()[:200]!r}",
        hint="run the same program by hand; it may be a wrapper or a version we do not know",
    )
