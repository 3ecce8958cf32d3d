"""A lock as text: YAML with one line per package, in an order that does not move, so that diffs read well.

The text is laid out here and not by PyYAML, whose two emitters (with and without libyaml) do not
always agree on a byte; reading it back gives the same lock, whichever parser reads it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from builder.model.lock import BaseFacts, Installed, Lock, LockedBase, LockedDeb, LockedPackage, LockedVariant

FORMAT = 1
"""The format that is written, and the newest that is read."""

Scalar = str | int | bool
_PLAIN = re.compile(r"[A-Za-z_/](?:[A-Za-z0-9_./+~@=<>!*:-]*[A-Za-z0-9_./+~@=<>!*-])?")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9][A-Za-z0-9.+]*")
_QUOTED = {"sha256", "version", "module_version"}
"""Columns whose values often look like numbers."""
_WORDS = {"y", "n", "yes", "no", "true", "false", "on", "off", "null", "~"}
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BREAKS = {"\x85", "\u2028", "\u2029", "\ufeff"}
_HEADER = """\
# The lock of the matrix {name}: every base and every package its images are made of, pinned by digest and hash.
# imgbuild writes this file; keep it beside the matrix, in version control, and do not edit it.
#
#   build what it pins          imgbuild matrix build {file}
#   check it                    imgbuild matrix lock {file} --check
#   pin what is there now       imgbuild matrix lock {file} --update
"""


def lock_text(lock: Lock, matrix: str | None = None) -> str:
    """Return the text of a lock file; ``matrix`` is the file name of its matrix, for the commands in the header.

    The same lock always gives the same text.
    """
    lines = [
        _HEADER.format(name=quoted(lock.name), file=_shell_word(matrix or f"{lock.name}.yaml")).rstrip("\n"),
        "",
        f"imgbuild-lock: {FORMAT}",
        *_pairs({"name": lock.name, "date": lock.date, "tool": lock.tool}),
        *_entries("bases", (_base(base) for base in lock.bases)),
        *_entries("variants", (_variant(variant) for variant in lock.variants)),
    ]
    return "\n".join(lines) + "\n"


def _shell_word(file: str) -> str:
    return shlex.quote(file) if file.isprintable() else "FILE"


def _entries(name: str, entries: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a list of long entries, each set off by an empty line."""
    empty = True
    for entry in entries:
        yield from ("", f"{name}:") if empty else ("",)
        empty = False
        yield from (f"  {'  ' if number else '- '}{line}" for number, line in enumerate(entry))
    if empty:
        yield from ("", f"{name}: []")


def _base(base: LockedBase) -> Iterator[str]:
    yield from _pairs(
        {
            "key": base.key,
            "platform": str(base.platform),
            "reference": base.reference,
            "digest": _text(base.digest),
            "index_digest": _text(base.index_digest),
            "image_id": _text(base.image_id),
            "suite": base.suite,
            "rootfs_sha256": base.rootfs_sha256,
        }
    )
    yield "facts:"
    yield from (f"  {line}" for line in _facts(base.facts))
    yield from _rows("debs", (_deb(deb) for deb in base.debs))


def _facts(facts: BaseFacts) -> Iterator[str]:
    yield from _pairs(
        {
            "os": facts.os,
            "os_version": facts.os_version,
            "glibc": facts.glibc,
            "python": facts.python,
            "python_version": facts.python_version,
            "pip_version": facts.pip_version,
            "externally_managed": facts.externally_managed or None,
            "has_ld_cache": None if facts.has_ld_cache else False,
            "has_apt": facts.has_apt or None,
            "user": facts.user or None,
            "workdir": facts.workdir or None,
        }
    )
    yield from _list("entrypoint", facts.entrypoint)
    yield from _list("cmd", facts.cmd)
    yield from _list("unconfigured", facts.unconfigured)
    if facts.arch_list is not None:
        yield f"arch_list: {_flow(facts.arch_list)}"
    for name, mapping in (("env", facts.env), ("labels", facts.labels), ("constraints", facts.constraints)):
        if mapping:
            yield f"{name}:"
            yield from (f"  {scalar(key)}: {scalar(value)}" for key, value in sorted(mapping.items()))
    yield from _rows("distributions", (_installed(one) for one in facts.distributions))


def _variant(variant: LockedVariant) -> Iterator[str]:
    yield from _pairs(
        {
            "id": variant.id,
            "platform": str(variant.platform),
            "framework": variant.framework,
            "stack": variant.stack,
            "python": variant.python,
            "base": variant.base,
        }
    )
    yield from _list("pip", variant.pip)
    yield from _list("apt", variant.apt)
    yield from _list("indexes", variant.indexes)
    yield from _rows("packages", (_package(package) for package in variant.packages))
    yield from _rows("debs", (_deb(deb) for deb in variant.debs))


def _package(package: LockedPackage) -> str:
    return _row(
        name=package.name,
        version=package.version,
        index=package.index,
        file=package.file,
        sha256=package.sha256,
        size=package.size,
        requested_by=package.requested_by or None,
    )


def _deb(deb: LockedDeb) -> str:
    return _row(
        name=deb.name, version=deb.version, architecture=deb.architecture, path=deb.path, sha256=deb.sha256, size=deb.size
    )


def _installed(one: Installed) -> str:
    return _row(
        name=one.name,
        version=one.version,
        location=one.location or None,
        module_version=one.module_version,
        unread=one.unread,
        requires=one.requires or None,
    )


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)


def _pairs(values: Mapping[str, Scalar | None]) -> Iterator[str]:
    """Yield ``key: value`` for each value there is."""
    yield from (f"{key}: {scalar(value)}" for key, value in values.items() if value is not None)


def _list(name: str, values: Iterable[str]) -> Iterator[str]:
    """Yield a list on one line, nothing for an empty one."""
    text = _flow(values)
    if text != "[]":
        yield f"{name}: {text}"


def _rows(name: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield a list with one row per line, nothing for an empty one."""
    for number, row in enumerate(rows):
        if number == 0:
            yield f"{name}:"
        yield f"  - {row}"


def _row(**values: Scalar | tuple[str, ...] | None) -> str:
    return f"{{{', '.join(f'{key}: {_cell(key, value)}' for key, value in values.items() if value is not None)}}}"


def _cell(key: str, value: Scalar | tuple[str, ...]) -> str:
    """Return one value of a row; a column is quoted in every row or in none, as far as its values allow."""
    if isinstance(value, tuple):
        return _flow(value)
    return quoted(str(value)) if key in _QUOTED else scalar(value)


def _flow(values: Iterable[str]) -> str:
    return f"[{', '.join(scalar(value) for value in values)}]"


def scalar(value: Scalar) -> str:
    """Return a value as YAML: plain where every parser of YAML reads it as the same text, quoted elsewhere."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if _VERSION.fullmatch(value) or (_PLAIN.fullmatch(value) and value.lower() not in _WORDS):
        return value
    return quoted(value)


def quoted(text: str) -> str:
    """Return a text in double quotes, on one line; a lone surrogate, which no file can hold, becomes U+FFFD."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    if character.isprintable() and character not in _BREAKS:
        return character
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004 - the reach of YAML's \x
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"  # noqa: PLR2004 - the reach of YAML's \u
