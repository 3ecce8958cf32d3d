"""What is wrong with a text that is not YAML, in plain words."""

from __future__ import annotations

import yaml

from builder.errors import Complaint, Where

_QUOTE = "write the value in quotes"
_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a ':' where no key can stand",
        "quote a value that holds ': ', or check the indentation",
    ),
    ("could not find expected ':'", "a key without its ':'", "write 'key: value', with a space after the colon"),
    ("',' or ']'", "a list in brackets is not closed, or lacks a comma", "write [one, two]"),
    ("',' or '}'", "a mapping in braces is not closed, or lacks a comma", "write {one: 1, two: 2}"),
    ("did not find expected key", "the indentation does not fit the lines above", "indent entries of one mapping alike"),
    (
        "did not find expected '-' indicator",
        "the indentation does not fit the list above",
        "begin every entry with '- '",
    ),
    ("did not find expected <document start>", "text after the end of the document", "check the indentation of this line"),
    ("unexpected end of stream", "a quote is never closed", "close it with the same quote"),
    ("unexpected document indicator", "a quote is never closed", "close it with the same quote"),
    (
        "unknown escape character",
        "an escape that YAML does not know",
        "use single quotes, or double the backslash",
    ),
    ("invalid Unicode character", "an escape that names no character", "remove the escape"),
    ("found invalid escape", "an escape that YAML does not know", "use single quotes, or double the backslash"),
    ("cannot start any token", "a character that cannot begin a value", _QUOTE),
    ("sequence entries are not allowed", "a '-' where no list can stand", "begin the list on a line of its own"),
    ("did not find expected alphabetic", "an alias (*) or anchor (&) without a name", _QUOTE),
    ("did not find expected node content", "a value is missing here", "remove the extra comma, or write the value"),
    ("duplicate %YAML", "a %YAML line stands twice", "remove it"),
    ("incompatible YAML", "this version of YAML is not read", "remove the %YAML line"),
    ("undefined tag handle", "a tag (!) that is not defined", _QUOTE),
)


def syntax_complaint(error: yaml.MarkedYAMLError, text: str, file: str) -> Complaint:
    """Return the complaint for the place at which PyYAML gave up."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    lines = text.splitlines()
    here = lines[line - 1] if line <= len(lines) else ""
    indented = here[: max(column - 1, len(here) - len(here.lstrip()))]
    if "\t" in indented and not indented.strip():
        where = Where(file=file, line=line, column=here.index("\t") + 1)
        return Complaint(where=where, message="a tab where YAML wants spaces", hint="indent with spaces")
    where = Where(file=file, line=line, column=column)
    problem = error.problem or "it ends too early"
    if ("expected key" in problem or "expected <block end>" in problem) and here[: column - 1].strip():
        return Complaint(where=where, message="not YAML: text after the end of a value", hint="quote the value as a whole")
    for part, message, hint in _WORDS:
        if part in problem:
            return Complaint(where=where, message=f"not YAML: {message}", hint=hint)
    return Complaint(where=where, message=f"not YAML: {problem}", hint=_QUOTE)
