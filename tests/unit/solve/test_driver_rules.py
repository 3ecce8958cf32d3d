"""Driver and stack: every way in which they relate, at the boundaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from builder.model.oci import Platform
from builder.model.verdict import Effect, Verdict
from builder.solve.rules import judge
from tests.unit.solve.asking import ask, catalog, place, rules, subject

SUPPORTED, CONDITIONAL, UNSUPPORTED, UNKNOWN = Verdict.SUPPORTED, Verdict.CONDITIONAL, Verdict.UNSUPPORTED, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("driver", "version", "codes", "verdict", "rule"),
    [
        ("580.95.05", "13.0.2", "9.0", SUPPORTED, "DRV001"),
        ("580.95.04", "13.0.2", "9.0", SUPPORTED, "DRV002"),
        ("580.65.06", "13.0.2", "9.0+PTX", SUPPORTED, "DRV002"),
        ("580.65.05", "13.0.2", "9.0", UNSUPPORTED, "DRV005"),
        ("525.60.13", "12.4.1", "9.0", SUPPORTED, "DRV002"),
        ("525.60.12", "12.4.1", "9.0", UNSUPPORTED, "DRV005"),
        ("525.105.17", "12.4.1", None, CONDITIONAL, "DRV003"),
        ("525.105.17", "12.4.1", "compute_90", UNSUPPORTED, "DRV006"),
        ("525.105.17", "12.4.1", "9.0 12.0+PTX", SUPPORTED, "DRV002"),
        ("535.274.02", "12.8", "8.0 9.0", SUPPORTED, "DRV002"),
        ("535.274.02", "12.8", "8.0 9.0+PTX", CONDITIONAL, "DRV003"),
        ("535.274.02", "12.8", "8.0 8.6+PTX", CONDITIONAL, "DRV004"),
        ("550.54.15", "12.8", "8.0 8.6+PTX", UNSUPPORTED, "DRV006"),
        ("550.54.15", "12.8", None, CONDITIONAL, "DRV003"),
        ("550.54.15", "12.8", "9.0", SUPPORTED, "DRV002"),
        ("550.54.15", "13.0", None, UNSUPPORTED, "DRV005"),
        ("570.133.20", "13.0.2", "9.0", CONDITIONAL, "DRV004"),
        ("535.104.05", "13.0.2", "9.0", CONDITIONAL, "DRV004"),
        ("999.10", "13.0.2", "9.0", UNKNOWN, "DRV007"),
        ("620.10", "13.0.2", "9.0", SUPPORTED, "DRV001"),
        (None, "13.0.2", "9.0", CONDITIONAL, "DRV008"),
        ("595.58.03", "13.5.0", "9.0", UNKNOWN, "DRV013"),
    ],
)
def test_cuda_on_an_h100(driver: str | None, version: str, codes: str | None, verdict: Verdict, rule: str) -> None:
    decision = ask("nvidia/h100", driver, "cuda", version, codes=codes)
    assert decision.verdict is verdict
    assert rule in rules(decision)


def test_a_version_without_a_record_is_unknown() -> None:
    decision = ask("nvidia/h100", "580.95.05", "cuda", "12.7")
    assert (decision.verdict, rules(decision, Effect.UNKNOWN)) == (UNKNOWN, {"CAT001"})
    assert "not in the catalog (checked 2026-12-01)" in decision.reasons[0].text


def test_the_package_does_not_serve_geforce() -> None:
    decision = ask("nvidia/rtx-4090", "570.133.20", "cuda", "13.0", codes="8.6 8.9")
    assert (decision.verdict, rules(decision, Effect.REFUSES)) == (UNSUPPORTED, {"DRV005"})


def test_the_package_serves_some_workstation_cards() -> None:
    decision = ask("nvidia/rtx-6000-ada", "570.133.20", "cuda", "13.0", codes="8.6 8.9")
    assert decision.verdict is CONDITIONAL
    assert "of this class only some models" in next(reason.text for reason in decision.reasons if reason.rule == "DRV004")


@pytest.mark.parametrize(("accelerator", "verdict"), [("nvidia/rtx-4090", UNSUPPORTED), ("nvidia/a100", CONDITIONAL)])
def test_a_package_first_on_the_path(accelerator: str, verdict: Verdict) -> None:
    decision = ask(accelerator, "535.104.05", "cuda", "12.4", compat="path")
    assert decision.verdict is verdict
    assert ("DRV009" in rules(decision)) is (verdict is UNSUPPORTED)


def test_a_series_out_of_support_is_a_note() -> None:
    decision = ask("nvidia/h100", "530.30.02", "cuda", "12.1", codes="9.0")
    assert decision.verdict is SUPPORTED
    assert [reason.deciding for reason in decision.reasons if reason.rule == "DRV010"] == [False]


@pytest.mark.parametrize(
    ("driver", "version", "verdict", "rule"),
    [
        ("30.30.0", "6.2.4", UNSUPPORTED, "DRV021"),
        ("30.10.1", "6.2.4", SUPPORTED, "DRV020"),
        ("30.30.0", "6.3.0", SUPPORTED, "DRV020"),
        ("30.30.0", "7.2.4", SUPPORTED, "DRV020"),
        ("6.2.4", "6.4.0", SUPPORTED, "DRV020"),
        ("6.2", "6.0.0", SUPPORTED, "DRV020"),
        ("5.6", "6.1.0", UNSUPPORTED, "DRV021"),
        ("module:6.16.13", "7.2.4", SUPPORTED, "DRV020"),
        ("6.16.13", "7.2.4", SUPPORTED, "DRV020"),
        ("31.20.0", "7.14.0", SUPPORTED, "DRV020"),
        ("31.20.0", "7.2.4", UNKNOWN, "DRV023"),
        ("31.50.0", "10.1.0", UNKNOWN, "DRV023"),
        ("30.30.0", "10.1.0", UNKNOWN, "DRV023"),
        ("6.2.4", "10.1.0", UNSUPPORTED, "DRV021"),
        ("40.10", "7.2.4", UNKNOWN, "DRV022"),
        (None, "7.2.4", CONDITIONAL, "DRV024"),
    ],
)
def test_rocm_on_an_mi300x(driver: str | None, version: str, verdict: Verdict, rule: str) -> None:
    decision = ask("amd/mi300x", driver, "rocm", version)
    assert decision.verdict is verdict
    assert rule in rules(decision)


@pytest.mark.parametrize(
    ("driver", "version", "verdict", "rule"),
    [
        ("1.24.0", "1.24.0", SUPPORTED, "DRV030"),
        ("1.24.0", "1.24.1", SUPPORTED, "DRV030"),
        ("1.24.0", "1.23.0", UNSUPPORTED, "DRV031"),
        ("1.21.0", "1.24.1", UNSUPPORTED, "DRV031"),
        ("1.16.2", "1.15.1", UNSUPPORTED, "DRV031"),
        ("1.21.0", "1.21.0", CONDITIONAL, "DRV033"),
        (None, "1.24.0", CONDITIONAL, "DRV034"),
    ],
)
def test_gaudi(driver: str | None, version: str, verdict: Verdict, rule: str) -> None:
    decision = ask("intel/gaudi2", driver, "gaudi", version)
    assert decision.verdict is verdict
    assert rule in rules(decision)


def test_a_release_whose_own_driver_was_not_read_is_not_said_to_be_newer_than_the_driver() -> None:
    decision = ask("nvidia/h100", "615.10.01", "cuda", "13.4.1", codes="9.0")
    assert decision.verdict is SUPPORTED
    assert "driver 615.10.01 is of the series that cuda 13.4.1 came with" in decision.reasons[0].text
    assert "is older than cuda 13.4.1" in ask("nvidia/h100", "610.43.02", "cuda", "13.4.1", codes="9.0").reasons[0].text


def test_a_bare_major_version_is_judged_by_its_newest_release() -> None:
    assert "package of cuda 12.9 works on driver series 470" in ask("nvidia/a100", "470.82.01", "cuda", "12").reasons[0].text
    known = ask("nvidia/b200", "580.95.05", "cuda", "12", build="a wheel")
    assert (known.verdict, rules(known, Effect.CONDITIONS)) == (CONDITIONAL, {"DEV005"})


def test_the_refusal_of_gaudi_names_the_override() -> None:
    decision = ask("intel/gaudi3", "1.16.2", "gaudi", "1.24.0")
    assert "INIT_HCCL_ON_ACQUIRE=0" in decision.reasons[0].text


@pytest.mark.parametrize(
    ("accelerator", "driver", "verdict", "rule"),
    [
        ("intel/max-1550", "kernel:6.8 i915", SUPPORTED, "DRV040"),
        ("intel/arc-b580", "kernel:6.14 i915|xe", SUPPORTED, "DRV040"),
        ("intel/arc-b580", "kernel:6.8 i915", UNSUPPORTED, "DRV043"),
        ("intel/arc-a770", "kernel:6.8 i915", UNKNOWN, "DRV042"),
        ("intel/max-1550", None, CONDITIONAL, "DRV041"),
    ],
)
def test_oneapi(accelerator: str, driver: str | None, verdict: Verdict, rule: str) -> None:
    decision = ask(accelerator, driver, "oneapi", "2025.3.1")
    assert decision.verdict is verdict
    assert rule in rules(decision)


def test_what_has_no_table_is_unknown_and_the_cpu_needs_no_driver() -> None:
    assert ask("aws/trainium2", "2.30.2.0", "neuron", "2.32.0").verdict is UNKNOWN
    assert ask("google/tpu-v5e", None, "tpu", "0.0.50").verdict is UNKNOWN
    assert ask("cpu/x86-64-v3", None, "cpu").verdict is SUPPORTED


def test_a_stack_of_another_vendor_is_refused_alone() -> None:
    decision = ask("nvidia/h100", "580.95.05", "rocm", "7.2.4")
    assert rules(decision) == {"DEV001"}
    assert decision.verdict is UNSUPPORTED


def test_platforms() -> None:
    arm = Platform("linux", "arm64")
    assert judge(subject("cuda", "13.0.2", codes="9.0"), place("nvidia/gh200", "580.95.05", "cuda", arm)).verdict is UNSUPPORTED
    wrong_host = judge(subject("cuda", "13.0.2", codes="9.0"), place("nvidia/gh200", "580.95.05", "cuda"))
    assert "PLT002" in rules(wrong_host, Effect.REFUSES)


DRIVERS = sorted(
    {str(release.native_driver) for release in catalog().stack("cuda").releases if release.native_driver}  # type: ignore[union-attr]  # has a record
    | {f"{series.name}.10" for series in catalog().drivers("nvidia").series},  # type: ignore[union-attr]  # has a record
    key=Version,
)
CUDA = [str(release.version) for release in catalog().stack("cuda").releases]  # type: ignore[union-attr]  # has a record


@given(
    st.sampled_from(DRIVERS), st.sampled_from(DRIVERS), st.sampled_from(CUDA), st.sampled_from(["9.0", "9.0+PTX", "8.0", None])
)
def test_a_newer_driver_takes_nothing_away(one: str, other: str, version: str, codes: str | None) -> None:
    """From supported to unsupported only by a rule that says so: a device that newer drivers dropped."""
    older, newer = sorted((one, other), key=Version)
    if ask("nvidia/h100", older, "cuda", version, codes=codes).verdict is SUPPORTED:
        decision = ask("nvidia/h100", newer, "cuda", version, codes=codes)
        assert decision.verdict is SUPPORTED or rules(decision, Effect.REFUSES) <= {"DEV012", "DRV009"}


@given(
    st.sampled_from(DRIVERS), st.sampled_from(CUDA), st.lists(st.sampled_from(["7.0", "7.5", "8.0", "8.6", "10.0", "12.0+PTX"]))
)
def test_code_for_the_device_never_hurts(driver: str, version: str, codes: list[str]) -> None:
    without = ask("nvidia/h100", driver, "cuda", version, codes=" ".join(codes))
    having = ask("nvidia/h100", driver, "cuda", version, codes=" ".join([*codes, "9.0"]))
    assert having.verdict.rank >= without.verdict.rank


@given(
    st.sampled_from(DRIVERS),
    st.sampled_from(CUDA),
    st.sampled_from(["nvidia/v100", "nvidia/rtx-5090", "nvidia/b200", "nvidia/t4"]),
)
def test_every_reason_has_a_source(driver: str, version: str, accelerator: str) -> None:
    for reason in ask(accelerator, driver, "cuda", version).reasons:
        assert reason.source is not None
        assert reason.source.checked == "2026-12-01"


def test_a_v100_with_a_driver_that_dropped_it() -> None:
    assert ask("nvidia/v100", "580.95.05", "cuda", "12.8", codes="7.0").verdict is SUPPORTED
    decision = ask("nvidia/v100", "590.44.01", "cuda", "12.8", codes="7.0")
    assert (decision.verdict, rules(decision, Effect.REFUSES)) == (UNSUPPORTED, {"DEV012"})
