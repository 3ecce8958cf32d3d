from __future__ import annotations

import base64
import csv
import hashlib
import json
import re

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from builder.cli.loading import load
from builder.model.matrix import BaseKind
from tests.lab import bases
from tests.lab.bases import Distribution, Image
from tests.lab.names import STAND_INS
from tests.lab.place import CHECKOUT

IMAGES = bases.images()


def image(reference: str) -> Image:
    return next(one for one in IMAGES if one.reference == reference)


def test_every_vendor_has_a_stand_in_and_each_is_told_apart() -> None:
    references = [one.reference for one in IMAGES]
    assert len(set(references)) == len(references)
    owners = {"/".join(reference.split("/")[:2]) for reference in references}
    assert {"nvcr.io/nvidia", "docker.io/rocm", "docker.io/library", "docker.io/nvidia"} <= owners
    assert {"vault.habana.ai/gaudi-docker", "docker.io/intel", "docker.io/vllm"} <= owners


@pytest.mark.parametrize("one", IMAGES, ids=lambda one: one.reference)
def test_a_stand_in_is_whole(one: Image) -> None:
    assert one.host in STAND_INS
    assert re.fullmatch(r"[\w.-]+", one.tags[0])
    assert bool(one.python) == bool(one.at)
    for distribution in one.distributions:
        assert str(Version(distribution.version)) == distribution.version
        installed = {found.name for found in one.distributions} | set(one.wheels)
        assert {Requirement(text).name for text in distribution.requires} <= installed


def test_nvidias_framework_is_a_pre_release_and_its_gate_says_nothing() -> None:
    ngc = image("nvcr.io/nvidia/pytorch:25.10-py3")
    (torch,) = ngc.distributions
    assert Version(torch.version).is_prerelease
    assert torch.version == "2.9.0a0+145a3a7bda.nv25.10"
    assert ngc.env["NVIDIA_REQUIRE_CUDA"] == "cuda>=9.0"
    assert ngc.env["CUDA_VERSION"] == "13.0.2.006"
    assert ngc.interpreter == "/usr/bin/python3.12"


def test_amds_python_lies_where_it_lies_in_the_real_images() -> None:
    old, new = "rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0", "rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.9.1"
    assert image(f"docker.io/rocm/pytorch:{old}").interpreter == "/opt/conda/envs/py_3.12/bin/python3.12"
    assert image(f"docker.io/rocm/pytorch:{new}").interpreter == "/opt/venv/bin/python"


def test_what_a_file_inherits_is_merged_name_by_name() -> None:
    ngc = image("nvcr.io/nvidia/pytorch:25.10-py3")
    assert ngc.env["NVIDIA_VISIBLE_DEVICES"] == "all"  # every
    assert ngc.env["NVIDIA_PRODUCT_NAME"] == "PyTorch"  # like
    assert ngc.env["NVIDIA_PYTORCH_VERSION"] == "25.10"  # its own


def test_an_installed_distribution_has_a_record_of_every_file() -> None:
    torch = Distribution(name="torch", version="2.9.0a0+x", requires=("filelock",), module="torch", said={"cuda": "13.0"})
    entries = {entry.path: entry.data for entry in bases.installed(torch, "site")}
    record = entries["site/torch-2.9.0a0+x.dist-info/RECORD"].decode().splitlines()
    rows = {row[0]: row[1:] for row in csv.reader(record)}
    assert {f"site/{path}" for path in rows} == entries.keys()
    for path, (digest, size) in rows.items():
        if not path.endswith("/RECORD"):
            data = entries[f"site/{path}"]
            assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert int(size) == len(data)
    metadata = entries["site/torch-2.9.0a0+x.dist-info/METADATA"].decode()
    assert "Requires-Dist: filelock\n" in metadata
    assert "SAID = {'version': '2.9.0a0+x', 'cuda': '13.0'}" in entries["site/torch/_said.py"].decode()


def test_the_constraint_file_that_the_environment_names_is_there() -> None:
    files = {entry.path: entry.data for entry in bases.entries(image("nvcr.io/nvidia/pytorch:26.01-py3"), "3.12.1")}
    assert files["etc/pip/constraint.txt"] == b"torch==2.10.0a0+a36e1d39eb.nv26.1\n"


def test_a_listing_is_json_and_says_what_is_missing() -> None:
    listed = bases.listing(image("nvcr.io/nvidia/pytorch:25.10-py3"), None, "no CPython 3.12")
    assert json.loads(json.dumps(listed))["missing"] == "no CPython 3.12"
    assert listed["distributions"] == {"torch": "2.9.0a0+145a3a7bda.nv25.10"}


@pytest.mark.parametrize("matrix", ["tests/data/matrix/product.yaml", "matrices/pytorch.yaml"])
def test_every_vendor_base_that_a_pytorch_matrix_chooses_has_a_stand_in(matrix: str) -> None:
    bases_chosen = [variant.base for variant in load(CHECKOUT / matrix).plan.variants]
    chosen = {str(base.reference) for base in bases_chosen if base.kind is BaseKind.VENDOR}
    assert len(chosen) > 5
    assert chosen <= {one.reference for one in IMAGES}
