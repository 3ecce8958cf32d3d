"""``imgbuild matrix schema``."""

from __future__ import annotations

import typer

from builder.cli.output import emit_json
from builder.documents.schema import matrix_schema

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def schema() -> None:
    """Write the JSON Schema of matrix files, for editors.

    In an editor with a YAML language server, put this line first in a matrix file:
    # yaml-language-server: $schema=matrix.schema.json
    """
    emit_json(matrix_schema())
