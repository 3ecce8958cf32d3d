"""The lab's services: the registry by http and by TLS, the proxy, and Docker with either image store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.lab import indexes
from tests.lab.names import STAND_INS
from tests.lab.place import CHECKOUT, LabError, Place
from tests.lab.process import end, listens, pid_of, start, stop

SYS_RESOURCE = 24
STORES = {"docker": True, "docker-classic": False}  # daemon: uses containerd's image store
PROXY_NAMES = ("HTTPS_PROXY", "https_proxy")


def registry(place: Place) -> None:
    """Start the registry twice over one storage: plain http, and TLS with every stand-in's name."""
    (place.state / "registry").mkdir(exist_ok=True)
    tls = {"certificate": str(place.tls / "registry.crt"), "key": str(place.tls / "registry.key")}
    for name, port, more in (("registry", place.registry, {}), ("registry-tls", place.registry_tls, {"tls": tls})):
        config = place.run / f"{name}.json"  # every JSON document is YAML
        config.write_text(
            json.dumps(
                {
                    "version": "0.1",
                    "log": {"level": "info", "accesslog": {"disabled": True}},
                    "storage": {"filesystem": {"rootdirectory": str(place.state / "registry")}, "delete": {"enabled": True}},
                    "http": {"addr": f"127.0.0.1:{port}", "secret": "of no use to anybody else", **more},
                }
            )
        )
        start(place, name, [str(place.bin / "docker-registry"), "serve", str(config)], env=bare(place), ready=listens(port))


def proxy(place: Place, also: Sequence[str]) -> None:
    """Start the proxy; another set of hosts to pass restarts it."""
    passed = sorted({*indexes.hosts(), *also})
    kept = place.run / "proxy.hosts"
    if kept.exists() and kept.read_text().split() != passed:
        stop(place, "proxy")
    kept.write_text("\n".join(passed) + "\n")
    command = [sys.executable, "-S", "-m", "tests.lab.proxy", "--port", str(place.proxy)]
    command += ["--to", f"127.0.0.1:{place.registry_tls}", "--lead", *STAND_INS, "--pass", *passed]
    start(place, "proxy", command, env={**bare(place), "PYTHONPATH": str(CHECKOUT)}, ready=listens(place.proxy))


def docker(place: Place, name: str, mtu: int) -> None:
    """Start a Docker daemon of the lab; ``name`` is one of ``STORES``."""
    place.daemons.mkdir(mode=0o700, exist_ok=True)
    config = place.run / f"{name}.json"
    config.write_text(json.dumps(docker_config(place, name, mtu), indent=1))
    leftovers(place, name)
    command = [str(place.bin / "dockerd"), "--config-file", str(config)]
    start(place, name, command, env={**bare(place), **proxied(place)}, ready=answers(place, name))


def docker_config(place: Place, name: str, mtu: int) -> dict[str, object]:
    """Return what dockerd is told; nothing it writes leaves the lab's folder."""
    half = {"docker": "0", "docker-classic": "128"}[name]
    runtime = "runc" if may_raise_limits() else "bounded"
    return {
        "hosts": [place.socket(name)],
        "data-root": str(place.state / name),
        "exec-root": str(place.daemons / f"{name}.exec"),
        "pidfile": str(place.run / f"{name}.own-pid"),
        "features": {"containerd-snapshotter": STORES[name], "cdi": True},
        "cdi-spec-dirs": [str(place.state / "cdi")],
        "bridge": place.bridge,
        "fixed-cidr": f"{place.subnet}.{half}/25",
        "mtu": mtu,
        "iptables": False,
        "ip6tables": False,
        "ip-forward": False,
        "ip-masq": False,
        "userland-proxy-path": str(place.bin / "docker-proxy"),
        "default-runtime": runtime,
        "runtimes": {} if runtime == "runc" else {"bounded": {"path": str(Path(__file__).parent / "runc-bounded")}},
        "insecure-registries": [f"127.0.0.1:{place.registry}"],
        "shutdown-timeout": 5,
        "builder": {"gc": {"enabled": True, "defaultKeepStorage": "20GB"}},
    }


def may_raise_limits() -> bool:
    """Tell whether this root may lower oom scores and raise limits, as runc expects."""
    status = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> SYS_RESOURCE & 1)


def leftovers(place: Place, name: str) -> None:
    """Clear what a daemon that was killed left behind, or the next one refuses to start."""
    if pid_of(place.run / f"{name}.pid"):
        return
    (place.run / f"{name}.own-pid").unlink(missing_ok=True)
    orphan = place.daemons / f"{name}.exec" / "containerd" / "containerd.pid"
    if orphan.exists():
        pid = int(orphan.read_text())
        if b"containerd" in _command(pid):
            end(pid)
        orphan.unlink()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def answers(place: Place, name: str) -> Callable[[], bool]:
    """Return a question: does the daemon answer on its socket."""
    command = [str(place.bin / "docker"), "--host", place.socket(name), "version", "--format", "{{.Server.Version}}"]

    def ask() -> bool:
        if not (place.daemons / f"{name}.sock").exists():
            return False
        return subprocess.run(command, env=bare(place), capture_output=True, check=False).returncode == 0

    return ask


def bare(place: Place) -> dict[str, str]:
    """Return an environment in which no proxy and no other engine of the user is named."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().endswith("_PROXY") and not name.startswith(("DOCKER_", "BUILDX_", "CONTAINER_", "CONTAINERS_"))
    }
    return {**kept, "PATH": f"{place.bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def proxied(place: Place) -> dict[str, str]:
    """Return the variables that lead a client to the stand-ins, and make it trust them."""
    address = f"http://127.0.0.1:{place.proxy}"
    return {
        **dict.fromkeys(PROXY_NAMES, address),
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "SSL_CERT_FILE": str(place.bundle),
    }


def down(place: Place) -> list[str]:
    """Stop every service; return the names of those that ran."""
    names = [*STORES, "proxy", "registry-tls", "registry"]
    ran = [name for name in names if stop(place, name)]
    for name in STORES:
        leftovers(place, name)
    unmount(place)
    return ran


def unmount(place: Place) -> None:
    """Unmount what a killed daemon left mounted below the lab's folders, innermost first."""
    roots = (f"{place.state}/", f"{place.daemons}/")
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in sorted((point for point in points if point.startswith(roots)), reverse=True):
        done = subprocess.run(["umount", "--lazy", point], capture_output=True, text=True, check=False)
        if done.returncode:
            msg = f"cannot unmount {point!r}: {done.stderr.strip()}"
            raise LabError(msg)
