"""What is wrong across the parts of a document that are right by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from builder.documents.convert import items_at, table_at
from builder.documents.nodes import Items, Place, Table, Text, Value, entries
from builder.documents.suggest import did_you_mean, nearest, shown
from builder.errors import Complaint
from builder.model.axis import AxisValue
from builder.model.tag import TAG_FIELDS, TagTemplate

_NEEDED = ("framework", "stack", "python")
_SETTINGS = ("base", "packages", "env", "probes", "user", "entrypoint")
_OWN_VALUE = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
_PYTHON = re.compile(r"3\.[0-9]{1,2}t?")
_LISTS = ("platforms", "tags", "builders", "base", "probes")
_SURE = 0.85

Found = tuple[Place, str, str]


def check(data: Table, file: str) -> Iterator[Complaint]:
    """Find complaints in a value whose shape is right."""
    axes = table_at(data, "matrix")
    names = [str(key) for key in axes if key not in {"exclude", "include"}]
    own = _own_keys(axes, names)
    found = [
        *_axis_values(axes, names),
        *_exclude(axes, names, own),
        *_include(axes, names, data),
        *_when(data, [*names, *own]),
        *_tags(data, [*names, *own]),
        *_repeats(data),
    ]
    for place, message, hint in found:
        yield Complaint(where=place.where(file), message=message, hint=hint)


def _own_keys(axes: Table, names: Iterable[str]) -> list[str]:
    """Return the keys that ``include`` adds beside the axes."""
    keys = (str(key) for entry in items_at(axes, "include") if isinstance(entry, Table) for key in entry)
    return list(dict.fromkeys(key for key in keys if key not in names))


def _axis_values(axes: Table, names: Iterable[str]) -> Iterator[Found]:
    for name in names:
        seen: dict[object, int] = {}
        for item in items_at(axes, name):
            value = _parsed(item)
            if value is None:
                continue
            yield from _value(name, value, item.at)
            if value.identity in seen:
                what = f"{shown(value.text)} stands twice on the axis {name!r}, first in line {seen[value.identity]}"
                yield item.at, what, "remove one; it would make the same cells twice"
            seen.setdefault(value.identity, item.at.line)


def _parsed(value: Value | None) -> AxisValue | None:
    """Return an axis value, or ``None`` where the value's own complaint is known already."""
    if not isinstance(value, Text):
        return None
    try:
        return AxisValue.parse(value)
    except ValueError:
        return None


def _value(axis: str, value: AxisValue, at: Place) -> Iterator[Found]:
    """Check a value of a cell by what its axis is for."""
    if value.name is None and value.specifiers is not None and axis != "python":
        yield at, f"{shown(value.text)} has a specifier but no name", f"write the name too: {_name_for(axis)}{value.text}"
    elif axis in {"framework", "stack"}:
        if value.name is None:
            hint = f"write a name, or a name with a PEP 440 specifier, such as {_name_for(axis)}{_specifier_in(value.text)}"
            yield at, f"{shown(value.text)} does not name a {axis}", hint
    elif axis == "python":
        if _PYTHON.fullmatch(value.text) is None:
            yield at, f"{shown(value.text)} is not a Python version such as 3.12", _python_hint(value.text)
    elif _OWN_VALUE.fullmatch(value.text) is None:
        what = f"{shown(value.text)} cannot be a part of ids and tags, as values of the axis {axis!r} are"
        yield at, what, "letters, digits and . _ + - only, at most 64"


def _name_for(axis: str) -> str:
    return {"framework": "pytorch", "stack": "cuda"}.get(axis, "name")


def _specifier_in(text: str) -> str:
    version = re.search(r"[0-9]+(?:\.[0-9]+)*", text)
    return f"=={version[0]}.*" if version else ""


def _python_hint(text: str) -> str:
    version = re.search(r"3(?:\.(?P<dotted>[0-9]{1,2})|(?P<joined>[0-9]{1,2}))", text)
    if version is None:
        return 'write the minor version: "3.12"'
    return f'write "3.{version["dotted"] or version["joined"]}"; the patch release is the base\'s'


