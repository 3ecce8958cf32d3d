"""Docker's classic image store keeps no manifests: there is no digest to say, and all else is as elsewhere."""

from __future__ import annotations

import pytest

from tests.engine.command import Imgbuild, ask
from tests.engine.places import Place, small
from tests.lab.fixtures import Lab

pytestmark = [pytest.mark.lab, pytest.mark.engine("docker-classic")]
VARIANT = "onnxruntime1.31.1-cpu-py3.12"


def test_a_build_on_the_classic_store(place: Place, imgbuild: Imgbuild, lab_session: tuple[Lab, dict[str, str]]) -> None:
    if lab_session[0].docker_classic is None:
        pytest.skip("the lab has no Docker with the classic store ('lab up --classic' starts one)")
    there = imgbuild.within(DOCKER_HOST=lab_session[0].docker_classic)
    matrix = place.matrix("classic", **small())
    command = ("matrix", "build", matrix.path, "--json", "--engine", "docker")
    done = there(*command)
    assert done.code == 0, done.stderr
    outcome = done.outcomes[VARIANT]
    assert (outcome["tier"], outcome["digest"], outcome["digests"], outcome["fresh"]) == ("imported", None, {}, True)
    (tag,) = place.tags("docker", there.environ)
    (row,) = there("matrix", "table", matrix.path, "--json").document["rows"]
    assert (row["tier"], row["digest"]) == ("imported", None)
    assert row["image_id"] == ask(there.environ, "docker", "image", "inspect", "--format", "{{.Id}}", tag).strip()
    assert not there(*command).outcomes[VARIANT]["fresh"]
    ask(there.environ, "docker", "image", "rm", tag)
