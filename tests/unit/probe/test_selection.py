from __future__ import annotations

from hashlib import sha256

import pytest

from builder.errors import UsageError
from builder.model.matrix import Tier
from builder.probe import probes_for, select
from builder.probe.selection import _all_scripts
from tests.unit.probe.samples import SCRIPTS, variant


def names(*args: str, device_here: bool = True, probes: tuple[str, ...] = ()) -> list[str]:
    return [script.name for script in probes_for(variant(*args, probes=probes), device_here=device_here)]


def test_a_variant_without_probes_gets_all_that_apply_cheap_first() -> None:
    common = ["import", "declared", "pip-check"]
    assert names() == [*common, "cpu/device", "device", "matmul", "model"]
    assert names("pytorch") == [*common, "cpu/device", "device", "matmul", "model", "train"]
    assert names("pytorch", "cuda") == [*common, "device", "matmul", "model", "train"]


def test_named_probes_are_taken_in_the_order_of_cost_not_of_writing() -> None:
    assert names(probes=("matmul", "import")) == ["import", "matmul"]
    assert names(probes=("device",)) == ["cpu/device", "device"]
    assert names(probes=("cpu/device",)) == ["cpu/device"]


def test_a_framework_takes_the_place_of_a_common_probe() -> None:
    (script,) = probes_for(variant("triton-server", "cuda", probes=("import",)))
    assert script.text == (SCRIPTS / "triton-server" / "import.py").read_text(encoding="utf-8")
    assert script.tier is Tier.IMPORTED
    assert script.sha256 == sha256(script.text.encode()).hexdigest()


def test_a_probe_of_other_frameworks_is_left_out_and_said() -> None:
    selection = select(variant(probes=("import", "train")))
    assert [script.name for script in selection.scripts] == ["import"]
    assert selection.left_out == (("train", "it is a probe for jax, pytorch, tensorflow, and this is onnxruntime on cpu"),)


def test_a_name_that_is_no_probe_is_a_question_with_the_candidates() -> None:
    with pytest.raises(UsageError) as caught:
        probes_for(variant(probes=("import", "matmull")))
    assert caught.value.message == "'matmull' is not a probe"
    assert caught.value.hint == (
        "did you mean 'matmul'? probes for onnxruntime are cpu/device, declared, device, import, matmul, model, pip-check"
    )


@pytest.mark.parametrize(
    ("stack", "here", "tier"),
    [("cpu", True, Tier.DEVICE), ("cpu", False, Tier.HOST_CPU), ("cuda", True, Tier.DEVICE), ("cuda", False, Tier.HOST_CPU)],
)
def test_the_tier_of_a_probe_is_what_its_passing_can_show_here(stack: str, *, here: bool, tier: Tier) -> None:
    tiers = {script.name: script.tier for script in probes_for(variant("jax", stack), device_here=here)}
    assert tiers["import"] is tiers["declared"] is tiers["pip-check"] is Tier.IMPORTED
    assert tiers["matmul"] is tiers["train"] is tier


def test_without_the_device_the_probes_that_look_at_it_are_left_out() -> None:
    selection = select(variant("jax", "cuda"), device_here=False)
    assert "device" not in [script.name for script in selection.scripts]
    assert selection.left_out == (("device", "it looks at the cuda device, and there is none here"),)
    assert "device" in names("jax", "cpu", device_here=False)


def test_folders_that_hold_no_probes_are_no_topics() -> None:
    topics = {topic for topic, _ in _all_scripts()}
    assert {"common", "cpu", "pytorch"} <= topics
    assert not {"base", "driver"} & topics


@pytest.mark.parametrize(
    "framework",
    ["pytorch", "tensorflow", "jax", "onnxruntime", "openvino", "iree", "litert", "vllm", "triton-server"],
)
def test_every_framework_has_a_probe_that_computes(framework: str) -> None:
    assert {"import", "model"} <= set(names(framework))
