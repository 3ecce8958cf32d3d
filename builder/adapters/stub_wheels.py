"""Metadata-only wheels that stand for what a base already has, so that a resolver knows it and leaves it alone.

A vendor's pre-release build is on no index; a stub of it carries its name, version and
requirements, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from builder.model.lock import Installed

_EPOCH = (1980, 1, 1, 0, 0, 0)


def stubs(installed: Iterable[Installed]) -> dict[str, tuple[str, bytes]]:
    """Return canonical name to file name and bytes of a stub for each distribution that can have one.

    The first of several of one name counts, as it does on Python's path. A distribution whose
    version is not PEP 440 has no stub: no requirement could be compared with it.
    """
    versions: dict[str, Version] = {}
    chosen: dict[str, Installed] = {}
    for distribution in installed:
        name = canonicalize_name(distribution.name)
        if name in chosen:
            continue
        try:
            versions[name] = Version(distribution.version)
        except InvalidVersion:
            continue
        chosen[name] = distribution
    return {name: stub_wheel(name, versions[name], _met(one.requires, versions)) for name, one in chosen.items()}


def stub_wheel(name: str, version: Version, requires: Sequence[str]) -> tuple[str, bytes]:
    """Return the file name and the bytes of a wheel that holds only metadata, the same for the same input."""
    name = canonicalize_name(name)
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    metadata += [f"Provides-Extra: {extra}\n" for extra in _extras(requires)]
    metadata += [f"Requires-Dist: {one}\n" for one in requires]
    entries = {
        f"{stem}.dist-info/METADATA": "".join(metadata).encode(),
        f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: imgbuild\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{stem}.dist-info/RECORD"
    rows = [f"{path},sha256={_encoded(data)},{len(data)}\n" for path, data in entries.items()]
    entries[record] = "".join([*rows, f"{record},,\n"]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in entries.items():
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), data)
    return f"{stem}-py3-none-any.whl", buffer.getvalue()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _met(requires: Iterable[str], versions: Mapping[str, Version]) -> list[str]:
    """Return the requirements that the base itself meets, and those of extras, which only a matrix can ask for.

    The others were not met before, and the matrix can do nothing about them.
    """
    found = []
    for text in requires:
        requirement = _requirement(text)
        if requirement is None or requirement.url is not None:
            continue
        version = versions.get(canonicalize_name(requirement.name))
        of_extra = requirement.marker is not None and "extra" in str(requirement.marker)
        if of_extra or (version is not None and requirement.specifier.contains(version, prereleases=True)):
            found.append(text)
    return found


def _extras(requires: Iterable[str]) -> list[str]:
    found = set()
    for text in requires:
        requirement = _requirement(text)
        if requirement is not None and requirement.marker is not None:
            found.update(re.findall(r"extra\s*==\s*[\"']([A-Za-z0-9._-]+)[\"']", str(requirement.marker)))
    return sorted(found)
