"""Device and code, device and stack."""

from __future__ import annotations

import pytest

from builder.model.oci import LINUX_AMD64
from builder.model.verdict import Effect, Verdict
from builder.solve.rules import judge
from builder.solve.rules.device import cpu_level
from builder.solve.subject import Subject
from tests.unit.solve.asking import ask, catalog, place, rules, subject

SUPPORTED, CONDITIONAL, UNSUPPORTED, UNKNOWN = Verdict.SUPPORTED, Verdict.CONDITIONAL, Verdict.UNSUPPORTED, Verdict.UNKNOWN
NEW = "620.10"


@pytest.mark.parametrize(
    ("accelerator", "version", "codes", "verdict", "rule"),
    [
        ("nvidia/h100", "12.8", "8.0 9.0", SUPPORTED, "DEV002"),
        ("nvidia/rtx-4090", "12.8", "8.0 8.6", SUPPORTED, "DEV003"),
        ("nvidia/rtx-5090", "12.8", "7.0 7.5 8.0 8.6 8.9 9.0", UNSUPPORTED, "DEV011"),
        ("nvidia/rtx-5090", "12.8", "7.0 7.5 8.0 8.6 8.9 9.0+PTX", CONDITIONAL, "DEV004"),
        ("nvidia/b200", "12.8", "9.0a", UNSUPPORTED, "DEV011"),
        ("nvidia/b200", "12.8", "9.0a+PTX", UNSUPPORTED, "DEV011"),
        ("nvidia/h100", "12.8", "9.0a", SUPPORTED, "DEV003"),
        ("nvidia/b300", "12.9", "10.0f", SUPPORTED, "DEV003"),
        ("nvidia/b300", "12.9", "10.0a", UNSUPPORTED, "DEV011"),
        ("nvidia/b200", "12.9", "10.3", UNSUPPORTED, "DEV011"),
        ("nvidia/b200", "12.4", None, UNSUPPORTED, "DEV008"),
        ("nvidia/b200", "12.4", "9.0+PTX", CONDITIONAL, "DEV006"),
        ("nvidia/b200", "12.4", "9.0", UNSUPPORTED, "DEV008"),
        ("nvidia/v100", "12.9", "7.0", UNSUPPORTED, "DEV012"),
        ("nvidia/v100", "13.0", "7.0", UNSUPPORTED, "DEV007"),
        ("nvidia/h100", "12.8", None, SUPPORTED, "DRV001"),
    ],
)
def test_nvidia(accelerator: str, version: str, codes: str | None, verdict: Verdict, rule: str) -> None:
    decision = ask(accelerator, NEW, "cuda", version, codes=codes)
    assert decision.verdict is verdict
    assert rule in rules(decision)


def test_a_device_newer_than_the_stack_may_find_code_of_its_major() -> None:
    device = place("nvidia/gb10", NEW, "cuda", next(iter(catalog().accelerator("nvidia/gb10").platforms)))  # type: ignore[union-attr]  # has a record
    base = subject("cuda", "12.8")
    asked = Subject(stack=base.stack, version=base.version, release=base.release, platform=device.platform)
    decision = judge(asked, device)
    assert (decision.verdict, rules(decision, Effect.CONDITIONS)) == (CONDITIONAL, {"DEV006"})


def test_tegra_and_other_parts_do_not_mix() -> None:
    orin = place("nvidia/jetson-agx-orin", NEW, "cuda", next(iter(catalog().accelerator("nvidia/jetson-agx-orin").platforms)))  # type: ignore[union-attr]  # has a record
    for codes, rule in (("8.0 8.6", "DEV011"), ("8.7", "DEV002")):
        base = subject("cuda", "12.8", codes=codes)
        asked = Subject(stack=base.stack, version=base.version, release=base.release, code=base.code, platform=orin.platform)
        assert rule in rules(judge(asked, orin))
    assert ask("nvidia/rtx-4090", NEW, "cuda", "12.8", codes="8.7").verdict is UNSUPPORTED


