"""The policy of tiers, as a table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.model.evidence import JsonValue, ProbeResult, ProbeStatus
from builder.model.matrix import Tier
from builder.model.tier import fits_level, record_tier, shown_tier
from tests.unit.probe.samples import evidence, result

FAILED, SKIPPED = ProbeStatus.FAILED, ProbeStatus.SKIPPED
IMPORT = result("import", Tier.IMPORTED)
DECLARED = result("declared", Tier.IMPORTED)
CPU = result("cpu/device", Tier.DEVICE, device="cpu", model="Some CPU", level="x86-64-v3")
ON_CPU = result("matmul", Tier.DEVICE, device="cpu", checked=9)
GPU = result("device", Tier.DEVICE, device="cuda", uuid="GPU-1", arch="sm_90", driver="580.95.05")
ON_GPU = result("matmul", Tier.DEVICE, device="cuda", checked=9, kernel="gemm")


def but(one: ProbeResult, **values: JsonValue) -> ProbeResult:
    return replace(one, values={**one.values, **values})


@pytest.mark.parametrize(
    ("stack", "results", "tier"),
    [
        ("cpu", [], Tier.BUILT),
        ("cpu", [DECLARED], Tier.BUILT),
        ("cpu", [IMPORT], Tier.IMPORTED),
        ("cpu", [result("import", Tier.IMPORTED, FAILED), CPU, ON_CPU], Tier.BUILT),
        ("cpu", [result("import", Tier.IMPORTED, SKIPPED), CPU, ON_CPU], Tier.BUILT),
        ("cpu", [IMPORT, result("declared", Tier.IMPORTED, FAILED), CPU, ON_CPU], Tier.BUILT),
        ("cpu", [IMPORT, DECLARED, CPU], Tier.IMPORTED),
        ("cpu", [IMPORT, CPU, but(ON_CPU, checked=0)], Tier.IMPORTED),
        ("cpu", [IMPORT, CPU, but(ON_CPU, checked=True)], Tier.IMPORTED),
        ("cpu", [IMPORT, CPU, ON_CPU], Tier.DEVICE),
        ("cpu", [IMPORT, ON_CPU], Tier.HOST_CPU),
        ("cpu", [IMPORT, but(CPU, level=None), ON_CPU], Tier.HOST_CPU),
        ("cpu", [IMPORT, but(CPU, model=" "), ON_CPU], Tier.HOST_CPU),
        ("cpu", [IMPORT, but(CPU, emulated=True), ON_CPU], Tier.HOST_CPU),
        ("cpu", [IMPORT, CPU, ON_CPU, result("model", Tier.DEVICE, FAILED)], Tier.IMPORTED),
        ("cpu", [IMPORT, CPU, ON_CPU, result("model", Tier.DEVICE, SKIPPED)], Tier.DEVICE),
        ("cuda", [IMPORT, GPU, ON_GPU], Tier.DEVICE),
        ("cuda", [IMPORT, result("device", Tier.DEVICE, SKIPPED), ON_CPU], Tier.HOST_CPU),
        ("cuda", [IMPORT, GPU, ON_CPU], Tier.HOST_CPU),
        ("cuda", [IMPORT, GPU, but(ON_GPU, kernel=None)], Tier.HOST_CPU),
        ("cuda", [IMPORT, but(GPU, uuid=None), ON_GPU], Tier.HOST_CPU),
        ("cuda", [IMPORT, but(GPU, uuid=None, pci="0000:18:00.0"), ON_GPU], Tier.DEVICE),
        ("cuda", [IMPORT, but(GPU, arch=""), ON_GPU], Tier.HOST_CPU),
        ("cuda", [IMPORT, but(GPU, driver=None), ON_GPU], Tier.HOST_CPU),
        ("rocm", [IMPORT, GPU, ON_GPU], Tier.HOST_CPU),
        ("tpu", [IMPORT, but(GPU, driver=None), but(ON_GPU, device="tpu")], Tier.DEVICE),
        ("", [IMPORT, CPU, ON_CPU], Tier.HOST_CPU),
    ],
)
def test_what_results_show(stack: str, results: list[ProbeResult], tier: Tier) -> None:
    assert shown_tier(stack, results) is tier


@pytest.mark.parametrize("stack", ["cpu", "cuda"])
def test_a_simulated_device_never_gives_device(stack: str) -> None:
    results = [IMPORT, CPU, ON_CPU] if stack == "cpu" else [IMPORT, GPU, ON_GPU]
    assert shown_tier(stack, results) is Tier.DEVICE
    assert shown_tier(stack, results, simulated=True) is Tier.HOST_CPU


@pytest.mark.parametrize(
    ("accelerator", "measured", "fits"),
    [
        ("cpu/x86-64-v3", "x86-64-v3", True),
        ("cpu/x86-64-v3", "x86-64-v4", True),
        ("cpu/x86-64-v3", "x86-64-v2", False),
        ("cpu/x86-64-v3", "armv8-a", False),
        ("cpu/arm64", "armv8.2-a", True),
        ("cpu/arm64", "x86-64-v4", False),
        ("cpu/epyc-9654", "x86-64-v4", True),
    ],
)
def test_a_target_that_names_a_level_needs_it(accelerator: str, measured: str, *, fits: bool) -> None:
    assert fits_level(accelerator, measured) is fits
    tier = shown_tier("cpu", [IMPORT, but(CPU, level=measured), ON_CPU], accelerator=accelerator)
    assert tier is (Tier.DEVICE if fits else Tier.HOST_CPU)


def test_a_record_without_a_target_shows_host_cpu_at_most() -> None:
    record = evidence()
    assert record_tier(record) is Tier.DEVICE
    assert record_tier(replace(record, target="", accelerator="")) is Tier.HOST_CPU
    assert record_tier(replace(record, target="", accelerator="", results=(IMPORT,))) is Tier.IMPORTED


statuses = st.sampled_from(list(ProbeStatus))
pool = st.sampled_from([IMPORT, DECLARED, CPU, ON_CPU, GPU, ON_GPU, but(ON_GPU, kernel=None), but(CPU, emulated=True)])
some = st.lists(st.builds(lambda one, status: replace(one, status=status), pool, statuses), max_size=6)


@given(some, st.sampled_from(["cpu", "cuda"]))
def test_one_more_failure_never_raises_a_tier(results: list[ProbeResult], stack: str) -> None:
    tier = shown_tier(stack, results)
    for one in (IMPORT, ON_CPU):
        assert shown_tier(stack, [*results, replace(one, status=FAILED)]).rank <= tier.rank


@given(some, st.sampled_from(["cpu", "cuda"]))
def test_the_order_of_probes_does_not_matter(results: list[ProbeResult], stack: str) -> None:
    once = list({result.name: result for result in results}.values())
    assert shown_tier(stack, once) is shown_tier(stack, list(reversed(once)))
