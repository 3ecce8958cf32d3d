"""Good matrix files, and what they become."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from builder.documents.matrix import examine_matrix, read_matrix, read_matrix_text
from builder.errors import UsageError, Where
from builder.model.axis import AxisValue
from builder.model.matrix import (
    BaseChoice,
    BaseKind,
    BasePolicy,
    Bound,
    EngineName,
    Limits,
    Matrix,
    Packages,
    Runner,
    Tier,
)
from builder.model.oci import ImageReference, Platform
from builder.resources import shipped

HEAD = "imgbuild: 1\nname: m\nmatrix: {framework: [pytorch==2.9.*], stack: [cuda, cpu], python: ['3.12']}\n"
PRODUCT = Path(__file__).parents[2] / "data" / "matrix" / "product.yaml"


def read(more: str) -> Matrix:
    return read_matrix_text(HEAD + more, "m.yaml")


def test_the_example_of_the_product_reads_clean() -> None:
    matrix = read_matrix(PRODUCT)
    assert matrix.name == "pytorch"
    assert str(matrix.repository) == "ghcr.io/acme/pytorch"
    assert [target.name for target in matrix.targets] == ["h100", "a100", "mi300x", "gaudi3", "cpu"]
    assert [target.accelerator for target in matrix.targets][-1] == "cpu/x86-64-v3"
    assert matrix.targets[0].driver == "580.95.05"
    assert matrix.targets[1].runner == Runner(kind="slurm", options={"partition": "a100", "gres": "gpu:1"})
    assert matrix.targets[1].labels == ("self-hosted", "a100")
    assert matrix.targets[4].runner == Runner(kind="local")
    assert [axis.name for axis in matrix.axes] == ["framework", "stack", "python"]
    assert [value.text for value in matrix.axes[2].values] == ["3.10", "3.12"]
    assert matrix.exclude[0].reason == "our NVIDIA hosts are on Python 3.12"
    assert dict(matrix.exclude[0].pattern) == {"stack": AxisValue.parse("cuda"), "python": AxisValue.parse("3.10")}
    assert matrix.base[0].value == (BaseChoice(kind=BaseKind.VENDOR), BaseChoice(kind=BaseKind.DISTRIBUTION))
    assert matrix.packages[1].value == Packages(pip=("bitsandbytes",))
    assert dict(matrix.packages[1].when) == {"stack": (AxisValue.parse("cuda"),)}
    assert matrix.tags == ("{framework}-{stack}-py{python}",)
    assert matrix.publish_tier is Tier.DEVICE
    assert matrix.licence["vault.habana.ai/gaudi-docker"] == "accepted"


def test_what_is_left_out_has_the_documented_default() -> None:
    matrix = read("")
    assert matrix.tags == ("{id}",)
    assert matrix.platforms == (Platform("linux", "amd64"),)
    assert (matrix.engine, matrix.bases, matrix.limits) == (EngineName.AUTO, BasePolicy(), Limits())
    assert (matrix.repository, matrix.publish_tier, matrix.base, matrix.packages) == (None, None, (), ())


def test_every_value_of_an_axis_knows_its_place() -> None:
    matrix = read_matrix(PRODUCT)
    stack = matrix.axes[1]
    assert stack.where == Where(file=str(PRODUCT), line=14, column=3, field="matrix.stack")
    assert stack.value_where[3] == Where(file=str(PRODUCT), line=14, column=30, field="matrix.stack[3]")
    assert matrix.exclude[0].value_where["python"].column == 29
    assert matrix.axes_where == Where(file=str(PRODUCT), line=12, column=1, field="matrix")
    assert matrix.targets[4].where.line == 10
    assert matrix.targets[0].value_where["accelerator"] == Where(
        file=str(PRODUCT), line=6, column=25, field="targets.h100.accelerator"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("base: vendor", (BaseChoice(kind=BaseKind.VENDOR),)),
        ("base: [stack, vendor]", (BaseChoice(kind=BaseKind.STACK), BaseChoice(kind=BaseKind.VENDOR))),
        (
            "base: debian:12",
            (
                BaseChoice(
                    kind=BaseKind.IMAGE, reference=ImageReference(registry="docker.io", repository="library/debian", tag="12")
                ),
            ),
        ),
    ],
)
def test_a_base_is_one_or_a_list(text: str, value: tuple[BaseChoice, ...]) -> None:
    assert [entry.value for entry in read(text).base] == [value]


def test_settings_are_plain_or_entries_with_when() -> None:
    matrix = read(
        """
