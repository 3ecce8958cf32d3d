"""The example of the product's description, whole: every verdict argued from the facts.

Drivers of the example: h100 580.95.05, a100 570.133.20, mi300x 30.30.0, gaudi3 1.24.0.

CUDA, 2.9: NVIDIA's newest image with 2.9.0a0 is 25.10: CUDA 13.0.2, made with driver 580.95.05, so
native on h100, whose sm_90 is in the image's code list. R570 is below 580.65.06, the lowest for
CUDA 13; cuda-compat-13-0 lists R570 and serves data centre devices: conditional on a100.
CUDA, 2.10: 26.01 is the vendor's newest of three builds of 2.10.0a0 (25.11, 25.12, 26.01; its local
label sorts below theirs): CUDA 13.1.1, made with 590.48.01, so minor-version compatibility on h100,
conditional because its code list was not read; on a100 cuda-compat-13-1, which lists R570.
ROCm: 30.30 lists 6.3 to 10.0. 2.9.1 is there for 7.2.4 and both Pythons; 2.10.0 for 7.14.1 with
Python 3.12 and newer, so 3.10 gets 7.2.4. What code is in AMD's images was not read: conditional.
Gaudi: 2.9.0 is the PyTorch of 1.23.0, and the driver is of 1.24: refused. 2.10.0 is that of 1.24.0.
CPU: no vendor image; the wheels are for both Pythons, which are Ubuntu 22.04's and 24.04's own.
"""

from __future__ import annotations

import json

import pytest

from builder.model.plan import Plan, PlannedCell
from builder.model.verdict import Effect, Verdict
from builder.solve.explain import plan_json, plan_lines
from tests.unit.solve.asking import planned, rules

EXAMPLE = """
imgbuild: 1
name: pytorch
repository: ghcr.io/acme/pytorch

targets:
  h100:   {accelerator: nvidia/h100,  driver: "580.95.05",  runner: {kind: ssh, host: builder@h100}}
  a100:   {accelerator: nvidia/a100,  driver: "570.133.20", runner: {kind: slurm, partition: a100, gres: "gpu:1"}, labels: [a100]}
  mi300x: {accelerator: amd/mi300x,   driver: "30.30.0",    runner: {kind: slurm, partition: mi300x, gres: "gpu:1"}}
  gaudi3: {accelerator: intel/gaudi3, driver: "1.24.0",     runner: {kind: kubernetes, resource: habana.ai/gaudi}}
  cpu:    {accelerator: cpu/x86-64-v3, runner: local}

matrix:
  framework: [pytorch==2.9.*, pytorch==2.10.*]
  stack: [cuda, rocm, gaudi, cpu]
  python: ["3.10", "3.12"]
  exclude:
    - {stack: cuda, python: "3.10", reason: our NVIDIA hosts are on Python 3.12}

base: [vendor, distribution]
packages:
  - {pip: [transformers~=4.57, accelerate], apt: [git]}
  - {when: {stack: cuda}, pip: [bitsandbytes]}
probes: [import, device, matmul, train]
tags: ["{framework}-{stack}-py{python}"]
publish: {tier: device}
licence: {nvcr.io/nvidia/pytorch: accepted, vault.habana.ai/gaudi-docker: accepted}
"""

ROCM = "docker.io/rocm/pytorch:rocm"
GAUDI = "vault.habana.ai/gaudi-docker/1.24.0"
SUPPORTED, CONDITIONAL = Verdict.SUPPORTED, Verdict.CONDITIONAL

