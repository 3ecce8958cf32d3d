"""A Docker daemon whose answers are scripted, on a socket or a TLS port of this host."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import BaseServer, TCPServer, ThreadingMixIn, UnixStreamServer
from typing import Any

HANGS = object()
VERSION = {"ApiVersion": "1.44", "MinAPIVersion": "1.24"}


class Script:
    """What a daemon answers, by method and path without the API's version: JSON, a status with JSON, raw bytes, or ``HANGS``."""

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {"GET /version": VERSION, **answers}
        self.asked: list[str] = []
        self.waiting = threading.Event()
        self.over = threading.Event()


def refusal(status: int, message: str) -> tuple[int, dict[str, str]]:
    """Return how a daemon refuses."""
    return status, {"message": message}


def _handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            script.asked.append(f"{self.command} {self.path}")
            plain = self.path.partition("?")[0]
            path = "/" + plain.split("/", 2)[2] if plain.startswith("/v1.") else plain
            answer = script.answers.get(f"{self.command} {path}", refusal(404, "page not found"))
            if answer is HANGS:
                script.waiting.set()
                script.over.wait(30)
                self.close_connection = True
            elif isinstance(answer, bytes):
                self.wfile.write(answer)
                self.close_connection = True
            else:
                self._say(*(answer if isinstance(answer, tuple) else (200, answer)))

        def _say(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


class _UnixServer(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients that go away are what some tests are about."""


class _TcpServer(ThreadingMixIn, TCPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def on_socket(path: Path, script: Script) -> Iterator[str]:
    """Run a daemon on a socket; yield its address."""
    with _UnixServer(str(path), _handler(script)) as server, _served(server, script):
        yield f"unix://{path}"


@contextmanager
def on_tls(folder: Path, script: Script) -> Iterator[str]:
    """Run a daemon on a TLS port with the certificates of ``certificates``; yield its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server-key.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with _TcpServer(("127.0.0.1", 0), _handler(script)) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with _served(server, script):
            yield f"tcp://127.0.0.1:{server.server_address[1]}"


@contextmanager
def _served(server: BaseServer, script: Script) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        script.over.set()
        server.shutdown()
        thread.join()


def certificates(folder: Path) -> dict[str, Path]:
    """Make an authority, a server and a client below a folder with ``openssl``; return the client's files by Docker's names."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "rsa:2048", "-nodes", "-subj")
    openssl("req", "-x509", *new, "/CN=authority", "-keyout", "ca-key.pem", "-out", "ca.pem", "-days", "2")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name, key in (("server", "server-key"), ("cert", "key")):
        openssl("req", *new, f"/CN={name}", "-keyout", f"{key}.pem", "-out", f"{name}.csr")
        signed = ("-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-days", "2", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem")
    return {name: folder / name for name in ("ca.pem", "cert.pem", "key.pem")}