def _nameless(pattern: Value, axis: str) -> Iterator[Found]:
    value = _parsed(pattern)
    if value is not None and value.name is None and value.specifiers is not None:
        hint = f"write the name too: {_name_for(axis)}{value.text}"
        if axis == "python":
            hint = 'name each Python that is meant, as it stands on the axis: "3.12"'
        yield pattern.at, f"{shown(value.text)} has a specifier but no name, and is not compared by guessing", hint


def _exclude(axes: Table, names: list[str], own: list[str]) -> Iterator[Found]:
    for entry in items_at(axes, "exclude"):
        for key, value in entries(entry) if isinstance(entry, Table) else ():
            if key == "reason":
                continue
            if key in own:
                what = f"{key!r} is no axis: include adds it, and exclude comes before include"
                yield key.at, what, "leave that include out instead"
            elif key not in names:
                yield key.at, f"there is no axis {shown(key)}", did_you_mean(key, [*names, "reason"])
            else:
                yield from _nameless(value, key)


def _include(axes: Table, names: list[str], data: Table) -> Iterator[Found]:
    used = _used_names(data)
    for entry in items_at(axes, "include"):
        for key, value in entries(entry) if isinstance(entry, Table) else ():
            close = nearest(key, [*names, *_NEEDED], cutoff=_SURE)
            if key not in names and key not in _NEEDED and close is not None and key not in used:
                yield (
                    key.at,
                    f"there is no axis {shown(key)}",
                    f"did you mean {close!r}? (a key of your own is fine once a tag or when uses it)",
                )
                continue
            parsed = _parsed(value)
            if parsed is not None:
                yield from _value(key, parsed, value.at)


def _used_names(data: Table) -> set[str]:
    """Return the axes that a tag template or a ``when`` names."""
    used = {str(key) for when in _when_tables(data) for key in when}
    for item in items_at(data, "tags"):
        if isinstance(item, Text):
            used.update(_template_names(item))
    return used


def _template_names(text: str) -> tuple[str, ...]:
    try:
        return TagTemplate.parse(text).names
    except ValueError:
        return ()


def _when_tables(data: Table) -> Iterator[Table]:
    for setting in _SETTINGS:
        for entry in items_at(data, setting):
            if isinstance(entry, Table) and isinstance(entry.get("when"), Table):
                yield table_at(entry, "when")


def _when(data: Table, names: list[str]) -> Iterator[Found]:
    for when in _when_tables(data):
        for key, value in entries(when):
            if key not in names:
                yield key.at, f"there is no axis {shown(key)}", did_you_mean(key, names)
                continue
            for pattern in value if isinstance(value, Items) else [value]:
                yield from _nameless(pattern, key)


def _tags(data: Table, names: list[str]) -> Iterator[Found]:
    known = list(dict.fromkeys([*TAG_FIELDS, *names]))
    for item in items_at(data, "tags"):
        for name in _template_names(item) if isinstance(item, Text) else ():
            if name not in known:
                yield item.at, f"{{{name}}} is no placeholder of this matrix", did_you_mean(name, known)


def _repeats(data: Table) -> Iterator[Found]:
    """Find items that stand twice in lists where that cannot mean anything."""
    for key in _LISTS:
        yield from _repeated(items_at(data, key))
    for entry in items_at(data, "packages"):
        if isinstance(entry, Table):
            yield from _repeated([*items_at(entry, "pip"), *items_at(entry, "apt")])
    for target in table_at(data, "targets").values():
        if isinstance(target, Table):
            yield from _repeated(items_at(target, "labels"))


def _repeated(items: Iterable[Value]) -> Iterator[Found]:
    seen: dict[str, int] = {}
    for item in items:
        if isinstance(item, Text):
            if item in seen:
                yield item.at, f"{shown(item)} stands twice, first in line {seen[item]}", "remove one"
            seen.setdefault(str(item), item.at.line)
