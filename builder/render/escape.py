"""How a value gets into a Dockerfile and stays in its place.

A template may print only what passed one of these filters: the environment's ``finalize`` hook
is ``only_escaped``, so a forgotten filter is an error and not a hole.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from builder.errors import UnsatisfiableError
from builder.model.image_text import why_not_argument, why_not_env_name, why_not_one_line, why_not_user
from builder.model.oci import ImageReference

_PLAIN_SHELL = re.compile(r"[A-Za-z0-9/][A-Za-z0-9_.,:=@%+/-]*")
_EXPANDED_IN_QUOTES = str.maketrans({"\\": "\\\\", '"': '\\"', "$": "\\$"})


class Escaped(str):
    """Text that may stand in a Dockerfile as it is."""

    __slots__ = ()


def only_escaped(value: object) -> Escaped:
    """Let only escaped text into the output; ``TypeError`` otherwise, which is a bug of a template."""
    if isinstance(value, Escaped):
        return value
    msg = f"a template prints {value!r} without one of {', '.join(sorted(FILTERS))}"
    raise TypeError(msg)


def _allowed(what: str, value: str, why_not: Callable[[str], str | None]) -> str:
    why = why_not(value)
    if why is not None:
        msg = f"{what} {value!r} {why}"
        raise UnsatisfiableError(msg, hint="change it in the matrix, or choose another base where it comes from the base")
    return value


def quoted(value: str, name: str) -> Escaped:
    """Return the value of ``name`` in an ``ENV`` or ``LABEL``, in double quotes, expanded by nobody."""
    return Escaped(f'"{_allowed(f"the value of {name}", value, why_not_one_line).translate(_EXPANDED_IN_QUOTES)}"')


def env_name(name: str) -> Escaped:
    """Return the name of an environment variable."""
    return Escaped(_allowed("env:", name, why_not_env_name))


def label_name(name: str) -> Escaped:
    """Return the name of a label, in quotes."""
    return quoted(name, "a label's name")


def user(name: str) -> Escaped:
    """Return what ``USER`` takes."""
    return Escaped(_allowed("user:", name, why_not_user))


def shell(word: str) -> Escaped:
    """Return one word of a ``RUN`` command."""
    plain = _allowed("the word", word, why_not_one_line)
    return Escaped(plain if _PLAIN_SHELL.fullmatch(plain) else shlex.quote(plain))


def exec_form(words: Sequence[str]) -> Escaped:
    """Return the JSON form of ``ENTRYPOINT`` and ``CMD``, which no shell reads; line breaks are allowed."""
    return Escaped(json.dumps([_allowed("entrypoint:", word, why_not_argument) for word in words], ensure_ascii=False))


def comment(text: object) -> Escaped:
    """Return text within a comment line."""
    return Escaped(_allowed("the text", str(text), why_not_one_line))


def stage(name: str) -> Escaped:
    """Return the name of a build stage, which templates choose."""
    if not name.isidentifier() or not name.isascii():
        msg = f"{name!r} is not the name of a build stage"
        raise ValueError(msg)
    return Escaped(name)


def pinned(reference: ImageReference) -> Escaped:
    """Return what ``FROM`` takes; an image without a digest is a bug here, ``render`` refuses it before."""
    if reference.digest is None:
        msg = f"{reference} has no digest"
        raise ValueError(msg)
    return Escaped(str(reference))


FILTERS: Mapping[str, Callable[..., Escaped]] = {
    "comment": comment,
    "env_name": env_name,
    "label_name": label_name,
    "exec_form": exec_form,
    "pinned": pinned,
    "quoted": quoted,
    "shell": shell,
    "stage": stage,
    "user": user,
}
