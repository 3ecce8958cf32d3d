"""From what the fact script prints to values; a base may print anything, so nothing is taken on trust."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from builder.errors import MismatchError
from builder.model.lock import BaseFacts, Installed

MARK = "imgbuild-facts"
_MOST_TEXT = 512
_MOST_CONTENT = 1024 * 1024
_MOST_ROWS = 5000
_OS_FIELD = re.compile(r"(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>.*)")
_LIBC = re.compile(r"(?:glibc |GLIBC[^)]*\) (?:stable release version )?)(?P<version>\d+\.\d+)")
_VERSION = re.compile(r"\d+(?:\.\d+)+[A-Za-z0-9.+]*")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*")
_CODE = re.compile(r"[A-Za-z0-9_.+:-]{1,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Python:
    """One Python of a base; ``missing`` are the patterns of wanted distributions that it lacks."""

    path: str
    version: str
    libc: str
    externally_managed: bool
    pip: str | None
    missing: tuple[str, ...]
    distributions: tuple[Installed, ...]
    constraints: Mapping[str, str]
    arch_list: tuple[str, ...] | None


class _Unreadable(Exception):  # noqa: N818 - becomes a MismatchError that names the base
    pass


def read_facts(output: str, *, what: str) -> BaseFacts:
    """Read what the script printed; ``MismatchError`` says what cannot be, and of which base."""
    lines = [line.partition(" ")[2] for line in output.splitlines() if line.startswith(f"{MARK} ")]
    try:
        return _facts(lines)
    except _Unreadable as error:
        msg = f"the facts read inside {what} are not understood: {error}"
        raise MismatchError(msg, hint="check that this is the image you mean; it answers as no base does") from error


def read_config(config: Mapping[str, object], facts: BaseFacts, *, what: str) -> BaseFacts:
    """Return facts with the image's own settings: environment, labels, user, folder, entry point and command."""
    inner = config.get("config")
    settings: Mapping[str, object] = inner if isinstance(inner, dict) else {}
    try:
        env = dict(_pair(entry) for entry in _texts(settings.get("Env"), "Env", most=_MOST_CONTENT))
        labels = settings.get("Labels") or {}
        return replace(
            facts,
            env=env,
            labels=_mapping(labels, "Labels"),
            user=_text(settings.get("User") or "", "User"),
            workdir=_text(settings.get("WorkingDir") or "", "WorkingDir"),
            entrypoint=_texts(settings.get("Entrypoint"), "Entrypoint", most=_MOST_CONTENT),
            cmd=_texts(settings.get("Cmd"), "Cmd", most=_MOST_CONTENT),
        )
    except _Unreadable as error:
        msg = f"the config of {what} is not understood: {error}"
        raise MismatchError(msg, hint="push the image again with a current tool, or use another base") from error


def _facts(lines: Sequence[str]) -> BaseFacts:
    if not lines or lines[-1] != "end":
        raise _unreadable(why="they end before their end")
    told: dict[str, list[str]] = {}
    for line in lines:
        kind, _, rest = line.partition(" ")
        told.setdefault(kind, []).append(rest)
    system = _os_release(told.get("os", ()))
    python = min((_python(text) for text in told.get("python", ())), key=lambda one: len(one.missing), default=None)
    glibc = _glibc([*told.get("libc", ()), python.libc if python else ""])
    unconfigured = tuple(sorted({_matching(_PACKAGE, name, "an unconfigured package") for name in told.get("unconfigured", ())}))
    return BaseFacts(
        os=system.get("ID") or "linux",
        os_version=system.get("VERSION_ID") or system.get("VERSION_CODENAME") or "",
        glibc=glibc,
        python=python.path if python else None,
        python_version=python.version if python else None,
        pip_version=python.pip if python else None,
        externally_managed=python.externally_managed if python else False,
        has_ld_cache="ld-cache" in told.get("has", ()),
        distributions=python.distributions if python else (),
        constraints=python.constraints if python else {},
        arch_list=python.arch_list if python else None,
        has_apt="apt" in told.get("has", ()),
        unconfigured=unconfigured,
    )


