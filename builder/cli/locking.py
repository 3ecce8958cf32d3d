"""Locks as commands need them: read, made where missing, refused where stale."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builder import __version__
from builder.adapters.files import write_atomically
from builder.cli.loading import Loaded
from builder.cli.services import Services
from builder.documents.lock import read_lock
from builder.documents.lock_text import lock_text
from builder.errors import ImgbuildError, MismatchError
from builder.lock.drift import ABSENT, describe, drift, stale_hint
from builder.model.lock import Lock
from builder.pipeline.lock import LockResult, Relock, make_lock
from builder.ports import Engine, Reporter


def locked(
    loaded: Loaded, services: Services, engine: Engine, reporter: Reporter, *, partial: bool
) -> tuple[Lock, Mapping[str, ImgbuildError]]:
    """Return a lock that has every variant of the plan that can be locked, and why the others cannot.

    A missing lock, and missing entries, are made and written. ``MismatchError`` when an entry is
    there and is not what the matrix asks for: that is for the user to decide.
    """
    previous = read_lock(loaded.lock_path)
    if previous is not None:
        differences = drift(previous, loaded.plan, partial=True)
        stale = [one for one in differences if not (one.field == "variant" and one.locked == ABSENT)]
        if stale:
            msg = f"the lock {loaded.lock_path} is stale"
            raise MismatchError(msg, hint=stale_hint(stale, str(loaded.path)), details=tuple(describe(stale)))
        if not differences:
            return previous, {}
    result = relocked(loaded, services, engine, reporter, Relock(previous=previous, partial=partial))
    save(result, loaded.lock_path, loaded.path)
    return result.lock, result.failed


def relocked(loaded: Loaded, services: Services, engine: Engine, reporter: Reporter, relock: Relock) -> LockResult:
    """Lock the variants of a plan."""
    tools = services.lock_tools(engine, loaded.matrix, reporter)
    return make_lock(loaded.plan, tools=tools, tool=f"imgbuild {__version__}", relock=relock)


def save(result: LockResult, path: Path, matrix: Path) -> None:
    """Write a lock when it changed and holds anything; whole or not at all."""
    if result.changed and result.lock.variants:
        write_atomically(path, lock_text(result.lock, matrix=matrix.name).encode())
