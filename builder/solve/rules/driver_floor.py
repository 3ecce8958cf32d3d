"""Driver and stack where each release has a lowest driver: CUDA.

A driver runs what it was made for and everything older (native). Within a major version an older
driver runs machine code of a newer release (minor-version compatibility), but cannot compile its
PTX. A forward-compatibility package in the container lifts both limits for the devices and driver
series that its table lists.
"""

from __future__ import annotations

from packaging.version import Version

from builder.model.facts import CompatPackage, Service, StackRelease
from builder.model.verdict import Reason
from builder.solve.rules.code import machine_code, portable_code
from builder.solve.rules.reason import conditions, note, refuses, supports, unknown
from builder.solve.subject import Driver, Place, Subject, series_of


def floor(subject: Subject, place: Place) -> tuple[Reason, ...]:
    """Return what the driver of a place means for a release with a lowest driver."""
    release = subject.release
    if release is None:
        return ()
    driver = place.driver
    if driver is None:
        return (_not_named(subject),)
    found = _unknown_series(place, driver) or _decided(subject, place, driver)
    return tuple(reason for reason in (found, _path_compat(subject, place, driver), _end_of_life(driver)) if reason is not None)


def _decided(subject: Subject, place: Place, driver: Driver) -> Reason:
    release = subject.release
    if release is None or driver.version is None:
        return unknown("DRV007", f"the driver {driver.text!r} is not a driver version the catalog can read")
    if release.major_driver is None and release.native_driver is None:
        return unknown(
            "DRV013", f"the catalog has no lowest driver for {subject.name} (checked {subject.source.checked})", release.source
        )
    series_known = release.jit_series is not None and driver.version.major >= release.jit_series
    if _native(release, driver.version):
        return supports("DRV001", f"driver {driver.text} runs {subject.name} natively", release.source)
    if release.major_driver is not None and driver.version >= release.major_driver:
        return _minor(subject, place, driver, jit=series_known)
    return _below(subject, place, driver)


def _native(release: StackRelease, driver: Version) -> bool:
    """Return whether a driver is at least the release's own, by number or, where none was read, by series."""
    if release.native_driver is not None:
        return driver >= release.native_driver
    return release.jit_series is not None and driver.major > release.jit_series


def _minor(subject: Subject, place: Place, driver: Driver, *, jit: bool) -> Reason:
    """Judge a driver within the major version and below the release's own."""
    release, accelerator = subject.release, place.accelerator
    source = None if release is None else release.source
    head = f"driver {driver.text} is older than {subject.name} and runs it by minor-version compatibility"
    if jit:
        if release is not None and release.native_driver is None:
            head = (
                f"driver {driver.text} is of the series that {subject.name} came with, and runs it at least by its major version"
            )
        return supports("DRV002", f"{head}; it can compile its PTX as well", source)
    if subject.code is None or accelerator is None:
        lifted = _lifted(subject, place, driver)
        return conditions(
            "DRV003",
            f"{head}, if the binary holds code for the device: this driver cannot compile PTX of {subject.name}{lifted}",
            source,
        )
    machine, portable = machine_code(subject.code, accelerator, place.archs), portable_code(subject.code, accelerator)
    if machine and not portable:
        return supports("DRV002", f"{head}; the binary holds {machine} code for it and no PTX", source)
    if machine:
        lifted = _lifted(subject, place, driver)
        return conditions(
            "DRV003",
            f"{head}, as long as no PTX ({portable}) has to be compiled on the host, which this driver cannot{lifted}",
            source,
        )
    return _needs_package(
        subject,
        place,
        driver,
        "DRV006",
        f"the binary holds no machine code for {accelerator.arch}, and driver {driver.text} cannot compile PTX of {subject.name}",
    )


def _below(subject: Subject, place: Place, driver: Driver) -> Reason:
    release = subject.release
    lowest = None if release is None else release.major_driver
    return _needs_package(
        subject, place, driver, "DRV005", f"driver {driver.text} is older than {lowest}, the lowest for {_major(subject)}"
    )


def _needs_package(subject: Subject, place: Place, driver: Driver, code: str, why: str) -> Reason:
    """Return the condition that a forward-compatibility package is there, or the refusal where none serves."""
    package = serving_package(subject, driver)
    source = None if subject.release is None else subject.release.source
    service = place.served_by_compat
    if package is None:
        series = driver.series.name if driver.series else driver.version.major if driver.version else driver.text
        return refuses(
            code, f"{why}, and no forward-compatibility package of {_series(subject)} works on driver series {series}", source
        )
    if service is Service.NO:
        kind = place.accelerator.kind if place.accelerator else "this"
        return refuses(code, f"{why}, and {package.name} does not serve {kind} devices (error 804)", package.source)
    some = "" if service is Service.YES else ", though of this class only some models are served"
    carried = ", which the image carries and its entry point puts to use" if subject.compat == "entrypoint" else ""
    return conditions("DRV004", f"{why}; it runs with the package {package.name}{carried}{some}", package.source)


def serving_package(subject: Subject, driver: Driver) -> CompatPackage | None:
    """Return the forward-compatibility package of the subject's series that works on the driver's series."""
    if driver.version is None:
        return None
    series = str(driver.version.major)
    return next((package for package in subject.packages if series in package.series), None)


def _lifted(subject: Subject, place: Place, driver: Driver) -> str:
    package = serving_package(subject, driver)
    if package is None or place.served_by_compat is Service.NO:
        return ""
    return f" (the package {package.name} lifts this)"


def _not_named(subject: Subject) -> Reason:
    release = subject.release
    native = None if release is None else release.native_driver or release.jit_series
    lowest = None if release is None else release.major_driver
    return conditions(
        "DRV008",
        f"needs driver {native} or newer; from {lowest} on it runs by minor-version compatibility, without compiling PTX",
        subject.source,
    )


def _unknown_series(place: Place, driver: Driver) -> Reason | None:
    """Speak for a driver newer than every series the catalog has: it may have dropped the device."""
    drivers = place.drivers
    if drivers is None or driver.version is None or not drivers.series:
        return None
    newest = max(int(series.name) for series in drivers.series)
    if driver.version.major <= newest:
        return None
    return unknown(
        "DRV007",
        f"driver {driver.text} is of a series the catalog does not have (newest R{newest}, checked {drivers.source.checked})",
        drivers.source,
    )


def _path_compat(subject: Subject, place: Place, driver: Driver) -> Reason | None:
    if subject.compat != "path" or place.accelerator is None or place.served_by_compat is not Service.NO:
        return None
    source = place.drivers.compat_source if place.drivers else None
    return refuses(
        "DRV009",
        f"the image puts a forward-compatibility package first on the library path, which fails on {place.accelerator.kind} "
        f"devices (error 804) whatever driver {driver.text} could do without it; leave the package out",
        source,
    )


def _end_of_life(driver: Driver) -> Reason | None:
    series = driver.series
    if series is None or series.kind != "end-of-life":
        return None
    ended = f" since {series.end_of_life}" if series.end_of_life else ""
    return note("DRV010", f"the driver series R{series.name} is out of support{ended}", series.source)


def _series(subject: Subject) -> str:
    series = series_of(subject.version, subject.release)
    return subject.name if series is None else f"{subject.stack.name} {series}"


def _major(subject: Subject) -> str:
    version = subject.version
    return subject.name if version is None else f"{subject.stack.name} {version.major}.x"
