"""``imgbuild matrix lock``."""

from __future__ import annotations

from typing import Annotated

import typer

from builder.adapters.state import StateFolder
from builder.cli.loading import Loaded, load
from builder.cli.locking import relocked, save
from builder.cli.options import AsJson, CatalogFolder, MatrixFile, Only, Progress, Wait
from builder.cli.options import Engine as EngineOption
from builder.cli.output import emit, emit_json, report_error
from builder.cli.reporters import ProgressStyle
from builder.cli.running import engine_of, watched
from builder.cli.services import Services
from builder.documents.lock import read_lock
from builder.errors import MismatchError
from builder.lock.contents import lock_json
from builder.lock.drift import describe, stale_hint
from builder.model.lock import Lock
from builder.pipeline.endings import first_code
from builder.pipeline.lock import LockResult, Relock, check_lock
from builder.report.cells import plural

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def lock(
    context: typer.Context,
    file: MatrixFile,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 5 when the lock is not current.")] = False,
    update: Annotated[bool, typer.Option("--update", help="Resolve everything anew, not only what changed.")] = False,
    only: Only = None,
    as_json: AsJson = False,
    engine: EngineOption = None,
    wait: Wait = False,
    progress: Progress = ProgressStyle.AUTO,
    catalog: CatalogFolder = None,
) -> None:
    """Pin every base by digest and every package by hash.

    The facts inside the bases are read and kept too.
    Entries whose inputs have not changed stay byte for byte. --check asks the registries whether the
    bases still are what the lock says.
    """
    services: Services = context.obj or Services()
    loaded = load(file, only=only, catalog_folder=catalog)
    if check:
        _check(loaded, services, partial=bool(only), as_json=as_json)
        return
    with watched(services, StateFolder(file), progress, wait=wait) as watch:
        chosen = engine_of(services, loaded.matrix, engine)
        relock = Relock(previous=read_lock(loaded.lock_path), update=update, partial=bool(only))
        result = relocked(loaded, services, chosen, watch.reporter, relock)
        save(result, loaded.lock_path, loaded.path)
    _tell(result, loaded, services, as_json=as_json)


def _tell(result: LockResult, loaded: Loaded, services: Services, *, as_json: bool) -> None:
    if as_json:
        failures = [{"variant": name, "error": error.message, "hint": error.hint} for name, error in result.failed.items()]
        emit_json({**lock_json(result.lock), "failures": failures})
    else:
        ending = "nothing is locked, and nothing is written"
        if result.lock.variants:
            ending = f"{_contents(result.lock)}; {'changed' if result.changed else 'unchanged'}"
        emit(f"{loaded.lock_path}: {ending}")
    for name, error in result.failed.items():
        report_error(type(error)(f"{name}: {error.message}", hint=error.hint, details=error.details), services.environment)
    if result.failures:
        raise typer.Exit(_code(result))


def _contents(lock: Lock) -> str:
    files = {package.sha256 for variant in lock.variants for package in variant.packages}
    counted = ((len(lock.variants), "variant"), (len(lock.bases), "base"), (len(files), "package file"))
    return ", ".join(plural(number, word) for number, word in counted)


def _code(result: LockResult) -> int:
    """Return the exit code of the failures, by the documented order."""
    return first_code(failure.error.exit_code for failure in result.failures)


def _check(loaded: Loaded, services: Services, *, partial: bool, as_json: bool) -> None:
    current = read_lock(loaded.lock_path)
    registry = services.registry(loaded.matrix.mirrors)
    differences = check_lock(current, loaded.plan, partial=partial, registry=registry)
    if as_json:
        listed = [{"where": one.where, "field": one.field, "locked": one.locked, "expected": one.expected} for one in differences]
        emit_json({"schema": "imgbuild/lock-check/1", "lock": str(loaded.lock_path), "differences": listed})
    if differences:
        msg = f"the lock {loaded.lock_path} is not current" if current else f"there is no lock {loaded.lock_path}"
        raise MismatchError(msg, hint=stale_hint(differences, str(loaded.path)), details=tuple(describe(differences)))
    if not as_json:
        emit(f"{loaded.lock_path}: current")
