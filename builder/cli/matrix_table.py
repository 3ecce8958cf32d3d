"""``imgbuild matrix table``."""

from __future__ import annotations

import json
import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated, assert_never

import typer

from builder.adapters.files import write_atomically
from builder.adapters.state import StateFolder
from builder.cli.environment import Environment
from builder.cli.loading import Loaded, load
from builder.cli.options import AsJson, CatalogFolder, MatrixFile, Only
from builder.cli.output import complain, emit, tell
from builder.documents.lock import read_lock
from builder.errors import DocumentError
from builder.model.table import Table
from builder.pipeline.dated import dated
from builder.pipeline.pieces import pieces
from builder.report.documents import csv_text, html, markdown
from builder.report.jsons import table_json
from builder.report.terminal import text
from builder.table.table import table as table_of

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Format(StrEnum):
    """What the table is written as."""

    TEXT = "text"
    MD = "md"
    HTML = "html"
    JSON = "json"
    CSV = "csv"


def table_now(loaded: Loaded, state: StateFolder) -> Table:
    """Return the table of a matrix as its lock and the records beside it make it."""
    lock = read_lock(loaded.lock_path)
    contents = {}
    if lock is not None:
        made, _ = pieces(loaded.plan, lock, loaded.matrix)
        contents = {(piece.variant.id, piece.platform): piece.content for piece in made}
    environment = Environment.read()

    def damaged(error: DocumentError) -> None:
        for complaint in error.complaints:
            complain(complaint, environment)
        tell("warning a damaged record was left out; imgbuild matrix test makes it anew")

    evidence = state.evidence(on_damaged=damaged)
    plan = dated(loaded.plan, lock) if lock is not None else loaded.plan
    return table_of(plan, lock, evidence, contents, loaded.matrix.targets)


def written(table: Table, form: Format) -> str:
    """Return the table in a format."""
    match form:
        case Format.TEXT:
            return text(table, shutil.get_terminal_size((100, 24)).columns)
        case Format.MD:
            return markdown(table)
        case Format.HTML:
            return html(table)
        case Format.JSON:
            return json.dumps(table_json(table), indent=2, ensure_ascii=False)
        case Format.CSV:
            return csv_text(table)
        case _:
            assert_never(form)


@app.command()
def table(
    file: MatrixFile,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.TEXT,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="PATH", help="Write to a file; - is stdout.")] = None,
    only: Only = None,
    as_json: AsJson = False,
    catalog: CatalogFolder = None,
) -> None:
    """Write the table, from lock and evidence.

    Nothing is built or tested. A row says only what was shown: tier, target, driver, date, digest. Nothing is typed by hand.
    """
    loaded = load(file, only=only, catalog_folder=catalog)
    made = written(table_now(loaded, StateFolder(file)), Format.JSON if as_json else form)
    if output is None or str(output) == "-":
        emit(made)
        return
    write_atomically(output, (made if made.endswith("\n") else f"{made}\n").encode())
    tell(f"wrote {output}")
