"""A small reader of Dockerfiles, by the rules of the Dockerfile reference, for tests alone.

It is strict where rendering has to be: an expansion, a parser directive, a heredoc or a quote that
stays open is an error.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass

_DIRECTIVE = re.compile(r"#\s*[A-Za-z][A-Za-z0-9]*\s*=.*")
_CONTINUED = re.compile(r"\\[ \t]*$")
_FLAG = re.compile(r"--[a-z-]+=\S+\s+")
_RAW_WORD = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""")
_HEREDOC = re.compile(r"\d*<<-?[^<]*")
_PART = re.compile(
    r"""(?P<space>\s+)|"(?P<double>(?:\\.|[^"\\$])*)"|'(?P<single>[^']*)'|\\(?P<escaped>.)|(?P<bare>[^\s"'\\$]+)""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its keyword, and the rest with continued lines joined."""

    keyword: str
    rest: str

    def pairs(self) -> dict[str, str]:
        """Return the names and values of an ``ENV`` or ``LABEL``."""
        found: dict[str, str] = {}
        for word in words(self.rest):
            name, equals, value = word.partition("=")
            assert equals, f"{word!r} has no ="
            assert name not in found, f"{name!r} is set twice"
            found[name] = value
        return found

    def json(self) -> list[str]:
        """Return the words of an exec form."""
        found = json.loads(self.rest)
        assert isinstance(found, list)
        return found

    def command(self) -> list[str]:
        """Return the words of a ``RUN``'s shell command, operators included, without the flags before it."""
        rest = self.rest
        while (flag := _FLAG.match(rest)) is not None:
            rest = rest[flag.end() :]
        assert not any(_HEREDOC.fullmatch(word) for word in _RAW_WORD.findall(rest)), "a heredoc begins here"
        lexer = shlex.shlex(rest, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = "#"
        return list(lexer)


def read(text: str) -> list[Instruction]:
    """Return the instructions of a Dockerfile."""
    assert "\r" not in text
    assert text.endswith("\n")
    lines = text.split("\n")
    assert not _DIRECTIVE.fullmatch(lines[0]), f"{lines[0]!r} is a parser directive"
    found: list[Instruction] = []
    open_line = ""
    for line in lines:
        if line.lstrip().startswith("#") or not line.strip():
            continue
        if _CONTINUED.search(line):
            open_line += _CONTINUED.sub("", line)
            continue
        keyword, _, rest = (open_line + line).strip().partition(" ")
        found.append(Instruction(keyword, rest.strip()))
        open_line = ""
    assert not open_line, "the last line is continued"
    return found


def words(text: str) -> list[str]:
    """Split into words and take quotes and escapes away; ``$`` that would be expanded is an error."""
    found: list[str] = []
    word: list[str] | None = None
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        assert part is not None, f"{text!r} is expanded, or a quote stays open, at {position}"
        position = part.end()
        if part["space"] is None:
            word = [*(word or []), _plain(part)]
        elif word is not None:
            found.append("".join(word))
            word = None
    return found if word is None else [*found, "".join(word)]


def _plain(part: re.Match[str]) -> str:
    if part["double"] is not None:
        return re.sub(r'\\(["$\\])', r"\1", part["double"])
    return next(text for text in (part["single"], part["escaped"], part["bare"]) if text is not None)
