"""Driver and stack where drivers have windows, are of one release, are the kernel's, or do not exist."""

from __future__ import annotations

from packaging.version import Version

from builder.model.facts import Drivers
from builder.model.verdict import Reason
from builder.solve.rules.reason import conditions, refuses, supports, unknown
from builder.solve.subject import Place, Subject


def window(subject: Subject, place: Place) -> tuple[Reason, ...]:
    """Return what a driver series' list of stacks says: ROCm's kernel driver and user space, both ways."""
    release, driver, drivers = subject.release, place.driver, place.drivers
    if release is None or drivers is None:
        return ()
    series_of = f"{release.version.major}.{release.version.minor}"
    serving = [series for series in drivers.series if series.stacks is not None and series_of in series.stacks]
    if driver is None:
        names = ", ".join(f"{series.name}.x" for series in serving)
        return (conditions("DRV024", f"needs a driver of one of the series {names}", drivers.source),)
    if driver.series is None or driver.series.stacks is None:
        text = f"driver {driver.text} is of a series the catalog does not have (checked {drivers.source.checked})"
        return (unknown("DRV022", text, drivers.source),)
    source = driver.series.source
    if series_of in driver.series.stacks:
        return (supports("DRV020", f"driver {driver.text} and {subject.name} are in each other's window", source),)
    if not driver.series.complete or (not serving and not _beyond(driver.series.stacks, series_of, drivers)):
        text = (
            f"no list in the catalog says whether driver {driver.text} serves {subject.name} (checked {drivers.source.checked})"
        )
        return (unknown("DRV023", text, source),)
    served = f"{driver.series.stacks[0]} to {driver.series.stacks[-1]}"
    text = f"driver {driver.text} serves {subject.stack.name} {served}; {subject.name} is outside its window"
    return (refuses("DRV021", text, source),)


def _beyond(served: tuple[str, ...], wanted: str, drivers: Drivers) -> bool:
    """Return whether a release that no list names is farther out than one that the driver is known not to serve."""
    known = {Version(name) for series in drivers.series for name in series.stacks or ()}
    window = sorted(Version(name) for name in served)
    version = Version(wanted)
    return any(window[-1] < other < version or version < other < window[0] for other in known)


def one_release(subject: Subject, place: Place) -> tuple[Reason, ...]:
    """Return what it means that driver and stack must be of one release: Gaudi's major.minor."""
    release, driver = subject.release, place.driver
    if release is None:
        return ()
    wanted = f"{release.version.major}.{release.version.minor}"
    if driver is None:
        return (conditions("DRV034", f"needs a driver of the same release, {wanted}.x", release.source),)
    if driver.version is None:
        return (unknown("DRV032", f"the driver {driver.text!r} is not a driver release the catalog can read"),)
    if (driver.version.major, driver.version.minor) != (release.version.major, release.version.minor):
        forced = f"; {subject.stack.override}" if subject.stack.override else ""
        text = f"driver {driver.text} and {subject.name} are not of one release: it needs driver {wanted}.x{forced}"
        return (refuses("DRV031", text, release.source),)
    if release.validated is False:
        text = f"driver {driver.text} and {subject.name} are of one release, which the vendor no longer validates"
        return (conditions("DRV033", text, release.source),)
    return (supports("DRV030", f"driver {driver.text} and {subject.name} are of one release", release.source),)


def kernel(subject: Subject, place: Place) -> tuple[Reason, ...]:
    """Return what the kernel's own driver means: the user-space driver is in the image, the kernel's must serve the device."""
    driver, accelerator = place.driver, place.accelerator
    wanted = " or ".join(accelerator.kernel_drivers) if accelerator and accelerator.kernel_drivers else "i915 or xe"
    source = subject.stack.source
    if driver is None:
        return (conditions("DRV041", f"needs a kernel whose {wanted} driver serves the device", source),)
    if not driver.modules or accelerator is None or not accelerator.kernel_drivers:
        return (
            unknown(
                "DRV042", f"the catalog has no list of kernels for this device; the driver written is {driver.text!r}", source
            ),
        )
    if set(driver.modules) & set(accelerator.kernel_drivers):
        return (
            supports("DRV040", f"the kernel's {wanted} driver serves the device; the rest of the driver is in the image", source),
        )
    text = f"the device is served by the kernel's {wanted} driver, and the place has {' '.join(driver.modules)}"
    return (refuses("DRV043", text, accelerator.source),)


def no_driver(subject: Subject, place: Place) -> tuple[Reason, ...]:
    """Say that a stack needs no driver, so that something speaks for it."""
    del place
    return (supports("DRV050", f"the stack {subject.stack.name} needs no driver", subject.stack.source),)


def unrecorded(subject: Subject, place: Place) -> tuple[Reason, ...]:
    """Say that the catalog has no table of drivers for a stack."""
    del place
    text = f"the catalog has no table of drivers for {subject.name} (checked {subject.stack.source.checked})"
    return (unknown("DRV051", text, subject.stack.source),)
