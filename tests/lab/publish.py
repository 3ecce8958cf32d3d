"""Stand-ins into the lab's registry: layers made once and kept, manifests by HTTP, no engine needed."""

from __future__ import annotations

import hashlib
import http.client
import json
import platform
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab import bases, debs, interpreters, layers, programs
from tests.lab.bases import Image
from tests.lab.interpreters import Interpreter
from tests.lab.layers import Entry, Layer
from tests.lab.place import LabError, Place
from tests.lab.process import run

CREATED = "2026-01-01T00:00:00Z"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MEDIA = {
    "oci": {
        "manifest": "application/vnd.oci.image.manifest.v1+json",
        "index": "application/vnd.oci.image.index.v1+json",
        "config": "application/vnd.oci.image.config.v1+json",
        "layer": "application/vnd.oci.image.layer.v1.tar+gzip",
    },
    "docker": {
        "manifest": "application/vnd.docker.distribution.manifest.v2+json",
        "index": "application/vnd.docker.distribution.manifest.list.v2+json",
        "config": "application/vnd.docker.container.image.v1+json",
        "layer": "application/vnd.docker.image.rootfs.diff.tar.gzip",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A Debian root: its layer, and dpkg's status in it."""

    layer: Layer
    status: bytes


class Registry:
    """The lab's registry by plain HTTP."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._home: dict[str, str] = {}

    def _ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/octet-stream") -> tuple[int, str]:
        headers = {"Accept": ", ".join(media[key] for media in MEDIA.values() for key in ("manifest", "index"))}
        self._connection.request(method, path, body, headers | ({"Content-Type": kind} if body is not None else {}))
        answer = self._connection.getresponse()
        words = answer.read()
        if answer.status >= http.HTTPStatus.BAD_REQUEST and not (method == "HEAD" and answer.status == http.HTTPStatus.NOT_FOUND):
            msg = f"the lab's registry answers {answer.status} to {method} {path}: {words[:300].decode(errors='replace')}"
            raise LabError(msg)
        return answer.status, answer.getheader("Location") or ""

    def blob(self, repository: str, digest: str, data: Callable[[], bytes]) -> None:
        """Put a blob where it is missing; mounted from another repository when one has it."""
        if self._ask("HEAD", f"/v2/{repository}/blobs/{digest}")[0] == http.HTTPStatus.OK:
            self._home.setdefault(digest, repository)
            return
        mount = f"?mount={digest}&from={self._home[digest]}" if digest in self._home else ""
        status, where = self._ask("POST", f"/v2/{repository}/blobs/uploads/{mount}", b"")
        if status != http.HTTPStatus.CREATED:
            path = re.sub(r"^https?://[^/]+", "", where)
            self._ask("PUT", f"{path}{'&' if '?' in path else '?'}digest={digest}", data())
        self._home[digest] = repository

    def has(self, repository: str, digest: str) -> bool:
        """Tell whether a manifest is there."""
        return self._ask("HEAD", f"/v2/{repository}/manifests/{digest}")[0] == http.HTTPStatus.OK

    def manifest(self, repository: str, reference: str, kind: str, data: bytes) -> None:
        """Put a manifest under a tag or its digest."""
        self._ask("PUT", f"/v2/{repository}/manifests/{reference}", data, kind)


def publish(place: Place, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Put every stand-in into the registry, and return what is there; nothing is done twice.

    One that needs an interpreter which cannot be had here is left out with the reason.
    """
    kept = place.state / "bases.json"
    recipe = bases.recipe()
    registry = Registry(place.registry)
    if kept.exists() and (found := json.loads(kept.read_text()))["recipe"] == recipe:
        images = {image.reference: image for image in bases.images()}
        if all(settled(registry, images[one["reference"]], one) for one in found["bases"]):
            return list(found["bases"])
    maker = Maker(place)
    listed = []
    for image in bases.images():
        try:
            digest, missing = maker.push(registry, image), None
        except LabError as error:
            say(f"lab: left out {image.reference}: {error}")
            digest, missing = None, str(error)
        listed.append(bases.listing(image, digest, missing))
    layers.keep(kept, json.dumps({"recipe": recipe, "bases": listed}, indent=1).encode())
    return listed


def settled(registry: Registry, image: Image, listed: dict[str, Any]) -> bool:
    """Tell whether nothing is left to do for a stand-in: it is in the registry, or still cannot be made."""
    if listed["digest"]:
        return registry.has(image.repository, listed["digest"])
    return image.python is not None and interpreters.here(image.python) is None


class Maker:
    """Makes images of definitions; roots, interpreters and wheels are made once and shared."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._roots: dict[str, Root] = {}
        self._recipe = bases.recipe()
        self._root_recipe = bases.recipe("layers", "debs")
        self._python_recipe = bases.recipe("layers", "interpreters")

    def push(self, registry: Registry, image: Image) -> str:
        """Make an image, put it into the registry under its tags, and return the platform manifest's digest."""
        stack = self._stack(image)
        media = MEDIA[image.media]
        config = self._config(image, stack)
        blobs = [(layer.digest, layer.path.read_bytes) for layer in stack] + [(sha256(config), lambda: config)]
        for digest, data in blobs:
            registry.blob(image.repository, digest, data)
        described = [{"mediaType": media["layer"], "digest": layer.digest, "size": layer.size} for layer in stack]
        manifest = dumps({
            "schemaVersion": 2,
            "mediaType": media["manifest"],
            "config": {"mediaType": media["config"], "digest": sha256(config), "size": len(config)},
            "layers": described,
        })  # fmt: skip
        registry.manifest(image.repository, sha256(manifest), media["manifest"], manifest)
        kind, top = media["manifest"], manifest
        if image.index:
            kind, top = media["index"], self._index(image, manifest)
        for tag in image.tags:
            registry.manifest(image.repository, tag, kind, top)
        return sha256(manifest)

    def _index(self, image: Image, manifest: bytes) -> bytes:
        media = MEDIA[image.media]
        here = {"architecture": architecture(), "os": "linux"}
        entry = {"mediaType": media["manifest"], "digest": sha256(manifest), "size": len(manifest), "platform": here}
        return dumps({"schemaVersion": 2, "mediaType": media["index"], "manifests": [entry]})

    def _stack(self, image: Image) -> list[Layer]:
        root = self._root(image.root)
        stack = [root.layer]
        full = ""
        if image.python:
            found = interpreters.find(image.python)
            full = found.full
            key = f"python {found.prefix} {full} at {image.at} {self._python_recipe}"
            stack.append(self._kept(key, lambda: interpreters.entries(found, image.at)))
            stack.append(self._own(image, found, root))
        else:
            key = f"own {bases.said_json(image).decode()} {self._recipe}"
            stack.append(self._kept(key, lambda: [Entry(path="etc/imgbuild-lab", data=b"stand-in\n"), *bases.entries(image, "")]))
        return stack

    def _own(self, image: Image, found: Interpreter, root: Root) -> Layer:
        def made() -> Iterator[Entry]:
            if image.venv:
                yield from interpreters.pip(found, image.packages, f"{image.venv}/bin", f"/{image.venv}/bin/python")
            for wheel in self._wheels(image):
                yield from interpreters.unpacked(wheel, image.packages)
            if image.ubuntu_python:
                status = root.status.rstrip() + b"\n\n" + bases.ubuntu_packages(image).encode()
                yield Entry(path="var/lib/dpkg/status", data=status)
            yield from bases.entries(image, found.full)

        return self._kept(f"own {found.full} {bases.said_json(image).decode()} {root.layer.digest} {self._recipe}", made)

    def _kept(self, key: str, made: Callable[[], Iterable[Entry]]) -> Layer:
        return layers.read(self._place.cache, key) or layers.write(self._place.cache, key, made())

    def _root(self, suite: str) -> Root:
        if suite not in self._roots:
            at = programs.suite(self._place, suite)
            libraries = debs.LIBRARIES if suite == "bookworm" else ()
            files = debs.download(at, [*debs.ESSENTIAL, *libraries])
            key = f"root {at.mirror} {' '.join(path.name for path in files)} {self._root_recipe}"
            status = self._place.cache / "layers" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.status"
            layer = layers.read(self._place.cache, key) if status.exists() else None
            if layer is None:
                made = list(debs.root(files, suite=suite, mirror=at.mirror))
                layer = layers.write(self._place.cache, key, made)
                layers.keep(status, next(entry.data for entry in made if entry.path == "var/lib/dpkg/status"))
            self._roots[suite] = Root(layer=layer, status=status.read_bytes())
        return self._roots[suite]

    def _wheels(self, image: Image) -> list[Path]:
        folder = self._place.cache / "wheels"
        found = []
        for name in image.wheels:
            pattern = f"{name.replace('-', '_')}-*-py3-none-any.whl"
            if not list(folder.glob(pattern)):
                command = ["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
                run([*command, "--python-version", "3.10", "--dest", str(folder), name])
            found.append(max(folder.glob(pattern)))
        return found

    def _config(self, image: Image, stack: list[Layer]) -> bytes:
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        env = {"PATH": f"/{image.venv}/bin:{path}" if image.venv else path, **image.env}
        if image.venv:
            env["VIRTUAL_ENV"] = f"/{image.venv}"
        config = {
            "Env": [f"{name}={value}" for name, value in env.items()],
            "Labels": {**image.labels, **bases.SAYS},
            "Entrypoint": list(image.entrypoint) or None,
            "Cmd": list(image.cmd) or None,
            "WorkingDir": image.workdir,
            "User": image.user,
        }
        return dumps({
            "architecture": architecture(),
            "os": "linux",
            "created": CREATED,
            "config": {key: value for key, value in config.items() if value},
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in stack]},
            "history": [{"created": CREATED, "created_by": "imgbuild lab"} for _ in stack],
        })  # fmt: skip


def architecture() -> str:
    """Return this machine's architecture as images name it."""
    return ARCHITECTURES[platform.machine()]


def sha256(data: bytes) -> str:
    """Return a digest as registries write it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def dumps(document: dict[str, Any]) -> bytes:
    """Return a document's bytes, always the same."""
    return json.dumps(document, separators=(",", ":")).encode()
