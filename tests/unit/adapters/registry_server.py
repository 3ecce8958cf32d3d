"""A registry on loopback that answers what a test scripts, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"


@dataclass(kw_only=True)
class Reply:
    """One scripted answer; ``how`` is ``send``, ``truncate``, ``reset`` or ``hang``."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    how: str = "send"


@dataclass(kw_only=True)
class Seen:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Handler = Callable[[Seen], Reply]


class RegistryServer:
    """Routes are looked up by ``METHOD path`` (no query), then ``path``; a list is used up, its last reply stays."""

    def __init__(self) -> None:
        self.routes: dict[str, Reply | list[Reply] | Handler] = {"/v2/": Reply()}
        self.seen: list[Seen] = []
        self.gate: Handler | None = None
        self.release = threading.Event()
        self.address = ""

    @property
    def asked(self) -> list[str]:
        """Everything asked of it, the first look for TLS left out."""
        return [f"{one.method} {one.path}" for one in self.seen if one.path != "/v2/"]

    def answer(self, seen: Seen) -> Reply:
        self.seen.append(seen)
        if self.gate is not None and seen.path.startswith("/v2/") and (refused := self.gate(seen)).status != 200:
            return refused
        path = seen.path.partition("?")[0]
        route = self.routes.get(f"{seen.method} {path}", self.routes.get(path))
        if route is None:
            return Reply(status=404, body=b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}')
        if isinstance(route, list):
            return route.pop(0) if len(route) > 1 else route[0]
        return route(seen) if callable(route) else route

    def put(self, repository: str, kind: str, document: bytes, media_type: str, *tags: str) -> str:
        """Serve a manifest or blob by digest and tags; return its digest."""
        digest = "sha256:" + hashlib.sha256(document).hexdigest()
        headers = {"Content-Type": media_type, "Docker-Content-Digest": digest}
        for name in (digest, *tags):
            self.routes[f"/v2/{repository}/{kind}/{name}"] = Reply(body=document, headers=headers)
        return digest

    def put_image(self, repository: str, *tags: str, platform: str = "linux/amd64", env: str = "A=1") -> dict[str, Any]:
        """Serve a one-layer image; return the descriptor of its manifest, with ``config`` beside it."""
        system, architecture, *variant = platform.split("/")
        config = {"os": system, "architecture": architecture, "config": {"Env": [env]}}
        if variant:
            config["variant"] = variant[0]
        config_body = json.dumps(config).encode()
        config_digest = self.put(repository, "blobs", config_body, OCI_CONFIG)
        manifest = {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": {"mediaType": OCI_CONFIG, "digest": config_digest, "size": len(config_body)},
            "layers": [
                {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": "sha256:" + "a" * 64, "size": 700},
                {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": "sha256:" + "b" * 64, "size": 77},
            ],
        }
        body = json.dumps(manifest).encode()
        return {
            "mediaType": OCI_MANIFEST,
            "digest": self.put(repository, "manifests", body, OCI_MANIFEST, *tags),
            "size": len(body),
            "platform": {"os": system, "architecture": architecture, **({"variant": variant[0]} if variant else {})},
            "config": config_digest,
        }

    def put_index(self, repository: str, entries: list[dict[str, Any]], *tags: str) -> str:
        body = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).encode()
        return self.put(repository, "manifests", body, OCI_INDEX, *tags)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, registry: RegistryServer) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.registry = registry


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # a client that does not trust us hangs up
            super().handle()

    def log_message(self, *args: object) -> None:
        pass

    def do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(method=self.command, path=self.path, headers=headers, body=self.rfile.read(length))
        reply = self.server.registry.answer(seen)
        if reply.how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif reply.how == "hang":
            self.server.registry.release.wait(20)
            self.close_connection = True
        else:
            self.send(reply)

    def send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body[:-1] if reply.how == "truncate" else reply.body)
        self.close_connection = self.close_connection or reply.how == "truncate"

    do_GET = do_HEAD = do_POST = do  # noqa: N815 - names that http.server looks for


@contextlib.contextmanager
def registry_server(certificate: Path | None = None) -> Iterator[RegistryServer]:
    """Run a scripted registry on a free port of loopback, with TLS where a certificate (``key.pem`` beside it) is given."""
    registry = RegistryServer()
    server = _Server(registry)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_name("key.pem"))
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    registry.address = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        registry.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
