"""What a probe is told to expect: the plan and the lock, as one JSON document.

It travels in the environment variable ``IMGBUILD_EXPECT``, which the kernel limits to 128 KiB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from packaging.markers import InvalidMarker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from builder.model.lock import BaseFacts, LockedBase, LockedVariant
from builder.model.matrix import BaseKind
from builder.model.plan import Variant

EXPECT = "IMGBUILD_EXPECT"
SCHEMA = "imgbuild/expect/1"
CONSTRAINTS = "/etc/imgbuild/constraints.txt"
CONSTRAINT_VARIABLES = ("PIP_CONSTRAINT", "UV_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "UV_BUILD_CONSTRAINT")


def expectation(variant: Variant, locked: LockedVariant, base: LockedBase) -> bytes:
    """Return the JSON that the probes of one variant on one platform read; the same input, the same bytes."""
    packages = {package.name: package.version for package in locked.packages}
    framework = _framework(variant, packages, base.facts)
    document = {
        "schema": SCHEMA,
        "variant": variant.id,
        "platform": str(locked.platform),
        "python": variant.python,
        "stack": {"name": variant.stack.name, "version": str(variant.stack.version) if variant.stack.version else None},
        "framework": {
            "name": variant.framework.name,
            "version": str(variant.framework.version) if variant.framework.version else None,
            "distributions": framework,
        },
        "imports": list(variant.imports),
        "arch_list": list(base.facts.arch_list) if base.facts.arch_list else None,
        "packages": packages,
        "kept": _kept(variant, packages, base.facts),
        "debs": {deb.name: deb.version for deb in (*base.debs, *locked.debs)},
        "env": dict(variant.env),
        "constraints": {
            "path": CONSTRAINTS,
            "variables": list(CONSTRAINT_VARIABLES),
            "versions": {name: known["version"] for name, known in framework.items()},
        },
        "broken": [list(problem) for problem in broken(base)] if _in_base_python(variant) else [],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def broken(base: LockedBase) -> tuple[tuple[str, str], ...]:
    """Return the requirements that do not hold in the base as its vendor made it.

    Each is the canonical name of a distribution and of what it requires: ``pip check`` of the
    finished image may repeat these, and nothing else.
    """
    versions = {canonicalize_name(found.name): found.version for found in base.facts.distributions}
    environment = _environment(base)
    problems = set()
    for found in base.facts.distributions:
        for text in found.requires:
            requirement = _applying(text, environment)
            if requirement is None:
                continue
            version = versions.get(canonicalize_name(requirement.name))
            if version is None or not requirement.specifier.contains(version, prereleases=True):
                problems.add((str(canonicalize_name(found.name)), str(canonicalize_name(requirement.name))))
    return tuple(sorted(problems))


def _framework(variant: Variant, packages: Mapping[str, str], facts: BaseFacts) -> dict[str, dict[str, str | None]]:
    """Return the framework's distributions: the vendor's where the base has them, else the first that is installed."""
    names = {str(canonicalize_name(name)) for name in variant.base.frameworks}
    vendor = {
        str(canonicalize_name(found.name)): {"version": found.version, "module_version": found.module_version}
        for found in facts.distributions
        if canonicalize_name(found.name) in names
    }
    if vendor or not variant.pip or variant.base.kind is BaseKind.VENDOR:
        return vendor
    asked = (str(canonicalize_name(Requirement(text).name)) for text in variant.pip)
    own = next((name for name in asked if name in packages), None)
    return {} if own is None else {own: {"version": packages[own], "module_version": None}}


def _in_base_python(variant: Variant) -> bool:
    """Whether packages are installed into the base's own Python; on a distribution it is a virtual environment."""
    return variant.base.kind is not BaseKind.DISTRIBUTION


def _kept(variant: Variant, packages: Mapping[str, str], facts: BaseFacts) -> dict[str, str]:
    """Return what the base brought and nobody asked to replace."""
    if not _in_base_python(variant):
        return {}
    found = {str(canonicalize_name(one.name)): one.version for one in facts.distributions}
    return {name: version for name, version in found.items() if name not in packages}


def _environment(base: LockedBase) -> dict[str, str]:
    full = base.facts.python_version or "3"
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(base.platform.architecture, base.platform.architecture)
    return {
        "implementation_name": "cpython",
        "implementation_version": full,
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": full,
        "python_version": ".".join(full.split(".")[:2]),
        "sys_platform": base.platform.os,
        "extra": "",
    }


def _applying(text: str, environment: Mapping[str, str]) -> Requirement | None:
    """Return a requirement that applies in this environment; ``None`` for others and for what cannot be read."""
    try:
        requirement = Requirement(text)
        applies = requirement.marker is None or requirement.marker.evaluate(dict(environment))
    except (InvalidRequirement, InvalidMarker, UndefinedEnvironmentName):
        return None
    return requirement if applies else None
