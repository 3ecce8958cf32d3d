"""The guard: a unit test reaches nothing outside its process unless a marker says so."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest
from hypothesis import settings

pytest_plugins = ("tests.lab.fixtures",)

# No example is timed: a machine may be slow. In CI the examples are the same every time, so that a failure can be had again.
settings.register_profile("imgbuild", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("imgbuild")

SWITCHES = ("engine", "lab", "network", "process")


@pytest.fixture(autouse=True)
def no_outside_world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail any test that starts a program or opens a connection without saying so by a marker."""
    if any(request.node.get_closest_marker(name) for name in SWITCHES):
        return

    def refuse(*args: object, **kwargs: object) -> None:
        msg = f"a unit test reached the outside world: {args} {kwargs}"
        raise RuntimeError(msg)

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
