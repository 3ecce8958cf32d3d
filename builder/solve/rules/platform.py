"""Platform of a build against the platform of a place."""

from __future__ import annotations

from builder.model.verdict import Reason
from builder.solve.rules.reason import refuses
from builder.solve.subject import Place, Subject


def platform(subject: Subject, place: Place) -> Reason | None:
    """Refuse a build for another platform than the place's."""
    if subject.platform == place.platform:
        return None
    text = f"{subject.subject} is for {subject.platform}, and {place.name} is {place.platform}"
    return refuses("PLT001", text, subject.source)


def host_platform(place: Place) -> Reason | None:
    """Refuse a place whose device only sits in hosts of another platform."""
    device = place.accelerator
    if device is None or not device.platforms or place.platform in device.platforms:
        return None
    hosts = ", ".join(str(item) for item in device.platforms)
    return refuses("PLT002", f"{device.name} sits in {hosts} hosts, and {place.name} is {place.platform}", device.source)
