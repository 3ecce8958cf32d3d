"""Images of a test's own in the lab's registry: copies of stand-ins under names that may move and vanish."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass, field

KINDS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the registry answered."""

    data: bytes
    kind: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One repository of the registry at ``address`` (HOST:PORT, plain http); ``digests`` are what was put there."""

    address: str
    name: str
    digests: set[str] = field(default_factory=set)

    def reference(self, tag: str) -> str:
        return f"{self.address}/{self.name}:{tag}"

    def copy(self, source: str, tag: str) -> str:
        """Make a tag an image of another repository (``library/ubuntu:24.04``); return its amd64 manifest's digest."""
        path, _, name = source.rpartition(":")
        answer = _ask("GET", f"http://{self.address}/v2/{path}/manifests/{name}")
        document = json.loads(answer.data)
        if "manifests" in document:
            (digest,) = (one["digest"] for one in document["manifests"] if one["platform"]["architecture"] == "amd64")
            answer = _ask("GET", f"http://{self.address}/v2/{path}/manifests/{digest}")
            document = json.loads(answer.data)
        for blob in (document["config"], *document["layers"]):
            _ask("POST", f"http://{self.address}/v2/{self.name}/blobs/uploads/?mount={blob['digest']}&from={path}", b"")
        put = _ask("PUT", f"http://{self.address}/v2/{self.name}/manifests/{tag}", answer.data, answer.kind)
        self.digests.add(put.digest)
        return put.digest

    def remove(self, digest: str) -> None:
        """Remove a manifest, and every tag that is it."""
        _ask("DELETE", f"http://{self.address}/v2/{self.name}/manifests/{digest}")
        self.digests.discard(digest)

    def clear(self) -> None:
        """Remove all that is left."""
        for digest in sorted(self.digests):
            self.remove(digest)


def amd64_digest(address: str, reference: str) -> str:
    """Ask the registry which manifest for linux/amd64 a name stands for, whichever host the name says."""
    path, _, tag = reference.partition("/")[2].rpartition(":")
    answer = _ask("GET", f"http://{address}/v2/{path}/manifests/{tag}")
    manifests = json.loads(answer.data).get("manifests")
    if manifests is None:
        return answer.digest
    return str(next(one["digest"] for one in manifests if one["platform"]["architecture"] == "amd64"))


def _ask(method: str, url: str, body: bytes | None = None, kind: str = "application/octet-stream") -> Answer:
    headers = {"Accept": ", ".join(KINDS), **({"Content-Type": kind} if body is not None else {})}
    request = urllib.request.Request(url, data=body, method=method, headers=headers)  # noqa: S310 - loopback
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        said = answer.headers
        return Answer(data=answer.read(), kind=said.get("Content-Type", ""), digest=said.get("Docker-Content-Digest", ""))
