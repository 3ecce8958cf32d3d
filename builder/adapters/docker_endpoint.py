"""Where the ``docker`` program finds its daemon, and whether the SDK can reach it in the same way.

The program is asked, once, and not the SDK's ``docker.context``: that one takes the local daemon
where ``DOCKER_CONTEXT`` names a context that it does not find, and looks for contexts beside
``config.json`` only. Images must be looked for where they were built.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from builder.adapters.docker_daemon import ENV, SECONDS, last_line, not_answering, not_reached
from builder.adapters.image_json import parsed
from builder.errors import HostBlockedError
from builder.ports import ProcessRunner

_PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A daemon's address as Docker writes it, and the files of TLS by name: ``ca.pem``, ``cert.pem``, ``key.pem``."""

    host: str
    tls: Mapping[str, Path]
    unverified: bool = False

    def knock(self) -> None:
        """Raise ``HostBlockedError`` when nobody listens at the daemon's socket; other addresses are left alone.

        The SDK does not close a socket that it could not connect.
        """
        if self.host.startswith("unix://"):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(SECONDS)
                try:
                    probe.connect(self.host.removeprefix("unix://"))
                except OSError as error:
                    raise not_reached(self.host, error) from error

    def suits_sdk(self, environ: Mapping[str, str]) -> bool:
        """Return whether the SDK reaches this daemon in the program's way: no ssh, no proxy, no TLS without an authority."""
        address = urlsplit(self.host)
        if address.scheme == "unix":
            return True
        if address.scheme != "tcp" or self.unverified or (self.tls and "ca.pem" not in self.tls):
            return False
        return address.hostname in _LOOPBACK or not any(environ.get(name) for name in _PROXIES)


def find_endpoint(processes: ProcessRunner, environ: Mapping[str, str]) -> Endpoint:
    """Return the endpoint of the current context: ``DOCKER_HOST``, ``DOCKER_CONTEXT`` or what 'docker context use' chose.

    ``HostBlockedError`` when it names none, ``ProgramError`` when the program is missing.
    """
    done = processes.run(["docker", "context", "inspect", "--format", "{{json .}}"], env=ENV, seconds=SECONDS)
    if done.code != 0 or done.timed_out:
        hint = "check DOCKER_HOST, DOCKER_CONTEXT and 'docker context ls', or use --engine podman"
        raise not_answering(last_line(done.stderr) or f"it ended with code {done.code}", hint=hint)
    found = parsed(done.stdout, "docker context inspect")
    docker = _field(found, "Endpoints", "docker")
    host = docker.get("Host")
    if not host:
        raise _unknown(done.stdout)
    names: Sequence[str] = _field(found, "TLSMaterial").get("docker") or ()
    folder = _tls_folder(_field(found, "Storage").get("TLSPath") or "", environ)
    return Endpoint(
        host=str(host),
        tls={name: folder / name for name in names},
        unverified=bool(docker.get("SkipTLSVerify")),
    )


def _tls_folder(kept: str, environ: Mapping[str, str]) -> Path:
    """Return the folder of a context's TLS files; those of the default context are named by the environment."""
    if Path(kept).is_absolute():
        return Path(kept) / "docker"
    return Path(environ.get("DOCKER_CERT_PATH") or environ.get("DOCKER_CONFIG") or Path.home() / ".docker")


def _field(found: Any, *names: str) -> Mapping[str, Any]:  # noqa: ANN401 - JSON of another program
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _unknown(text: str) -> HostBlockedError:
    return not_answering(f"its context names no host: {text.strip()[:200]}", hint="look at 'docker context inspect'")
