"""Bytes of a document to text: size, encoding, characters that YAML forbids."""

from __future__ import annotations

import codecs
import re

from builder.errors import Complaint, DocumentError, Where

MAX_BYTES = 4 * 1024 * 1024
"""The largest document that is read; a matrix of a few hundred lines has some 20 KB."""

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def wrong(file: str, message: str, *, line: int = 1, column: int = 1, hint: str) -> DocumentError:
    """Return the error for a document of which nothing more can be said than one complaint."""
    where = Where(file=file, line=line, column=column)
    return DocumentError((Complaint(where=where, message=message, hint=hint),), hint=mend(file))


def mend(file: str) -> str:
    """Return what to do about a wrong document."""
    return f"mend these places, then look again: imgbuild matrix lint {file}"


def document_text(raw: str | bytes, file: str) -> str:
    """Return the text of a document, a byte order mark taken off; ``DocumentError`` when it is not clean UTF-8."""
    size = len(raw) if isinstance(raw, bytes) else len(raw.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        limit = MAX_BYTES // 1024 // 1024
        raise wrong(file, f"the file has {size} bytes, and more than {limit} MiB is not read", hint="is this the right file?")
    text = _decoded(raw, file) if isinstance(raw, bytes) else raw.removeprefix("\ufeff")
    found = _FORBIDDEN.search(text)
    if found is not None:
        line, column = _position(text[: found.start()])
        message = f"a character that YAML does not allow: U+{ord(found[0]):04X}"
        hint = 'remove it, or write it as an escape in double quotes, such as "\\x07"'
        raise wrong(file, message, line=line, column=column, hint=hint)
    return text


def _decoded(raw: bytes, file: str) -> str:
    for mark, encoding in _OTHER_ENCODINGS:
        if raw.startswith(mark):
            raise wrong(file, f"the file is {encoding}, not UTF-8", hint="save it as UTF-8")
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _position(raw[: error.start].decode("utf-8"))
        message = f"the file is not UTF-8: byte 0x{raw[error.start]:02X} cannot stand here"
        raise wrong(file, message, line=line, column=column, hint="save the file as UTF-8") from error


def _position(before: str) -> tuple[int, int]:
    """Return the 1-based line and column that follow this text."""
    lines = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return len(lines), len(lines[-1]) + 1
