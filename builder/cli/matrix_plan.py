"""``imgbuild matrix plan``."""

from __future__ import annotations

from typing import Annotated

import typer

from builder.cli.loading import load
from builder.cli.options import AsJson, CatalogFolder, MatrixFile, Only, Set
from builder.cli.output import emit, emit_json
from builder.errors import UnsatisfiableError
from builder.solve.explain import plan_json, plan_lines

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def plan(
    file: MatrixFile,
    only: Only = None,
    overrides: Set = None,
    as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 when a cell has no variant.")] = False,
    catalog: CatalogFolder = None,
) -> None:
    """Show what a matrix turns into, and why.

    Cells, variants, a verdict per target, and why the rest is left out.
    Offline: decided from the catalog alone. --set answers what-if questions about a target.
    """
    loaded = load(file, only=only, overrides=overrides, catalog_folder=catalog)
    if as_json:
        emit_json(plan_json(loaded.plan))
    else:
        emit("\n".join(plan_lines(loaded.plan)))
    if strict and any(planned.variant is None for planned in loaded.plan.cells):
        raise typer.Exit(UnsatisfiableError.exit_code)