probes: import
user: 1000
entrypoint: [python, -m, serve, "", "a b"]
env:
  - {env: {A: 1.10, B: "", C: "x\\ny", D: yes}}
  - {when: {stack: [cuda, cpu], python: "3.12"}, env: {A: "$(id) `id` {{ x }}"}}
"""
    )
    assert [entry.value for entry in matrix.probes] == [("import",)]
    assert [entry.value for entry in matrix.user] == ["1000"]
    assert [entry.value for entry in matrix.entrypoint] == [("python", "-m", "serve", "", "a b")]
    assert dict(matrix.env[0].value) == {"A": "1.10", "B": "", "C": "x\ny", "D": "yes"}
    assert matrix.env[0].when == {}
    assert dict(matrix.env[1].value) == {"A": "$(id) `id` {{ x }}"}
    assert [value.text for value in matrix.env[1].when["stack"]] == ["cuda", "cpu"]


def test_an_empty_entry_point_takes_the_bases_away() -> None:
    assert [entry.value for entry in read("entrypoint: []").entrypoint] == [()]


@pytest.mark.parametrize(
    ("size", "bytes_", "seconds", "count"),
    [
        ("20GB", 20 * 10**9, "30m", 1800),
        ("1.5 GiB", 3 * 2**29, "1h30m", 5400),
        ("4096", 4096, "90", 90),
        ('"7 kB"', 7000, "45s", 45),
    ],
)
def test_limits_take_units_or_plain_numbers(size: str, bytes_: int, seconds: str, count: int) -> None:
    assert read(f"limits: {{size: {size}, seconds: {seconds}}}").limits == Limits(size=bytes_, seconds=count)


def test_other_keys_become_what_they_say() -> None:
    matrix = read(
        """
