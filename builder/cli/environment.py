"""What the environment says: terminal, CI service, cache folder. Read once, here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The process's surroundings, as values.

    ``variables`` is a copy of the environment; ``cpus`` how many processors this process may use.
    """

    variables: Mapping[str, str]
    terminal: bool
    cpus: int

    @classmethod
    def read(cls) -> Environment:
        """Read the real surroundings."""
        variables = dict(os.environ)  # noqa: TID251 - this is the one place in cli that reads it
        terminal = sys.stderr.isatty() and variables.get("TERM") != "dumb"
        return cls(variables=variables, terminal=terminal, cpus=len(os.sched_getaffinity(0)))

    @property
    def github(self) -> bool:
        """Whether this runs as a GitHub Actions step."""
        return self.variables.get("GITHUB_ACTIONS") == "true"

    @property
    def colour(self) -> bool:
        """Whether to colour: ``NO_COLOR`` and ``FORCE_COLOR`` as their conventions say, else only on a terminal."""
        if self.variables.get("NO_COLOR"):
            return False
        return bool(self.variables.get("FORCE_COLOR")) or self.terminal

    @property
    def cache(self) -> Path:
        """The folder for what may be fetched again: ``IMGBUILD_CACHE``, else the user's cache folder."""
        named = self.variables.get("IMGBUILD_CACHE")
        if named:
            return Path(named)
        home = self.variables.get("XDG_CACHE_HOME") or str(Path(self.variables.get("HOME", "~")).expanduser() / ".cache")
        return Path(home) / "imgbuild"
