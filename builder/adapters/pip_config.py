"""pip's own configuration, read the way pip reads it, and names for the places it points to.

A lock carries names, never URLs: the same configuration always gives the same names, and no name
holds credentials.
"""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from builder.errors import Complaint, DocumentError, Where
from builder.model.plan import Index

PYPI = Index(name="pypi", url="https://pypi.org/simple")
"""The default index, when pip's configuration names no other."""

_PYPI_HOSTS = {"pypi.org", "pypi.python.org"}
_ALIASES = {"default-timeout": "timeout", "pypi-url": "index-url"}
_SECTIONS = ("global", "install", ":env:")
"""Where ``pip install`` looks, weakest first; a section outweighs a file."""
_TRUE = {"y", "yes", "t", "true", "on", "1"}
_FALSE = {"n", "no", "f", "false", "off", "0"}
_CREDENTIALS = re.compile(r"(?<=://)[^/\s'\"`]+@")
_SECRET_SEGMENT = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_-]{16,}")
_SEPARATORS = re.compile(r"[^A-Za-z0-9.]+")
_DEFAULT_TIMEOUT = 15.0
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class PipConfig:
    """What pip's configuration says about where packages come from and how they are reached.

    ``indexes`` are the index and then the extra indexes, none under ``no-index``; ``find_links``
    are folders and pages of files, as URLs; ``constraints`` are paths or URLs of constraint files;
    ``timeout`` is in seconds; ``files`` are the configuration files that were read.
    """

    indexes: tuple[Index, ...] = (PYPI,)
    find_links: tuple[Index, ...] = ()
    constraints: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    no_index: bool = False
    timeout: float = _DEFAULT_TIMEOUT
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class _Setting:
    value: str
    source: str


def config_files(environment: Mapping[str, str], *, prefix: Path, etc: Path) -> tuple[Path, ...]:
    """Return the files pip would read on Linux, weakest first, whether they exist or not.

    ``PIP_CONFIG_FILE`` comes last and replaces the user's own files; ``/dev/null`` there means
    that no file is read at all.
    """
    named = environment.get("PIP_CONFIG_FILE")
    if named == "/dev/null":
        return ()
    home = Path(environment.get("HOME") or Path.home())
    folders = (environment.get("XDG_CONFIG_DIRS") or str(etc / "xdg")).split(":")
    shared = [Path(folder) / "pip" / "pip.conf" for folder in folders if folder]
    shared.append(etc / "pip.conf")
    config_home = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    own = [home / ".pip" / "pip.conf", config_home / "pip" / "pip.conf"]
    if named and Path(named).exists():
        own = []
    last = [Path(named)] if named else []
    return (*shared, *own, prefix / "pip.conf", *last)


def read_pip_config(environment: Mapping[str, str], *, prefix: Path | None = None, etc: Path = Path("/etc")) -> PipConfig:
    """Read what ``pip install`` would be configured with here.

    ``environment`` is the process's; ``prefix`` the Python environment whose ``pip.conf`` counts
    (ours by default). ``DocumentError`` when a file is not one pip could read.
    """
    files = [path for path in config_files(environment, prefix=prefix or Path(sys.prefix), etc=etc) if path.is_file()]
    settings = _settings(files, environment)
    no_index = _flag(settings, "no-index")
    index_url = _one(settings, "index-url") or PYPI.url
    extra = [_place(settings, "extra-index-url", place) for place in _many(settings, "extra-index-url")]
    links = [_place(settings, "find-links", place) for place in _many(settings, "find-links")]
    return PipConfig(
        indexes=() if no_index else named_indexes("index", [_place(settings, "index-url", index_url), *extra]),
        find_links=named_indexes("find-links", links),
        constraints=tuple(_place(settings, "constraint", place) for place in _many(settings, "constraint")),
        cert=_path(settings, "cert"),
        client_cert=_path(settings, "client-cert"),
        proxy=_one(settings, "proxy"),
        trusted_hosts=tuple(_many(settings, "trusted-host")),
        no_index=no_index,
        timeout=_seconds(settings),
        files=tuple(files),
    )


def named_indexes(prefix: str, places: Iterable[str]) -> tuple[Index, ...]:
    """Name URLs or local paths, in order; the same place is named once, and no two share a name."""
    found: dict[str, Index] = {}
    taken: set[str] = set()
    for place in places:
        url = _as_url(place)
        key = without_credentials(url).rstrip("/")
        if key in found:
            continue
        name = base = index_name(url, prefix)
        number = 2
        while name in taken:
            name = f"{base}-{number}"
            number += 1
        taken.add(name)
        found[key] = Index(name=name, url=url)
    return tuple(found.values())


