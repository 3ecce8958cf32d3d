"""Plain values that know their place in a document: mappings, lists, texts, and words that YAML takes for something else."""

from __future__ import annotations

import re
from dataclasses import dataclass

from builder.documents.suggest import shown
from builder.errors import Where

_SIMPLE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WORDS = {"int": "a number", "float": "a number", "bool": "true or false", "null": "nothing", "timestamp": "a date"}

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: 1-based line and column, and the keys and list positions that lead to it."""

    line: int
    column: int
    path: Path = ()

    @property
    def field(self) -> str:
        """The dotted path: ``matrix.exclude[0].stack``; a key that is not a plain word stands in brackets."""
        text = ""
        for part in self.path:
            if isinstance(part, int):
                text += f"[{part}]"
            elif _SIMPLE_KEY.fullmatch(part):
                text += f".{part}" if text else part
            else:
                text += f"[{shown(part)}]"
        return text

    def where(self, file: str) -> Where:
        """Return the place in a file."""
        return Where(file=file, line=self.line, column=self.column, field=self.field)


class Text(str):
    """A text, or a key."""

    __slots__ = ("at",)
    at: Place


class Items(list["Value"]):
    """A list."""

    __slots__ = ("at",)
    at: Place


class Table(dict[str, "Value"]):
    """A mapping; its keys are ``Text`` and know their place too."""

    __slots__ = ("at",)
    at: Place

    def place_of(self, name: str) -> Place:
        """Return the place of a key, the mapping's own when it has no such key."""
        return next((key.at for key in self if key == name and isinstance(key, Text)), self.at)


@dataclass(frozen=True, slots=True)
class Bare:
    """An unquoted word that is no text to YAML: ``int``, ``float``, ``bool``, ``null`` or ``timestamp``."""

    text: str
    kind: str
    at: Place

    @property
    def word(self) -> str:
        """What YAML takes it for."""
        return _WORDS[self.kind]


Value = Text | Bare | Items | Table


def text_at(text: str, at: Place) -> Text:
    """Return a text that stands at a place."""
    made = Text(text)
    made.at = at
    return made


def moved_text(text: Text, path: Path) -> Text:
    """Return a copy of a text or key under another path."""
    return text_at(text, Place(text.at.line, text.at.column, path))


def moved(value: Value, path: Path) -> Value:
    """Return a copy of a value, with the line and column it was written at, under another path."""
    if isinstance(value, Text):
        return moved_text(value, path)
    at = Place(value.at.line, value.at.column, path)
    if isinstance(value, Bare):
        return Bare(value.text, value.kind, at)
    if isinstance(value, Items):
        items = Items(moved(item, (*path, index)) for index, item in enumerate(value))
        items.at = at
        return items
    table = Table((moved_text(key, (*path, str(key))), moved(item, (*path, str(key)))) for key, item in entries(value))
    table.at = at
    return table


def entries(table: Table) -> list[tuple[Text, Value]]:
    """Return the keys and values of a mapping, each key with its place."""
    return [(key, value) for key, value in table.items() if isinstance(key, Text)]


def size_of(value: Value) -> int:
    """Return how many values there are in a value, itself and its keys included."""
    if isinstance(value, Items):
        return 1 + sum(map(size_of, value))
    if isinstance(value, Table):
        return 1 + sum(1 + size_of(item) for item in value.values())
    return 1


def depth_of(value: Value) -> int:
    """Return how many mappings and lists are inside one another, the value's own included."""
    if isinstance(value, Items):
        return 1 + max(map(depth_of, value), default=0)
    if isinstance(value, Table):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 0
