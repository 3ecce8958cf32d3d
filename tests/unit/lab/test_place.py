from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lab import place
from tests.lab.process import birth, pid_of


def made(state: Path) -> place.Place:
    return place.Place(
        state=state, cache=state / "c", registry=5000, registry_tls=5443, proxy=3129, bridge="lab0a1b2c", subnet="198.18.7"
    )


def test_sockets_move_when_the_checkout_lies_deep() -> None:
    near, far = made(Path("/srv/lab")), made(Path("/srv") / ("x" * 60) / "lab")
    assert near.socket("docker") == "unix:///srv/lab/run/docker.sock"
    assert far.socket("docker").startswith("unix:///run/imgbuild-lab-")
    assert len(str(far.daemons)) <= place.LONGEST_SOCKET_FOLDER


def test_podman_has_a_network_of_its_own() -> None:
    here = made(Path("/srv/lab"))
    assert (here.podman_bridge, here.podman_subnet) == ("labp0a1b2c", "198.19.7")
    assert len(here.podman_bridge) <= 15  # the kernel's limit for names of interfaces


def test_a_lab_keeps_the_ports_it_uses_and_gives_up_those_it_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMGBUILD_LAB", str(tmp_path))
    monkeypatch.setattr(place, "free_port", lambda wanted: wanted + 1)
    assert place.existing() is None
    first = place.make(lambda _lab, _service: False)
    assert (first.registry, first.registry_tls, first.proxy) == (5001, 5444, 3130)
    assert place.make(lambda _lab, _service: True) == first == place.existing()
    again = place.make(lambda _lab, service: service == "proxy")
    assert (again.registry, again.registry_tls, again.proxy) == (5002, 5445, 3130)


def test_a_pid_file_of_another_process_counts_for_nothing(tmp_path: Path) -> None:
    pidfile = tmp_path / "x.pid"
    assert pid_of(pidfile) is None
    pidfile.write_text(f"{os.getpid()} {birth(os.getpid())}\n")
    assert pid_of(pidfile) == os.getpid()
    pidfile.write_text(f"{os.getpid()} 1\n")  # the number was given away again
    assert pid_of(pidfile) is None
    pidfile.write_text("nonsense\n")
    assert pid_of(pidfile) is None
