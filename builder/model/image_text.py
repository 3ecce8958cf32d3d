"""What text an image's config and a Dockerfile can hold at all.

Quoting makes almost every text safe; these are the texts that no quoting can express. Every
function returns why not, in words that follow the name of the value, or ``None``.
"""

from __future__ import annotations

import re
import unicodedata

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_USER_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_USER = re.compile(rf"{_USER_PART}(?::{_USER_PART})?")
_LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")


def why_not_argument(text: str) -> str | None:
    """Say why ``text`` cannot be an argument of a program (an ``ENTRYPOINT`` word)."""
    if "\0" in text:
        return "has a NUL character, which no program can be given"
    if any(unicodedata.category(character) == "Cs" for character in text):
        return "has half of a surrogate pair, which is not text"
    return None


def why_not_one_line(text: str) -> str | None:
    """Say why ``text`` cannot stand in one line of a Dockerfile (an ``ENV`` or ``LABEL`` value, a path)."""
    for character in text:
        if character in _LINE_BREAKS:
            return "has a line break, which a Dockerfile cannot hold"
        if unicodedata.category(character) == "Cc" and character not in "\0\t":
            return f"has the control character U+{ord(character):04X}, which a Dockerfile cannot hold"
    return why_not_argument(text)


def why_not_env_name(name: str) -> str | None:
    """Say why ``name`` cannot name an environment variable."""
    if _ENV_NAME.fullmatch(name):
        return None
    return "is not the name of an environment variable (letters, digits, _ . -, not first a digit)"


def why_not_user(user: str) -> str | None:
    """Say why ``user`` cannot be the user of an image: a name or number, with ``:group`` or without."""
    if _USER.fullmatch(user):
        return None
    return "is not a user such as 1000, 1000:1000 or nobody"
