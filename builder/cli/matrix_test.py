"""``imgbuild matrix test``."""

from __future__ import annotations

from typing import Annotated

import typer

from builder.adapters.state import StateFolder
from builder.cli.loading import load
from builder.cli.matrix_build import finish, run
from builder.cli.options import AsJson, CatalogFolder, Jobs, MatrixFile, Only, Progress, Wait
from builder.cli.options import Engine as EngineOption
from builder.cli.reporters import ProgressStyle
from builder.cli.running import watched
from builder.cli.services import Services

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def smoke_test(
    context: typer.Context,
    file: MatrixFile,
    only: Only = None,
    engine: EngineOption = None,
    jobs: Jobs = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only images without results that still hold.")] = False,
    wait: Wait = False,
    as_json: AsJson = False,
    progress: Progress = ProgressStyle.AUTO,
    catalog: CatalogFolder = None,
) -> None:
    """Smoke-test images that are built here.

    Each is tested inside its own container, and the results are recorded.
    Targets that are not reached from here are named; the probes that need no device run all the same.
    """
    services: Services = context.obj or Services()
    loaded = load(file, only=only, catalog_folder=catalog)
    state = StateFolder(file)
    with watched(services, state, progress, wait=wait) as watch:
        outcomes = run(
            loaded, services, state, watch, engine=engine, jobs=jobs, again=not changed, partial=bool(only), only_test=True
        )
    finish(loaded, state, outcomes, watch, as_json=as_json, strict=False)