engine: podman
builders: [one, two]
platforms: [linux/arm64, linux/arm/v7]
mirrors: {nvcr.io: registry.local:5000/nv}
indexes: {own: "file:///srv/wheels", far: https://host:8443/simple/}
bases: {mode: mirror, distribution: assembled}
bounds: {matmul.gflops: {minimum: 1.5}, import.seconds: {minimum: -1, maximum: 30.0}}
targets:
  t: {accelerator: aws/trainium2, driver: "2.21.37.0", platform: linux/arm64, engine: graft, container_path: legacy,
      toolkit: "1.17.8-1", nodes: 4, fabric: {efa: 1.43}, runner: slurm}
"""
    )
    assert (matrix.engine, matrix.builders) == (EngineName.PODMAN, ("one", "two"))
    assert matrix.platforms == (Platform("linux", "arm64"), Platform("linux", "arm", "v7"))
    assert matrix.mirrors == {"nvcr.io": "registry.local:5000/nv"}
    assert matrix.indexes["far"] == "https://host:8443/simple/"
    assert matrix.bases == BasePolicy(mode="mirror", distribution="assembled")
    assert matrix.bounds == (
        Bound(name="matmul.gflops", minimum=1.5),
        Bound(name="import.seconds", minimum=-1.0, maximum=30.0),
    )
    target = matrix.targets[0]
    assert (target.engine, target.container_path, target.toolkit, target.nodes) == (EngineName.GRAFT, "legacy", "1.17.8-1", 4)
    assert (target.fabric, target.runner) == ({"efa": "1.43"}, Runner(kind="slurm"))


@pytest.mark.parametrize(
    "driver",
    ["580.95.05", "11040", "module:6.16.13", "30.30.0", "1.24.0", "kernel:6.14 xe", "kernel:6.14 i915|xe", "25.31.34666.3"],
)
def test_every_spelling_of_a_driver_is_read(driver: str) -> None:
    matrix = read(f"targets: {{t: {{accelerator: intel/max-1550, driver: '{driver}'}}}}")
    assert matrix.targets[0].driver == driver


def test_anchors_aliases_and_merge_keys_work() -> None:
    matrix = read(
        """
targets:
  a: &a {accelerator: nvidia/h100, driver: "580.95.05", labels: &l [x, y]}
  b: {<<: *a, driver: "590.44.01"}
  c: {accelerator: nvidia/a100, labels: *l}
packages:
  - {when: &w {stack: cuda}, pip: [one]}
  - {when: *w, apt: [git]}
"""
    )
    assert [target.driver for target in matrix.targets] == ["580.95.05", "590.44.01", None]
    assert matrix.targets[1].accelerator == "nvidia/h100"
    assert matrix.targets[2].labels == ("x", "y")
    assert matrix.packages[1].when == matrix.packages[0].when


def test_of_several_merged_mappings_the_first_wins_and_the_mapping_itself_over_all() -> None:
    matrix = read(
        """
env:
  - {env: &one {A: one, B: one}}
  - {env: &two {B: two, C: two}}
  - {env: {C: own, <<: [*one, *two]}}
"""
    )
    assert dict(matrix.env[2].value) == {"A": "one", "B": "one", "C": "own"}


def test_a_byte_order_mark_is_taken_off() -> None:
    assert read_matrix_text(b"\xef\xbb\xbf" + HEAD.encode(), "m").name == "m"
    assert read_matrix_text("\ufeff" + HEAD, "m").name == "m"
    assert read_matrix_text(HEAD.replace("\n", "\r\n"), "m").name == "m"


def test_json_is_yaml_too() -> None:
    text = '{"imgbuild": 1, "name": "m", "matrix": {"framework": ["jax"], "stack": ["cpu"], "python": ["3.12"]}}'
    assert read_matrix_text(text, "m.json").axes[0].values[0].name == "jax"


@pytest.mark.parametrize("path", sorted(shipped("matrices").glob("*.yaml")), ids=lambda path: path.name)
def test_every_matrix_that_ships_reads_clean(path: Path) -> None:
    if not path.name.endswith(".lock.yaml"):
        assert examine_matrix(path).complaints == ()


def test_a_missing_file_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "quickstart.yaml").write_text(HEAD)
    with pytest.raises(UsageError, match=r"there is no file '.*quikstart.yaml'") as caught:
        read_matrix(tmp_path / "quikstart.yaml")
    assert caught.value.hint == f"did you mean {tmp_path / 'quickstart.yaml'}?"
    with pytest.raises(UsageError) as caught:
        read_matrix(tmp_path / "nowhere" / "x.yaml")
    assert caught.value.hint == "begin with: imgbuild init"


def test_a_folder_and_an_impossible_path_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder, not a file"):
        read_matrix(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_matrix(Path("a\0b"))
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UsageError, match="cannot be read: not a directory"):
        read_matrix(file / "x.yaml")


def test_five_hundred_lines_are_read_in_a_tenth_of_a_second() -> None:
    lines = [
        f"  - {{when: {{stack: cuda, python: ['3.12', '3.{i % 9}']}}, pip: [package-{i}~=1.{i}], apt: [git]}}" for i in range(480)
    ]
    text = HEAD + "targets:\n" + "".join(f"  t{i}: {{accelerator: nvidia/h100, driver: '580.95.05'}}\n" for i in range(20))
    text += "packages:\n" + "\n".join(lines)
    read_matrix_text(text, "m")

    def once() -> float:
        begin = time.process_time()
        read_matrix_text(text, "m")
        return time.process_time() - begin

    assert min(once() for _ in range(5)) < 0.1