def test_thor_was_renamed_and_its_old_code_does_not_carry_over() -> None:
    thor = place("nvidia/jetson-thor", NEW, "cuda", next(iter(catalog().accelerator("nvidia/jetson-thor").platforms)))  # type: ignore[union-attr]  # has a record
    base = subject("cuda", "13.0", codes="10.1")
    asked = Subject(stack=base.stack, version=base.version, release=base.release, code=base.code, platform=thor.platform)
    assert "DEV011" in rules(judge(asked, thor), Effect.REFUSES)


def test_a_build_whose_list_nobody_read() -> None:
    decision = ask("nvidia/h100", NEW, "cuda", "12.8", build="registry.example/x:1")
    assert (decision.verdict, rules(decision, Effect.CONDITIONS)) == (CONDITIONAL, {"DEV005"})


@pytest.mark.parametrize(("driver", "refused"), [("570.133.19", True), ("570.133.20", False)])
def test_a_device_that_older_drivers_do_not_know(driver: str, refused: bool) -> None:  # noqa: FBT001  # a table's column
    decision = ask("nvidia/b200", driver, "cuda", "12.8", codes="10.0")
    assert ("DEV013" in rules(decision, Effect.REFUSES)) is refused


@pytest.mark.parametrize(
    ("accelerator", "version", "codes", "verdict", "rule"),
    [
        ("amd/mi300x", "7.2.4", "gfx942", SUPPORTED, "DEV002"),
        ("amd/mi300x", "7.2.4", "gfx9-4-generic", SUPPORTED, "DEV003"),
        ("amd/mi300x", "7.2.4", "gfx90a gfx908", UNSUPPORTED, "DEV011"),
        ("amd/mi300x", "7.2.4", None, SUPPORTED, "DEV009"),
        ("amd/mi350x", "6.4.0", None, UNSUPPORTED, "DEV008"),
        ("amd/mi350x", "7.0.0", None, SUPPORTED, "DEV009"),
        ("amd/mi50", "6.4.0", "gfx906", UNSUPPORTED, "DEV007"),
        ("amd/rx-7600", "6.4.1", "gfx900 gfx90a gfx942 gfx1030 gfx1100", UNSUPPORTED, "DEV008"),
        ("amd/rx-7600", "6.4.1", "gfx1102", CONDITIONAL, "DEV006"),
        ("amd/rx-6700-xt", "6.4.1", "gfx1031", CONDITIONAL, "DEV010"),
    ],
)
def test_amd(accelerator: str, version: str, codes: str | None, verdict: Verdict, rule: str) -> None:
    driver = "6.4.0" if version.startswith("6") else "30.10.0"
    decision = ask(accelerator, driver, "rocm", version, codes=codes)
    assert decision.verdict is verdict
    assert rule in rules(decision)


@pytest.mark.parametrize(
    ("accelerator", "version", "rule"),
    [("intel/gaudi", "1.22.0", "DEV007"), ("intel/gaudi3", "1.15.1", "DEV008"), ("intel/gaudi2", "1.22.0", "DEV009")],
)
def test_gaudi(accelerator: str, version: str, rule: str) -> None:
    driver = ".".join(version.split(".")[:2]) + ".0"
    assert rule in rules(ask(accelerator, driver, "gaudi", version))


@pytest.mark.parametrize(
    ("asked", "device", "rule"),
    [
        ("x86-64-v2", "cpu/x86-64-v3", "DEV014"),
        ("x86-64-v3", "cpu/x86-64-v3", "DEV014"),
        ("x86-64-v3", "cpu/x86-64-v2", "DEV015"),
        ("x86-64-v3", "cpu/arm64", "DEV015"),
        (None, "cpu/x86-64-v2", None),
    ],
)
def test_cpu_levels(asked: str | None, device: str, rule: str | None) -> None:
    base = subject("cpu")
    judged = Subject(stack=base.stack, version=None, release=None, cpu_level=asked, platform=LINUX_AMD64)
    reason = cpu_level(judged, place(device, None, "cpu"))
    assert (None if reason is None else reason.rule) == rule