def index_name(url: str, prefix: str = "index") -> str:
    """Return the readable name of an index: ``pypi``, or ``index-<host>-<path>`` without credentials.

    A path segment that looks like a token (some indexes put theirs there) is left out.
    """
    parts = urlsplit(url)
    path = unquote(parts.path).rstrip("/").removesuffix("/simple")
    if prefix == "index" and parts.hostname in _PYPI_HOSTS and path in {"", "/simple"}:
        return PYPI.name
    port = f"-{parts.port}" if parts.port else ""
    segments = [segment for segment in path.split("/") if segment and not _SECRET_SEGMENT.fullmatch(segment)]
    readable = _SEPARATORS.sub("-", "-".join([f"{parts.hostname or ''}{port}", *segments])).strip("-.").lower()
    return f"{prefix}-{readable}"[:_LONGEST_NAME].rstrip("-.")


def without_credentials(url: str) -> str:
    """Return a URL without user name, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def plain_url(url: str) -> str:
    """Return a URL so that the ways to write one place are the same text, without credentials."""
    return unquote(without_credentials(url)).rstrip("/")


def redacted(text: str) -> str:
    """Return a text with the credentials in its URLs replaced by stars."""
    return _CREDENTIALS.sub("****@", text)


def local_path(url: str) -> Path | None:
    """Return the path of a ``file:`` URL, ``None`` for any other."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _as_url(place: str) -> str:
    if urlsplit(place).scheme in {"http", "https", "file"}:
        return place
    return Path(place).expanduser().absolute().as_uri()


def _settings(files: Sequence[Path], environment: Mapping[str, str]) -> dict[str, _Setting]:
    """Flatten all sources: within a section the later file wins, then the stronger section wins."""
    sections: dict[str, dict[str, _Setting]] = {name: {} for name in _SECTIONS}
    for path in files:
        parser = _parsed(path)
        for name in parser.sections():
            for key, value in parser.items(name):
                sections.setdefault(name, {})[_key(key)] = _Setting(value or "", str(path))
    for variable, value in environment.items():
        if variable.startswith("PIP_"):
            sections[":env:"][_key(variable.removeprefix("PIP_"))] = _Setting(value, variable)
    merged: dict[str, _Setting] = {}
    for name in _SECTIONS:
        merged.update({key: setting for key, setting in sections[name].items() if setting.value.strip()})
    return merged


def _key(text: str) -> str:
    name = text.lower().replace("_", "-").removeprefix("--")
    return _ALIASES.get(name, name)


def _parsed(path: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"), source=str(path))
    except (configparser.Error, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None) or 1
        where = Where(file=str(path), line=line, column=1)
        complaint = Complaint(where=where, message=f"pip's configuration cannot be read: {redacted(str(error).splitlines()[0])}")
        raise DocumentError((complaint,), hint="mend the file, or set PIP_CONFIG_FILE=/dev/null to go without it") from error
    except OSError:
        # pip passes over files it may not read
        parser.clear()
    return parser


def _one(settings: Mapping[str, _Setting], key: str) -> str | None:
    setting = settings.get(key)
    return setting.value.strip() if setting else None


def _many(settings: Mapping[str, _Setting], key: str) -> list[str]:
    setting = settings.get(key)
    return setting.value.split() if setting else []


def _place(settings: Mapping[str, _Setting], key: str, place: str) -> str:
    """Return a place as it is when it is a URL, and a path from the root: other folders are worked in later."""
    scheme, separator, _ = place.partition("://")
    if not separator and not place.startswith("file:"):
        return str(Path(place).expanduser().absolute())
    if scheme.lower().partition(":")[0] not in {"http", "https", "file"}:
        raise _wrong(settings[key], key, "expected a path, or a URL that begins with https://, http:// or file://")
    return place


def _path(settings: Mapping[str, _Setting], key: str) -> str | None:
    path = _one(settings, key)
    return None if path is None else str(Path(path).expanduser().absolute())


def _flag(settings: Mapping[str, _Setting], key: str) -> bool:
    setting = settings.get(key)
    if setting is None or setting.value.strip().lower() in _FALSE:
        return False
    if setting.value.strip().lower() in _TRUE:
        return True
    raise _wrong(setting, key, "expected true or false")


def _seconds(settings: Mapping[str, _Setting]) -> float:
    setting = settings.get("timeout")
    if setting is None:
        return _DEFAULT_TIMEOUT
    try:
        seconds = float(setting.value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise _wrong(setting, "timeout", "expected a number of seconds")
    return seconds


def _wrong(setting: _Setting, key: str, expected: str) -> DocumentError:
    where = Where(file=setting.source, line=1, column=1, field=key)
    complaint = Complaint(where=where, message=f"pip's configuration says {redacted(setting.value)!r}, {expected}")
    return DocumentError((complaint,), hint="mend it there")
