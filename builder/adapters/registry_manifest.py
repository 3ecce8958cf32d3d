"""What registries answer, as types: indexes, manifests and image configs, OCI and Docker schema 2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from builder.errors import MismatchError
from builder.model.oci import Digest, Platform

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
ACCEPT = f"{OCI_INDEX}, {OCI_MANIFEST}, {DOCKER_LIST}, {DOCKER_MANIFEST}"
"""All four, always: asked for OCI alone, registry 2.8 answers a schema 2 image as schema 1."""

_INDEXES = frozenset({OCI_INDEX, DOCKER_LIST})
_MANIFESTS = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
_CONFIGS = frozenset({"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"})
_SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1+"
_ATTESTATION = ("vnd.docker.reference.type", "attestation-manifest")
_DEFAULT_VARIANTS = {"arm64": "v8", "arm": "v7"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """What a manifest says of one blob or manifest; ``platform`` is ``None`` where it says none."""

    media_type: str
    digest: Digest
    size: int
    platform: Platform | None = None
    attestation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageIndex:
    """An index: one manifest per platform, and maybe attestations."""

    manifests: tuple[Descriptor, ...]

    def choose(self, platform: Platform) -> Descriptor | None:
        """Return the manifest for a platform, ``None`` when there is none; attestations are none.

        The only image of an index may be without a platform; then its config has to say.
        """
        images = [entry for entry in self.manifests if not entry.attestation]
        if len(images) == 1 and images[0].platform is None:
            return images[0]
        fitting = [entry for entry in images if _fits(entry.platform, platform)]
        return min(fitting, key=lambda entry: _distance(entry.platform, platform), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageManifest:
    """One image for one platform."""

    media_type: str
    config: Descriptor
    layers: tuple[Descriptor, ...]

    @property
    def size(self) -> int:
        """Compressed bytes of all layers."""
        return sum(layer.size for layer in self.layers)


def read_manifest(body: bytes, media_type: str, *, what: str) -> ImageIndex | ImageManifest:
    """Read an index or manifest; ``MismatchError`` when it is neither, or not an image's.

    ``media_type`` is the answer's; what the document itself says comes first.
    """
    document = _object(body, what)
    kind = document.get("mediaType") or media_type.partition(";")[0].strip()
    if document.get("schemaVersion") == 1 or (isinstance(kind, str) and kind.startswith(_SCHEMA_1)):
        msg = f"{what} is in Docker's schema 1, which nothing builds on any more"
        raise MismatchError(msg, hint="pull it and push it again with a newer tool")
    if kind in _INDEXES or (kind not in _MANIFESTS and "manifests" in document):
        return ImageIndex(manifests=tuple(_descriptor(entry, what) for entry in _list(document.get("manifests"), what)))
    if kind not in _MANIFESTS and "config" not in document:
        raise _not_an_image(what, f"its type is {str(kind)[:80]!r}")
    config = _descriptor(document.get("config"), what)
    if config.media_type not in _CONFIGS:
        raise _not_an_image(what, f"it holds {config.media_type[:80]!r}")
    layers = tuple(_descriptor(entry, what) for entry in _list(document.get("layers"), what))
    return ImageManifest(media_type=str(kind), config=config, layers=layers)


def read_config(body: bytes, *, what: str) -> Mapping[str, object]:
    """Read an image config; ``MismatchError`` when it is not a JSON object."""
    return _object(body, what)


def config_platform(config: Mapping[str, object]) -> Platform:
    """Return the platform that an image config says it is for."""
    words = [config.get(name) for name in ("os", "architecture", "variant")]
    return Platform(*(word if isinstance(word, str) else "" for word in words))


def runs_on(found: Platform, wanted: Platform) -> bool:
    """Return whether an image for ``found`` is one for ``wanted``."""
    return _fits(found, wanted)


def _fits(found: Platform | None, wanted: Platform) -> bool:
    if found is None or (found.os, found.architecture) != (wanted.os, wanted.architecture):
        return False
    return not wanted.variant or _variant(found) == _variant(wanted)


def _distance(found: Platform | None, wanted: Platform) -> int:
    """Return how far a fitting entry is from what was asked; of equals the index's first wins."""
    if found is None:
        return 2
    return 0 if found.variant == wanted.variant else 1 if _variant(found) == _variant(wanted) else 2


def _variant(platform: Platform) -> str:
    return platform.variant or _DEFAULT_VARIANTS.get(platform.architecture, "")


def _object(body: bytes, what: str) -> dict[str, object]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _not_an_image(what, "it is not JSON") from error
    if not isinstance(document, dict):
        raise _not_an_image(what, "it is not a JSON object")
    return document


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise _not_an_image(what, "it lists nothing where it should")
    return value


def _descriptor(value: object, what: str) -> Descriptor:
    if not isinstance(value, dict):
        raise _not_an_image(what, "one of its descriptors is not an object")
    size = value.get("size")
    try:
        digest = Digest.parse(str(value.get("digest")))
    except ValueError as error:
        raise _not_an_image(what, f"one of its digests is not one: {str(value.get('digest'))[:80]!r}") from error
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise _not_an_image(what, f"one of its sizes is not one: {str(size)[:80]!r}")
    annotations = value.get("annotations")
    attestation = isinstance(annotations, dict) and annotations.get(_ATTESTATION[0]) == _ATTESTATION[1]
    platform = value.get("platform")
    return Descriptor(
        media_type=str(value.get("mediaType") or ""),
        digest=digest,
        size=size,
        platform=config_platform(platform) if isinstance(platform, dict) else None,
        attestation=attestation,
    )


def _not_an_image(what: str, why: str) -> MismatchError:
    return MismatchError(
        f"{what} is not a container image: {why}", hint="check the name; charts and other artifacts are no bases"
    )
