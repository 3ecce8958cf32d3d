"""Axis values as people write them, and how a pattern matches one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

_NAMED = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?P<specifiers>(?:===|[<>=!~]=?).*)")
_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class PatternError(ValueError):
    """A pattern cannot be compared with a value without guessing; the text says why."""


@dataclass(frozen=True, slots=True)
class AxisValue:
    """``NAME``, ``NAME`` with PEP 440 specifiers, or a plain string.

    ``text`` is what was written. ``name`` is the canonical name (``None`` for a plain string
    such as ``3.12``), ``specifiers`` the PEP 440 specifiers, ``None`` where none were written.
    """

    text: str
    name: str | None = None
    specifiers: SpecifierSet | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an axis value; ``ValueError`` when its specifiers are not PEP 440."""
        text = text.strip()
        match = _NAMED.fullmatch(text)
        if match is not None:
            try:
                specifiers = SpecifierSet(match["specifiers"])
            except InvalidSpecifier as error:
                msg = f"{match['specifiers']!r} is not a PEP 440 specifier such as ==2.9.* or >=2.9,<3"
                raise ValueError(msg) from error
            return cls(text, canonicalize_name(match["name"]), specifiers)
        if text[:1] in "<>=!~" and text:
            try:
                return cls(text, None, SpecifierSet(text))
            except InvalidSpecifier as error:
                msg = f"{text!r} is not a name, a PEP 440 specifier or a plain value"
                raise ValueError(msg) from error
        if _NAME.fullmatch(text):
            return cls(text, canonicalize_name(text), None)
        return cls(text)

    @property
    def identity(self) -> tuple[str, SpecifierSet | None]:
        """What makes two values the same however they are written: ``PyTorch == 2.9.*`` is ``pytorch==2.9.*``."""
        return (self.text, None) if self.name is None else (self.name, self.specifiers)

    @property
    def written_version(self) -> Version | None:
        """The one version that was written: ``==X``, or ``==X.*`` read as ``X``; else ``None``."""
        if self.specifiers is None or len(self.specifiers) != 1:
            return None
        only = next(iter(self.specifiers))
        if only.operator not in {"==", "==="}:
            return None
        try:
            return Version(only.version.removesuffix(".*"))
        except InvalidVersion:
            return None

    def __str__(self) -> str:
        """Return what was written."""
        return self.text


def matches(pattern: AxisValue, value: AxisValue) -> bool:
    """Return whether ``pattern`` (of an exclude, include or ``when``) matches an axis value.

    They match when equal; or the pattern is the value's bare name; or the pattern carries a
    specifier for the same name that contains the version written. Raises ``PatternError``
    where the answer would be a guess: a specifier without a name, or against a value of the
    same name without one written version.
    """
    if pattern.identity == value.identity:
        return True
    if pattern.specifiers is None:
        return pattern.name is not None and pattern.name == value.name
    if pattern.name is None:
        msg = f"{pattern.text!r} has a specifier but no name; write the name too, such as pytorch{pattern.text}"
        raise PatternError(msg)
    if pattern.name != value.name:
        return False
    version = value.written_version
    if version is None:
        msg = f"{pattern.text!r} cannot be compared with {value.text!r}, which has no one written version (==X or ==X.*)"
        raise PatternError(msg)
    return pattern.specifiers.contains(version, prereleases=True)


def any_matches(patterns: Iterable[AxisValue], value: AxisValue) -> bool:
    """Return whether one of several patterns matches; ``PatternError`` when none does for sure and one cannot be compared."""
    guess: PatternError | None = None
    for pattern in patterns:
        try:
            if matches(pattern, value):
                return True
        except PatternError as error:
            guess = guess or error
    if guess is not None:
        raise guess
    return False
