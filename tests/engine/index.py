"""A package index on loopback that does what a test wants: answers, keeps one waiting, lies, or is not there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.engine.wheels import sha256


class Index:
    """Serves a folder of wheels: ``/simple/NAME/`` is the page of a project, ``/simple/NAME/FILE`` a wheel.

    ``asked`` are the paths that were asked for, in order. ``instead`` are bytes to send in the
    place of a file's own, and ``announced`` hashes that a page has in the place of the true ones, by file name.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.instead: dict[str, bytes] = {}
        self.announced: dict[str, str] = {}
        self._held: dict[str, threading.Event] = {}
        self._server = self._listen(0)

    @property
    def url(self) -> str:
        """Where pip finds it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/simple"

    def _listen(self, port: int) -> ThreadingHTTPServer:
        class Handler(_Handler):
            index = self

        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def stop(self) -> None:
        """Stop listening; connections are refused from now on."""
        for event in self._held.values():
            event.set()
        self._server.shutdown()
        self._server.server_close()

    def start(self) -> None:
        """Listen again where it did."""
        self._server = self._listen(int(self._server.server_address[1]))

    @contextlib.contextmanager
    def holding(self, end: str) -> Iterator[None]:
        """Keep every request for a path with this end waiting until the block is left."""
        self._held[end] = threading.Event()
        try:
            yield
        finally:
            self._held.pop(end).set()

    def release(self, end: str) -> None:
        """Answer what was kept waiting, before the block is left."""
        self._held[end].set()

    def wait_for(self, path: str) -> None:
        """Wait while the path is held."""
        for end, event in list(self._held.items()):
            if path.endswith(end):
                event.wait(120)

    def page(self, project: Path) -> bytes:
        """Return the page of a project."""
        hashes = {wheel.name: self.announced.get(wheel.name) or sha256(wheel) for wheel in sorted(project.glob("*.whl"))}
        links = [f'<a href="{name}#sha256={announced}">{name}</a>\n' for name, announced in hashes.items()]
        return "".join(links).encode()

    def content(self, path: str) -> tuple[bytes, str] | None:
        """Return what a path holds, ``None`` when there is nothing."""
        words = path.strip("/").split("/")[1:]
        place = self.folder.joinpath(*words)
        if len(words) == 1 and place.is_dir():
            return self.page(place), "text/html"
        if place.suffix == ".whl" and place.is_file():
            return self.instead.get(place.name) or place.read_bytes(), "application/octet-stream"
        return None


class _Handler(BaseHTTPRequestHandler):
    index: Index
    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        """Answer one request; a client that hangs up is none."""
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        self.index.asked.append(self.path)
        self.index.wait_for(self.path)
        found = self.index.content(self.path)
        data, kind = found if found is not None else (b"not here\n", "text/plain")
        with contextlib.suppress(ConnectionError):
            self.send_response(200 if found is not None else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if body:
                self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""
