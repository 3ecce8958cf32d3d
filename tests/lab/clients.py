"""What the clients of the lab are told: Docker's, podman's and skopeo's files, and the environment."""

from __future__ import annotations

import json
import resource
import shlex
from pathlib import Path

from tests.lab.daemons import STORES, proxied
from tests.lab.place import Place
from tests.lab.process import pid_of

PODMAN_NETWORK = "2f259bab93aaaaa2542ba43ef33eb990d0999ee1b9924b557b7be53c0b7a1bb9"  # the id podman gives its default network


def make(place: Place, programs: Path) -> None:
    """Write the clients' configuration into the lab's folder."""
    docker = place.state / "docker-config"
    docker.mkdir(exist_ok=True)
    (docker / "config.json").write_text(json.dumps({"cliPluginsExtraDirs": [str(programs / "usr/libexec/docker/cli-plugins")]}))
    podman = place.state / "podman"
    podman.mkdir(exist_ok=True)
    (podman / "networks").mkdir(exist_ok=True)
    (podman / "networks" / "podman.json").write_text(network_json(place))
    (podman / "containers.conf").write_text(containers_conf(place))
    (podman / "storage.conf").write_text(storage_conf(place))
    (podman / "registries.conf").write_text(registries_conf(place))


def containers_conf(place: Place) -> str:
    """Return podman's settings.

    runc and cgroupfs, because crun refuses hybrid cgroups; limits that this root may set; locks, events
    and networks of the lab's own, so that no other podman of this host notices.
    """
    limits = []
    for name, kind, wanted in (("nofile", resource.RLIMIT_NOFILE, 65536), ("nproc", resource.RLIMIT_NPROC, 32768)):
        hard = resource.getrlimit(kind)[1]
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        limits.append(f'"{name}={most}:{most}"')
    return (
        f"[containers]\ndefault_ulimits = [{', '.join(limits)}]\nhttp_proxy = false\n"
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nlock_type = "file"\n'
        f'tmp_dir = "{place.daemons / "podman" / "libpod"}"\n'
        f'[network]\nnetwork_backend = "netavark"\nnetwork_config_dir = "{place.state / "podman" / "networks"}"\n'
    )


def network_json(place: Place) -> str:
    """Return podman's default network, on a bridge and a subnet of the lab's own."""
    return json.dumps({
        "name": "podman",
        "id": PODMAN_NETWORK,
        "driver": "bridge",
        "network_interface": place.podman_bridge,
        "created": "2026-01-01T00:00:00Z",
        "subnets": [{"subnet": f"{place.podman_subnet}.0/24", "gateway": f"{place.podman_subnet}.1"}],
        "ipv6_enabled": False,
        "internal": False,
        "dns_enabled": False,
        "ipam_options": {"driver": "host-local"},
    })  # fmt: skip


def storage_conf(place: Place) -> str:
    """Return where podman and buildah keep images: in the lab's folder."""
    root, run = place.state / "podman" / "storage", place.daemons / "podman"
    return f'[storage]\ndriver = "overlay"\ngraphroot = "{root}"\nrunroot = "{run}"\n'


def registries_conf(place: Place) -> str:
    """Return podman's registries: the lab's own answers without TLS."""
    own = f'[[registry]]\nlocation = "127.0.0.1:{place.registry}"\ninsecure = true\n'
    return f'unqualified-search-registries = ["docker.io"]\n{own}'


def variables(place: Place) -> dict[str, str]:
    """Return the environment of the lab's clients, ``PATH`` apart."""
    podman = place.state / "podman"
    named = {
        "IMGBUILD_LAB": str(place.state),
        "IMGBUILD_LAB_REGISTRY": f"127.0.0.1:{place.registry}",
        "IMGBUILD_LAB_PROXY": f"http://127.0.0.1:{place.proxy}",
        "IMGBUILD_LAB_CA": str(place.bundle),
        "DOCKER_CONFIG": str(place.state / "docker-config"),
        "CONTAINERS_CONF": str(podman / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(podman / "storage.conf"),
        "CONTAINERS_REGISTRIES_CONF": str(podman / "registries.conf"),
        **proxied(place),
        "REQUESTS_CA_BUNDLE": str(place.bundle),
    }
    for name in STORES:
        if pid_of(place.run / f"{name}.pid"):
            variable = "DOCKER_HOST" if name == "docker" else "IMGBUILD_LAB_DOCKER_CLASSIC"
            named[variable] = place.socket(name)
    return named


def exports(place: Place) -> str:
    """Return shell lines for ``eval``."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables(place).items()]
    lines += [f'export PATH={shlex.quote(str(place.bin))}:"$PATH"', "unset DOCKER_CONTEXT DOCKER_TLS_VERIFY"]
    return "\n".join(lines) + "\n"
