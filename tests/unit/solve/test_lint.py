"""Complaints that only the catalog can make, and what-if questions."""

from __future__ import annotations

import pytest

from builder.errors import UsageError
from builder.model.oci import Platform
from builder.solve.lint import lint
from builder.solve.overrides import with_overrides
from tests.unit.solve.asking import catalog, matrix

WRONG = """
imgbuild: 1
name: wrong
targets:
  a: {accelerator: nvidia/h1000}
  b: {accelerator: nvidia/a100-80gb}
  c: {accelerator: nvidia/gh200, driver: "580.95.05"}
  d: {accelerator: cpu/x86-64-v3, driver: "1.0"}
  e: {accelerator: amd/mi300x, driver: "6.0.5"}
  f: {accelerator: acme/box}
matrix:
  framework: [pytroch==2.9.*, pytorch==2.9.*]
  stack: [cdua, cpu==1.0]
  python: ["3.12"]
  include:
    - {framework: opnvino, stack: cpu, python: "3.12"}
"""


def test_every_name_nobody_has_is_said_with_its_place() -> None:
    found = [(item.where.line, item.message, item.hint) for item in lint(matrix(WRONG), catalog())]
    assert found == [
        (5, "the catalog has no accelerator 'nvidia/h1000'", "did you mean nvidia/h100 or nvidia/v100 or nvidia/p100?"),
        (6, "the catalog has no accelerator 'nvidia/a100-80gb'", "did you mean nvidia/a100?"),
        (7, "nvidia/gh200 sits in linux/arm64 hosts, and the target 'c' is linux/amd64", "write platform: linux/arm64"),
        (8, "cpu/x86-64-v3 has no driver, and '1.0' is given", "leave driver out"),
        (
            9,
            "'6.0.5' means two things: a driver of series 6.0, and the kernel module of series 5.5",
            "write 6.0 for the driver, or module:6.0.5 for the module",
        ),
        (10, "the catalog has no accelerator 'acme/box'", "known vendors are: amd, aws, cpu, google, intel, nvidia"),
        (12, "the catalog has no framework 'pytroch'", "did you mean pytorch?"),
        (13, "the catalog has no stack 'cdua'", "did you mean cuda?"),
        (13, "'cpu==1.0' asks for a version, and cpu has none", "write cpu"),
        (16, "the catalog has no framework 'opnvino'", "did you mean openvino?"),
    ]


def test_the_place_is_that_of_the_key() -> None:
    fields = [item.where.field for item in lint(matrix(WRONG), catalog())]
    assert fields[:5] == ["targets.a.accelerator", "targets.b.accelerator", "targets.c", "targets.d.driver", "targets.e.driver"]


@pytest.mark.parametrize(
    ("accelerator", "driver", "message", "hint"),
    [
        (
            *("nvidia/h100", "580", "'580' is a series of drivers at most, not the version of one"),
            "write the whole version, such as 580.95.05",
        ),
        (
            *("nvidia/h100", "12070", "'12070' reads as the driver of cuda 12.7, and the catalog does not know which that is"),
            "write the driver's own number instead, as nvidia-smi shows it, such as 620.10",
        ),
        (
            *("nvidia/h100", "module:580.95.05", "'module:580.95.05' names a kernel module, as AMD numbers it, "),
            "write the version that the host shows, such as 620.10",
        ),
        (
            *("amd/mi300x", "kernel:6.14 xe", "'kernel:6.14 xe' names the kernel's own driver, as Intel GPUs have it, "),
            "write the version that the host shows, such as 31.50.10",
        ),
        ("google/tpu-v5e", "1.2", "google/tpu-v5e has no driver, and '1.2' is given", "leave driver out"),
    ],
)
def test_a_driver_of_another_kind(accelerator: str, driver: str, message: str, hint: str) -> None:
    text = f'imgbuild: 1\nname: t\ntargets: {{t: {{accelerator: {accelerator}, driver: "{driver}"}}}}\n'
    (found,) = lint(matrix(text + 'matrix: {framework: [torch], stack: [cuda], python: ["3.12"]}\n'), catalog())
    assert (found.message.startswith(message), found.hint, found.where.field) == (True, hint, "targets.t.driver")


def test_nothing_to_say_of_a_sound_one() -> None:
    text = 'imgbuild: 1\nname: sound\ntargets: {t: {accelerator: intel/max-1550, driver: "kernel:6.14 i915|xe"}}\n'
    assert lint(matrix(text + 'matrix: {framework: [torch], stack: [xpu], python: ["3.12"]}\n'), catalog()) == ()


def test_overrides_replace_one_setting_of_a_target() -> None:
    read = matrix(WRONG)
    changed = with_overrides(read, {"e.driver": "30.30.0", "c.platform": "linux/arm64"})
    by_name = {target.name: target for target in changed.targets}
    assert by_name["e"].driver == "30.30.0"
    assert by_name["c"].platform == Platform("linux", "arm64")
    assert by_name["a"] is read.targets[0]


@pytest.mark.parametrize(
    ("key", "message", "hint"),
    [
        ("g.driver", "the matrix has no target 'g' (in 'g.driver')", "targets are: a, b, c, d, e, f"),
        ("driver", "the matrix has no target 'driver' (in 'driver')", "targets are: a, b, c, d, e, f"),
        ("e.drivr", "a target has no setting 'drivr' that can be tried out", "did you mean e.driver?"),
        ("e.platform", "'x' is not a platform such as linux/amd64", "write a platform such as linux/arm64"),
        ("e.container_path", "'x' is no way for devices to get into containers", "write legacy or cdi"),
    ],
)
def test_overrides_that_mean_nothing(key: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_overrides(matrix(WRONG), {key: "x"})
    assert (caught.value.message, caught.value.hint) == (message, hint)
