from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from builder.errors import Where
from builder.evidence import Circumstances, Subject, failures, record, why_not_higher
from builder.model.build import ImageInfo
from builder.model.evidence import ProbeResult, ProbeStatus
from builder.model.matrix import Target, Tier
from builder.model.oci import LINUX_AMD64
from tests.unit.probe.samples import CONTENT, DIGEST, IMAGE_ID, cpu_results, evidence, result, variant

CPU = Target(name="cpu", accelerator="cpu/x86-64-v3", where=Where(file=str(Path("m.yaml")), line=1, column=1))
IMAGE = ImageInfo(image_id=IMAGE_ID, digest=DIGEST, size=1, platform=LINUX_AMD64)
THERE = Circumstances(recorded="2026-12-01T10:00:00Z", engine="podman 4.3.1", host={"kernel": "6.1.0"})


def made(results: tuple[ProbeResult, ...], target: Target | None = CPU, there: Circumstances = THERE) -> tuple[Tier, str | None]:
    found = record(Subject(variant=variant(), image=IMAGE, content=CONTENT, target=target), results, there)
    return found.tier, why_not_higher(found)


def test_a_record_says_what_where_and_when() -> None:
    found = record(Subject(variant=variant(), image=IMAGE, content=CONTENT, target=CPU), cpu_results(), THERE)
    assert found == evidence()
    assert (found.signed, found.stack, found.tier) == (False, "cpu", Tier.DEVICE)


def test_actual_is_what_declared_read_even_where_it_failed() -> None:
    results = (result("declared", Tier.IMPORTED, ProbeStatus.FAILED, python="3.12.1"),)
    found = record(Subject(variant=variant(), image=IMAGE, content=CONTENT), results, THERE)
    assert found.actual == {"python": "3.12.1"}
    assert (found.target, found.accelerator, found.tier) == ("", "", Tier.BUILT)


def test_the_tier_is_computed_and_said_why_it_is_not_higher() -> None:
    full = cpu_results()
    assert made(full) == (Tier.DEVICE, None)
    assert made(()) == (Tier.BUILT, "no import probe ran")
    assert made(full[:1]) == (Tier.IMPORTED, "nothing was computed")
    assert made(full, target=None)[1] == "it ran on the host that built it, which is no target of the matrix"
    assert made(full, there=replace(THERE, simulated=True)) == (Tier.HOST_CPU, "the device was simulated or emulated")
    broken = (*full, result("model", Tier.DEVICE, ProbeStatus.FAILED))
    assert made(broken) == (Tier.IMPORTED, "model failed")
    newer = replace(CPU, accelerator="cpu/x86-64-v4")
    assert made(full, target=newer) == (Tier.HOST_CPU, "the CPU there is x86-64-v3, and the target names cpu/x86-64-v4")
    without = tuple(one for one in full if one.name != "cpu/device")
    assert made(without) == (Tier.HOST_CPU, "what identifies the cpu device was not all reported")
    skipped = (*without, result("device", Tier.DEVICE, ProbeStatus.SKIPPED, reason="no gaudi device is in this container"))
    assert made(skipped)[1] == "device was skipped: no gaudi device is in this container"


def test_failures_are_one_line_each() -> None:
    results = (*cpu_results(), result("model", Tier.DEVICE, ProbeStatus.FAILED, reason="answer[0] is 1, expected 2"))
    assert failures(results) == ("model: answer[0] is 1, expected 2",)
    assert failures(cpu_results()) == ()
