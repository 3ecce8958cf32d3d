"""Driver numbers as people write them, read by their vendor's way of numbering."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from builder.model.facts import DriverModel, Drivers, DriverSeries, DriverVersion, Stack, StackRelease
from builder.solve.subject import Driver

_API_NUMBER = re.compile(r"\d{5}")
_KERNEL = re.compile(r"kernel:(?P<version>\S+)\s+(?P<modules>[a-z0-9]+(?:[\s|]+[a-z0-9]+)*)")
_MODULE = re.compile(r"module:(?P<version>\S+)")
_WHOLE = frozenset({DriverModel.FLOOR, DriverModel.WINDOW, DriverModel.RELEASE})


class DriverError(ValueError):
    """A driver cannot be read without guessing; the text says why, ``hint`` what to write."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


def read_driver(text: str, stack: Stack, drivers: Drivers | None) -> Driver:
    """Return a driver as the rules need it; ``DriverError`` where it has no meaning, or two.

    ``11040`` is what ``cudaDriverGetVersion`` gives and means the driver of CUDA 11.4;
    ``module:6.16.13`` is AMD's kernel module, ``kernel:6.14 xe`` the kernel's own driver.
    """
    written = text.strip()
    kernel, module = _KERNEL.fullmatch(written), _MODULE.fullmatch(written)
    if kernel is not None and stack.model is DriverModel.KERNEL:
        return Driver(text=written, modules=tuple(re.split(r"[\s|]+", kernel["modules"])))
    if module is not None and drivers is not None and any(series.modules for series in drivers.series):
        return _of_module(written, module["version"], drivers)
    if kernel is not None or module is not None:
        form = "the kernel's own driver, as Intel GPUs have it" if kernel else "a kernel module, as AMD numbers it"
        msg = f"{text!r} names {form}, and {stack.title} does not go by that"
        raise DriverError(msg, _such_as(drivers))
    if _API_NUMBER.fullmatch(written) and stack.model is DriverModel.FLOOR:
        return _of_api(written, stack, drivers)
    try:
        version = DriverVersion(written)
    except InvalidVersion as error:
        msg = f"{text!r} is not a driver version"
        raise DriverError(msg, _such_as(drivers)) from error
    if len(version.release) == 1 and stack.model in _WHOLE:
        msg = f"{text!r} is a series of drivers at most, not the version of one"
        raise DriverError(msg, _whole(version, stack, drivers))
    return _of_number(written, version, drivers)


def _of_number(text: str, version: DriverVersion, drivers: Drivers | None) -> Driver:
    series = _series(version, drivers)
    by_module = [] if drivers is None else [item for item in drivers.series if str(version) in item.modules]
    if series is not None and by_module and by_module[0] is not series:
        msg = f"{text!r} means two things: a driver of series {series.name}, and the kernel module of series {by_module[0].name}"
        raise DriverError(msg, f"write {series.name} for the driver, or module:{text} for the module")
    if series is None and by_module:
        return Driver(text=text, version=version, series=by_module[-1])
    return Driver(text=text, version=version, series=series)


def _of_module(text: str, version: str, drivers: Drivers) -> Driver:
    found = [item for item in drivers.series if version in item.modules]
    return Driver(text=text, series=found[-1] if found else None)


def _of_api(text: str, stack: Stack, drivers: Drivers | None) -> Driver:
    """Read what ``cudaDriverGetVersion`` gives: the lowest driver that a release of the stack came with."""
    number = int(text)
    wanted = (number // 1000, number % 1000 // 10)
    name = f"{stack.name} {wanted[0]}.{wanted[1]}"
    floors = [_own_driver(release) for release in stack.releases if release.version.release[:2] == wanted]
    floor = next((driver for driver in floors if driver is not None), None)
    if floor is None:
        msg = f"{text!r} reads as the driver of {name}, and the catalog does not know which that is"
        raise DriverError(msg, f"write the driver's own number instead, as nvidia-smi shows it{_example(drivers)}")
    return Driver(text=f"{text} (that of {name}: {floor} or newer)", version=floor, series=_series(floor, drivers))


def _own_driver(release: StackRelease) -> DriverVersion | None:
    """Return the driver a release was made with: its number, else the first of its series."""
    if release.native_driver is not None or release.jit_series is None:
        return release.native_driver
    return DriverVersion(str(release.jit_series))


def _series(version: Version, drivers: Drivers | None) -> DriverSeries | None:
    """Return the series of a driver: by its first number where series are whole numbers, else by its first two."""
    if drivers is None:
        return None
    return drivers.find(f"{version.major}.{version.minor}") or drivers.find(str(version.major))


def _whole(version: Version, stack: Stack, drivers: Drivers | None) -> str:
    """Return a hint with a whole version, of the series that was written where the catalog knows one."""
    known = [item.native_driver for item in stack.releases if item.native_driver and item.native_driver.major == version.major]
    return f"write the whole version, such as {known[-1]}" if known else _such_as(drivers)


def _such_as(drivers: Drivers | None) -> str:
    return f"write the version that the host shows{_example(drivers)}"


def _example(drivers: Drivers | None) -> str:
    names = [] if drivers is None else [series.name for series in drivers.series]
    return f", such as {names[-1]}.10" if names else ""
