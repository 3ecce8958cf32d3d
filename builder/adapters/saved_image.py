"""Finds an image's manifest and config in what ``docker image save`` writes. Runs by itself, standard library only.

Docker's containerd image store names images by manifest or index and tells nobody the config's
digest; only the saved image holds it. ``python saved_image.py ID PLATFORM < TAR`` prints the two
digests as JSON, and stops reading as soon as it knows them.
"""

import json
import sys
import tarfile
from typing import IO, Any

LARGEST_DOCUMENT = 4 * 1024 * 1024


def digests(stream: IO[bytes], image_id: str, platform: str) -> tuple[str, str] | None:
    """Return the digests of the platform's manifest and of its config, ``None`` when the image has none for it."""
    documents: dict[str, dict[str, Any]] = {}
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            parts = member.name.split("/")
            if not member.isfile() or parts[0] != "blobs" or member.size > LARGEST_DOCUMENT:
                continue
            content = archive.extractfile(member)
            document = _document(content.read() if content is not None else b"")
            if document is not None:
                documents[f"{parts[1]}:{parts[2]}"] = document
                found = _resolve(documents, image_id, platform)
                if found is not None:
                    return found
    return None


def _document(data: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(data)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _resolve(documents: dict[str, dict[str, Any]], image_id: str, platform: str) -> tuple[str, str] | None:
    root = documents.get(image_id, {})
    manifest = image_id
    for entry in root.get("manifests", ()):
        fields = entry.get("platform") or {}
        names = (fields.get("os"), fields.get("architecture"), fields.get("variant"))
        if platform in {"/".join(filter(None, names)), "/".join(filter(None, names[:2]))}:
            manifest = entry["digest"]
            break
    config = documents.get(manifest, {}).get("config")
    return (manifest, config["digest"]) if isinstance(config, dict) else None


if __name__ == "__main__":
    json.dump(digests(sys.stdin.buffer, sys.argv[1], sys.argv[2]), sys.stdout)
