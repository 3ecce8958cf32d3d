"""What tests need of the lab: the fixture ``running_lab``, and no silent skips under CI.

A test that needs the lab carries ``@pytest.mark.lab`` and takes the fixture ``running_lab``. Where the lab
is not up the test is skipped and says so; with ``CI=true`` a skipped lab or engine test has failed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lab import clients, place
from tests.lab.process import pid_of

NEEDS = ("lab", "engine")
NOT_UP = "the lab is not up ('make lab-up' starts it)"
NOT_ITS_OWN = ("DOCKER_CONTEXT", "DOCKER_TLS_VERIFY")  # of the user's own engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """The lab that runs: ``registry`` is HOST:PORT without TLS, ``ca`` the bundle that trusts its stand-ins."""

    state: Path
    registry: str
    proxy: str
    ca: Path
    docker: str
    docker_classic: str | None
    bases: tuple[dict[str, Any], ...]

    def base(self, reference: str) -> dict[str, Any]:
        """Return a stand-in by its reference; skips the test when it could not be made on this host."""
        found = next((one for one in self.bases if one["reference"] == reference), None)
        assert found is not None, f"the lab has no stand-in {reference}; they are in tests/lab/bases"
        if found["missing"]:
            pytest.skip(f"stand-in {reference}: {found['missing']}")
        return found


def found() -> tuple[Lab, dict[str, str]] | None:
    """Return the lab that runs and what its clients' environment adds, ``None`` when it is not up."""
    here = place.existing()
    if here is None or not pid_of(here.run / "docker.pid"):
        return None
    named = clients.variables(here)
    kept = here.state / "bases.json"
    lab = Lab(
        state=here.state,
        registry=named["IMGBUILD_LAB_REGISTRY"],
        proxy=named["IMGBUILD_LAB_PROXY"],
        ca=Path(named["IMGBUILD_LAB_CA"]),
        docker=named["DOCKER_HOST"],
        docker_classic=named.get("IMGBUILD_LAB_DOCKER_CLASSIC"),
        bases=tuple(json.loads(kept.read_text())["bases"]) if kept.exists() else (),
    )
    return lab, {**named, "PATH": f"{here.bin}:{os.environ['PATH']}"}


@pytest.fixture(scope="session")
def lab_session() -> tuple[Lab, dict[str, str]]:
    """Return the lab and a whole environment for programs that use it, for fixtures that outlive one test."""
    lab = found()
    if lab is None:
        pytest.skip(NOT_UP)
    kept = {name: value for name, value in os.environ.items() if name not in NOT_ITS_OWN}
    return lab[0], {**kept, **lab[1]}


@pytest.fixture
def running_lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Return the lab, with its clients' environment set for this test."""
    lab = found()
    if lab is None:
        pytest.skip(NOT_UP)
    for name, value in lab[1].items():
        monkeypatch.setenv(name, value)
    for name in NOT_ITS_OWN:
        monkeypatch.delenv(name, raising=False)
    return lab[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip of a lab or engine test into a failure under CI: there the lab has to be up."""
    report = yield
    wanted = os.environ.get("CI") == "true" and any(item.get_closest_marker(name) for name in NEEDS)
    if wanted and report.skipped and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{why}: under CI a test of the lab may not be skipped"
    return report
