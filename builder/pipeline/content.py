"""The content id: one short name for everything that decides an image."""

from __future__ import annotations

import hashlib
import json

from builder.model.build import RenderedContext
from builder.model.lock import LockedBase
from builder.model.oci import Platform

_LENGTH = 32


def content_id(context: RenderedContext, base: LockedBase, platform: Platform) -> str:
    """Return ``c-<32 hex>``: the same for the same files, base and platform, on every machine."""
    decided = {
        "platform": str(platform),
        "base": str(base.digest) if base.digest else base.rootfs_sha256,
        "rendered": {path: hashlib.sha256(data).hexdigest() for path, data in context.rendered.items()},
        "files": dict(context.files),
    }
    text = json.dumps(decided, sort_keys=True, separators=(",", ":"))
    return f"c-{hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]}"
