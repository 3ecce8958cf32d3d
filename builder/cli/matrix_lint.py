"""``imgbuild matrix lint``."""

from __future__ import annotations

import typer

from builder.cli.environment import Environment
from builder.cli.loading import catalog_of, checked
from builder.cli.options import AsJson, CatalogFolder, MatrixFile
from builder.cli.output import complain, emit, emit_json
from builder.errors import Complaint, DocumentError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def lint(file: MatrixFile, as_json: AsJson = False, catalog: CatalogFolder = None) -> None:
    """Say everything that is wrong with a matrix file.

    Each complaint says where, what, and the likely fix. Exit code 0 when nothing is wrong, 3 when something is.
    """
    found: tuple[Complaint, ...] = ()
    try:
        _, plan = checked(file, catalog_of(catalog))
        cells = len(plan.cells)
    except DocumentError as error:
        found, cells = error.complaints, 0
    if as_json:
        emit_json({"schema": "imgbuild/lint/1", "file": str(file), "complaints": [_json(one) for one in found]})
    elif found:
        environment = Environment.read()
        for one in found:
            complain(one, environment)
    else:
        emit(f"{file}: nothing to complain about ({cells} cell{'' if cells == 1 else 's'})")
    if found:
        if not as_json:
            emit(f"{file}: {len(found)} complaint{'' if len(found) == 1 else 's'}")
        raise typer.Exit(DocumentError.exit_code)


def _json(complaint: Complaint) -> dict[str, object]:
    where = complaint.where
    return {
        "file": where.file,
        "line": where.line,
        "column": where.column,
        "field": where.field,
        "message": complaint.message,
        "hint": complaint.hint,
    }
