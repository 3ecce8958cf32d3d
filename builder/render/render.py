"""Variant and lock in, build context out: a Dockerfile a person likes to read, and the files beside it.

The same input gives the same bytes on every machine: no dates, and no version of ours, so that an
image is not built again because imgbuild was updated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from builder.errors import MismatchError
from builder.model.build import RenderedContext
from builder.model.lock import LockedBase, LockedVariant
from builder.model.oci import ImageReference, Platform
from builder.model.plan import Release, Variant
from builder.render import debs, escape, guard, python
from builder.render.environment import Block, Wishes, blocks
from builder.render.nvidia import library_folders
from builder.render.recipes import ROOT, Recipe, family_recipe, framework_recipe, stack_recipe, templates

_RELOCK = "run imgbuild matrix lock on the matrix file"
_ROOT_USERS = frozenset({"", "0", "root", "0:0", "root:root"})


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who the image runs as. ``login`` is the name without a group, ``check`` whether the build makes sure it exists."""

    name: str
    login: str
    check: bool


def render(variant: Variant, platform: Platform, locked: LockedVariant, base: LockedBase) -> RenderedContext:
    """Return everything a build of this variant on this platform reads.

    ``Dockerfile`` always; ``requirements.txt``, ``constraints.txt`` and ``debs.sha256`` where there
    is something in them. ``MismatchError`` where lock and plan are not of one piece or the base is
    not pinned; ``UnsatisfiableError`` for what no image can hold.
    """
    _of_one_piece(variant, platform, locked, base)
    interpreter = python.plan_python(variant, locked, base) if locked.packages else None
    added = debs.plan_debs(variant, locked, base)
    facts: dict[str, object] = {
        "variant": variant,
        "platform": platform,
        "base": base,
        "nvidia_wheel_folders": _wheel_folders(variant, locked, interpreter),
    }
    stack, framework = stack_recipe(variant, facts), framework_recipe(variant, facts)
    kept = guard.protected(variant, locked, base, [*stack.protected, *framework.protected], expected=framework.in_python)
    page = facts | {
        "family": family_recipe(variant, base, facts),
        "from": _pinned(base),
        "debs": added,
        "downloads": debs.DOWNLOADS,
        "checksums": debs.CHECKSUMS,
        "python": interpreter,
        "requirements": python.REQUIREMENTS,
        "wheels": python.WHEELS,
        "constraints": guard.CONSTRAINTS,
        "environment": _environment(variant, base, (stack, framework), interpreter=interpreter, guarded=bool(kept)),
        "labels": _labels(variant, base),
        "base_user": base.facts.user not in _ROOT_USERS,
        "user": _user(variant, base),
        "entrypoint": variant.entrypoint,
        "command": _command(variant, base, interpreter),
    }
    rendered = {"Dockerfile": templates().get_template(ROOT).render(page).encode()}
    if locked.packages:
        rendered["requirements.txt"] = python.requirements(locked.packages)
    if kept:
        rendered["constraints.txt"] = guard.constraints(kept)
    if added:
        rendered["debs.sha256"] = debs.checksums(added)
    return RenderedContext(rendered=rendered, files=_large_files(locked, base), network=bool(added))


def _of_one_piece(variant: Variant, platform: Platform, locked: LockedVariant, base: LockedBase) -> None:
    pairs = (
        ("variant", locked.id, variant.id),
        ("platform", str(locked.platform), str(platform)),
        ("platform of the base", str(base.platform), str(platform)),
        ("base", locked.base, base.key),
    )
    for what, of_lock, wanted in pairs:
        if of_lock != wanted:
            msg = f"the lock's {what} for {variant.id} is {of_lock!r}, not {wanted!r}"
            raise MismatchError(msg, hint=f"{_RELOCK} with --update")
    if base.assembled and base.rootfs_sha256 is None:
        msg = f"the base {base.reference} is not pinned: the lock has no hash of its root file system"
        raise MismatchError(msg, hint=_RELOCK)


def _pinned(base: LockedBase) -> ImageReference | None:
    if base.assembled:
        return None
    try:
        reference = ImageReference.parse(base.reference)
    except ValueError as error:
        msg = f"the lock's base is wrong: {error}"
        raise MismatchError(msg, hint=f"{_RELOCK} with --update") from error
    if base.digest is None:
        msg = f"the base {base.reference} is not pinned: the lock has no digest of it"
        raise MismatchError(msg, hint=_RELOCK)
    return reference.with_digest(base.digest)


def _wheel_folders(variant: Variant, locked: LockedVariant, interpreter: python.Python | None) -> list[str]:
    if interpreter is None or interpreter.venv is None:
        return []
    return library_folders(locked.packages, interpreter.site_packages(variant.python))


def _environment(
    variant: Variant, base: LockedBase, recipes: tuple[Recipe, ...], *, interpreter: python.Python | None, guarded: bool
) -> tuple[Block, ...]:
    venv = interpreter is not None and interpreter.venv is not None
    return blocks(Wishes(base=base.facts.env, recipes=recipes, matrix=variant.env, venv=venv, guarded=guarded))


def _labels(variant: Variant, base: LockedBase) -> tuple[tuple[str, str], ...]:
    framework, stack = _exactly(variant.framework), _exactly(variant.stack)
    description = f"{_words(variant.framework)} on {_words(variant.stack)} with Python {variant.python}"
    labels = {
        "org.opencontainers.image.title": variant.id,
        "org.opencontainers.image.description": description,
        "org.opencontainers.image.version": str(variant.framework.version or ""),
        "org.opencontainers.image.base.name": "" if base.assembled else base.reference,
        "org.opencontainers.image.base.digest": str(base.digest or ""),
        "imgbuild.variant": variant.id,
        "imgbuild.framework": framework,
        "imgbuild.stack": stack,
        "imgbuild.python": variant.python,
        "imgbuild.base": variant.base.label,
        "imgbuild.base.digest": str(base.digest or ""),
        "imgbuild.base.rootfs": f"sha256:{base.rootfs_sha256}" if base.rootfs_sha256 else "",
    }
    return tuple((name, value) for name, value in labels.items() if value)


def _exactly(release: Release) -> str:
    return f"{release.name}=={release.version}" if release.version is not None else release.name


def _words(release: Release) -> str:
    return f"{release.name} {release.version or ''}".strip()


def _user(variant: Variant, base: LockedBase) -> User | None:
    """Return whom the image runs as: the matrix's choice, else the base's own where that is not root."""
    if variant.user is not None:
        login = variant.user.partition(":")[0]
        return User(name=escape.user(variant.user), login=login, check=not login.isdigit())
    if base.facts.user in _ROOT_USERS:
        return None
    return User(name=base.facts.user, login=base.facts.user.partition(":")[0], check=False)


def _command(variant: Variant, base: LockedBase, interpreter: python.Python | None) -> tuple[str, ...] | None:
    """Return the command of an image whose base, assembled here, has none."""
    if not base.assembled or variant.entrypoint is not None:
        return None
    if interpreter is not None:
        return ("python",)
    return (base.facts.python,) if base.facts.python is not None else None


def _large_files(locked: LockedVariant, base: LockedBase) -> Mapping[str, str]:
    files = {f"wheels/{package.file}": package.sha256 for package in sorted(locked.packages, key=lambda package: package.file)}
    if base.assembled and base.rootfs_sha256 is not None:
        files["rootfs.tar"] = base.rootfs_sha256
    return files
