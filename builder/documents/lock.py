"""Reading a lock file; ``lock_text`` writes one."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from builder.documents.lock_checks import misfits
from builder.documents.lock_models import LockFile
from builder.documents.lock_text import FORMAT, lock_text
from builder.documents.nodes import Bare, Items, Place, Table, Value, entries
from builder.documents.reader import read_yaml
from builder.documents.suggest import did_you_mean, shown
from builder.errors import Complaint, DocumentError, Where
from builder.model.lock import Lock

__all__ = ["lock_text", "read_lock", "read_lock_text"]

_HINT = "a lock is never edited by hand: make it anew with imgbuild matrix lock on the matrix file"
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|>{7})(?: .*)?$|^={7}$", re.MULTILINE)
_KEYS = tuple(field.alias or name for name, field in LockFile.model_fields.items())


def read_lock(path: Path) -> Lock | None:
    """Return the lock in a file, ``None`` when there is no such file; ``DocumentError`` with every complaint."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _wrong(Where(file=str(path), line=1, column=1), f"it cannot be read: {reason}", "check its permissions") from error
    return read_lock_text(data, str(path))


def read_lock_text(text: str | bytes, file: str) -> Lock:
    """Return the lock in a text; ``file`` is the name that complaints give it."""
    _refuse_conflicts(text, file)
    try:
        root, complaints = read_yaml(text, file)
    except DocumentError as error:
        raise DocumentError(error.complaints, hint=_HINT) from error
    at = Where(file=file, line=1, column=1)
    if not isinstance(root, Table) or "imgbuild-lock" not in root:
        raise _wrong(at, f"this is not a lock: it does not begin with imgbuild-lock: {FORMAT}", "is this the right file?")
    form = root["imgbuild-lock"]
    if isinstance(form, Bare) and form.kind == "int" and form.text.isdecimal() and int(form.text) > FORMAT:
        message = f"the lock is of format {form.text}, and this imgbuild reads format {FORMAT}"
        raise _wrong(
            form.at.where(file), message, "use the imgbuild that wrote it, or a newer one: pip install --upgrade imgbuild"
        )
    complaints += _checked(root, file)
    if complaints:
        raise DocumentError(tuple(complaints), hint=_HINT)
    return LockFile.model_validate(_plain(root)).value()


def _refuse_conflicts(text: str | bytes, file: str) -> None:
    """Complain about Git's conflict markers, before they are taken for broken YAML."""
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    found = [Where(file=file, line=decoded.count("\n", 0, mark.start()) + 1, column=1) for mark in _CONFLICT.finditer(decoded)]
    if found:
        hint = "take one side whole (git checkout --ours or --theirs), then bring it up to date: imgbuild matrix lock"
        message = "a merge left conflict markers here"
        raise DocumentError(tuple(Complaint(where=where, message=message, hint=hint) for where in found), hint=hint)


def _wrong(where: Where, message: str, hint: str) -> DocumentError:
    return DocumentError((Complaint(where=where, message=message, hint=hint),), hint=_HINT)


def _plain(value: Value) -> object:
    """Return a value without its places; a word that YAML takes for a number or date stays what was written."""
    if isinstance(value, Table):
        return {str(key): _plain(item) for key, item in entries(value)}
    if isinstance(value, Items):
        return [_plain(item) for item in value]
    if not isinstance(value, Bare):
        return str(value)
    if value.kind == "int" and re.fullmatch(r"[0-9]{1,18}", value.text):
        return int(value.text)
    if value.kind == "bool":
        return value.text.lower() in {"true", "yes", "on"}
    return None if value.kind == "null" else value


def _checked(root: Table, file: str) -> list[Complaint]:
    """Return every complaint about the shape, or, where that is sound, about what does not fit together."""
    try:
        lock = LockFile.model_validate(_plain(root))
    except ValidationError as error:
        return [_complaint(one, root, file) for one in error.errors(include_url=False)]
    return [Complaint(where=_place(root, path).where(file), message=message) for path, message in misfits(lock)]


def _complaint(error: ErrorDetails, root: Table, file: str) -> Complaint:
    place = _place(root, error["loc"])
    kind, key = error["type"], str(error["loc"][-1]) if error["loc"] else ""
    if kind == "extra_forbidden":
        hint = did_you_mean(key, _KEYS) if len(error["loc"]) == 1 else None
        return Complaint(where=place.where(file), message=f"the key {shown(key)} is unknown in a lock", hint=hint)
    if kind == "missing":
        return Complaint(where=place.where(file), message=f"the key {shown(key)} is missing")
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    if kind == "value_error":
        return Complaint(where=place.where(file), message=message)
    given = error["input"]
    found = given.text if isinstance(given, Bare) else given if isinstance(given, (str, int)) else type(given).__name__
    hint = f'write it in quotes: "{found}"' if kind == "string_type" else None
    return Complaint(where=place.where(file), message=f"{key} {message}, not {shown(str(found))}", hint=hint)


def _place(root: Table, path: tuple[int | str, ...]) -> Place:
    """Return where a value stands, or the nearest thing around it."""
    value: Value = root
    place = root.at
    for part in path:
        if isinstance(value, Table) and isinstance(part, str):
            place = value.place_of(part)
            if part not in value:
                return Place(place.line, place.column, (*value.at.path, part))
            value = value[part]
        elif isinstance(value, Items) and isinstance(part, int) and part < len(value):
            value = value[part]
            place = value.at
        else:
            break
    return place
