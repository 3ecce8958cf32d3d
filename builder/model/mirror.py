"""Mirrors: another place that holds the same images, named by a registry or a prefix of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from builder.model.oci import ImageReference


def mirrored(reference: ImageReference, mirrors: Mapping[str, str]) -> ImageReference:
    """Return the reference as its mirror has it, the longest prefix first; itself where none stands in.

    ``mirrors`` maps ``nvcr.io`` or ``nvcr.io/nvidia`` to ``registry.example/nv``; tag and digest stay.
    """
    name = reference.name
    for prefix in sorted(mirrors, key=len, reverse=True):
        if name == prefix or name.startswith(f"{prefix}/"):
            other = ImageReference.parse(mirrors[prefix].rstrip("/") + name.removeprefix(prefix))
            return replace(reference, registry=other.registry, repository=other.repository)
    return reference
