"""Every variant of every shipped matrix renders, on bases with made-up facts of the right shape."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from builder.cli.loading import load
from builder.lock.inputs import inputs_of
from builder.model.lock import BaseFacts, Installed, LockedBase, LockedDeb, LockedPackage
from builder.model.matrix import BaseKind
from builder.model.oci import Digest, Platform
from builder.model.plan import Variant
from builder.render.render import render
from builder.resources import shipped

FILES = sorted(path for path in shipped("matrices").glob("*.yaml") if not path.name.endswith(".lock.yaml"))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _package(text: str) -> LockedPackage:
    requirement = Requirement(text)
    name = canonicalize_name(requirement.name)
    pinned = [one.version for one in requirement.specifier if one.operator == "=="]
    version = pinned[0].removesuffix(".*") if pinned else "1.0"
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    return LockedPackage(name=name, version=version, index="pypi", file=file, sha256=_hash(file))


def _base(variant: Variant, key: str, platform: Platform) -> LockedBase:
    own = variant.base.kind is BaseKind.DISTRIBUTION
    facts = BaseFacts(
        os="ubuntu",
        os_version="24.04",
        glibc="2.39",
        python=f"/usr/bin/python{variant.python}",
        python_version=f"{variant.python}.4",
        pip_version=None if own else "25.0",
        externally_managed=own,
        has_apt=True,
        distributions=tuple(Installed(name=name, version=str(variant.framework.version)) for name in variant.base.frameworks),
    )
    reference = str(variant.base.reference)
    return LockedBase(key=key, reference=reference, platform=platform, digest=Digest("sha256", _hash(reference)), facts=facts)


def _deb(name: str, platform: Platform) -> LockedDeb:
    return LockedDeb(
        name=name, version="1.0-1", architecture=platform.architecture, sha256=_hash(name), path=f"pool/main/{name}.deb"
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_variant_renders(path: Path) -> None:
    plan = load(path).plan
    assert plan.variants
    for variant in plan.variants:
        for platform in variant.platforms:
            inputs = inputs_of(variant, platform)
            needed = [*variant.apt, *(["python3-venv"] if variant.base.kind is BaseKind.DISTRIBUTION else [])]
            locked = replace(
                inputs,
                packages=tuple(sorted(map(_package, variant.pip), key=lambda one: one.name)),
                debs=tuple(_deb(name, platform) for name in sorted(set(needed))),
            )
            context = render(variant, platform, locked, _base(variant, locked.base, platform))
            dockerfile = context.rendered["Dockerfile"].decode()
            assert f"FROM {variant.base.reference}@sha256:" in dockerfile
            assert f'"imgbuild.variant"="{variant.id}"' in dockerfile
            assert set(context.files) == {f"wheels/{package.file}" for package in locked.packages}
