"""Device and code, device and stack, device and driver."""

from __future__ import annotations

from packaging.version import Version

from builder.model.facts import Accelerator, StackWindow
from builder.model.verdict import Reason
from builder.solve.rules.code import machine_code, may_hold_relative, portable_code
from builder.solve.rules.reason import conditions, refuses, supports
from builder.solve.subject import Place, Subject


def drives(subject: Subject, place: Place) -> Reason | None:
    """Refuse a stack that does not drive the device at all."""
    device = place.accelerator
    if device is None or subject.stack.name in device.stacks:
        return None
    others = ", ".join(device.stacks)
    return refuses("DEV001", f"{subject.stack.name} does not drive {device.name}, which is driven by {others}", device.source)


def device_and_stack(subject: Subject, place: Place) -> tuple[Reason, ...]:
    """Return what first and last release, device lists and code lists say about a device."""
    device, version = place.accelerator, subject.version
    if device is None or subject.stack.name not in device.stacks:
        return ()
    bounds = device.stacks[subject.stack.name]
    if version is not None:
        if _after(version, bounds.last):
            return (_dropped(subject, device, bounds),)
        if _before(version, bounds.first):
            return (_newer_device(subject, place, device, bounds),)
    listed = _listed(subject, device)
    if listed is not None and listed.effect.value == "refuses":
        return (listed,)
    coded = _coded(subject, place, device) if subject.stack.coded else None
    if coded is not None:
        return (coded,) if listed is None else (coded, listed)
    return () if listed is None else (listed,)


def _after(version: Version, last: Version | None) -> bool:
    return last is not None and version.release[: len(last.release)] > last.release


def _before(version: Version, first: Version | None) -> bool:
    """Return whether a version is older than the first; of ``12`` it is not known which 12 it is, so 12.8 is not after it."""
    if first is None:
        return False
    return version.release < first.release[:1] if len(version.release) == 1 else version < first


def _dropped(subject: Subject, device: Accelerator, bounds: StackWindow) -> Reason:
    text = f"{subject.stack.name} {bounds.last} is the last for {device.name} ({device.arch}); {subject.name} has dropped it"
    return refuses("DEV007", f"{text} ({bounds.note})" if bounds.note else text, bounds.source)


def _newer_device(subject: Subject, place: Place, device: Accelerator, bounds: StackWindow) -> Reason:
    """Judge a device that the stack does not know: relatives' code or portable code may still carry it."""
    head = f"{device.name} ({device.arch}) is newer than {subject.name}: {subject.stack.name} {bounds.first} is the first for it"
    if subject.code is not None:
        machine = machine_code(subject.code, device, place.archs)
        portable = portable_code(subject.code, device)
        if machine is not None:
            return conditions("DEV006", f"{head}; the binary's {machine} code runs on it", bounds.source)
        if portable is not None:
            return conditions("DEV006", f"{head}; it runs if the driver compiles the binary's PTX ({portable})", bounds.source)
        return refuses("DEV008", f"{head}, and the binary holds no code it runs", bounds.source)
    version = () if subject.version is None else subject.version.release
    relative = may_hold_relative(device, place.archs, subject.stack.name, version)
    if relative is not None:
        return conditions("DEV006", f"{head}; it runs if the binary holds {relative} code", bounds.source)
    machine = "machine code" if device.arch.startswith("sm_") else "code"
    portable = ", and PTX is not known to be in the binary" if device.arch.startswith("sm_") else ""
    return refuses("DEV008", f"{head}; no {machine} that {subject.name} can make runs on it{portable}", bounds.source)


def _listed(subject: Subject, device: Accelerator) -> Reason | None:
    """Judge by the release's own list of devices, where one was read."""
    release = subject.release
    if release is None or release.devices is None:
        return None
    if release.devices & {device.name, device.arch}:
        return supports("DEV009", f"{subject.name} lists {device.name}", release.source)
    earlier = [
        r for r in subject.stack.releases if r.version < release.version and r.devices and r.devices & {device.name, device.arch}
    ]
    if earlier:
        last = f"{subject.stack.name} {earlier[-1].version}"
        text = f"{subject.name} no longer lists {device.name} ({device.arch}); {last} was the last"
        return refuses("DEV007", text, release.source)
    if subject.stack.coded:
        text = f"{subject.name} does not list {device.name} ({device.arch}); it may run, and the vendor does not support it"
        return conditions("DEV010", text, release.source)
    return refuses("DEV008", f"{subject.name} does not list {device.name}", release.source)


def _coded(subject: Subject, place: Place, device: Accelerator) -> Reason | None:
    """Judge by the code compiled into a build; a bare stack has none, so nothing is said of it."""
    if subject.code is None:
        if subject.build is None:
            return None
        text = f"{subject.build} must hold code for {device.arch}; its code list is not in the catalog"
        return conditions("DEV005", text, subject.source)
    source = subject.code_source or subject.source
    machine = machine_code(subject.code, device, place.archs)
    if machine == device.arch:
        return supports("DEV002", f"the binary holds code for {device.arch}", source)
    if machine is not None:
        return supports("DEV003", f"the binary holds {machine} code, which {device.arch} runs", source)
    portable = portable_code(subject.code, device)
    if portable is not None:
        return conditions(
            "DEV004", f"no machine code for {device.arch}; the driver must compile PTX ({portable}) at first use", source
        )
    return refuses("DEV011", f"the binary holds {' '.join(subject.code)}, and none of it runs on {device.arch}", source)


def device_and_driver(subject: Subject, place: Place) -> tuple[Reason, ...]:
    """Return what the driver means for the device alone: dropped by newer ones, or not known to older ones."""
    device, driver = place.accelerator, place.driver
    if device is None or driver is None or driver.version is None:
        return ()
    bounds = device.stacks.get(subject.stack.name)
    if bounds is not None and bounds.last_driver is not None and driver.version.major > bounds.last_driver:
        text = f"driver series R{bounds.last_driver} is the last for {device.name} ({device.arch}); {driver.text} has dropped it"
        return (refuses("DEV012", text, bounds.source),)
    if device.minimum_driver is not None and driver.version < device.minimum_driver:
        text = f"{device.name} needs driver {device.minimum_driver} or newer, and the place has {driver.text}"
        return (refuses("DEV013", text, device.minimum_driver_source or device.source),)
    return ()


def cpu_level(subject: Subject, place: Place) -> Reason | None:
    """Compare the CPU level a build asks for with the device's; silent where no level is recorded."""
    device, asked = place.accelerator, subject.cpu_level
    if device is None or device.kind != "cpu" or asked is None:
        return None
    if asked == device.arch or asked in device.runs:
        return supports("DEV014", f"{subject.subject} asks for {asked}, which {device.name} has", subject.source)
    return refuses("DEV015", f"{subject.subject} asks for {asked}, and {device.name} has less", subject.source)
