"""Every image and file that a lock names, once, and as JSON."""

from __future__ import annotations

from dataclasses import asdict

from builder.model.lock import Lock, LockedBase, LockedDeb, LockedPackage, LockedVariant

SCHEMA = "imgbuild/lock/1"


def wheels(lock: Lock) -> tuple[LockedPackage, ...]:
    """Return every Python file of a lock once, sorted by file name and hash."""
    found = {(package.file, package.sha256): package for variant in lock.variants for package in variant.packages}
    return tuple(package for _, package in sorted(found.items()))


def debs(lock: Lock) -> tuple[LockedDeb, ...]:
    """Return every Debian package of a lock once, sorted by name, version and hash."""
    everywhere = (*(deb for base in lock.bases for deb in base.debs), *(deb for one in lock.variants for deb in one.debs))
    found = {(deb.name, deb.version, deb.sha256): deb for deb in everywhere}
    return tuple(deb for _, deb in sorted(found.items()))


def lock_json(lock: Lock) -> dict[str, object]:
    """Return the document of ``matrix lock --json``: ``images[]``, ``files[]`` (each once) and ``variants[]``."""
    return {
        "schema": SCHEMA,
        "name": lock.name,
        "date": lock.date,
        "tool": lock.tool,
        "images": [_image(base) for base in lock.bases],
        "files": [*(_wheel(package) for package in wheels(lock)), *(_deb(deb) for deb in debs(lock))],
        "variants": [_variant(variant) for variant in lock.variants],
    }


def _image(base: LockedBase) -> dict[str, object]:
    return {
        "base": base.key,
        "platform": str(base.platform),
        "reference": base.reference,
        "assembled": base.assembled,
        "digest": _text(base.digest),
        "index_digest": _text(base.index_digest),
        "image_id": _text(base.image_id),
        "suite": base.suite,
        "rootfs_sha256": base.rootfs_sha256,
        "facts": asdict(base.facts),
    }


def _wheel(package: LockedPackage) -> dict[str, object]:
    return {
        "kind": "wheel",
        "name": package.name,
        "version": package.version,
        "index": package.index,
        "file": package.file,
        "sha256": package.sha256,
        "size": package.size,
    }


def _deb(deb: LockedDeb) -> dict[str, object]:
    return {
        "kind": "deb",
        "name": deb.name,
        "version": deb.version,
        "architecture": deb.architecture,
        "file": deb.path,
        "sha256": deb.sha256,
        "size": deb.size,
    }


def _variant(variant: LockedVariant) -> dict[str, object]:
    return {
        "id": variant.id,
        "platform": str(variant.platform),
        "framework": variant.framework,
        "stack": variant.stack,
        "python": variant.python,
        "base": variant.base,
        "pip": list(variant.pip),
        "apt": list(variant.apt),
        "indexes": list(variant.indexes),
        "packages": [{**_wheel(package), "requested_by": list(package.requested_by)} for package in variant.packages],
        "debs": [_deb(deb) for deb in variant.debs],
    }


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)