GOLDEN: tuple[tuple[str, str, str, str | None, str | None, dict[str, Verdict]], ...] = (
    (
        *("2.9", "cuda", "3.12", "pytorch2.9.0a0_145a3a7bda-cuda13.0.2-py3.12", "nvcr.io/nvidia/pytorch:25.10-py3"),
        {"h100": SUPPORTED, "a100": CONDITIONAL},
    ),
    (
        *("2.9", "rocm", "3.10", "pytorch2.9.1-rocm7.2.4-py3.10"),
        f"{ROCM}7.2.4_ubuntu22.04_py3.10_pytorch_release_2.9.1",
        {"mi300x": CONDITIONAL},
    ),
    (
        *("2.9", "rocm", "3.12", "pytorch2.9.1-rocm7.2.4-py3.12"),
        f"{ROCM}7.2.4_ubuntu24.04_py3.12_pytorch_release_2.9.1",
        {"mi300x": CONDITIONAL},
    ),
    ("2.9", "gaudi", "3.10", None, None, {"gaudi3": Verdict.UNSUPPORTED}),
    ("2.9", "gaudi", "3.12", None, None, {"gaudi3": Verdict.UNSUPPORTED}),
    ("2.9", "cpu", "3.10", "pytorch2.9.1-cpu-py3.10", "docker.io/library/ubuntu:22.04", {"cpu": SUPPORTED}),
    ("2.9", "cpu", "3.12", "pytorch2.9.1-cpu-py3.12", "docker.io/library/ubuntu:24.04", {"cpu": SUPPORTED}),
    (
        *("2.10", "cuda", "3.12", "pytorch2.10.0a0_a36e1d39eb-cuda13.1.1-py3.12", "nvcr.io/nvidia/pytorch:26.01-py3"),
        {"h100": CONDITIONAL, "a100": CONDITIONAL},
    ),
    (
        *("2.10", "rocm", "3.10", "pytorch2.10.0-rocm7.2.4-py3.10"),
        f"{ROCM}7.2.4_ubuntu22.04_py3.10_pytorch_release_2.10.0",
        {"mi300x": CONDITIONAL},
    ),
    (
        *("2.10", "rocm", "3.12", "pytorch2.10.0-rocm7.14.1-py3.12"),
        f"{ROCM}7.14.1_ubuntu24.04_py3.12_pytorch_release_2.10.0",
        {"mi300x": CONDITIONAL},
    ),
    (
        *("2.10", "gaudi", "3.10", "pytorch2.10.0-gaudi1.24.0-py3.10"),
        f"{GAUDI}/ubuntu22.04/habanalabs/pytorch-installer-2.10.0:1.24.0-1007",
        {"gaudi3": SUPPORTED},
    ),
    (
        *("2.10", "gaudi", "3.12", "pytorch2.10.0-gaudi1.24.0-py3.12"),
        f"{GAUDI}/ubuntu24.04/habanalabs/pytorch-installer-2.10.0:1.24.0-1007",
        {"gaudi3": SUPPORTED},
    ),
    ("2.10", "cpu", "3.10", "pytorch2.10.0-cpu-py3.10", "docker.io/library/ubuntu:22.04", {"cpu": SUPPORTED}),
    ("2.10", "cpu", "3.12", "pytorch2.10.0-cpu-py3.12", "docker.io/library/ubuntu:24.04", {"cpu": SUPPORTED}),
)

REASONS = {
    ("pytorch2.9.0a0_145a3a7bda-cuda13.0.2-py3.12", "h100"): {"DRV001", "DEV002"},
    ("pytorch2.9.0a0_145a3a7bda-cuda13.0.2-py3.12", "a100"): {"DRV004", "DRV010", "DEV002"},
    ("pytorch2.10.0a0_a36e1d39eb-cuda13.1.1-py3.12", "h100"): {"DRV003", "DEV005"},
    ("pytorch2.10.0a0_a36e1d39eb-cuda13.1.1-py3.12", "a100"): {"DRV004", "DRV010", "DEV005"},
    ("pytorch2.9.1-rocm7.2.4-py3.12", "mi300x"): {"DRV020", "DEV005", "DEV009"},
    ("pytorch2.10.0-gaudi1.24.0-py3.12", "gaudi3"): {"DRV030", "DEV009"},
    ("pytorch2.9.1-cpu-py3.12", "cpu"): {"DRV050"},
}


@pytest.fixture(scope="module")
def example() -> Plan:
    return planned(EXAMPLE)


def cell(plan: Plan, framework: str, stack: str, python: str) -> PlannedCell:
    wanted = (f"pytorch=={framework}.*", stack, python)
    return next(item for item in plan.cells if tuple(value.text for _, value in item.cell.axes) == wanted)


def test_fourteen_cells_in_the_order_of_the_matrix(example: Plan) -> None:
    found = [
        (
            *(value.text.removeprefix("pytorch==").removesuffix(".*") for _, value in item.cell.axes),
            item.variant.id if item.variant else None,
            str(item.variant.base.reference) if item.variant else None,
            {name: decision.verdict for name, decision in item.verdicts.items()},
        )
        for item in example.cells
    ]
    assert found == list(GOLDEN)
    assert len(example.excluded) == 2


def test_the_reasons_of_each_verdict(example: Plan) -> None:
    for item in example.cells:
        for name, decision in item.verdicts.items():
            expected = REASONS.get((item.variant.id if item.variant else "", name))
            assert expected is None or rules(decision) == expected


