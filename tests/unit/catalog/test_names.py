"""Names as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.catalog.query import Catalog, load_catalog

CATALOG = load_catalog()


@pytest.fixture
def catalog() -> Catalog:
    return CATALOG


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("H100 80GB HBM3", "nvidia/h100"),
        ("NVIDIA H100 80GB HBM3", "nvidia/h100"),
        ("h100-pcie", "nvidia/h100"),
        ("A100-SXM4-40GB", "nvidia/a100"),
        ("nvidia/a100-80gb", "nvidia/a100"),
        ("Tesla V100-SXM2-16GB", "nvidia/v100"),
        ("NVIDIA GeForce RTX 4090", "nvidia/rtx-4090"),
        ("RTX 4090", "nvidia/rtx-4090"),
        ("MI300X", "amd/mi300x"),
        ("AMD Instinct MI250X", "amd/mi250x"),
        ("Radeon RX 7900 XTX", "amd/rx-7900-xtx"),
        ("Gaudi 3", "intel/gaudi3"),
        ("HL-325L", "intel/gaudi3"),
        ("Intel Data Center GPU Max 1550", "intel/max-1550"),
        ("trn2", "aws/trainium2"),
        ("tpu-v5e", "google/tpu-v5e"),
        ("intel/gaudi3", "intel/gaudi3"),
        ("x86_64", "cpu/x86-64-v1"),
    ],
)
def test_accelerators(catalog: Catalog, written: str, meant: str) -> None:
    assert catalog.canonical_accelerator(written).found == (meant,)


def test_an_arch_means_every_device_of_it(catalog: Catalog) -> None:
    assert catalog.canonical_accelerator("gfx942").found == ("amd/mi325x", "amd/mi300x", "amd/mi300a")
    assert catalog.canonical_accelerator("sm_90").only is None


def test_near_misses_are_proposed(catalog: Catalog) -> None:
    named = catalog.canonical_accelerator("nvidia/h1000")
    assert (named.found, named.close[0]) == ((), "nvidia/h100")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("torch", "pytorch"),
        ("PyTorch", "pytorch"),
        ("ORT", "onnxruntime"),
        ("tf", "tensorflow"),
        ("tritonserver", "triton-server"),
    ],
)
def test_frameworks(catalog: Catalog, written: str, meant: str) -> None:
    assert catalog.canonical_framework(written).only == meant


@pytest.mark.parametrize(("written", "meant"), [("xpu", "oneapi"), ("HPU", "gaudi"), ("cuda", "cuda"), ("hip", "rocm")])
def test_stacks(catalog: Catalog, written: str, meant: str) -> None:
    assert catalog.canonical_stack(written).only == meant


def test_a_misspelt_framework_is_proposed(catalog: Catalog) -> None:
    assert catalog.canonical_framework("pytroch").close == ("pytorch",)


def test_every_accelerator_is_found_by_its_own_name_and_title(catalog: Catalog) -> None:
    for accelerator in (item for vendor in catalog.vendor_names() for item in catalog.accelerators(vendor)):
        assert catalog.canonical_accelerator(accelerator.name).found == (accelerator.name,)
        assert accelerator.name in catalog.canonical_accelerator(accelerator.title).found


@given(st.text(max_size=40))
def test_no_name_breaks_the_catalog(written: str) -> None:
    assert len(CATALOG.canonical_accelerator(written).close) <= 3
    assert CATALOG.canonical_framework(written or "x").found in ((), *((name,) for name in CATALOG.framework_names()))
