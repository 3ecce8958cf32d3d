"""``imgbuild matrix build``: the main job."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from builder.adapters.state import StateFolder
from builder.cli.environment import Environment
from builder.cli.loading import Loaded, load
from builder.cli.locking import locked
from builder.cli.matrix_table import table_now
from builder.cli.options import AsJson, CatalogFolder, Jobs, MatrixFile, Only, Progress, Wait
from builder.cli.options import Engine as EngineOption
from builder.cli.output import emit, emit_json, tell
from builder.cli.reporters import ProgressStyle
from builder.cli.running import Watch, engine_of, watched
from builder.cli.services import Services
from builder.errors import InterruptedRunError, TerminatedRunError, UnsatisfiableError
from builder.model.event import Note, Stage, StageFinished
from builder.model.evidence import Outcome, Status
from builder.model.matrix import BasePolicy, Matrix
from builder.model.plan import Plan
from builder.pipeline.build import Job, none_began, run_all
from builder.pipeline.endings import exit_code
from builder.pipeline.pieces import local_name, pieces
from builder.report.cells import plural
from builder.report.documents import markdown
from builder.report.jsons import build_json
from builder.report.terminal import outcomes_text, text

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def build(
    context: typer.Context,
    file: MatrixFile,
    only: Only = None,
    engine: EngineOption = None,
    jobs: Jobs = None,
    again: Annotated[bool, typer.Option("--again", help="Build and test what is unchanged, too.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 when a cell has no variant.")] = False,
    wait: Wait = False,
    as_json: AsJson = False,
    progress: Progress = ProgressStyle.AUTO,
    catalog: CatalogFolder = None,
) -> None:
    """Build and test every variant, and print the table.

    The matrix is planned, locked where it is not, rendered, built and smoke-tested.
    One variant's failure never stops another. What has not changed is neither built nor tested
    again. The exit code is the first that occurred in the order of the README.
    """
    services: Services = context.obj or Services()
    loaded = load(file, only=only, catalog_folder=catalog)
    state = StateFolder(file)
    with watched(services, state, progress, wait=wait) as watch:
        outcomes = run(loaded, services, state, watch, engine=engine, jobs=jobs, again=again, partial=bool(only))
    finish(loaded, state, outcomes, watch, as_json=as_json, strict=strict)


def run(
    loaded: Loaded,
    services: Services,
    state: StateFolder,
    watch: Watch,
    *,
    engine: str | None,
    jobs: int | None,
    again: bool,
    partial: bool,
    only_test: bool = False,
) -> tuple[Outcome, ...]:
    """Bring every variant of a plan to its outcome; all are ``aborted`` when the run is interrupted before the first begins."""
    began = services.clock.monotonic()
    watch.reporter.report(Note(text=f"{loaded.matrix.name}: {_planned(loaded.plan)}"))
    for key in unheeded(loaded.matrix):
        watch.reporter.report(Note(text=f"{key} is read and checked, and nothing follows from it yet", warning=True))
    try:
        chosen = engine_of(services, loaded.matrix, engine)
        lock, unlocked = locked(loaded, services, chosen, watch.reporter, partial=partial)
        made, unrendered = pieces(loaded.plan, lock, loaded.matrix)
        job = Job(
            matrix=loaded.matrix,
            plan=loaded.plan,
            pieces=made,
            failed={**unrendered, **unlocked},
            known=state.evidence(on_damaged=lambda _error: None),
            again=again,
            build=not only_test,
            device_options=_device_options(loaded, chosen.name),
        )
        tools = services.tools(chosen, state, watch.reporter, jobs=jobs)
    except (InterruptedRunError, TerminatedRunError) as error:
        return none_began(loaded.plan, error)
    outcomes = run_all(job, tools)
    seconds = services.clock.monotonic() - began
    stage = Stage.TEST if only_test else Stage.BUILD
    watch.reporter.report(StageFinished(stage=stage, seconds=seconds, text=_ended(outcomes)))
    if any(outcome.images for outcome in outcomes):
        name = local_name(loaded.matrix)
        watch.reporter.report(Note(text=f"images in {chosen.name}: {name}:c-… (--json names each)"))
    return outcomes


def finish(loaded: Loaded, state: StateFolder, outcomes: Sequence[Outcome], watch: Watch, *, as_json: bool, strict: bool) -> None:
    """Write the table and the outcomes, and exit with the run's code."""
    summarise(loaded, state, Environment.read())
    if as_json:
        emit_json(build_json(loaded.matrix.name, outcomes))
    else:
        width = shutil.get_terminal_size((110, 24)).columns
        emit(text(table_now(loaded, state), width))
        emit(f"\n{outcomes_text(outcomes, width)}")
    if watch.received.error is not None:
        raise watch.received.error
    code = exit_code(outcomes)
    if strict and not code and any(planned.variant is None for planned in loaded.plan.cells):
        code = UnsatisfiableError.exit_code
    if code:
        raise typer.Exit(code)


def _device_options(loaded: Loaded, engine: str) -> dict[str, tuple[str, ...]]:
    """Return the options that give a container of an engine its devices, by stack of the plan."""
    stacks = {variant.stack.name for variant in loaded.plan.variants}
    found = {name: loaded.catalog.stack(name) for name in sorted(stacks)}
    return {name: tuple(stack.run.get(engine, ())) for name, stack in found.items() if stack is not None}


def unheeded(matrix: Matrix) -> tuple[str, ...]:
    """Return the keys of a matrix that ask something of a build which it does not do yet."""
    asked = {
        "bounds": bool(matrix.bounds),
        "builders": bool(matrix.builders),
        "bases.mode": matrix.bases.mode != BasePolicy().mode,
    }
    return tuple(key for key, written in asked.items() if written)


def summarise(loaded: Loaded, state: StateFolder, environment: Environment) -> None:
    """Add the table to the step's summary page, where GitHub Actions names one."""
    page = environment.variables.get("GITHUB_STEP_SUMMARY") if environment.github else None
    if page:
        try:
            with Path(page).open("a", encoding="utf-8") as file:
                file.write(f"{markdown(table_now(loaded, state))}\n")
        except OSError as error:
            tell(f"warning the step's summary {page} cannot be written: {error.strerror}")


def _planned(plan: Plan) -> str:
    without = len(plan.cells) - len(plan.variants)
    found = f"{plural(len(plan.cells), 'cell')}, {plural(len(plan.variants), 'variant')}"
    return found + (f", {without} without a variant" if without else "")


def _ended(outcomes: Sequence[Outcome]) -> str:
    passed = [outcome for outcome in outcomes if outcome.status is Status.PASSED]
    unchanged = sum(not outcome.fresh for outcome in passed)
    parts = [f"{len(passed)} of {len(outcomes)} variants passed"]
    if unchanged:
        parts.append("nothing to build or test again" if unchanged == len(outcomes) else f"{unchanged} of them unchanged")
    return ", ".join(parts)
