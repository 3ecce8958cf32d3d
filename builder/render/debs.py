"""Debian packages for a base from a registry: exact versions, and the hash of every file."""

from __future__ import annotations

import re

from builder.errors import MismatchError, UnsatisfiableError
from builder.model.lock import LockedBase, LockedDeb, LockedVariant
from builder.model.plan import Variant

CHECKSUMS = "/etc/imgbuild/debs.sha256"
DOWNLOADS = "/tmp/debs"  # noqa: S108 - a folder inside the image while it is built, removed in the same RUN

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]*")
_ARCHITECTURE = re.compile(r"[a-z0-9][a-z0-9-]*")
_HASH = re.compile(r"[0-9a-f]{64}")
_RELOCK = "run imgbuild matrix lock --update on the matrix file"


def plan_debs(variant: Variant, locked: LockedVariant, base: LockedBase) -> tuple[LockedDeb, ...]:
    """Return the packages that apt has to add, sorted by name; none where they are in the base already."""
    _same_wishes(variant, locked)
    if base.assembled:
        return ()
    if locked.debs and not base.facts.has_apt:
        system = f"{base.facts.os} {base.facts.os_version}".strip()
        names = ", ".join(deb.name for deb in locked.debs)
        msg = f"{base.reference} ({system}) has no apt-get, so {names} cannot be added for {variant.id}"
        raise UnsatisfiableError(
            msg, hint="take the packages out for this base (apt: with when:), or choose a Debian or Ubuntu base"
        )
    for deb in locked.debs:
        _checked(deb)
    return tuple(sorted(locked.debs, key=lambda deb: deb.name))


def checksums(debs: tuple[LockedDeb, ...]) -> bytes:
    """Return the file that ``sha256sum --check`` reads, with paths as ``apt-get download`` names the files."""
    return "".join(f"{deb.sha256}  {DOWNLOADS}/{file_name(deb)}\n" for deb in debs).encode()


def file_name(deb: LockedDeb) -> str:
    """Return the name apt gives the file: ``git_1%3a2.39.5-0+deb12u2_amd64.deb``."""
    return f"{deb.name}_{deb.version.replace(':', '%3a')}_{deb.architecture}.deb"


def _same_wishes(variant: Variant, locked: LockedVariant) -> None:
    """Hold the lock to the wishes it was made for; a wish has no entry of its own where the base has it, or a virtual package."""
    if set(variant.apt) != set(locked.apt):
        wanted, had = (", ".join(sorted(names)) or "none" for names in (variant.apt, locked.apt))
        msg = f"the lock is for other Debian packages than {variant.id} wants: {had} instead of {wanted}"
        raise MismatchError(msg, hint=_RELOCK)


def _checked(deb: LockedDeb) -> None:
    fields = ((_NAME, deb.name), (_VERSION, deb.version), (_ARCHITECTURE, deb.architecture), (_HASH, deb.sha256))
    for pattern, text in fields:
        if not pattern.fullmatch(text):
            msg = f"the lock's Debian package {deb.name!r} has {text!r}, which no Debian package can have"
            raise MismatchError(msg, hint=_RELOCK)
