"""The group ``imgbuild matrix``: one command per stage."""

from __future__ import annotations

import typer

from builder.cli.lazy import LazyGroup


class _Matrix(LazyGroup):
    modules = {  # noqa: RUF012 - declared as a class variable in LazyGroup
        "lint": "builder.cli.matrix_lint",
        "plan": "builder.cli.matrix_plan",
        "lock": "builder.cli.matrix_lock",
        "render": "builder.cli.matrix_render",
        "build": "builder.cli.matrix_build",
        "test": "builder.cli.matrix_test",
        "table": "builder.cli.matrix_table",
        "schema": "builder.cli.matrix_schema",
    }


app = typer.Typer(cls=_Matrix, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)


@app.callback()
def matrix() -> None:
    """Plan, lock, render, build and test the images of a matrix."""
