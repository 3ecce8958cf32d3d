"""YAML text to values that know their place.

The text is read event by event and never composed by PyYAML, so that deep nesting cannot
exhaust the stack and aliases cannot fill the memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto

import yaml

from builder.documents.nodes import (
    Bare,
    Items,
    Path,
    Place,
    Table,
    Text,
    Value,
    depth_of,
    entries,
    moved,
    moved_text,
    size_of,
    text_at,
)
from builder.documents.suggest import shown
from builder.documents.syntax import syntax_complaint
from builder.documents.text import document_text, mend
from builder.errors import Complaint, DocumentError

MAX_VALUES = 200_000
"""Values of one document, once its aliases are written out."""
MAX_DEPTH = 40
"""Mappings and lists inside one another."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_BARE = frozenset({"int", "float", "bool", "null", "timestamp"})
_TAGS = frozenset({"str", "map", "seq", *_BARE})
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")


class _Slot(Enum):
    """What the next value of a mapping is for."""

    KEY = auto()
    VALUE = auto()
    MERGE = auto()
    DROP = auto()


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is being read, and what comes next in it."""

    container: Table | Items
    anchor: str | None
    slot: _Slot = _Slot.KEY
    key: Text | None = None
    merges: list[Value] = field(default_factory=list)


class _Stop(Exception):  # noqa: N818 - not an error of its own: the complaint is already kept
    """Nothing more can be said about the document."""


def read_yaml(raw: str | bytes, file: str) -> tuple[Value, list[Complaint]]:
    """Return the one document of a YAML text, and complaints about repeated keys and the like.

    Keys that stand twice keep their first value. ``DocumentError`` when there is no value to
    speak of: not UTF-8, too large, not YAML, nested too deeply, several documents, empty.
    """
    reader = _Reader(file)
    text = document_text(raw, file)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.feed(event)
    except yaml.MarkedYAMLError as error:
        reader.complaints.append(syntax_complaint(error, text, file))
    except yaml.YAMLError as error:
        reader.complain(Place(1, 1), f"the file cannot be read as YAML: {error}", "check it with an editor that knows YAML")
    except _Stop:
        pass
    else:
        root = reader.root
        if root is not None and not (isinstance(root, Bare) and root.kind == "null"):
            return root, reader.complaints
        reader.complain(Place(1, 1), "the file is empty", "begin with: imgbuild init")
    raise DocumentError(tuple(reader.complaints), hint=mend(file))


class _Reader:
    """Turns the events of one document into a value."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.complaints: list[Complaint] = []
        self.root: Value | None = None
        self._documents = 0
        self._count = 0
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Value | None] = {}

    def complain(self, at: Place, message: str, hint: str) -> None:
        """Keep one complaint."""
        self.complaints.append(Complaint(where=at.where(self.file), message=message, hint=hint))

    def feed(self, event: yaml.Event) -> None:
        """Take the next event."""
        mark = event.start_mark
        at = Place(mark.line + 1, mark.column + 1, self._path()) if mark is not None else Place(1, 1, self._path())
        if isinstance(event, yaml.ScalarEvent):
            self._spend(at)
            self._done(self._scalar(event, at), event.anchor)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._open(event, at)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._done(self._alias(str(event.anchor), at), None)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self.complain(at, "a second document begins here", "keep one document in a file; remove the '---'")
                raise _Stop

    def _path(self) -> Path:
        if not self._stack:
            return ()
        frame = self._stack[-1]
        if isinstance(frame.container, Items):
            return (*frame.container.at.path, len(frame.container))
        return frame.container.at.path if frame.key is None else (*frame.container.at.path, str(frame.key))

    def _spend(self, at: Place, *, count: int = 1, depth: int = 0) -> None:
        """Count values and depth against their bounds."""
        self._count += count
        if self._count > MAX_VALUES:
            message = f"the file has more than {MAX_VALUES:,} values once its aliases (*name) are written out"
            self.complain(at, message, "do not nest aliases in one another")
            raise _Stop
        if len(self._stack) + depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} mappings and lists inside one another"
            self.complain(at, message, "a matrix needs five; look for a bracket that is never closed")
            raise _Stop

    def _check_tag(self, tag: str | None, at: Place) -> None:
        if tag is not None and tag != "!" and tag.removeprefix(_TAG) not in _TAGS:
            self.complain(
                at, f"the tag {shown(tag)} means nothing here", "remove it; a matrix holds text, lists and mappings only"
            )

    def _scalar(self, event: yaml.ScalarEvent, at: Place) -> Value:
        self._check_tag(event.tag, at)
        kind = _kind(event)
        if kind in _BARE or (kind == "merge" and self._expects_key()):
            return Bare(event.value, kind, at)
        if _UNKEEPABLE.search(event.value):
            self.complain(at, f"{shown(event.value)} holds a character that no file can keep", "remove the escape")
        return text_at(_UNKEEPABLE.sub("", event.value), at)

    def _expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].container, Table) and self._stack[-1].slot is _Slot.KEY

    def _alias(self, name: str, at: Place) -> Value:
        known = self._anchors.get(name)
        if known is None:
            inside = name in self._anchors
            message = f"the alias *{name} stands inside its own anchor &{name}" if inside else f"no anchor &{name} stands above"
            self.complain(at, message, "write the value out" if inside else f"mark the value that is meant with &{name}")
            return text_at("", at)
        self._spend(at, count=size_of(known), depth=depth_of(known))
        return moved(known, at.path)

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, at: Place) -> None:
        self._spend(at, depth=1)
        self._check_tag(event.tag, at)
        container = Table() if isinstance(event, yaml.MappingStartEvent) else Items()
        container.at = at
        if event.anchor:
            self._anchors[event.anchor] = None
        self._stack.append(_Frame(container, event.anchor))

    def _close(self) -> None:
        frame = self._stack.pop()
        if isinstance(frame.container, Table) and frame.merges:
            self._merge(frame.container, frame.merges)
        self._done(frame.container, frame.anchor)

    def _done(self, value: Value, anchor: str | None) -> None:
        """Put a finished value where it belongs."""
        if anchor:
            self._anchors[anchor] = value
        if not self._stack:
            self.root = value
            return
        frame = self._stack[-1]
        if isinstance(frame.container, Items):
            frame.container.append(value)
        elif frame.slot is _Slot.KEY:
            self._key(frame, frame.container, value)
        else:
            if frame.slot is _Slot.MERGE:
                frame.merges.append(value)
            elif frame.slot is _Slot.VALUE and frame.key is not None:
                frame.container[frame.key] = value
            frame.slot, frame.key = _Slot.KEY, None

    def _key(self, frame: _Frame, table: Table, value: Value) -> None:
        """Take a key, and decide what becomes of its value."""
        name = value.text if isinstance(value, Bare) else str(value) if isinstance(value, Text) else "?"
        frame.key = text_at(name, Place(value.at.line, value.at.column, (*table.at.path, name)))
        frame.slot = _Slot.VALUE
        if isinstance(value, Bare) and value.kind == "merge":
            frame.slot = _Slot.MERGE
            if frame.merges:
                self.complain(
                    frame.key.at, "'<<' stands twice in one mapping", "write it once, with a list: <<: [*first, *second]"
                )
        elif isinstance(value, (Items, Table)):
            frame.slot = _Slot.DROP
            self.complain(frame.key.at, "a list or mapping cannot be a key", "write one word before the colon")
        elif name in table:
            frame.slot = _Slot.DROP
            line = table.place_of(name).line
            self.complain(frame.key.at, f"the key {shown(name)} stands twice, first in line {line}", "keep one of the two")
        elif isinstance(value, Bare):
            self.complain(frame.key.at, f"the key {name or '~'} is {value.word} to YAML", f'write it in quotes: "{name or "~"}"')

    def _merge(self, table: Table, merges: list[Value]) -> None:
        """Add the entries of ``<<``: what the mapping itself says wins, then the earlier of several."""
        own = entries(table)
        table.clear()
        for merged in [one for value in merges for one in (value if isinstance(value, Items) else [value])]:
            if not isinstance(merged, Table):
                self.complain(merged.at, "'<<' takes mappings only", "write <<: *name, where &name marks a mapping")
                continue
            for key, value in entries(merged):
                if key not in table:
                    path = (*table.at.path, str(key))
                    table[moved_text(key, path)] = moved(value, path)
        for key, value in own:
            table.pop(key, None)
            table[key] = value


def _kind(event: yaml.ScalarEvent) -> str:
    """Return what YAML 1.1 takes a scalar for: ``str``, ``int``, ``float``, ``bool``, ``null``, ``timestamp``, ``merge``."""
    if event.tag is not None:
        return str(event.tag).removeprefix(_TAG)
    if not event.implicit[0]:
        return "str"
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    for tag, pattern in (*resolvers.get(event.value[:1], ()), *resolvers.get(None, ())):
        if pattern.match(event.value):
            return str(tag).removeprefix(_TAG)
    return "str"
