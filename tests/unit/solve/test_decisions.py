"""Questions that users asked or a vendor's page settles, each as a small matrix, with the reason as well as the verdict.

N are NVIDIA's, O other vendors', a bare number is a public issue report. Only what a plan can
answer is here; what needs a bare stack, an image that is not in the catalog, or a list of code
given by hand is asked of the rules themselves in test_driver_rules.py and test_device_rules.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from builder.model.plan import PlannedCell
from builder.model.verdict import Verdict
from tests.unit.solve.asking import one

SUPPORTED, CONDITIONAL, UNSUPPORTED = Verdict.SUPPORTED, Verdict.CONDITIONAL, Verdict.UNSUPPORTED


@dataclass(frozen=True, kw_only=True)
class Case:
    """One question: what is asked, and the variant (``None``: none), verdict and words of the answer."""

    name: str
    device: str
    driver: str
    framework: str
    stack: str
    python: str = "3.12"
    base: str = "[vendor, distribution]"
    platform: str = "linux/amd64"
    variant: str | None
    verdict: Verdict
    says: tuple[str, ...]


CASES = (
    Case(
        name="N1: minor-version compatibility carries an image whose code list is not known, on a condition",
        device="nvidia/h100",
        driver="525.105.17",
        framework="pytorch==2.3.*",
        stack="cuda==12.4.*",
        python="3.10",
        variant="pytorch2.3.0a0_6ddf5cf85e-cuda12.4.1-py3.10",
        verdict=CONDITIONAL,
        says=("DRV003", "this driver cannot compile PTX of cuda 12.4.1", "DEV005", "R525 is out of support"),
    ),
    Case(
        name="N1: with the device's code in the list and no PTX it is supported",
        device="nvidia/h100",
        driver="525.105.17",
        framework="pytorch==2.5.*",
        stack="cuda==12.4",
        variant="pytorch2.5.1-cuda12.4-py3.12",
        verdict=SUPPORTED,
        says=("DRV002", "minor-version compatibility", "DEV002"),
    ),
    Case(
        name="N3: R470 is below CUDA 12, whatever the card",
        device="nvidia/rtx-4090",
        driver="470.82.01",
        framework="pytorch==2.5.*",
        stack="cuda==12.4",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DRV005", "older than 525.60.13, the lowest for cuda 12.x"),
    ),
    Case(
        name="N5: B200 came with CUDA 12.8; a list nobody read cannot carry it",
        device="nvidia/b200",
        driver="570.133.20",
        framework="pytorch==2.3.*",
        stack="cuda==12.4.*",
        python="3.10",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DEV008", "cuda 12.8 is the first for it", "PTX is not known to be in the binary"),
    ),
    Case(
        name="N7: the wheel of torch 2.7.0 for CUDA 12.6 holds nothing for an RTX 5090",
        device="nvidia/rtx-5090",
        driver="580.95.05",
        framework="pytorch==2.7.0",
        stack="cuda==12.6",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DEV008", "cuda 12.8 is the first for it", "the binary holds no code it runs"),
    ),
    Case(
        name="N7: its wheel for CUDA 12.8 is what is chosen",
        device="nvidia/rtx-5090",
        driver="580.95.05",
        framework="pytorch==2.7.0",
        stack="cuda",
        variant="pytorch2.7.0-cuda12.8-py3.12",
        verdict=SUPPORTED,
        base="[distribution]",
        says=("DEV002",),
    ),
    Case(
        name="N9: V100 ended with CUDA 12",
        device="nvidia/v100",
        driver="580.95.05",
        framework="pytorch==2.9.*",
        stack="cuda==13.*",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DEV007", "cuda 12.9 is the last for nvidia/v100"),
    ),
    Case(
        name="N11: torch 2.13 reaches a V100 with the wheel for CUDA 12.6 alone",
        device="nvidia/v100",
        driver="580.95.05",
        framework="pytorch==2.13.0",
        stack="cuda",
        base="[distribution]",
        variant="pytorch2.13.0-cuda12.6-py3.12",
        verdict=SUPPORTED,
        says=("DEV002", "passed over distribution: pytorch 2.13.0 on cuda 13.0 to 13.2 (2 releases)"),
    ),
    Case(
        name="N13: no compatibility package on GeForce, so torch 2.11 on R570 is the wheel for CUDA 12.8",
        device="nvidia/rtx-4090",
        driver="570.133.20",
        framework="pytorch==2.11.*",
        stack="cuda",
        base="[distribution]",
        variant="pytorch2.11.0-cuda12.8-py3.12",
        verdict=SUPPORTED,
        says=("DEV003", "cuda-compat-13-0 does not serve geforce devices"),
    ),
    Case(
        name="N13: and from 2.12 on the one for CUDA 12.6",
        device="nvidia/rtx-4090",
        driver="570.133.20",
        framework="pytorch==2.12.*",
        stack="cuda",
        base="[distribution]",
        variant="pytorch2.12.1-cuda12.6-py3.12",
        verdict=SUPPORTED,
        says=("DEV003", "error 804"),
    ),
    Case(
        name="N15: R550 is in no column of the compatibility table",
        device="nvidia/h100",
        driver="550.54.15",
        framework="pytorch==2.9.*",
        stack="cuda==13.0.*",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DRV005", "no forward-compatibility package of cuda 13.0 works on driver series 550"),
    ),
    Case(
        name="N15: R535 is, so there it runs with the package",
        device="nvidia/h100",
        driver="535.104.05",
        framework="pytorch==2.9.*",
        stack="cuda==13.0.*",
        variant="pytorch2.9.0a0_145a3a7bda-cuda13.0.2-py3.12",
        verdict=CONDITIONAL,
        says=("DRV004", "it runs with the package cuda-compat-13-0"),
    ),
    Case(
        name="N17: the notes of 25.08 say that R575 suffices; CUDA 13 needs R580",
        device="nvidia/l40s",
        driver="575.57.08",
        framework="triton-server==2.60.0",
        stack="cuda",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DRV005", "older than 580.65.06, the lowest for cuda 13.x"),
    ),
    Case(
        name="N21: an L4 runs code for 8.6",
        device="nvidia/l4",
        driver="580.95.05",
        framework="pytorch==2.8.*",
        stack="cuda==12.8",
        variant="pytorch2.8.0-cuda12.8-py3.12",
        verdict=SUPPORTED,
        says=("DEV003", "holds sm_86 code, which sm_89 runs"),
    ),
    Case(
        name="N23: GB10 runs code for 12.0 that CUDA 12.8 made",
        device="nvidia/gb10",
        driver="580.95.05",
        framework="pytorch==2.9.1",
        stack="cuda==12.8",
        platform="linux/arm64",
        variant="pytorch2.9.1-cuda12.8-py3.12",
        verdict=CONDITIONAL,
        says=("DEV006", "cuda 12.9 is the first for it; the binary's sm_120 code runs on it"),
    ),
    Case(
        name="O1: the newest table lists ROCm 6.4 for a 6.2 driver",
        device="amd/mi300x",
        driver="6.2.4",
        framework="pytorch==2.6.*",
        stack="rocm==6.4.*",
        variant="pytorch2.6.0-rocm6.4.3-py3.12",
        verdict=CONDITIONAL,
        says=("DRV020", "driver 6.2.4 and rocm 6.4.3 are in each other's window"),
    ),
    Case(
        name="O3: 30.30 begins at 6.3; a newer driver is not always better",
        device="amd/mi300x",
        driver="30.30.0",
        framework="pytorch==2.6.*",
        stack="rocm==6.2.*",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DRV021", "serves rocm 6.3 to 10.0; rocm 6.2.4 is outside its window"),
    ),
    Case(
        name="O5: the module's number is that of driver 30.30, not of ROCm",
        device="amd/mi300x",
        driver="6.16.13",
        framework="pytorch==2.9.*",
        stack="rocm",
        variant="pytorch2.9.1-rocm7.2.4-py3.12",
        verdict=CONDITIONAL,
        says=("DRV020",),
    ),
    Case(
        name="O11: MI350X came with ROCm 7.0",
        device="amd/mi350x",
        driver="30.30.0",
        framework="pytorch==2.6.*",
        stack="rocm==6.4.*",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DEV008", "rocm 7.0.0 is the first for it"),
    ),
    Case(
        name="O13: MI50 is dropped although the wheel still holds its code",
        device="amd/mi50",
        driver="6.4.1",
        framework="pytorch==2.8.*",
        stack="rocm==6.4.*",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DEV007", "code for it is still in some wheels"),
    ),
    Case(
        name="O15: upstream's wheels of 2.9 are for ROCm 6.4 and 6.3",
        device="amd/mi300x",
        driver="30.30.0",
        framework="pytorch==2.9.*",
        stack="rocm",
        base="[distribution]",
        variant="pytorch2.9.1-rocm6.4-py3.12",
        verdict=CONDITIONAL,
        says=("DEV005",),
    ),
    Case(
        name="O23: a Gaudi driver of 1.21 and an image of 1.24",
        device="intel/gaudi3",
        driver="1.21.0",
        framework="pytorch==2.11.*",
        stack="gaudi",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DRV031", "driver 1.21.0 and gaudi 1.24.1 are not of one release"),
    ),
    Case(
        name="46: one release of difference is refused, the override is a note",
        device="intel/gaudi3",
        driver="1.23.0",
        framework="pytorch==2.7.*",
        stack="gaudi",
        python="3.10",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DRV031", "INIT_HCCL_ON_ACQUIRE=0 with ENABLE_EXPERIMENTAL_FLAGS=true is reported to force it, unvalidated"),
    ),
    Case(
        name="49: KFD 5.6 is outside of ROCm 6.1's window",
        device="amd/mi210",
        driver="5.6",
        framework="pytorch==2.4.*",
        stack="rocm==6.1.*",
        variant=None,
        verdict=UNSUPPORTED,
        says=("DRV021", "driver 5.6 serves rocm 5.4 to 6.0"),
    ),
    Case(
        name="49: 6.2 and ROCm 6.0 are in it",
        device="amd/mi210",
        driver="6.2.0",
        framework="pytorch==2.3.*",
        stack="rocm==6.0.*",
        python="3.11",
        variant="pytorch2.3.1-rocm6.0-py3.11",
        verdict=CONDITIONAL,
        says=("DRV020",),
    ),
    Case(
        name="13: 11040 is the driver of CUDA 11.4",
        device="nvidia/a100",
        driver="11040",
        framework="pytorch==2.5.*",
        stack="cuda==11.8.*",
        variant="pytorch2.5.1-cuda11.8-py3.12",
        verdict=SUPPORTED,
        says=("DRV002", "that of cuda 11.4: 470.42.01 or newer"),
    ),
    Case(
        name="14: nothing newer than CUDA 11 for R470, and the newest framework that still has it",
        device="nvidia/a100",
        driver="470.82.01",
        framework="pytorch",
        stack="cuda",
        base="[distribution]",
        variant="pytorch2.7.1-cuda11.8-py3.12",
        verdict=SUPPORTED,
        says=("DRV002", "passed over distribution: pytorch "),
    ),
)


def ask(case: Case) -> PlannedCell:
    target = f'{{t: {{accelerator: {case.device}, driver: "{case.driver}", platform: {case.platform}}}}}'
    platforms = f"[{case.platform}]"
    return one(case.framework, case.stack, case.python, base=case.base, targets=target, platforms=platforms)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_answer_and_its_reason(case: Case) -> None:
    cell = ask(case)
    assert (cell.variant.id if cell.variant else None) == case.variant
    assert cell.verdicts["t"].verdict is case.verdict
    reasons = (*cell.verdicts["t"].reasons, *cell.reasons)
    text = "\n".join(f"{reason.rule} {reason.text}" for reason in reasons)
    assert [words for words in case.says if words not in text] == []
    deciding = [reason for reason in reasons if reason.effect.value in {"refuses", "conditions"}]
    assert all(reason.source is not None and reason.source.checked for reason in deciding)


@pytest.mark.parametrize(
    ("framework", "stack", "chosen"),
    [("2.10.*", "rocm", "7.14.1"), ("2.10.*", "rocm<7.14", "7.2.4"), ("2.12.*", "rocm", "10.1.0")],
)
def test_o7_the_order_of_production_releases(framework: str, stack: str, chosen: str) -> None:
    """7.2, 7.14, 10.0: what lies between is previews (see test_solver.py) or does not exist."""
    cell = one(f"pytorch=={framework}", stack, "3.12", base="[vendor]")
    assert cell.variant is not None
    assert str(cell.variant.stack.version) == chosen


def test_o25_the_pair_comes_from_the_table() -> None:
    cell = one("pytorch==2.5.1", "gaudi==1.23.0", "3.10")
    assert cell.variant is None
    assert {reason.rule for reason in cell.reasons} == {"CAT002"}
    assert "known not to exist: Gaudi 1.23 has PyTorch 2.9.0 and no other" in cell.reasons[0].text
