"""Names of the OCI world: digests, platforms, image references."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Self

_DIGEST = re.compile(r"(?P<algorithm>sha256|sha512):(?P<encoded>[0-9a-f]+)")
_ENCODED_LENGTH = {"sha256": 64, "sha512": 128}
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?")
_PLATFORM = re.compile(r"[a-z0-9]+(?:/[a-z0-9_]+){1,2}")
_MAX_REPOSITORY = 255
_MAX_PORT = 65535
DEFAULT_REGISTRY = "docker.io"
_OLD_DEFAULT_REGISTRY = "index.docker.io"


@dataclass(frozen=True, slots=True)
class Digest:
    """A content digest, such as ``sha256:9b2f…``."""

    algorithm: str
    encoded: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a digest, or raise ``ValueError`` that says what is wrong with it."""
        match = _DIGEST.fullmatch(text)
        if match is None or len(match["encoded"]) != _ENCODED_LENGTH[match["algorithm"]]:
            msg = f"{text!r} is not a content digest such as sha256:<64 hex digits>"
            raise ValueError(msg)
        return cls(match["algorithm"], match["encoded"])

    def __str__(self) -> str:
        """Return ``algorithm:encoded``."""
        return f"{self.algorithm}:{self.encoded}"


@dataclass(frozen=True, slots=True, order=True)
class Platform:
    """OS and CPU architecture of an image or host, such as ``linux/amd64``."""

    os: str
    architecture: str
    variant: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``os/architecture[/variant]``, or raise ``ValueError``."""
        if _PLATFORM.fullmatch(text) is None:
            msg = f"{text!r} is not a platform such as linux/amd64"
            raise ValueError(msg)
        os, architecture, *rest = text.split("/")
        return cls(os, architecture, rest[0] if rest else "")

    def __str__(self) -> str:
        """Return ``os/architecture[/variant]``."""
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)


def _is_host(text: str) -> bool:
    """Return whether a text is a registry: a name or address, and a port that can be."""
    if not _HOST.fullmatch(text):
        return False
    port = text.rpartition("]")[2].rpartition(":")[2] if ":" in text.rpartition("]")[2] else "1"
    return 0 < int(port) <= _MAX_PORT


LINUX_AMD64 = Platform("linux", "amd64")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageReference:
    """An image name, with a tag, a digest, both or neither; the registry is always explicit."""

    registry: str
    repository: str
    tag: str | None = None
    digest: Digest | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a reference the way Docker does, or raise ``ValueError`` that says what is wrong.

        ``ubuntu`` is ``docker.io/library/ubuntu``; a first part with a dot or a colon, or
        ``localhost``, is a registry.
        """
        rest, _, digest_text = text.partition("@")
        digest = Digest.parse(digest_text) if "@" in text else None
        head, slash, tail = rest.partition("/")
        is_host = bool(slash) and ("." in head or ":" in head or head == "localhost")
        registry, path = (head, tail) if is_host else (DEFAULT_REGISTRY, rest)
        registry = DEFAULT_REGISTRY if registry == _OLD_DEFAULT_REGISTRY else registry
        path, colon, tag = path.partition(":")
        if registry == DEFAULT_REGISTRY and "/" not in path:
            path = f"library/{path}"
        if not _is_host(registry) or not _REPOSITORY.fullmatch(path) or len(path) > _MAX_REPOSITORY:
            msg = f"{text!r} is not an image reference such as registry.example/team/name:tag"
            raise ValueError(msg)
        if colon and not _TAG.fullmatch(tag):
            msg = f"{tag!r} is not a tag a registry would take (letters, digits, . _ -, at most 128)"
            raise ValueError(msg)
        return cls(registry=registry, repository=path, tag=tag or None, digest=digest)

    @property
    def name(self) -> str:
        """The reference without tag and digest."""
        return f"{self.registry}/{self.repository}"

    def with_tag(self, tag: str) -> Self:
        """Return the same name with this tag and no digest; ``ValueError`` for a bad tag."""
        if not _TAG.fullmatch(tag):
            msg = f"{tag!r} is not a tag a registry would take (letters, digits, . _ -, at most 128)"
            raise ValueError(msg)
        return replace(self, tag=tag, digest=None)

    def with_digest(self, digest: Digest) -> Self:
        """Return the same reference, pinned to this digest."""
        return replace(self, digest=digest)

    def __str__(self) -> str:
        """Return the full reference."""
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"
