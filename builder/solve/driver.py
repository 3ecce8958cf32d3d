"""Driver numbers as people write them, read by their vendor's way of numbering."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from builder.model.facts import Drivers, DriverSeries, DriverVersion, Stack
from builder.solve.subject import Driver

_API_NUMBER = re.compile(r"\d{5}")
_KERNEL = re.compile(r"kernel:(?P<version>\S+)\s+(?P<modules>[a-z0-9]+(?:[\s|]+[a-z0-9]+)*)")
_MODULE = re.compile(r"module:(?P<version>\S+)")


class DriverError(ValueError):
    """A driver cannot be read without guessing; the text says why and what was expected."""


def read_driver(text: str, stack: Stack, drivers: Drivers | None) -> Driver:
    """Return a driver as the rules need it; ``DriverError`` where it has no meaning, or two.

    ``11040`` is what ``cudaDriverGetVersion`` gives and means the driver of CUDA 11.4;
    ``module:6.16.13`` is AMD's kernel module, ``kernel:6.14 xe`` the kernel's own driver.
    """
    written = text.strip()
    kernel = _KERNEL.fullmatch(written)
    if kernel is not None:
        return Driver(text=written, modules=tuple(re.split(r"[\s|]+", kernel["modules"])))
    module = _MODULE.fullmatch(written)
    if module is not None:
        return _of_module(written, module["version"], drivers)
    if _API_NUMBER.fullmatch(written) and stack.model.value == "floor":
        return _of_api(written, stack, drivers)
    try:
        version = DriverVersion(written)
    except InvalidVersion as error:
        msg = f"{text!r} is not a driver version{_example(drivers)}"
        raise DriverError(msg) from error
    return _of_number(written, version, drivers)


def _of_number(text: str, version: DriverVersion, drivers: Drivers | None) -> Driver:
    series = _series(version, drivers)
    by_module = [] if drivers is None else [item for item in drivers.series if str(version) in item.modules]
    if series is not None and by_module and by_module[0] is not series:
        other = by_module[0].name
        msg = f"{text!r} is a driver of series {series.name} and a kernel module of series {other}; for that, write module:{text}"
        raise DriverError(msg)
    if series is None and by_module:
        return Driver(text=text, version=version, series=by_module[-1])
    return Driver(text=text, version=version, series=series)


def _of_module(text: str, version: str, drivers: Drivers | None) -> Driver:
    found = [] if drivers is None else [item for item in drivers.series if version in item.modules]
    return Driver(text=text, series=found[-1] if found else None)


def _of_api(text: str, stack: Stack, drivers: Drivers | None) -> Driver:
    number = int(text)
    wanted = (number // 1000, number % 1000 // 10)
    found = [release for release in stack.releases if release.version.release[:2] == wanted and release.native_driver]
    if not found or found[0].native_driver is None:
        msg = f"{text!r} reads as the driver interface of {stack.name} {wanted[0]}.{wanted[1]}, which the catalog does not have"
        raise DriverError(msg)
    floor = found[0].native_driver
    return Driver(text=f"{text} ({floor} or newer)", version=floor, series=_series(floor, drivers))


def _series(version: Version, drivers: Drivers | None) -> DriverSeries | None:
    """Return the series of a driver: by its first number where series are whole numbers, else by its first two."""
    if drivers is None:
        return None
    return drivers.find(f"{version.major}.{version.minor}") or drivers.find(str(version.major))


def _example(drivers: Drivers | None) -> str:
    names = [] if drivers is None else [series.name for series in drivers.series]
    return f" such as {names[-1]}.0" if names else ""