def _os_release(lines: Sequence[str]) -> Mapping[str, str]:
    found = {}
    for line in lines:
        match = _OS_FIELD.fullmatch(line.strip())
        if match:
            found[match["name"]] = _text(match["value"].strip("\"'"), "os-release")
    return found


def _glibc(texts: Sequence[str]) -> str | None:
    return next((match["version"] for text in texts if (match := _LIBC.search(text))), None)


def _python(text: str) -> _Python:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(why=f"a Python's line is not JSON: {text[:80]!r}") from error
    if not isinstance(told, dict):
        raise _unlike(told, what="a Python's line")
    path = _text(told.get("python"), "the path of a Python")
    if not path.startswith("/"):
        raise _unlike(path, what="the path of a Python")
    pip, codes = told.get("pip"), told.get("arch_list")
    return _Python(
        path=path,
        version=_matching(_VERSION, told.get("version"), "the version of a Python"),
        libc=_text(told.get("libc") or "", "the C library"),
        externally_managed=told.get("externally_managed") is True,
        pip=None if pip is None else _text(pip, "the version of pip"),
        missing=_texts(told.get("missing"), "what is missing"),
        distributions=tuple(_installed(row) for row in _rows(told.get("distributions"), "the distributions")),
        constraints=_mapping(told.get("constraints") or {}, "the constraints"),
        arch_list=None if codes is None else tuple(_matching(_CODE, code, "a code") for code in _rows(codes, "the code list")),
    )


def _installed(row: object) -> Installed:
    if not isinstance(row, dict):
        raise _unlike(row, what="a distribution")
    name, module, unread = _text(row.get("name"), "a distribution's name"), row.get("module_version"), row.get("unread")
    return Installed(
        name=name,
        version=_text(row.get("version"), f"the version of {name}"),
        location=_text(row.get("location") or "", f"the place of {name}"),
        module_version=None if module is None else _text(module, f"the module's version of {name}"),
        unread=None if unread is None else _printable(unread, f"what was not read of {name}"),
        requires=_texts(row.get("requires"), f"the requirements of {name}", most=4 * _MOST_TEXT),
    )


def _text(value: object, what: str, *, most: int = _MOST_TEXT) -> str:
    """Return a text on one line, of a length that can be."""
    if not isinstance(value, str) or len(value) > most or not (value.isprintable() or value == ""):
        raise _unlike(value, what=what)
    return value


def _printable(value: object, what: str) -> str:
    """Return a text that may hold anything, as one line that can be shown."""
    if not isinstance(value, str):
        raise _unlike(value, what=what)
    return "".join(letter if letter.isprintable() else " " for letter in value)[:_MOST_TEXT]


def _matching(pattern: re.Pattern[str], value: object, what: str) -> str:
    text = _text(value, what)
    if pattern.fullmatch(text) is None:
        raise _unlike(text, what=what)
    return text


def _rows(value: object, what: str) -> Sequence[object]:
    if not isinstance(value, list) or len(value) > _MOST_ROWS:
        raise _unlike(value, what=what)
    return value


def _texts(value: object, what: str, *, most: int = _MOST_TEXT) -> tuple[str, ...]:
    """Return a list of texts, none for ``null``; line breaks may be in them where they may be long."""
    if value is None:
        return ()
    rows = _rows(value, what)
    if most > _MOST_TEXT:
        return tuple(_content(row, what, most=most) for row in rows)
    return tuple(_text(row, what) for row in rows)


def _content(value: object, what: str, *, most: int = _MOST_CONTENT) -> str:
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        raise _unlike(value, what=what)
    return value


def _mapping(value: object, what: str) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > _MOST_ROWS:
        raise _unlike(value, what=what)
    return {_text(name, what): _content(content, what) for name, content in value.items()}


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _unlike(value: object, *, what: str) -> _Unreadable:
    return _unreadable(why=f"{what} cannot be {repr(value)[:80]}")


def _unreadable(*, why: str) -> _Unreadable:
    return _Unreadable(why)
