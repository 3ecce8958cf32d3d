"""Puts one small image into a registry over plain http, by the distribution protocol."""

from __future__ import annotations

import gzip
import hashlib
import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path

CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def put_image(address: str, repository: str, rootfs: Path) -> tuple[str, str]:
    """Upload a one-layer image and return the digests of its manifest and config for linux/amd64.

    Tag ``1`` is that manifest, tag ``all`` an index that has linux/arm64 too.
    """
    amd64, config = _put_platform(address, repository, "1", rootfs, {"architecture": "amd64", "os": "linux"})
    arm64, _ = _put_platform(address, repository, "arm", rootfs, {"architecture": "arm64", "os": "linux", "variant": "v8"})
    index = _json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [arm64, amd64]})
    _send("PUT", f"http://{address}/v2/{repository}/manifests/all", index, INDEX)
    return str(amd64["digest"]), config


def _put_platform(
    address: str, repository: str, tag: str, rootfs: Path, platform: Mapping[str, str]
) -> tuple[dict[str, object], str]:
    """Upload one platform's image under a tag; return its descriptor and the digest of its config."""
    tar = rootfs.read_bytes()
    layer = gzip.compress(tar, mtime=0)
    settings = {
        "config": {"Env": ["PATH=/bin", "FROM_REGISTRY=yes"]},
        "rootfs": {"type": "layers", "diff_ids": [_digest(tar)]},
        "history": [{"created_by": "test"}],
    }
    config = _json({**platform, **settings})
    for blob in (config, layer):
        _put_blob(address, repository, blob)
    described = {"mediaType": CONFIG, "digest": _digest(config), "size": len(config)}
    layers = [{"mediaType": LAYER, "digest": _digest(layer), "size": len(layer)}]
    manifest = _json({"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": layers})
    _send("PUT", f"http://{address}/v2/{repository}/manifests/{tag}", manifest, MANIFEST)
    descriptor = {"mediaType": MANIFEST, "digest": _digest(manifest), "size": len(manifest), "platform": dict(platform)}
    return descriptor, _digest(config)


def _put_blob(address: str, repository: str, blob: bytes) -> None:
    place = _send("POST", f"http://{address}/v2/{repository}/blobs/uploads/", b"", "application/octet-stream")
    mark = "&" if urllib.parse.urlparse(place).query else "?"
    _send("PUT", f"{place}{mark}digest={_digest(blob)}", blob, "application/octet-stream")


def _send(method: str, url: str, body: bytes, kind: str) -> str:
    request = urllib.request.Request(url, data=body, method=method, headers={"Content-Type": kind})  # noqa: S310 - loopback
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        return urllib.parse.urljoin(url, str(answer.headers.get("Location", "")))


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True).encode()
