"""Asks registries what an image reference is now: digests and config, never layers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.adapters.files import write_atomically
from builder.adapters.registry_auth import Authorizer, Logins, login_files
from builder.adapters.registry_http import Answer, Ask, Transport, is_loopback
from builder.adapters.registry_manifest import (
    ACCEPT,
    Descriptor,
    ImageIndex,
    ImageManifest,
    config_platform,
    read_config,
    read_manifest,
    runs_on,
)
from builder.errors import HostBlockedError, MismatchError, UnreachableError
from builder.model.mirror import mirrored
from builder.model.oci import DEFAULT_REGISTRY, Digest, ImageReference, Platform

_HUB_HOST = "registry-1.docker.io"
_OK = 200
_UNAUTHORIZED = 401
_FORBIDDEN = 403
_NOT_FOUND = 404
_MOST_NESTING = 3
_MANIFEST_BYTES = 4 * 1024 * 1024
_CONFIG_BYTES = 16 * 1024 * 1024
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A reference as the registry answered it, for one platform; satisfies ``ports.ResolvedImage``."""

    digest: Digest
    index_digest: Digest | None
    config_digest: Digest
    config: Mapping[str, object]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where an image is asked for. ``name`` is the reference as messages show it, the mirror's where there is one."""

    registry: str
    repository: str
    name: str

    @property
    def scope(self) -> str:
        return f"repository:{self.repository}:pull"


class HttpRegistry:
    """Registries over HTTP; satisfies ``ports.Registry`` and is safe to share between threads.

    ``environ`` gives proxies, certificates and the homes of Docker's and podman's logins.
    ``mirrors`` maps a registry (or a prefix of names) to what is asked instead of it:
    ``nvcr.io`` to ``registry.example/nv``. ``cache`` is a folder for manifests and configs by
    digest. Plain HTTP is spoken with loopback only.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        mirrors: Mapping[str, str] | None = None,
        cache: Path | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._mirrors = dict(mirrors or {})
        self._transport = transport or Transport(environ)
        self._authorizer = Authorizer(self._transport, Logins(login_files(environ)))
        self._content = _Content(cache)
        self._schemes: dict[str, str] = {}
        self._lock = threading.Lock()

    def resolve(self, reference: ImageReference, platform: Platform) -> Resolved | None:
        """Return what the reference is now, ``None`` when there is no such image or platform.

        One HEAD when everything is cached, else a GET more per manifest and config.
        ``UnreachableError`` when the registry could not be asked or refuses; ``MismatchError``
        when what it sends is not an image, or not what its digest says.
        """
        place = self._place(reference)
        top = self._find(place, reference)
        if top is None:
            return None
        digest, manifest = top
        index_digest, sure = None, False
        for _ in range(_MOST_NESTING):
            if isinstance(manifest, ImageManifest):
                config = self._config(place, manifest, platform, sure=sure)
                return None if config is None else _resolved(digest, index_digest, manifest, config)
            index_digest = index_digest or digest
            entry = manifest.choose(platform)
            if entry is None:
                return None
            sure = entry.platform is not None
            digest, manifest = entry.digest, self._listed(place, entry)
        msg = f"{place.name!r} is an index of indexes of indexes"
        raise MismatchError(msg, hint="name one of the images in it by digest")

    def _config(self, place: _Place, manifest: ImageManifest, platform: Platform, *, sure: bool) -> Mapping[str, object] | None:
        """Return an image's config, ``None`` when it is for another platform and no index was ``sure`` of it."""
        config = read_config(self._blob(place, manifest.config), what=f"the config of {place.name!r}")
        return config if sure or runs_on(config_platform(config), platform) else None

    def _find(self, place: _Place, reference: ImageReference) -> tuple[Digest, ImageIndex | ImageManifest] | None:
        """Return what the reference names, asking by HEAD first: Docker Hub counts GETs only."""
        asked = str(reference.digest or reference.tag or "latest")
        head = self._ask(place, "HEAD", f"manifests/{asked}", limit=0)
        if head.status == _NOT_FOUND:
            return None
        digest = reference.digest or _digest_header(head)
        if head.status == _OK and digest is not None:
            body = self._manifest_bytes(place, digest)
            if body is not None:
                return digest, read_manifest(*body, what=repr(place.name))
        answer = self._ask(place, "GET", f"manifests/{asked}", limit=_MANIFEST_BYTES)
        if answer.status == _NOT_FOUND:
            return None
        self._must_be_ok(place, answer)
        digest = reference.digest or Digest("sha256", hashlib.sha256(answer.body).hexdigest())
        _must_match(answer.body, digest, place.name)
        return digest, read_manifest(answer.body, answer.headers.get("content-type", ""), what=repr(place.name))

    def _listed(self, place: _Place, entry: Descriptor) -> ImageIndex | ImageManifest:
        """Return a manifest that an index lists; a registry that lost it is broken, and says so."""
        body = self._manifest_bytes(place, entry.digest)
        if body is None:
            msg = f"the index {place.name!r} lists {str(entry.digest)!r}, which the registry does not have"
            raise MismatchError(msg, hint="push the image again, or use another tag")
        return read_manifest(body[0], entry.media_type or body[1], what=repr(place.name))

    def _manifest_bytes(self, place: _Place, digest: Digest) -> tuple[bytes, str] | None:
        """Return a manifest and its type by digest, from the cache or the registry, ``None`` when it is not there."""
        if (kept := self._content.get(digest)) is not None:
            return kept, ""
        answer = self._verified(place, f"manifests/{digest}", digest, limit=_MANIFEST_BYTES)
        return None if answer is None else (answer.body, answer.headers.get("content-type", ""))

    def _blob(self, place: _Place, descriptor: Descriptor) -> bytes:
        if (kept := self._content.get(descriptor.digest)) is not None:
            return kept
        answer = self._verified(place, f"blobs/{descriptor.digest}", descriptor.digest, limit=_CONFIG_BYTES)
        if answer is None:
            msg = f"the registry has no config {str(descriptor.digest)!r} of {place.name!r}, though its manifest names it"
            raise MismatchError(msg, hint="push the image again, or use another tag")
        return answer.body

    def _verified(self, place: _Place, path: str, digest: Digest, *, limit: int) -> Answer | None:
        """Return content whose hash is its digest, asked for again when it is not; it is kept."""
        for attempt in range(_ATTEMPTS):
            answer = self._ask(place, "GET", path, limit=limit)
            if answer.status == _NOT_FOUND:
                return None
            self._must_be_ok(place, answer)
            if _hash(answer.body, digest) == digest.encoded:
                self._content.keep(digest, answer.body)
                return answer
            if attempt == _ATTEMPTS - 1:
                _must_match(answer.body, digest, place.name)
        return None

    def _ask(self, place: _Place, method: str, path: str, *, limit: int) -> Answer:
        """Ask once, and once more with what answers the challenge when there is one."""
        url = f"{self._scheme(place.registry)}://{_host(place.registry)}/v2/{place.repository}/{path}"
        known = self._authorizer.known(place.registry, place.scope)
        answer = self._transport.send(_manifest_ask(method, url, place, known, limit))
        if answer.status != _UNAUTHORIZED:
            return answer
        header = self._authorizer.answer(answer, registry=place.registry, repository=place.repository, scope=place.scope)
        return self._transport.send(_manifest_ask(method, url, place, header, limit)) if header else answer

    def _must_be_ok(self, place: _Place, answer: Answer) -> None:
        if answer.status == _OK:
            return
        said = _said(answer)
        if answer.status in {_UNAUTHORIZED, _FORBIDDEN}:
            msg = f"{place.registry!r} does not let us read {place.name!r} ({answer.status}{said})"
            raise UnreachableError(msg, hint=self._authorizer.hint(place.registry, place.repository))
        msg = f"{place.registry!r} answered {answer.status} for {place.name!r}{said}"
        raise UnreachableError(msg, hint="check the image's name and that this is a registry, or try again later")

    def _scheme(self, registry: str) -> str:
        if not is_loopback(registry):
            return "https"
        with self._lock:
            if registry not in self._schemes:
                self._schemes[registry] = "http" if self._transport.speaks_http(registry) else "https"
            return self._schemes[registry]

    def _place(self, reference: ImageReference) -> _Place:
        """Return where to ask; a mirrored name is never asked at its origin, so that a closed network stays closed."""
        found = mirrored(reference, self._mirrors)
        version = f"@{found.digest}" if found.digest else f":{found.tag or 'latest'}"
        return _Place(registry=found.registry, repository=found.repository, name=f"{found.name}{version}")


