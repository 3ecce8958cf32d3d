"""A stack or a framework is a record and a recipe, and a framework has a probe that computes: what lacks a half is named."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder.probe
from builder.catalog.files import DATA
from builder.catalog.query import Catalog, load_catalog
from builder.resources import shipped

SCRIPTS = Path(builder.probe.__file__).parent / "scripts"
COMMON = {"import", "declared", "pip-check"}
NOT_TOPICS = {"common", "base", "driver"}  # for every image; what reads a base; what runs several probes
COMPUTING = {"matmul", "model", "train"}


def recipes(kind: str) -> set[str]:
    return {path.stem for path in (shipped("templates") / kind).glob("*.j2")}


def probes(topic: str) -> set[str]:
    return {path.stem for path in (SCRIPTS / topic).glob("*.py")}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_every_stack_has_a_record_and_a_recipe(catalog: Catalog) -> None:
    assert set(catalog.stack_names()) == recipes("stacks")


def test_every_framework_has_a_record_and_a_recipe(catalog: Catalog) -> None:
    assert set(catalog.framework_names()) == recipes("frameworks")


def test_every_record_says_the_name_of_its_file(catalog: Catalog) -> None:
    for names, ask in (
        (catalog.stack_names(), catalog.stack),
        (catalog.framework_names(), catalog.framework),
        (catalog.vendor_names(), catalog.vendor),
    ):
        said = [getattr(ask(name), "name", None) for name in names]
        assert said == list(names)


def test_every_vendor_has_a_record_and_accelerators_and_every_stack_is_driven(catalog: Catalog) -> None:
    assert {path.stem for path in (DATA / "vendors").glob("*.yaml")} == set(catalog.vendor_names())
    assert [name for name in catalog.vendor_names() if not catalog.accelerators(name)] == []
    driven = {stack for name in catalog.vendor_names() for device in catalog.accelerators(name) for stack in device.stacks}
    assert driven == set(catalog.stack_names())


def test_every_framework_is_imported_and_computes(catalog: Catalog) -> None:
    assert probes("common") >= COMMON
    assert [name for name in catalog.framework_names() if not probes(name) & COMPUTING] == []


def test_every_folder_of_probes_is_for_something_that_has_a_record(catalog: Catalog) -> None:
    topics = {path.name for path in SCRIPTS.iterdir() if any(path.glob("*.py"))}
    assert topics - NOT_TOPICS - set(catalog.framework_names()) - set(catalog.stack_names()) == set()
