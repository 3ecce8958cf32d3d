"""The constraint file, and the variables that name it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.errors import MismatchError, UnsatisfiableError
from builder.model.lock import Installed
from builder.model.matrix import BaseKind
from builder.render import guard
from tests.golden.build import Case, wheel
from tests.unit.render.make import ASSEMBLED, DEBIAN, NGC, TRITON, VLLM, context, env, with_facts

OURS = "/etc/imgbuild/constraints.txt"


def kept(case: Case) -> list[str]:
    text = context(case).rendered["constraints.txt"].decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def with_installed(case: Case, *installed: Installed) -> Case:
    return with_facts(case, replace(case.base.facts, distributions=installed))


def test_the_vendors_build_is_kept_with_its_label() -> None:
    assert kept(NGC) == [
        "pytorch-triton==3.5.0+gitc3c476f3",
        "torch==2.9.0a0+145a3a7bda.nv25.10",
        "torchvision==0.24.0a0+094e7af5",
    ]


def test_what_is_tied_by_exact_versions_is_kept_too() -> None:
    assert kept(VLLM) == ["torch==2.14.0+cu130", "triton==3.8.0", "vllm==0.31.0", "xgrammar==0.1.33"]


def test_ties_reach_further() -> None:
    case = with_installed(
        VLLM,
        Installed(
            name="torch", version="2.14.0", requires=("nvidia-cudnn==9.1", "Jinja2", "numpy==2.*", "broken requirement !!")
        ),
        Installed(name="NVIDIA_cuDNN", version="9.1", requires=("nvidia-cublas===13.0",)),
        Installed(name="nvidia-cublas", version="13.0"),
        Installed(name="numpy", version="2.3"),
        Installed(name="jinja2", version="3.1"),
        Installed(name="fastvideo", version="1.0", requires=("torch==2.14.0",)),
        Installed(name="other", version="1.0", requires=("jinja2==3.1",)),
    )
    assert [line.partition("==")[0] for line in kept(case)] == ["fastvideo", "nvidia-cublas", "nvidia-cudnn", "torch"]


def test_the_first_of_two_copies_counts() -> None:
    case = with_installed(NGC, Installed(name="torch", version="2.9.0+first"), Installed(name="torch", version="2.8.0"))
    assert kept(case) == ["torch==2.9.0+first"]


def test_on_a_distribution_it_is_the_locked_framework() -> None:
    assert kept(DEBIAN) == ["onnxruntime-gpu==1.23.2"]
    assert kept(ASSEMBLED) == ["openvino==2026.4.1"]


def test_nothing_to_keep_no_file() -> None:
    assert "constraints.txt" not in context(TRITON).rendered
    assert not set(guard.VARIABLES) & env(TRITON).keys()


def test_a_lock_that_replaces_the_vendors_framework_is_refused() -> None:
    case = replace(NGC, locked=replace(NGC.locked, packages=(wheel("torch", "2.9.1"),)))
    with pytest.raises(UnsatisfiableError, match=r"would replace torch 2\.9\.0a0\+145a3a7bda\.nv25\.10 .* by 2\.9\.1"):
        context(case)


def test_on_an_image_of_your_own_the_lock_may_replace_it() -> None:
    base = replace(NGC.variant.base, kind=BaseKind.IMAGE, frameworks=())
    case = replace(NGC, variant=replace(NGC.variant, base=base), locked=replace(NGC.locked, packages=(wheel("torch", "2.9.1"),)))
    assert "torch==2.9.1" in kept(case)


def test_a_vendor_base_without_its_framework_is_refused() -> None:
    case = with_installed(NGC, Installed(name="numpy", version="1.26.4"))
    with pytest.raises(MismatchError, match="should bring torch, but none was found"):
        context(case)


@pytest.mark.parametrize("version", ["1.0 ; reboot", "1.0\nrequests", "", "1.0 --hash=x", "$(x)"])
def test_a_version_that_is_none_is_refused(version: str) -> None:
    with pytest.raises(MismatchError, match="no constraint file can hold"):
        context(with_installed(NGC, Installed(name="torch", version=version)))


def test_a_version_that_is_not_pep_440_is_held_by_identity() -> None:
    assert kept(with_installed(NGC, Installed(name="torch", version="2.9.0-nightly-x"))) == ["torch===2.9.0-nightly-x"]


def test_every_file_that_was_named_stays_named() -> None:
    assert {name: env(NGC)[name] for name in guard.VARIABLES} == {
        "PIP_CONSTRAINT": f"/etc/pip/constraint.txt {OURS}",
        "UV_CONSTRAINT": f"/etc/pip/constraint.txt {OURS}",
        "PIP_BUILD_CONSTRAINT": OURS,
        "UV_BUILD_CONSTRAINT": OURS,
    }


def test_the_matrix_adds_a_file_and_takes_none_away() -> None:
    case = replace(NGC, variant=replace(NGC.variant, env={"PIP_CONSTRAINT": "/mine.txt", "UV_BUILD_CONSTRAINT": "/b.txt"}))
    assert env(case)["PIP_CONSTRAINT"] == f"/etc/pip/constraint.txt /mine.txt {OURS}"
    assert env(case)["UV_BUILD_CONSTRAINT"] == f"/b.txt {OURS}"


def test_our_own_image_as_a_base_does_not_name_the_file_twice() -> None:
    assert guard.variables({"PIP_CONSTRAINT": f"/a.txt {OURS}"})["PIP_CONSTRAINT"] == f"/a.txt {OURS}"
    assert guard.variables({"UV_CONSTRAINT": "/u.txt", "PIP_CONSTRAINT": "/p.txt"})["UV_CONSTRAINT"] == f"/u.txt {OURS}"
