"""The outside world, as the pipeline gets it: one value that holds a port for each need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event as Flag
from typing import Protocol

from builder.errors import InterruptedRunError
from builder.model.evidence import Evidence
from builder.model.oci import Platform
from builder.ports import Clock, DebianArchive, Engine, PackageIndex, Reporter


class Contexts(Protocol):
    """Build contexts on disk."""

    def materialise(self, rendered: Mapping[str, bytes], large: Mapping[str, Path], name: str) -> Path:
        """Make the context ``name`` hold exactly these files, and return its folder."""
        ...

    def discard(self, name: str) -> None:
        """Remove the context ``name``; nothing happens when it is not there."""
        ...


class Records(Protocol):
    """What runs of one matrix leave behind."""

    def log(self, variant: str, platform: Platform | None = None) -> Path:
        """Return where a variant's log is."""
        ...

    def save(self, evidence: Evidence) -> Path:
        """Keep one record."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """What fetching the large files of a context needs. ``stopped`` is set when the run was told to end."""

    index: PackageIndex
    archive: DebianArchive
    reporter: Reporter
    stopped: Flag

    def check_stopped(self, _received: int = 0) -> None:
        """Raise ``InterruptedRunError`` once the run was told to end; cheap, called from long loops."""
        if self.stopped.is_set():
            msg = "the run was interrupted"
            raise InterruptedRunError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools(Fetching):
    """What building and testing needs. ``jobs`` is how many variants are worked on at once."""

    engine: Engine
    clock: Clock
    contexts: Contexts
    records: Records
    jobs: int
