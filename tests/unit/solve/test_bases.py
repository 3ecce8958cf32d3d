"""Which builds a base carries: images that the matrix names, and wheels of several platforms."""

from __future__ import annotations

import pytest

from builder.model.facts import Image
from builder.model.matrix import BaseKind
from builder.model.oci import ImageReference
from builder.model.verdict import Effect
from tests.unit.solve.asking import catalog, one

NGC = "nvcr.io/nvidia/pytorch:25.10-py3"
CUDA = "nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04"
BOTH = "[linux/amd64, linux/arm64]"


def test_a_vendor_image_by_name_keeps_the_framework_it_holds() -> None:
    cell = one("pytorch==2.9.*", "cuda", "3.12", base=f'["{NGC}"]')
    assert cell.variant is not None
    assert cell.variant.id == "pytorch2.9.0a0_145a3a7bda-cuda13.0.2-py3.12"
    assert (cell.variant.base.kind, str(cell.variant.base.reference)) == (BaseKind.VENDOR, NGC)
    assert cell.variant.pip == ()
    assert "torch" in cell.variant.base.frameworks
    assert cell.variant.base.licence == "nvcr.io/nvidia/pytorch"


def test_a_digest_that_was_written_stays() -> None:
    pinned = f"{NGC}@sha256:{'0' * 64}"
    cell = one("pytorch==2.9.*", "cuda", "3.12", base=f'["{pinned}"]')
    assert cell.variant is not None
    assert str(cell.variant.base.reference) == pinned
    assert cell.variant.pip == ()


@pytest.mark.parametrize(
    ("framework", "stack", "python", "rule", "says"),
    [
        ("pytorch==2.10.*", "cuda", "3.12", "BAS005", "holds this, and the cell asks for pytorch==2.10.* on cuda"),
        ("pytorch>=2.9,<2.10", "cuda", "3.12", "BAS005", "holds this, and the cell asks for pytorch>=2.9,<2.10 on cuda"),
        ("pytorch==2.9.*", "cuda==12.*", "3.12", "BAS005", "holds this, and the cell asks for pytorch==2.9.* on cuda==12.*"),
        ("pytorch==2.9.*", "cpu", "3.12", "BAS005", "holds this, and the cell asks for pytorch==2.9.* on cpu"),
        ("pytorch==2.9.*", "cuda", "3.11", "PKG001", "it is for Python 3.12, and the cell asks for 3.11"),
    ],
)
def test_a_vendor_image_that_holds_something_else(framework: str, stack: str, python: str, rule: str, says: str) -> None:
    cell = one(framework, stack, python, base=f'["{NGC}"]', targets='{t: {accelerator: nvidia/h100, driver: "580.95.05"}}')
    assert cell.variant is None
    assert [(reason.rule, reason.effect) for reason in cell.reasons] == [(rule, Effect.REFUSES)]
    assert says in cell.reasons[0].text
    assert (cell.candidate is None) is (stack == "cpu")


@pytest.mark.parametrize("image", ["nvcr.io/nvidia/pytorch:25.07-py3", f"nvcr.io/nvidia/pytorch@sha256:{'0' * 64}"])
def test_no_wheel_is_put_over_a_vendor_framework_of_unknown_release(image: str) -> None:
    cell = one("pytorch==2.9.*", "cuda==13.*", "3.12", base=f'["{image}"]')
    assert cell.variant is None
    assert [reason.rule for reason in cell.reasons] == ["BAS005"]
    assert f"which release {image} has is not in the catalog" in cell.reasons[0].text


def test_a_stack_image_by_name_gets_the_wheel_of_its_series() -> None:
    cell = one("pytorch==2.9.1", "cuda", "3.12", base=f'["{CUDA}"]')
    assert cell.variant is not None
    assert (cell.variant.base.kind, str(cell.variant.stack.version)) == (BaseKind.STACK, "12.8")
    assert [reason.rule for reason in cell.reasons if reason.effect is Effect.REFUSES] == ["BAS005"]
    other = one("pytorch==2.9.1", "cuda==12.8.*", "3.11", base=f'["{CUDA}"]')
    assert [(reason.rule, "has Python 3.12, and the cell asks for 3.11" in reason.text) for reason in other.reasons] == [
        ("BAS003", True)
    ]