class _Content:
    """Bytes by digest, in memory and maybe in a folder; a damaged file is as good as none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[Digest, bytes] = {}

    def get(self, digest: Digest) -> bytes | None:
        if digest in self._held:
            return self._held[digest]
        try:
            body = self._path(digest).read_bytes() if self._folder else None
        except OSError:
            return None
        if body is None or _hash(body, digest) != digest.encoded:
            return None
        self._held[digest] = body
        return body

    def keep(self, digest: Digest, body: bytes) -> None:
        self._held[digest] = body
        if self._folder is None:
            return
        with contextlib.suppress(OSError, HostBlockedError):  # a cache that cannot be written is a slow one, not an error
            write_atomically(self._path(digest), body)

    def _path(self, digest: Digest) -> Path:
        return (self._folder or Path()) / digest.algorithm / digest.encoded


def _resolved(digest: Digest, index_digest: Digest | None, manifest: ImageManifest, config: Mapping[str, object]) -> Resolved:
    return Resolved(
        digest=digest, index_digest=index_digest, config_digest=manifest.config.digest, config=config, size=manifest.size
    )


def _manifest_ask(method: str, url: str, place: _Place, header: Mapping[str, str], limit: int) -> Ask:
    return Ask(method=method, url=url, what=repr(place.name), headers={"Accept": f"{ACCEPT}, */*;q=0.1", **header}, limit=limit)


def _host(registry: str) -> str:
    return _HUB_HOST if registry == DEFAULT_REGISTRY else registry


def _hash(body: bytes, digest: Digest) -> str:
    return hashlib.new(digest.algorithm, body).hexdigest()


def _must_match(body: bytes, digest: Digest, name: str) -> None:
    found = _hash(body, digest)
    if found != digest.encoded:
        msg = f"what the registry sent for {name!r} is not {str(digest)!r}: it hashes to {digest.algorithm}:{found}"
        raise MismatchError(msg, hint="a proxy or mirror between alters what passes it; ask the registry without it")


def _digest_header(answer: Answer) -> Digest | None:
    try:
        return Digest.parse(answer.headers.get("docker-content-digest", ""))
    except ValueError:
        return None


def _said(answer: Answer) -> str:
    """Return what the registry says is wrong, as one short printable piece, empty when it says nothing."""
    try:
        first = json.loads(answer.body)["errors"][0]
        text = f"{first.get('code', '')}: {first.get('message', '')}"
    except (ValueError, TypeError, LookupError, AttributeError):
        return ""
    return ", " + "".join(letter if letter.isprintable() else " " for letter in text)[:200]
