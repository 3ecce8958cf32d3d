"""What the clients of the lab are told: Docker's, podman's and skopeo's files, and the environment."""

from __future__ import annotations

import json
import resource
import shlex
from pathlib import Path

from tests.lab.daemons import STORES, proxied
from tests.lab.place import Place
from tests.lab.process import pid_of


def make(place: Place, programs: Path) -> None:
    """Write the clients' configuration into the lab's folder."""
    docker = place.state / "docker-config"
    docker.mkdir(exist_ok=True)
    (docker / "config.json").write_text(json.dumps({"cliPluginsExtraDirs": [str(programs / "usr/libexec/docker/cli-plugins")]}))
    podman = place.state / "podman"
    podman.mkdir(exist_ok=True)
    (podman / "containers.conf").write_text(containers_conf())
    (podman / "storage.conf").write_text(storage_conf(place))
    (podman / "registries.conf").write_text(registries_conf(place))


def containers_conf() -> str:
    """Return podman's settings: runc and cgroupfs (crun refuses hybrid cgroups), no proxy in containers."""
    limits = []
    for name, kind, wanted in (("nofile", resource.RLIMIT_NOFILE, 65536), ("nproc", resource.RLIMIT_NPROC, 32768)):
        hard = resource.getrlimit(kind)[1]
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        limits.append(f'"{name}={most}:{most}"')
    return (
        f"[containers]\ndefault_ulimits = [{', '.join(limits)}]\nhttp_proxy = false\n"
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
        '[network]\nnetwork_backend = "netavark"\n'
    )


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
