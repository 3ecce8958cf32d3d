"""Driver numbers as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.model.facts import Drivers, Stack
from builder.solve.driver import DriverError, read_driver
from tests.unit.solve.asking import catalog


def known(stack: str) -> tuple[Stack, Drivers | None]:
    found = catalog().stack(stack)
    assert found is not None
    return found, catalog().drivers(found.numbering) if found.numbering else None


@pytest.mark.parametrize(
    ("stack", "written", "version", "series"),
    [
        ("cuda", "580.95.05", "580.95.05", "580"),
        ("cuda", "11040", "470.42.01", "470"),
        ("cuda", "13040", "615", "615"),
        ("rocm", "30.30.0", "30.30.0", "30.30"),
        ("rocm", "6.3.1", "6.3.1", "6.3"),
        ("rocm", "6.16.13", "6.16.13", "30.30"),
        ("gaudi", "1.24.0", "1.24.0", None),
    ],
)
def test_numbers(stack: str, written: str, version: str, series: str | None) -> None:
    driver = read_driver(written, *known(stack))
    assert str(driver.version) == version
    assert (driver.series.name if driver.series else None) == series


def test_a_module_and_a_kernel() -> None:
    module = read_driver("module:6.16.6", *known("rocm"))
    assert (module.version, module.series and module.series.name) == (None, "30.20")
    assert read_driver("kernel:6.14 i915|xe", *known("oneapi")).modules == ("i915", "xe")


def test_two_meanings_are_named() -> None:
    with pytest.raises(DriverError) as caught:
        read_driver("6.0.5", *known("rocm"))
    assert str(caught.value) == "'6.0.5' means two things: a driver of series 6.0, and the kernel module of series 5.5"
    assert caught.value.hint == "write 6.0 for the driver, or module:6.0.5 for the module"


@pytest.mark.parametrize(
    ("stack", "written"),
    [
        ("cuda", "newest"),
        ("cuda", "99990"),
        ("gaudi", "1.24.0-b336d5e"),
        ("rocm", ""),
        ("cuda", "580"),
        ("rocm", "30"),
        ("gaudi", "1"),
        ("gaudi", "module:1.24.0"),
        ("cuda", "kernel:6.14 xe"),
    ],
)
def test_what_has_no_meaning_is_said(stack: str, written: str) -> None:
    with pytest.raises(DriverError) as caught:
        read_driver(written, *known(stack))
    assert repr(written) in str(caught.value)


@given(st.sampled_from(["cuda", "rocm", "gaudi", "oneapi", "neuron"]), st.text(max_size=20))
def test_nothing_but_a_driver_error(stack: str, written: str) -> None:
    try:
        driver = read_driver(written, *known(stack))
    except DriverError:
        return
    assert driver.text