@pytest.mark.parametrize(
    ("image", "python", "rules"),
    [
        ("debian:12-slim", "3.11", {"ART001"}),
        ("debian:12-slim", "3.12", {"BAS003"}),
        ("python:3.12-slim", "3.12", {"ART001", "BAS006"}),
        (CUDA, "3.12", {"ART001"}),
        (CUDA, "3.11", {"BAS003"}),
        (NGC, "3.12", {"ART001"}),
        (NGC, "3.13", {"BAS003"}),
    ],
)
def test_what_is_known_of_an_image_is_used(image: str, python: str, rules: set[str]) -> None:
    cell = one("openvino==2026.4.*", "cpu", python, base=f'["{image}"]')
    assert {reason.rule for reason in cell.reasons} == rules
    assert (cell.variant is None) is ("BAS003" in rules)
    if cell.variant is not None:
        assert cell.variant.base.kind is BaseKind.IMAGE


def test_the_c_library_of_a_known_image_is_compared() -> None:
    cell = one("vllm==0.20.0", "cuda", "3.9", base='["debian:11-slim"]')
    assert {reason.rule for reason in cell.reasons} <= {"PKG001", "PKG002", "BAS003"}
    assert cell.variant is None


def test_a_release_whose_platforms_are_two_records_is_one_build() -> None:
    cell = one("openvino==2026.0.0", "cpu", "3.12", base="[distribution]", platforms=BOTH)
    assert cell.variant is not None
    assert [str(platform) for platform in cell.variant.platforms] == ["linux/amd64", "linux/arm64"]
    assert cell.variant.pip == ("openvino==2026.0.0",)
    assert {reason.rule for reason in cell.reasons} == {"ART001"}


def test_where_only_one_record_has_the_python_the_other_platform_is_left_out() -> None:
    cell = one("openvino==2026.0.0", "cpu", "3.14", base="[distribution]", platforms=BOTH)
    assert cell.variant is not None
    assert [str(platform) for platform in cell.variant.platforms] == ["linux/amd64"]
    assert "PLT004" in {reason.rule for reason in cell.reasons}


def test_other_names_on_other_machines() -> None:
    cell = one("tensorflow==2.19.1", "cpu", "3.12", base="[distribution]", platforms=BOTH)
    assert cell.variant is not None
    assert [str(platform) for platform in cell.variant.platforms] == ["linux/amd64", "linux/arm64"]
    assert cell.variant.pip == (
        "tensorflow-cpu==2.19.1 ; platform_machine == 'x86_64'",
        "tensorflow==2.19.1 ; platform_machine == 'aarch64'",
    )
    arm = one("tensorflow==2.19.1", "cpu", "3.12", base="[distribution]", platforms="[linux/arm64]")
    assert arm.variant is not None
    assert arm.variant.pip == ("tensorflow==2.19.1",)


def test_of_equal_releases_the_one_for_every_platform() -> None:
    """For CUDA 13.2, PyTorch's own index has the amd64 wheel of 2.15.0 and PyPI has both."""
    both = one("pytorch==2.15.0", "cuda==13.2", "3.12", base="[distribution]", platforms=BOTH)
    assert both.variant is not None
    assert [str(platform) for platform in both.variant.platforms] == ["linux/amd64", "linux/arm64"]
    amd = one("pytorch==2.15.0", "cuda==13.2", "3.12", base="[distribution]")
    assert amd.variant is not None
    assert [index.name for index in amd.variant.indexes] == ["pytorch-cu132"]


def test_the_catalog_knows_an_image_by_name_and_tag() -> None:
    found = catalog().image(ImageReference.parse(NGC))
    assert isinstance(found, Image)
    assert str(found.version) == "2.9.0a0+145a3a7bda"
    assert catalog().image(ImageReference.parse("nvcr.io/nvidia/pytorch:1.0")) is None
