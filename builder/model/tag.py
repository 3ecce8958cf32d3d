"""Tag templates: literal text and ``{placeholders}``, nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

_PIECE = re.compile(r"\{(?P<name>[A-Za-z][A-Za-z0-9_-]*)\}|(?P<literal>[^{}]+)|(?P<stray>[{}])")

TAG_FIELDS = ("framework", "stack", "python", "id", "base", "date")
"""The placeholders every template may use; a matrix's own axes come on top, by name."""


@dataclass(frozen=True, slots=True)
class TagTemplate:
    """A tag as a matrix writes it, such as ``{framework}-{stack}-py{python}``.

    ``parts`` are ``(literal, placeholder)`` pairs in order; one of the two is empty in each.
    """

    text: str
    parts: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a template; ``ValueError`` for a brace that is not part of a ``{name}``."""
        parts: list[tuple[str, str]] = []
        for piece in _PIECE.finditer(text):
            if piece["stray"]:
                msg = f"{text!r} has a {piece['stray']!r} that is not part of a placeholder such as {{python}}"
                raise ValueError(msg)
            parts.append((piece["literal"] or "", piece["name"] or ""))
        return cls(text, tuple(parts))

    @property
    def names(self) -> tuple[str, ...]:
        """The placeholders, in the order of their first use."""
        return tuple(dict.fromkeys(name for _, name in self.parts if name))

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the tag with every placeholder replaced; ``+`` becomes ``_``, which registries take.

        ``KeyError`` names a placeholder that ``values`` lacks.
        """
        return "".join(literal or values[name] for literal, name in self.parts).replace("+", "_")

    def __str__(self) -> str:
        """Return the template as written."""
        return self.text
