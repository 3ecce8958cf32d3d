"""What a base that is assembled here consists of, and what may be added: data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from builder.errors import UnsatisfiableError

FORMAT = 1
"""Changes whenever the same packages make other bytes; part of the key under which a tar is kept."""

_ESSENTIAL = (
    "base-files", "base-passwd", "bash", "bsdutils", "coreutils", "dash", "debianutils", "diffutils", "dpkg", "findutils",
    "grep", "gzip", "hostname", "init-system-helpers", "libc-bin", "login", "ncurses-base", "ncurses-bin", "passwd", "perl-base",
    "sed", "sysvinit-utils", "tar", "util-linux",
)  # fmt: skip
"""Essential packages: every other may rely on them without saying so."""

_CONTAINER = ("apt", "ca-certificates", "libgomp1", "libstdc++6", "python3", "python3-venv", "tzdata")
"""What the slim image of a release has besides, and what Python packages with compiled code need."""

BASE_PACKAGES = tuple(sorted((*_ESSENTIAL, *_CONTAINER)))

WHERE_KNOWN = ("usr-is-merged",)
"""Added where the release has them: usr-is-merged keeps usrmerge, and with it all of Perl, out."""

SET_UP_HERE = re.compile(
    r"apt|base-files|base-passwd|bash|ca-certificates|coreutils|dash|debconf|debian-archive-keyring|debianutils|dpkg|gzip"
    r"|init-system-helpers|libc-bin|libc6|libgcrypt20|libgssapi-krb5-2|libpam-modules|libpam-modules-bin|libpam-runtime|libpam0g"
    r"|libselinux1|login|login\.defs|mawk|netbase|openssl|passwd|perl-base|readline-common|tar|tzdata|ubuntu-keyring"
    r"|usr-is-merged|util-linux|util-linux-extra"
    r"|python3|python3-minimal|python3-distutils|python3-lib2to3|(?:lib)?python3\.\d+(?:-minimal|-venv)?"
)
"""Packages whose own set-up scripts are done by ``debian_setup`` or have nothing to do on a first install in an image.

Any other that brings such a script is left unpacked, for ``dpkg --configure -a`` inside the image.
"""

DPKG_ARCHITECTURES: Mapping[str, str] = MappingProxyType(
    {
        "amd64": "amd64", "arm64": "arm64", "arm64/v8": "arm64", "arm/v7": "armhf", "386": "i386", "ppc64le": "ppc64el",
        "riscv64": "riscv64", "s390x": "s390x",
    }
)  # fmt: skip
"""The distribution's name for the architecture of a platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What differs between distributions: the keyring that signs, and the public archives that an image names."""

    keyrings: tuple[str, ...]
    archive: str
    security: str
    ports: str | None
    components: str


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "debian": Family(
            keyrings=("debian-archive-keyring.pgp", "debian-archive-keyring.gpg"),
            archive="http://deb.debian.org/debian",
            security="http://deb.debian.org/debian-security",
            ports=None,
            components="main",
        ),
        "ubuntu": Family(
            keyrings=("ubuntu-archive-keyring.gpg",),
            archive="http://archive.ubuntu.com/ubuntu",
            security="http://security.ubuntu.com/ubuntu",
            ports="http://ports.ubuntu.com/ubuntu-ports",
            components="main universe restricted multiverse",
        ),
    }
)

_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.]*(?:-[a-z0-9+.]+)*(?::[a-z0-9-]+)?(?:=[A-Za-z0-9.+~:-]+)?")


def must_be_package_names(packages: Iterable[str]) -> None:
    """Raise ``UnsatisfiableError`` for what is not the name of a package: apt reads ``git-`` and ``?x`` in its own way."""
    for package in packages:
        if _PACKAGE.fullmatch(package) is None:
            msg = f"{package!r} is not the name of a Debian package"
            raise UnsatisfiableError(msg, hint="write a name such as git, or a name and version such as git=1:2.39.5-0+deb12u2")
