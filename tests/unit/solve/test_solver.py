"""What the axes mean: which candidate a cell gets."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from builder.catalog.query import load_catalog
from builder.errors import DocumentError, Where
from builder.model.axis import AxisValue
from builder.model.matrix import Axis, BaseKind, Cell, Expansion, Matrix
from builder.model.verdict import Effect, Verdict
from builder.solve.solver import plan
from tests.unit.solve.asking import catalog, matrix, one, planned, rules


@pytest.mark.parametrize(
    ("framework", "version"),
    [
        ("pytorch==2.9.*", "2.9.0a0+145a3a7bda"),
        ("pytorch==2.10.*", "2.10.0a0+a36e1d39eb"),
        ("pytorch<2.9", "2.8.0a0+34c6371d24"),
        ("pytorch>=2.9,<2.10", None),
        ("pytorch==2.9.1", None),
        ("pytorch~=2.9.0", None),
    ],
)
def test_pre_releases_of_a_vendor(framework: str, version: str | None) -> None:
    cell = one(framework, "cuda", "3.12", base="[vendor]")
    assert (str(cell.variant.framework.version) if cell.variant else None) == version
    assert (cell.variant is not None) is ("PKG004" in {reason.rule for reason in cell.reasons})


def test_a_pin_on_released_versions_falls_to_the_wheel() -> None:
    cell = one("pytorch>=2.9,<2.10", "cuda", "3.12")
    assert cell.variant is not None
    assert cell.variant.id == "pytorch2.9.1-cuda13.0-py3.12"
    assert (cell.variant.pip, [index.name for index in cell.variant.indexes]) == (("torch==2.9.1",), ["pytorch-cu130"])


def test_only_the_framework_comes_from_its_index() -> None:
    cell = one("pytorch==2.9.1", "rocm==6.4.*", "3.12", base="[distribution]")
    assert cell.variant is not None
    (index,) = cell.variant.indexes
    assert index.only == ("torch", "torchvision", "torchaudio", "pytorch-triton-rocm", "triton-rocm")


def test_a_matrix_may_say_where_an_index_is() -> None:
    cell = one("pytorch==2.9.1", "cpu", "3.12", base="[distribution]", indexes="{pytorch-cpu: https://mirror.example/cpu}")
    assert cell.variant is not None
    assert [(index.name, index.url) for index in cell.variant.indexes] == [("pytorch-cpu", "https://mirror.example/cpu")]


def test_the_newest_stack_that_some_target_carries() -> None:
    target = '{old: {accelerator: nvidia/v100, driver: "535.104.05"}}'
    cell = one("pytorch==2.9.1", "cuda", "3.12", base="[distribution]", targets=target)
    assert cell.variant is not None
    assert str(cell.variant.stack.version) == "12.8"
    cause = "cuda 12.9 is the last for nvidia/v100 (sm_70); cuda 13.0 has dropped it"
    assert [reason.text for reason in cell.reasons if reason.effect is Effect.REFUSES] == [
        f"passed over distribution: pytorch 2.9.1 on cuda 13.0: unsupported on old: {cause}"
    ]


def test_a_cell_is_kept_when_one_of_its_targets_carries_it() -> None:
    targets = '{old: {accelerator: nvidia/v100, driver: "535.104.05"}, new: {accelerator: nvidia/h100, driver: "580.95.05"}}'
    cell = one("pytorch==2.9.1", "cuda", "3.12", base="[distribution]", targets=targets)
    assert cell.variant is not None
    assert str(cell.variant.stack.version) == "13.0"
    assert cell.verdicts["old"].verdict is Verdict.UNSUPPORTED
    assert cell.verdicts["new"].verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(("stack", "chosen"), [("rocm", "7.2.4"), ("rocm>=7", "7.2.4"), ("rocm==7.13.0", "7.13.0")])
def test_previews_are_chosen_only_by_name(tmp_path: Path, stack: str, chosen: str) -> None:
    image = "{reference: 'rocm/pytorch:preview', version: 2.9.1, stack_version: 7.13.0, python: '3.12'}"
    (tmp_path / "bases").mkdir()
    (tmp_path / "bases" / "pytorch-rocm.yaml").write_text(f"images: [{image}]\n", encoding="utf-8")
    cell = one("pytorch==2.9.1", stack, "3.12", knowing=load_catalog(tmp_path))
    assert cell.variant is not None
    assert str(cell.variant.stack.version) == chosen
    assert ("STK001" in {reason.rule for reason in cell.reasons}) is (chosen == "7.2.4")


@pytest.mark.parametrize(
    ("python", "image"),
    [
        ("3.10", "ubuntu:22.04"),
        ("3.11", "debian:12-slim"),
        ("3.12", "ubuntu:24.04"),
        ("3.13", "debian:13-slim"),
        ("3.14", "ubuntu:26.04"),
    ],
)
def test_the_distribution_is_the_newest_whose_own_python_it_is(python: str, image: str) -> None:
    cell = one("openvino==2026.4.*", "cpu", python, base="[distribution]")
    assert cell.variant is not None
    assert str(cell.variant.base.reference) == f"docker.io/library/{image}"


def test_a_python_no_distribution_has() -> None:
    cell = one("pytorch==2.15.*", "cpu", "3.15", base="[distribution]")
    assert cell.variant is None
    assert [reason.rule for reason in cell.reasons] == ["BAS002"]


def test_a_python_no_wheel_has() -> None:
    cell = one("onnxruntime==1.32.*", "cpu", "3.10", base="[distribution]")
    assert cell.variant is None
    assert cell.candidate == "onnxruntime1.32.0-cpu-py3.10"
    assert [reason.text for reason in cell.reasons] == [
        "passed over distribution: onnxruntime 1.32.0 on cpu: it is for Python 3.11 3.12 3.13 3.14, and the cell asks for 3.10"
    ]


def test_one_cause_over_many_versions_is_one_range() -> None:
    cell = one("onnxruntime>=1.24", "cpu", "3.10", base="[distribution]")
    cause = "it is for Python 3.11 3.12 3.13 3.14, and the cell asks for 3.10"
    assert [reason.text for reason in cell.reasons] == [
        f"passed over distribution: onnxruntime 1.24.1 to 1.32.0 on cpu (14 releases): {cause}"
    ]


def test_the_c_library_of_a_distribution_is_compared() -> None:
    cell = one("onnxruntime==1.31.*", "cuda", "3.11", base="[distribution]", platforms="[linux/arm64]")
    assert cell.variant is not None
    assert cell.variant.base.distribution is not None
    assert cell.variant.base.distribution.glibc == "2.36"
    old = one("pytorch==2.9.1", "cpu", "3.8", base="[distribution]")
    assert "PKG001" in {reason.rule for reason in old.reasons}


def test_platforms_that_a_build_lacks_are_left_out_and_named() -> None:
    cell = one("pytorch==2.9.*", "rocm", "3.12", platforms="[linux/amd64, linux/arm64]")
    assert cell.variant is not None
    assert [str(platform) for platform in cell.variant.platforms] == ["linux/amd64"]
    assert "PLT004" in {reason.rule for reason in cell.reasons}
    none = one("pytorch==2.9.*", "rocm", "3.12", platforms="[linux/arm64]")
    assert none.variant is None
    assert {reason.rule for reason in none.reasons} == {"PLT003"}


def test_a_stack_image_under_a_wheel() -> None:
    cell = one("pytorch==2.9.1", "cuda==12.8.*", "3.12", base="[stack]")
    assert cell.variant is not None
    assert str(cell.variant.base.reference) == "docker.io/nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04"
    assert cell.variant.base.kind is BaseKind.STACK
    assert cell.variant.pip == ("torch==2.9.1",)
    other = one("pytorch==2.9.1", "cuda==12.8.*", "3.11", base="[stack]")
    assert {reason.rule for reason in other.reasons} == {"BAS003"}


def test_an_image_as_base() -> None:
    cell = one("onnxruntime==1.32.*", "cpu", "3.12", base='["python:3.12-slim"]')
    assert cell.variant is not None
    assert str(cell.variant.base.reference) == "docker.io/library/python:3.12-slim"
    assert cell.variant.base.kind is BaseKind.IMAGE


@pytest.mark.parametrize(
    ("framework", "stack", "base", "instead"),
    [
        ("pytorch==9.*", "cuda", "vendor", "; on cuda there is pytorch 2.2.0a0+81ea7a4 to 2.14.0a0+4fdf77b940"),
        ("pytorch==2.9.*", "cuda==12.9.*", "distribution", "; pytorch==2.9.* is there on cuda 12.6, 12.8, 13.0"),
        ("pytorch==9.*", "cuda==12.9.*", "distribution", "; on cuda==12.9.* there is pytorch 2.8.0"),
        ("pytorch==2.9.*", "cpu", "vendor", ""),
    ],
)
def test_what_is_in_no_catalog_is_said_with_the_day_and_what_is(framework: str, stack: str, base: str, instead: str) -> None:
    cell = one(framework, stack, "3.12", base=f"[{base}]")
    assert cell.variant is None
    word = {"vendor": "vendor image", "distribution": "wheel for a distribution"}[base]
    text = f"passed over {base}: no {word} of {framework} on {stack} is in the catalog (checked 2026-12-01){instead}"
    assert [(reason.rule, reason.text) for reason in cell.reasons] == [("CAT001", text)]


def test_a_stack_without_an_image_of_its_own_is_said_as_that() -> None:
    cell = one("pytorch==2.5.*", "cuda==12.1", "3.12", base="[stack]")
    assert [reason.text for reason in cell.reasons] == [
        "passed over stack: no stack image of cuda 12.1 is in the catalog (checked 2026-12-01)"
    ]
    cpu = one("pytorch==2.5.*", "cpu", "3.12", base="[stack]")
    assert [reason.text for reason in cpu.reasons] == [
        "passed over stack: no stack image of cpu is in the catalog (checked 2026-12-01)"
    ]


@pytest.mark.parametrize(
    ("framework", "stack", "text"),
    [
        ("pytorch==2.5.1", "gaudi==1.23.0", "Gaudi 1.23 has PyTorch 2.9.0 and no other"),
        ("tensorflow==2.20.*", "gaudi", "Intel Gaudi has no TensorFlow after its release 1.14 (TensorFlow 2.15)"),
    ],
)
def test_what_is_known_not_to_exist_is_another_sentence(framework: str, stack: str, text: str) -> None:
    cell = one(framework, stack, "3.10", base="[vendor]")
    assert [(reason.rule, reason.effect, reason.text) for reason in cell.reasons] == [
        ("CAT002", Effect.REFUSES, f"passed over vendor: known not to exist: {text}")
    ]


def test_names_the_catalog_lacks_are_answers_not_crashes() -> None:
    where = Where(file="x", line=1, column=1)
    axes = tuple(
        Axis(name=name, values=(AxisValue.parse(value),), where=where)
        for name, value in (("framework", "pytroch"), ("stack", "cuda"))
    )
    asked = Matrix(path="x", name="x", axes=axes, tags_where=where)
    cells = (Cell(index=0, axes=tuple((axis.name, axis.values[0]) for axis in axes)), Cell(index=1, axes=()))
    found = plan(asked, Expansion(cells=cells, excluded=()), catalog()).cells
    assert [[reason.rule for reason in cell.reasons] for cell in found] == [["CAT001"], ["MTX001"]]


def test_an_alias_is_the_framework_it_means() -> None:
    cell = one("torch==2.9.1", "cpu", "3.12")
    assert cell.variant is not None
    assert cell.variant.framework.name == "pytorch"


def test_a_target_without_driver_becomes_a_condition() -> None:
    cell = one("pytorch==2.9.*", "cuda", "3.12", targets="{t: {accelerator: nvidia/h100}}")
    assert cell.verdicts["t"].verdict is Verdict.CONDITIONAL
    assert rules(cell.verdicts["t"], Effect.CONDITIONS) == {"DRV008"}


def test_a_build_that_only_a_naming_rule_knows_is_unknown() -> None:
    targets = '{t: {accelerator: intel/gaudi2, driver: "1.21.0"}}'
    cell = one("pytorch==2.6.*", "gaudi", "3.10", targets=targets)
    assert cell.variant is not None
    assert cell.verdicts["t"].verdict is Verdict.UNKNOWN
    assert "ART002" in rules(cell.verdicts["t"])


SETTINGS = """
imgbuild: 1
name: settings
matrix:
  framework: [onnxruntime==1.31.*, openvino==2026.4.*]
  stack: [cpu]
  python: ["3.12"]
  flavour: [serve, train]
