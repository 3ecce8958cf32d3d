"""How a container gets the devices of a stack, as the vendors' documents say."""

from __future__ import annotations

import pytest

from builder.catalog.query import load_catalog


@pytest.mark.parametrize(
    ("stack", "engine", "options"),
    [
        ("cuda", "docker", ("--gpus", "all")),
        ("cuda", "podman", ("--device", "nvidia.com/gpu=all")),
        ("gaudi", "docker", ("--runtime=habana", "--env", "HABANA_VISIBLE_DEVICES=all", "--ipc=host")),
        ("neuron", "podman", ("--device", "/dev/neuron0")),
    ],
)
def test_the_options_are_those_the_vendor_names(stack: str, engine: str, options: tuple[str, ...]) -> None:
    found = load_catalog().stack(stack)
    assert found is not None
    assert found.run[engine] == options


def test_the_cpu_needs_none() -> None:
    cpu = load_catalog().stack("cpu")
    assert cpu is not None
    assert cpu.run == {}
