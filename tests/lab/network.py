"""A bridge of the lab's own, with address translation, so that builds reach the archive.

The daemons are told to leave iptables alone (two daemons in one network namespace take each
other's chains away); the rules here are ours, carry our name, and go with the bridge.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.lab.place import Place
from tests.lab.process import run, succeeds

FORWARD = Path("/proc/sys/net/ipv4/ip_forward")


def rules(place: Place) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the rules as (table, chain, the rest)."""
    mark = ("-m", "comment", "--comment", f"imgbuild {place.bridge}")
    answers = ("-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED")
    return [
        ("nat", "POSTROUTING", ("-s", f"{place.subnet}.0/24", "!", "-o", place.bridge, *mark, "-j", "MASQUERADE")),
        ("filter", "FORWARD", ("-i", place.bridge, *mark, "-j", "ACCEPT")),
        ("filter", "FORWARD", ("-o", place.bridge, *answers, *mark, "-j", "ACCEPT")),
    ]


def up(place: Place) -> int:
    """Make the bridge and its rules where they are missing; return its MTU."""
    mtu = outside_mtu()
    if not Path(f"/sys/class/net/{place.bridge}").exists():
        run(["ip", "link", "add", place.bridge, "type", "bridge"])
        run(["ip", "link", "set", place.bridge, "mtu", str(mtu), "up"])
        run(["ip", "address", "add", f"{place.subnet}.1/24", "dev", place.bridge])
    for table, chain, rest in rules(place):
        if not succeeds(["iptables", "-w", "-t", table, "-C", chain, *rest]):
            run(["iptables", "-w", "-t", table, "-I", chain, *rest])
    turned = place.run / "ip_forward"
    if FORWARD.read_text().strip() == "0":
        FORWARD.write_text("1")
        turned.touch()
    return mtu


def down(place: Place) -> None:
    """Take away what ``up`` made. Forwarding is switched off again unless another bridge may need it."""
    for table, chain, rest in rules(place):
        while succeeds(["iptables", "-w", "-t", table, "-D", chain, *rest]):
            pass
    for bridge in (place.bridge, place.podman_bridge):
        if Path(f"/sys/class/net/{bridge}").exists():
            run(["ip", "link", "delete", bridge])
    turned = place.run / "ip_forward"
    if turned.exists():
        if not list(Path("/sys/class/net").glob("*/bridge")):
            FORWARD.write_text("0")
        turned.unlink()


def outside_mtu() -> int:
    """Return the MTU of the interface that leads outside; 1500 when there is none."""
    routes = json.loads(run(["ip", "-json", "route", "show", "default"]) or "[]")
    if not routes:
        return 1500
    return int(Path(f"/sys/class/net/{routes[0]['dev']}/mtu").read_text())
