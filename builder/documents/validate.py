"""A value that knows its places to the models, with every complaint on the way, and what is left to check further."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from builder.documents.fields import BARE, REFUSED
from builder.documents.nodes import Bare, Items, Path, Place, Table, Text, Value, entries, text_at
from builder.documents.sections import FORMAT, MatrixFile
from builder.documents.settings import UnknownKeys
from builder.documents.suggest import did_you_mean, shown
from builder.errors import Complaint

_ROUNDS = 4
_IN_HINT = 40
_EXPECTED = {
    "list_type": ("a list", "write it in brackets: [{}]"),
    "dict_type": ("a mapping", "write it as key: value"),
    "model_type": ("a mapping", "write it as key: value"),
    "model_attributes_type": ("a mapping", "write it as key: value"),
}
_MISSING = {
    "imgbuild": f"begin the file with: imgbuild: {FORMAT}",
    "name": "add a line such as name: pytorch",
    "matrix": "add the axes: matrix: {framework: [...], stack: [...], python: [...]}",
    "accelerator": "add one, such as accelerator: nvidia/h100",
    "host": "add one, such as host: user@name",
    "tier": "add one, such as tier: device",
}
_BELONGS = {
    **dict.fromkeys(("framework", "stack", "python", "exclude", "include"), "it belongs under matrix:"),
    **dict.fromkeys(("accelerator", "driver", "runner"), "it belongs to a target, under targets:"),
    **dict.fromkeys(("pip", "apt"), "it belongs to an entry of packages:"),
    "tier": "it belongs under publish:",
    "license": "did you mean 'licence'?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """A document, and the value it was read from.

    Where there are complaints, both lack the parts they are about. ``document`` is ``None`` when
    too little is left. ``cells_known`` is whether the axes and their exclude and include are whole.
    """

    document: MatrixFile | None
    data: Table
    complaints: tuple[Complaint, ...]
    cells_known: bool


def validate(root: Table, file: str) -> Validated:
    """Return the document of a value with all complaints about its shape."""
    unknown = UnknownKeys()
    document, errors = _attempt(root, unknown)
    complaints = [_unknown_key(key, known, file) for key, known in unknown.found]
    complaints += [_complaint(error, root, file) for error in errors]
    cells_known = not any(_place(error, root).path[:1] == ("matrix",) and error["type"] != BARE for error in errors)
    data = root
    for attempt in range(_ROUNDS):
        if document is not None or not data:
            break
        data = _mended(data, errors, coarse=attempt > 1)
        document, errors = _attempt(data, UnknownKeys())
    if document is None or "matrix" not in root:
        cells_known = False
    return Validated(document=document, data=data, complaints=tuple(complaints), cells_known=cells_known)


def _attempt(data: Table, unknown: UnknownKeys) -> tuple[MatrixFile | None, list[ErrorDetails]]:
    try:
        return MatrixFile.model_validate(data, context=unknown), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _place(error: ErrorDetails, root: Table) -> Place:
    """Return where the value stands that an error is about."""
    moved_to = error.get("ctx", {}).get("at")
    if isinstance(moved_to, Place):
        return moved_to
    at = getattr(error["input"], "at", root.at)
    place = at if isinstance(at, Place) else root.at
    return Place(place.line, place.column, (*place.path, str(error["loc"][-1]))) if error["type"] == "missing" else place


def _complaint(error: ErrorDetails, root: Table, file: str) -> Complaint:
    """Return the complaint for one error of pydantic."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    where = _place(error, root).where(file)
    if kind in {BARE, REFUSED}:
        return Complaint(where=where, message=str(context["text"]), hint=context["hint"])
    if kind == "missing":
        name = str(error["loc"][-1])
        return Complaint(where=where, message=f"the key {name!r} is missing", hint=_MISSING.get(name, f"add {name}:"))
    if kind in _EXPECTED:
        expected, hint = _EXPECTED[kind]
        return Complaint(
            where=where, message=f"{expected} is expected here, not {_said(value)}", hint=hint.format(_quoted(value))
        )
    if kind == "too_short":
        what = "mapping" if isinstance(value, dict) else "list"
        return Complaint(where=where, message=f"this {what} is empty", hint="write at least one entry, or remove the key")
    return Complaint(where=where, message=error["msg"][:1].lower() + error["msg"][1:], hint="see: imgbuild matrix schema")


def _said(value: object) -> str:
    if isinstance(value, Bare):
        return shown(value.text) if value.text else "nothing"
    if isinstance(value, str):
        return shown(value)
    return "a list" if isinstance(value, list) else "a mapping"


def _quoted(value: object) -> str:
    """Return a value as it would stand in a list."""
    if isinstance(value, Bare):
        return f'"{value.text}"' if value.kind != "null" else "..."
    return str(value) if isinstance(value, str) and len(value) <= _IN_HINT and value.isprintable() else "..."


def _unknown_key(key: Text, known: tuple[str, ...], file: str) -> Complaint:
    hint = _BELONGS.get(key) if len(key.at.path) == 1 or key == "license" else None
    message = f"the key {shown(key)} is unknown here"
    return Complaint(where=key.at.where(file), message=message, hint=hint or did_you_mean(key, known))


def _mended(data: Table, errors: Iterable[ErrorDetails], *, coarse: bool) -> Table:
    """Return the data without the parts that errors are about; unquoted words become the text that was meant."""
    removed: set[Path] = set()
    quoted: set[Path] = set()
    for error in errors:
        place = _place(error, data)
        if error["type"] == BARE and not coarse:
            quoted.add(place.path)
        else:
            removed.add(place.path[:1] if coarse else _part(place.path))
    mended = _without(data, removed, quoted)
    defaults: Mapping[str, Value] = {
        "imgbuild": Bare(str(FORMAT), "int", data.at),
        "name": text_at("unnamed", data.at),
        "matrix": _empty(Place(data.at.line, data.at.column, ("matrix",))),
    }
    for name, value in defaults.items():
        if name not in mended:
            mended[text_at(name, value.at)] = value
    return mended


def _empty(at: Place) -> Table:
    table = Table()
    table.at = at
    return table


def _part(path: Path) -> Path:
    """Return the smallest part around a place that a document can do without."""
    if path[:1] == ("matrix",):
        return path[:3]
    return path[:2] if path[:1] == ("targets",) or (len(path) > 1 and isinstance(path[1], int)) else path[:1]


def _without(table: Table, removed: set[Path], quoted: set[Path]) -> Table:
    kept = Table((key, _kept(value, removed, quoted)) for key, value in entries(table) if value.at.path not in removed)
    kept.at = table.at
    return kept


def _kept(value: Value, removed: set[Path], quoted: set[Path]) -> Value:
    if isinstance(value, Table):
        return _without(value, removed, quoted)
    if isinstance(value, Items):
        items = Items(_kept(item, removed, quoted) for item in value if item.at.path not in removed)
        items.at = value.at
        return items
    return text_at(value.text, value.at) if isinstance(value, Bare) and value.at.path in quoted else value
