"""A private folder laid over the catalog, and files that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from builder.catalog.files import merged
from builder.catalog.query import load_catalog
from builder.errors import DocumentError, UsageError

SOURCES = "sources: {ours: {title: Our notes, url: 'https://wiki.example/gpu', checked: 2026-12-01}}\nsource: ours\n"


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_records_are_added_and_replaced_by_version(tmp_path: Path) -> None:
    put(
        tmp_path,
        "stacks/cuda.yaml",
        "releases:\n  - {version: 13.9.0, native_driver: 700.10, major_driver: 580.65.06, jit_series: 700}\n"
        "  - {version: 13.0.2, native_driver: 580.99, major_driver: 580.65.06, jit_series: 580}\n",
    )
    catalog = load_catalog(tmp_path)
    new, old = catalog.stack_release("cuda", Version("13.9")), catalog.stack_release("cuda", Version("13.0.2"))
    assert new is not None
    assert old is not None
    assert (str(new.native_driver), str(old.native_driver)) == ("700.10", "580.99")
    assert catalog.stack_release("cuda", Version("12.8.1")) is not None


def test_a_private_vendor_is_found(tmp_path: Path) -> None:
    text = "vendor: acme\narchs: {a1: {stacks: {cpu: {}}}}\nmodels: [{model: box, title: Acme Box, arch: a1, kind: cpu}]\n"
    put(tmp_path, "accelerators/acme.yaml", text + SOURCES)
    put(tmp_path, "vendors/acme.yaml", "vendor: acme\ntitle: Acme\n" + SOURCES)
    catalog = load_catalog(tmp_path)
    assert catalog.canonical_accelerator("acme/box").only == "acme/box"
    assert "acme" in catalog.vendor_names()


def test_all_complaints_about_a_file_come_at_once(tmp_path: Path) -> None:
    path = put(tmp_path, "stacks/acme.yaml", "stack: acme\ndriver: sometimes\ncolour: red\n" + SOURCES)
    with pytest.raises(DocumentError) as caught:
        load_catalog(tmp_path).stack("acme")
    assert {complaint.where.field for complaint in caught.value.complaints} == {"title", "driver", "colour"}
    assert {complaint.where.file for complaint in caught.value.complaints} == {str(path)}


def test_a_record_that_names_no_source_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "stacks/acme.yaml", "stack: acme\ntitle: Acme\ndriver: none\nsource: nowhere\nsources: {}\n")
    with pytest.raises(DocumentError) as caught:
        load_catalog(tmp_path).stack("acme")
    assert caught.value.complaints[0].message == "a record names the source 'nowhere', which 'sources' does not have"


@pytest.mark.parametrize("text", ["a: [", "- 1\n- 2\n", "\t"])
def test_what_is_not_a_mapping_in_yaml_is_refused(tmp_path: Path, text: str) -> None:
    put(tmp_path, "stacks/acme.yaml", text)
    with pytest.raises(DocumentError):
        load_catalog(tmp_path).stack("acme")


def test_a_folder_that_is_no_catalog_is_refused(tmp_path: Path) -> None:
    for folder, message in ((tmp_path, "has none of the folders of a catalog"), (tmp_path / "nowhere", "is not a folder")):
        with pytest.raises(UsageError) as caught:
            load_catalog(folder)
        assert caught.value.message == f"{str(folder)!r} {message}"


def test_merging_keeps_order_and_appends() -> None:
    lower = [{"version": "1", "a": "x"}, {"version": "2"}, "word"]
    upper = [{"version": "3"}, {"version": "1", "b": "y"}]
    assert merged(lower, upper) == [{"version": "1", "b": "y"}, {"version": "2"}, "word", {"version": "3"}]


def test_numbers_and_dates_stay_text(tmp_path: Path) -> None:
    text = "distribution: acme\ntitle: Acme\nreleases: [{release: 3.10, date: 2026-01-02, glibc: 2.40, image: 'acme:1'}]\n"
    put(tmp_path, "distributions/acme.yaml", text + SOURCES)
    found = load_catalog(tmp_path).distribution("acme3.10")
    assert found is not None
    assert (found.release.glibc, found.date) == ("2.40", "2026-01-02")
