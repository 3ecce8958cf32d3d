"""The command line's root: its groups, and where each command is."""

from __future__ import annotations

from typing import Annotated

import typer

from builder import __version__
from builder.cli.lazy import LazyGroup
from builder.cli.output import emit


class _Root(LazyGroup):
    modules = {  # noqa: RUF012 - declared as a class variable in LazyGroup
        "init": "builder.cli.init",
        "matrix": "builder.cli.matrix",
        "explain": "builder.cli.explain",
    }


app = typer.Typer(
    name="imgbuild",
    cls=_Root,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:  # noqa: FBT001 - typer calls it with the flag's value
    if value:
        emit(f"imgbuild {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """One version matrix in; validated, pinned accelerator images and an honest compatibility table out."""