base:
  - {base: [distribution]}
  - {when: {flavour: train}, base: ["python:3.12-slim"]}
packages:
  - {pip: [a, b], apt: [git]}
  - {when: {flavour: serve}, pip: [b, c]}
env:
  - {env: {X: "1", Y: "1"}}
  - {when: {framework: onnxruntime}, env: {Y: "2"}}
user:
  - {when: {flavour: serve}, user: app}
entrypoint:
  - {when: {flavour: serve}, entrypoint: [serve, --now]}
probes:
  - {when: {flavour: train}, probes: [import]}
indexes: {ours: https://pypi.example/simple}
tags: ["{framework}-{flavour}-{base}-{date}", "{id}"]
"""


def test_settings_per_cell() -> None:
    first, second, third, _ = planned(SETTINGS).variants
    assert first.pip == ("onnxruntime==1.31.1", "a", "b", "c")
    assert second.pip == ("onnxruntime==1.31.1", "a", "b")
    assert (dict(first.env), dict(third.env)) == ({"X": "1", "Y": "2"}, {"X": "1", "Y": "1"})
    assert (first.user, second.user) == ("app", None)
    assert (first.entrypoint, second.entrypoint) == (("serve", "--now"), None)
    assert (first.probes, second.probes) == ((), ("import",))
    assert [index.name for index in first.indexes] == ["ours"]
    assert first.own == (("flavour", "serve"),)
    assert first.id == "onnxruntime1.31.1-cpu-py3.12-serve"
    assert first.tags == ("onnxruntime1.31.1-serve-distribution-{date}", "onnxruntime1.31.1-cpu-py3.12-serve")
    assert (second.base.kind, first.base.kind) == (BaseKind.IMAGE, BaseKind.DISTRIBUTION)


def test_a_when_that_would_be_a_guess_is_a_complaint() -> None:
    read = matrix(SETTINGS)
    guess = replace(read.env[1], when={"framework": (AxisValue.parse("onnxruntime>=1"),)})
    cell = Cell(index=0, axes=(("framework", AxisValue.parse("onnxruntime")), ("stack", AxisValue.parse("cpu"))))
    with pytest.raises(DocumentError) as caught:
        plan(replace(read, env=(guess,)), Expansion(cells=(cell,), excluded=()), catalog())
    assert "cannot be compared" in caught.value.complaints[0].message


SHARED = """
imgbuild: 1
name: shared
matrix:
  framework: [openvino==2026.4.*, openvino==2026.4.1, openvino==2026.3.*]
  stack: [cpu]
  python: ["3.12"]
base: [distribution]
tags: ["{id}"]
"""


def test_ids_that_would_be_one_end_in_six_digits_each() -> None:
    first, second, third = (variant.id for variant in planned(SHARED).variants)
    assert third == "openvino2026.3.1-cpu-py3.12"
    assert first != second
    for name in (first, second):
        assert re.fullmatch(r"openvino2026\.4\.1-cpu-py3\.12-[0-9a-f]{6}", name)


def test_an_id_does_not_depend_on_the_order_of_cells() -> None:
    turned = SHARED.replace("[openvino==2026.4.*, openvino==2026.4.1,", "[openvino==2026.4.1, openvino==2026.4.*,")
    assert {variant.id for variant in planned(SHARED).variants} == {variant.id for variant in planned(turned).variants}


def test_a_long_id_is_cut_to_what_a_registry_takes() -> None:
    read = matrix(SHARED)
    axes = {"framework": "openvino==2026.3.*", "stack": "cpu", "python": "3.12", "own": "x" * 120}
    cell = Cell(index=0, axes=tuple((name, AxisValue.parse(value)) for name, value in axes.items()))
    (variant,) = plan(read, Expansion(cells=(cell,), excluded=()), catalog()).variants
    assert len(variant.id) == 128
    assert re.fullmatch(r"openvino2026\.3\.1-cpu-py3\.12-x+-[0-9a-f]{6}", variant.id)
    assert variant.tags == (variant.id,)
