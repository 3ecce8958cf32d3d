"""Hosts of the package indexes that pip and uv are configured to use here; the proxy lets them pass."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

PYPI = ("pypi.org", "files.pythonhosted.org")
VARIABLES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
)
NAMED = re.compile(r"^[\w.-]+=(?=\w+://)")  # uv's NAME=URL
KEYS = ("index-url", "extra-index-url")


def hosts() -> list[str]:
    """Return the hosts, sorted; PyPI's are always among them."""
    named = {urlsplit(NAMED.sub("", address)).hostname for address in addresses()}
    return sorted({*PYPI, *(host for host in named if host)})


def addresses() -> Iterator[str]:
    """Yield every index address that the environment or a configuration file names."""
    for name in VARIABLES:
        yield from os.environ.get(name, "").split()
    for path in files():
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read(path)
        for section in parser.sections():
            for key in KEYS:
                yield from parser.get(section, key, fallback="").split()


def files() -> list[Path]:
    """Return pip's configuration files."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    own = os.environ.get("PIP_CONFIG_FILE")
    return [
        Path("/etc/xdg/pip/pip.conf"),
        Path("/etc/pip.conf"),
        Path.home() / ".pip" / "pip.conf",
        config / "pip" / "pip.conf",
        *([Path(own)] if own else []),
    ]
