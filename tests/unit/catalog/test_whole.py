"""The catalog that ships: whole, sourced, and read only as far as it is asked."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from packaging.version import Version

from builder.catalog.crosscheck import complaints
from builder.catalog.files import DATA
from builder.catalog.query import Catalog, load_catalog
from builder.model.facts import DriverVersion, Image, Stack, StackRelease
from builder.model.oci import ImageReference
from builder.model.verdict import Source


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_nothing_contradicts_itself(catalog: Catalog) -> None:
    assert complaints(catalog) == []


def test_no_search_handle_is_shipped() -> None:
    for path in DATA.rglob("*.yaml"):
        assert not re.search(r"index:\d", path.read_text("utf-8")), path


def test_a_question_about_cuda_reads_cuda_alone() -> None:
    fresh = load_catalog()
    release = fresh.stack_release("cuda", Version("12.8"))
    assert release is not None
    assert fresh.accelerator("nvidia/h100") is not None
    assert fresh._records.folder.read == ["stacks/cuda", "accelerators/nvidia"]


def test_a_series_means_its_newest_release(catalog: Catalog) -> None:
    release = catalog.stack_release("cuda", Version("12.8"))
    assert release is not None
    assert (str(release.version), str(release.native_driver), str(release.major_driver)) == ("12.8.1", "570.124.06", "525.60.13")


@pytest.mark.parametrize(("version", "native"), [("11.8.0", "520.61.05"), ("12.4.1", "550.54.15"), ("13.0.2", "580.95.05")])
def test_drivers_are_written_as_the_vendor_writes_them(catalog: Catalog, version: str, native: str) -> None:
    release = catalog.stack_release("cuda", Version(version))
    assert release is not None
    assert str(release.native_driver) == native
    assert release.native_driver == DriverVersion(native.replace(".0", "."))


def test_cuda_12_7_was_never_released(catalog: Catalog) -> None:
    assert catalog.stack_release("cuda", Version("12.7")) is None


@pytest.mark.parametrize(
    ("kind", "triton"),
    [
        ("cu1", {"triton", "pytorch-triton"}),
        ("rocm", {"triton-rocm", "pytorch-triton-rocm"}),
        ("xpu", {"triton-xpu", "pytorch-triton-xpu"}),
    ],
)
def test_pytorchs_indexes_bring_the_triton_that_their_torch_pins(catalog: Catalog, kind: str, triton: set[str]) -> None:
    indexes = [index for index in catalog.indexes() if index.name.startswith(f"pytorch-{kind}") and index.only]
    assert indexes
    for index in indexes:
        assert set(index.only) == {"torch", "torchvision", "torchaudio", *triton}


def test_the_index_of_pytorch_for_the_cpu(catalog: Catalog) -> None:
    index = catalog.index("pytorch-cpu")
    assert index is not None
    assert index.url == "https://download.pytorch.org/whl/cpu"


def test_gaudi_releases_are_paired_with_one_pytorch(catalog: Catalog) -> None:
    stack = catalog.stack("gaudi")
    assert stack is not None
    pairs = {str(release.version): release.pairs["pytorch"] for release in stack.releases}
    assert pairs["1.23.0"] == ("2.9.0",)
    assert pairs["1.24.0"] == ("2.10.0",)
    assert [str(release.version) for release in stack.releases if release.validated] == ["1.23.0", "1.24.0", "1.24.1"]


class Doctored(Catalog):
    """A catalog with one stack or file of images replaced."""

    def __init__(self, stack: Stack | None = None, images: tuple[Image, ...] = ()) -> None:
        super().__init__()
        self._stack = stack
        self._images = images

    def stack(self, name: str) -> Stack | None:
        return self._stack if self._stack is not None and name == self._stack.name else super().stack(name)

    def images_of(self, file: str) -> tuple[Image, ...]:
        return self._images or super().images_of(file)


def release(catalog: Catalog, version: str) -> StackRelease:
    found = catalog.stack_release("cuda", Version(version))
    assert found is not None
    return found


def test_a_driver_below_the_one_before_is_found(catalog: Catalog) -> None:
    stack = catalog.stack("cuda")
    assert stack is not None
    wrong = replace(release(catalog, "13.0.2"), native_driver=DriverVersion("580.01"))
    others = tuple(item for item in stack.releases if item.version != wrong.version)
    doctored = replace(stack, releases=tuple(sorted([*others, wrong], key=lambda item: item.version)))
    found = complaints(Doctored(doctored))
    assert found == ["cuda 13.0.2: its driver 580.01 is below that of 13.0.1"]


def test_a_missing_series_is_found(catalog: Catalog) -> None:
    stack = catalog.stack("cuda")
    assert stack is not None
    doctored = replace(stack, releases=tuple(item for item in stack.releases if item.version.release[:2] != (13, 0)))
    found = complaints(Doctored(doctored))
    assert "nvcr.io/nvidia/pytorch:25.10-py3: cuda 13.0.2 has no record" in found
    assert "cuda-compat-13-0: cuda 13.0 has no record" in found


def test_strange_code_and_a_source_nobody_can_open_are_found(catalog: Catalog) -> None:
    image = catalog.images("pytorch", "cuda")[0]
    wrong = replace(
        image,
        reference=ImageReference.parse("registry.example/x:1"),
        code={image.platforms[0]: ("sm_95",)},
        os="beos5",
        source=Source(title="somewhere", url="index:12", checked="2026-12-01"),
    )
    found = complaints(Doctored(images=(wrong,)))
    assert "registry.example/x:1: code for sm_95, which no device has" in found
    assert "registry.example/x:1: the distribution 'beos5' has no record" in found
    assert "somewhere: nobody can open 'index:12'" in found
