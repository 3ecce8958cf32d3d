"""Where the lab keeps things, and the names and numbers it took for itself.

Everything that belongs to one lab lies in its state folder (``IMGBUILD_LAB``, default
``.state/lab`` of the checkout); what any lab of this user may use again lies in the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
LONGEST_SOCKET_FOLDER = 40  # a unix socket's path has 107 bytes; below a longer folder podman waits 20 s for each container

PORTS = {"registry": "registry", "registry-tls": "registry_tls", "proxy": "proxy"}  # service: the field with its port
PORTS_WANTED = {"registry": 5000, "registry_tls": 5443, "proxy": 3129}


class LabError(Exception):
    """Something the lab cannot do here; the message says what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One lab: its folders, its ports on 127.0.0.1, and its bridge."""

    state: Path
    cache: Path
    registry: int
    registry_tls: int
    proxy: int
    bridge: str
    subnet: str  # the first three numbers of a /24

    @property
    def run(self) -> Path:
        """Pid files and the sockets of daemons."""
        return self.state / "run"

    @property
    def log(self) -> Path:
        """One log file per service."""
        return self.state / "log"

    @property
    def bin(self) -> Path:
        """Links to the programs that the lab brings itself; first in ``PATH`` of the lab."""
        return self.state / "bin"

    @property
    def tls(self) -> Path:
        """The lab's own authority, its certificate, and the bundle that trusts it too."""
        return self.state / "tls"

    @property
    def bundle(self) -> Path:
        """The system's certificates and the lab's authority in one file."""
        return self.tls / "bundle.crt"

    @property
    def daemons(self) -> Path:
        """Where daemons keep sockets: in the state folder, or in a short one when its path is too long."""
        if len(str(self.run)) <= LONGEST_SOCKET_FOLDER:
            return self.run
        return Path("/run") / f"imgbuild-lab-{short_name(self.state)}"

    @property
    def podman_bridge(self) -> str:
        """The bridge of podman's network; podman makes it when it needs it."""
        return self.bridge.replace("lab", "labp")

    @property
    def podman_subnet(self) -> str:
        """The first three numbers of podman's /24."""
        return self.subnet.replace("198.18.", "198.19.")

    def socket(self, daemon: str) -> str:
        """Return the address of a Docker daemon of the lab."""
        return f"unix://{self.daemons / daemon}.sock"


def short_name(state: Path) -> str:
    """Return six hex digits that stand for a state folder."""
    return hashlib.sha256(str(state).encode()).hexdigest()[:6]


def state_folder() -> Path:
    """Return the lab's folder, made by nobody yet perhaps."""
    return Path(os.environ.get("IMGBUILD_LAB") or CHECKOUT / ".state" / "lab").resolve()


def cache_folder() -> Path:
    """Return the cache that all labs of this user share."""
    if own := os.environ.get("IMGBUILD_LAB_CACHE"):
        return Path(own).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "imgbuild-lab"


def existing() -> Place | None:
    """Return the lab that was made here, ``None`` when there is none."""
    state = state_folder()
    try:
        kept = json.loads((state / "lab.json").read_text())
    except FileNotFoundError:
        return None
    return Place(state=state, cache=cache_folder(), **kept)


def make(running: Callable[[Place, str], bool]) -> Place:
    """Return the lab of this checkout, with ports and a subnet that are free where it does not use them itself.

    ``running`` tells whether a service of the lab runs; the port of one that does not may have been taken since.
    """
    state = state_folder()
    number = int(short_name(state), 16)
    found = existing()
    kept: dict[str, Any] = {"bridge": f"lab{short_name(state)}", "subnet": f"198.18.{number % 250 + 1}"}
    for service, port in PORTS.items():
        wanted = getattr(found, port) if found else PORTS_WANTED[port]
        kept[port] = wanted if found and running(found, service) else free_port(wanted)
    for folder in ("run", "log", "bin", "tls"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    draft = state / "lab.json.new"
    draft.write_text(json.dumps(kept, indent=1) + "\n")
    draft.replace(state / "lab.json")
    return Place(state=state, cache=cache_folder(), **kept)


def free_port(wanted: int) -> int:
    """Return the wanted port of 127.0.0.1 when nobody listens there, else one of the next hundred."""
    for port in range(wanted, wanted + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    msg = f"no port from {wanted} to {wanted + 99} is free on 127.0.0.1"
    raise LabError(msg)
