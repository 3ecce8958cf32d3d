"""Where the lab keeps things, and the names and numbers it took for itself.

Everything that belongs to one lab lies in its state folder (``IMGBUILD_LAB``, default
``.state/lab`` of the checkout); what any lab of this user may use again lies in the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
LONGEST_SOCKET_FOLDER = 40  # a unix socket's path has 107 bytes; below a longer folder podman waits 20 s for each container


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


def make() -> Place:
    """Return the lab of this checkout, taking ports and a subnet that are free when it is new."""
    if found := existing():
        return found
    state = state_folder()
    number = int(short_name(state), 16)
    kept = {
        "registry": free_port(5000),
        "registry_tls": free_port(5443),
        "proxy": free_port(3129),
        "bridge": f"lab{short_name(state)}",
        "subnet": f"198.18.{number % 250 + 1}",
    }
    for folder in ("run", "log", "bin", "tls"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    draft = state / "lab.json.new"
    draft.write_text(json.dumps(kept, indent=1) + "\n")
    draft.replace(state / "lab.json")
    return Place(state=state, cache=cache_folder(), **kept)  # type: ignore[arg-type]  # both types are right by name


def free_port(wanted: int) -> int:
    """Return the wanted port of 127.0.0.1 when nobody listens there, else another."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    msg = f"no port is free on 127.0.0.1, not even one other than {wanted}"
    raise LabError(msg)
