"""Which Python gets the packages, and with which words pip is called."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from builder.errors import MismatchError, UnsatisfiableError
from builder.model.lock import BaseFacts, LockedBase, LockedPackage, LockedVariant
from builder.model.matrix import BaseKind
from builder.model.plan import Variant

VENV = "/opt/venv"
REQUIREMENTS = "/etc/imgbuild/requirements.txt"
WHEELS = "/mnt/wheels"
VENV_PACKAGE = "python3-venv"

_FIRST_WITH_MARK = Version("23.0.1")  # the first pip that knows PEP 668's mark, and --break-system-packages
_RELOCK = "run imgbuild matrix lock --update on the matrix file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """The Python of an image.

    ``interpreter`` is the path of the one that the packages go into; ``maker`` the one that makes
    the virtual environment first, ``None`` where the packages go into the base's own. ``pip`` are
    the words that start pip, ``system`` whether it has to be told that the system's Python is meant.
    """

    interpreter: str
    maker: str | None
    pip: tuple[str, ...]
    system: bool = False

    @property
    def venv(self) -> str | None:
        """The folder of the virtual environment, where there is one."""
        return None if self.maker is None else VENV

    def site_packages(self, python: str) -> str:
        """Return the folder of the virtual environment's packages; ``python`` is ``3.12``."""
        return f"{VENV}/lib/python{python}/site-packages"


def plan_python(variant: Variant, locked: LockedVariant, base: LockedBase) -> Python:
    """Choose the Python for the packages of the lock.

    A distribution's own Python, and one that only comes with the Debian packages of the lock, get a
    virtual environment (PEP 668); a vendor's, stack's or other image's is used as it is.
    """
    facts = base.facts
    _same_python(variant, base)
    if variant.base.kind is BaseKind.DISTRIBUTION or facts.python is None:
        maker = facts.python or f"/usr/bin/python{variant.python}"
        _can_make_venv(variant, locked, base)
        interpreter = f"{VENV}/bin/python"
        return Python(interpreter=interpreter, maker=maker, pip=(interpreter, "-m", "pip"))
    pip = (facts.python, "-m", "pip") if facts.pip_version else (facts.python, _pip_wheel(variant, locked, base))
    return Python(interpreter=facts.python, maker=None, pip=pip, system=_needs_flag(facts))


def requirements(packages: tuple[LockedPackage, ...]) -> bytes:
    """Return the requirements file: every package at its version, with the hash of its file, sorted by name."""
    lines = ["# Every Python package of this image and the hash of its file in wheels/."]
    seen: set[str] = set()
    for package in sorted(packages, key=lambda package: package.name):
        _checked(package)
        if package.name in seen:
            msg = f"the lock names {package.name!r} twice for one variant"
            raise MismatchError(msg, hint=_RELOCK)
        seen.add(package.name)
        lines.append(f"{package.name}=={package.version} --hash=sha256:{package.sha256}")
    return "".join(f"{line}\n" for line in lines).encode()


def _checked(package: LockedPackage) -> None:
    try:
        name, version, _, _ = parse_wheel_filename(package.file)
        same = name == package.name == canonicalize_name(package.name) and version == Version(package.version)
    except (InvalidWheelFilename, InvalidVersion) as error:
        msg = f"the lock names {package.file!r} for {package.name!r}, which is not a wheel's file name"
        raise MismatchError(msg, hint=f"only wheels are installed; {_RELOCK}") from error
    if not same:
        msg = f"the lock names {package.file!r} for {package.name!r} {package.version!r}, which is another package or version"
        raise MismatchError(msg, hint=_RELOCK)
    if len(package.sha256) != 64 or not set(package.sha256) <= set("0123456789abcdef"):  # noqa: PLR2004 - hex digits of a sha256
        msg = f"the lock's hash of {package.file!r} is {package.sha256!r}, which is not a sha256 (64 hex digits)"
        raise MismatchError(msg, hint=_RELOCK)


def _same_python(variant: Variant, base: LockedBase) -> None:
    version = base.facts.python_version
    if version is None or version.split(".")[:2] == variant.python.split(".")[:2]:
        return
    msg = f"the Python of {base.reference} is {version}, {variant.id} is for Python {variant.python}"
    raise MismatchError(msg, hint=f"choose python {'.'.join(version.split('.')[:2])} for this base, or {_RELOCK}")


def _can_make_venv(variant: Variant, locked: LockedVariant, base: LockedBase) -> None:
    if base.facts.python is not None and not base.assembled:
        return
    wanted = {VENV_PACKAGE, f"python{variant.python}-venv"}
    if wanted.isdisjoint(deb.name for deb in (*base.debs, *locked.debs)):
        msg = f"{base.reference} has no Python for {variant.id}, and the lock adds no {' or '.join(sorted(wanted))}"
        raise MismatchError(msg, hint=_RELOCK)


def _pip_wheel(variant: Variant, locked: LockedVariant, base: LockedBase) -> str:
    for package in locked.packages:
        if package.name == "pip":
            return f"{WHEELS}/{package.file}/pip"
    msg = f"the Python of {base.reference} ({base.facts.python}) has no pip, so nothing can be installed for {variant.id}"
    raise UnsatisfiableError(
        msg, hint="add pip to packages: in the matrix (the lock then pins its wheel), or choose another base"
    )


def _needs_flag(facts: BaseFacts) -> bool:
    if not facts.externally_managed:
        return False
    try:
        return facts.pip_version is None or Version(facts.pip_version) >= _FIRST_WITH_MARK
    except InvalidVersion:
        return True
