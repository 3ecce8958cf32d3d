"""The variables of an image: nothing of the base's paths is lost, the matrix has the last word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.model.plan import Release
from builder.render.environment import join_paths
from builder.render.nvidia import library_folders
from tests.golden.build import Case, release, wheel
from tests.golden.cases import CASES
from tests.unit.render.make import ASSEMBLED, DEBIAN, NGC, added_env, env, with_facts

HABANA = CASES["habana-pytorch"]


def with_env(case: Case, **values: str) -> Case:
    return replace(case, variant=replace(case.variant, env=values))


def with_base_env(case: Case, **values: str) -> Case:
    return with_facts(case, replace(case.base.facts, env={**case.base.facts.env, **values}))


def with_stack(case: Case, stack: Release) -> Case:
    return replace(case, variant=replace(case.variant, stack=stack))


def test_ngc_keeps_its_gate_and_its_library_path() -> None:
    added = added_env(NGC)
    assert not [name for name in added if name.startswith("NVIDIA_") or name in {"LD_LIBRARY_PATH", "PATH"}]


def test_wheel_borne_cuda_gets_what_nvidias_images_have() -> None:
    added = added_env(DEBIAN)
    assert added["NVIDIA_REQUIRE_CUDA"] == "cuda>=12.0"
    assert added["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert added["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert added["LD_LIBRARY_PATH"].split(":")[0] == "/usr/local/nvidia/lib64"


def test_the_floor_is_that_of_the_major() -> None:
    assert added_env(with_stack(DEBIAN, release("cuda", "13.1")))["NVIDIA_REQUIRE_CUDA"] == "cuda>=13.0"


def test_what_the_base_says_is_not_said_again() -> None:
    case = with_base_env(DEBIAN, NVIDIA_VISIBLE_DEVICES="void", LD_LIBRARY_PATH="/base/lib")
    assert "NVIDIA_VISIBLE_DEVICES" not in added_env(case)
    assert env(case)["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert env(case)["LD_LIBRARY_PATH"].split(":")[:2] == ["/base/lib", "/usr/local/nvidia/lib64"]


@pytest.mark.parametrize("mark", ["CUDA_VERSION", "NVIDIA_REQUIRE_CUDA"])
def test_a_base_that_nvidia_made_is_left_alone(mark: str) -> None:
    assert not [name for name in added_env(with_base_env(DEBIAN, **{mark: "x"})) if name.startswith("NVIDIA_")]


def test_the_matrix_has_the_last_word() -> None:
    assert env(with_env(DEBIAN, NVIDIA_VISIBLE_DEVICES="none"))["NVIDIA_VISIBLE_DEVICES"] == "none"
    assert env(with_env(HABANA, PT_HPU_LAZY_MODE="1"))["PT_HPU_LAZY_MODE"] == "1"


def test_paths_of_the_matrix_come_first_and_lose_nothing() -> None:
    case = with_env(DEBIAN, PATH="/mine/bin", LD_LIBRARY_PATH="/mine/lib")
    assert env(case)["PATH"].split(":")[:3] == ["/mine/bin", "/opt/venv/bin", "/usr/local/sbin"]
    assert env(case)["LD_LIBRARY_PATH"].split(":")[:2] == ["/mine/lib", "/usr/local/nvidia/lib64"]


def test_a_virtual_environment_is_found_first() -> None:
    assert env(DEBIAN)["VIRTUAL_ENV"] == "/opt/venv"
    assert env(DEBIAN)["PATH"].startswith("/opt/venv/bin:")


def test_a_base_without_path_gets_one() -> None:
    bare = replace(ASSEMBLED, locked=replace(ASSEMBLED.locked, packages=()))
    assert env(bare)["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def test_the_matrix_block_is_sorted() -> None:
    forward, backward = with_env(NGC, A="1", B="2"), with_env(NGC, **dict(reversed([("A", "1"), ("B", "2")])))
    assert list(added_env(forward)) == list(added_env(backward))


def test_gaudi_says_its_mode() -> None:
    assert added_env(HABANA)["PT_HPU_LAZY_MODE"] == "0"
    older = added_env(with_stack(HABANA, release("gaudi", "1.20.1")))
    assert older["PT_HPU_LAZY_MODE"] == "1"
    bare = with_facts(HABANA, replace(HABANA.base.facts, env={}))
    assert added_env(bare)["OMPI_MCA_btl_vader_single_copy_mechanism"] == "none"


def test_tpu_tells_pytorch_and_leaves_jax_alone() -> None:
    pytorch = replace(ASSEMBLED, variant=replace(ASSEMBLED.variant, framework=release("pytorch", "2.9.0"), stack=release("tpu")))
    assert added_env(pytorch)["PJRT_DEVICE"] == "TPU"
    jax = replace(ASSEMBLED, variant=replace(ASSEMBLED.variant, framework=release("jax", "0.8.0"), stack=release("tpu")))
    assert "PJRT_DEVICE" not in added_env(jax)


def test_folders_of_nvidias_wheels() -> None:
    names = [
        "nvidia-cublas-cu12",
        "nvidia-cuda-runtime-cu12",
        "nvidia-cudnn-cu13",
        "nvidia-cufft",
        "nvidia-cuda-nvrtc",
        "nvidia-ml-py",
        "numpy",
    ]
    assert library_folders([wheel(name, "1.0") for name in names], "/s") == [
        "/s/nvidia/cu13/lib",
        "/s/nvidia/cublas/lib",
        "/s/nvidia/cuda_runtime/lib",
        "/s/nvidia/cudnn/lib",
    ]


def test_only_frameworks_that_need_the_folders_get_them() -> None:
    pytorch = replace(DEBIAN, variant=replace(DEBIAN.variant, framework=release("pytorch", "2.9.1")))
    assert added_env(pytorch)["LD_LIBRARY_PATH"] == "/usr/local/nvidia/lib64"
    assert "/nvidia/cudnn/lib" in added_env(DEBIAN)["LD_LIBRARY_PATH"]


def test_an_empty_part_of_a_path_would_be_the_working_folder() -> None:
    assert join_paths("/a::/b:", "", ":/a:/c") == "/a:/b:/c"