def test_pytorch_2_9_is_refused_on_gaudi3(example: Plan) -> None:
    for python in ("3.10", "3.12"):
        item = cell(example, "2.9", "gaudi", python)
        assert item.candidate == f"pytorch2.9.0-gaudi1.23.0-py{python}"
        assert rules(item.verdicts["gaudi3"], Effect.REFUSES) == {"DRV031"}
        assert "driver 1.24.0 and gaudi 1.23.0 are not of one release" in item.verdicts["gaudi3"].reasons[0].text
        assert [reason.rule for reason in item.reasons] == ["DRV031", "CAT001"]


def test_what_a_variant_installs(example: Plan) -> None:
    vendor, wheel = cell(example, "2.9", "cuda", "3.12").variant, cell(example, "2.9", "cpu", "3.12").variant
    assert vendor is not None
    assert wheel is not None
    assert vendor.pip == ("transformers~=4.57", "accelerate", "bitsandbytes")
    assert "torch" in vendor.base.frameworks
    assert vendor.base.licence == "nvcr.io/nvidia/pytorch"
    assert vendor.indexes == ()
    assert wheel.pip == ("torch==2.9.1", "transformers~=4.57", "accelerate")
    assert wheel.base.frameworks == ()
    assert wheel.base.may_assemble
    assert [(index.name, index.url) for index in wheel.indexes] == [("pytorch-cpu", "https://download.pytorch.org/whl/cpu")]
    assert wheel.apt == ("git",)
    assert wheel.probes == ("import", "device", "matmul", "train")
    assert wheel.imports == ("torch",)


def test_tags_follow_the_template(example: Plan) -> None:
    tags = [variant.tags for variant in example.variants]
    assert tags[0] == ("pytorch2.9.0a0_145a3a7bda-cuda13.0.2-py3.12",)
    assert len({tag for group in tags for tag in group}) == 12


def test_targets_a_stack_does_not_drive_are_listed_once(example: Plan) -> None:
    assert cell(example, "2.9", "rocm", "3.12").not_applicable == ("h100", "a100", "gaudi3", "cpu")


def test_a_base_passed_over_is_named(example: Plan) -> None:
    reasons = cell(example, "2.9", "cpu", "3.12").reasons
    assert (
        reasons[0].text == "passed over vendor: no vendor image of pytorch==2.9.* on cpu is in the catalog (checked 2026-12-01)"
    )
    assert not reasons[0].deciding


def test_newer_ones_passed_over_are_named(example: Plan) -> None:
    texts = [reason.text for reason in cell(example, "2.10", "rocm", "3.10").reasons]
    cause = "its builds are for Python 3.12 3.13 3.14, and the cell asks for 3.10"
    assert texts[0] == f"passed over vendor: pytorch 2.10.0 on rocm 7.14.1: {cause}"


def test_json_has_the_shape_others_build_on(example: Plan) -> None:
    document = json.loads(json.dumps(plan_json(example)))
    assert document["schema"] == "imgbuild/plan/1"
    first = document["cells"][0]
    assert first["axes"] == {"framework": "pytorch==2.9.*", "stack": "cuda", "python": "3.12"}
    assert first["variant"] == "pytorch2.9.0a0_145a3a7bda-cuda13.0.2-py3.12"
    assert first["verdicts"]["h100"]["verdict"] == "supported"
    reason = first["verdicts"]["a100"]["reasons"][0]
    assert (reason["rule"], reason["effect"], sorted(reason["source"])) == ("DRV004", "conditions", ["checked", "title", "url"])
    assert first["not_applicable"] == ["mi300x", "gaudi3", "cpu"]
    assert first["platforms"] == ["linux/amd64"]
    assert document["cells"][3]["variant"] is None
    assert document["excluded"][0]["reason"] == "our NVIDIA hosts are on Python 3.12"


def test_text_tells_the_same(example: Plan) -> None:
    lines = plan_lines(example)
    assert lines[0] == "pytorch: 14 cells, 12 variants, 2 without a variant, 2 excluded by your matrix"
    assert "  no variant; closest is pytorch2.9.0-gaudi1.23.0-py3.10" in lines
    assert "    h100  supported    driver 580.95.05 runs cuda 13.0.2 natively [DRV001, 1]" in lines
    assert "excluded by your matrix:" in lines
    assert any(line.startswith("  1  CUDA Toolkit release notes") for line in lines)


def test_text_names_platforms_that_are_not_the_usual_one() -> None:
    both = planned(EXAMPLE + "platforms: [linux/amd64, linux/arm64]\n")
    assert "    from nvcr.io/nvidia/pytorch:25.10-py3 (vendor) for linux/amd64 linux/arm64" in plan_lines(both)
