"""Reasons for one cause over many versions are one range, whatever version each names."""

from __future__ import annotations

from builder.model.plan import PlannedCell
from tests.unit.solve.asking import one


def passed_over(cell: PlannedCell) -> list[str]:
    return [reason.text.removeprefix("passed over ") for reason in cell.reasons if reason.text.startswith("passed over ")]


def test_a_dropped_device_over_all_releases_of_a_stack() -> None:
    cell = one("pytorch", "cuda", "3.12", base="[vendor]", targets='{t: {accelerator: nvidia/p100, driver: "580.95.05"}}')
    assert cell.variant is not None
    assert cell.variant.id == "pytorch2.8.0a0_5228986c39-cuda12.9.1-py3.12"
    releases = "pytorch 2.8.0a0+34c6371d24 (25.08) to 2.14.0a0+4fdf77b940 (26.08) on cuda 13.0.0 to 13.4.1 (13 releases)"
    cause = "cuda 12.9 is the last for nvidia/p100 (sm_60); cuda 13.0.0 to 13.4.1 has dropped it"
    assert passed_over(cell) == [f"vendor: {releases}: unsupported on t: {cause}"]


def test_a_package_per_series() -> None:
    targets = '{t: {accelerator: nvidia/rtx-4090, driver: "570.133.20"}}'
    cell = one("pytorch==2.12.1", "cuda", "3.12", base="[distribution]", targets=targets)
    assert cell.variant is not None
    why = "driver 570.133.20 is older than 580.65.06, the lowest for cuda 13.x"
    served = "cuda-compat-13-0 to 13-2 does not serve geforce devices (error 804)"
    assert passed_over(cell) == [
        f"distribution: pytorch 2.12.1 on cuda 13.0 to 13.2 (2 releases): unsupported on t: {why}, and {served}"
    ]


def test_a_driver_of_another_release() -> None:
    targets = '{t: {accelerator: intel/gaudi3, driver: "1.25.0"}}'
    cell = one("pytorch>=2.9", "gaudi", "3.12", base="[vendor]", targets=targets)
    (text,) = passed_over(cell)
    assert text.startswith("vendor: pytorch 2.9.0 to 2.11.0 on gaudi 1.23.0 to 1.24.1 (3 releases): unsupported on t: ")
    assert "driver 1.25.0 and gaudi 1.23.0 to 1.24.1 are not of one release: it needs driver 1.23.x to 1.24.x" in text


def test_causes_stay_apart() -> None:
    targets = '{t: {accelerator: amd/mi350x, driver: "6.3.0"}}'
    cell = one("pytorch>=2.6,<2.10", "rocm", "3.12", base="[vendor]", targets=targets)
    assert cell.variant is not None
    assert str(cell.variant.stack.version) == "7.0.0"
    (text,) = passed_over(cell)
    assert text.startswith("vendor: pytorch 2.8.0 to 2.9.1 on rocm 7.2.2 to 7.2.4 (4 releases): unsupported on t: ")
    assert text.endswith("driver 6.3.0 serves rocm 6.1 to 7.0; rocm 7.2.2 to 7.2.4 is outside its window")
    old = one("pytorch==2.6.*", "rocm", "3.12", base="[vendor]", targets=targets)
    assert "amd/mi350x (gfx950) is newer than rocm 6.4.3: rocm 7.0.0 is the first for it" in passed_over(old)[0]
