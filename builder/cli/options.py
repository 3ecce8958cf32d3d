"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from builder.cli.reporters import ProgressStyle

MatrixFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The matrix file, such as matrices/pytorch.yaml.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document to stdout instead of text.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="PATTERN", help="Only cells where axis=GLOB, or variant ids matching GLOB. Repeatable."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="TARGET.KEY=VALUE", help="What if: h100.driver=590.44.01. Repeatable."),
]
CatalogFolder = Annotated[
    Path | None, typer.Option("--catalog", metavar="DIR", help="A folder of further facts, laid over the shipped catalog.")
]
Engine = Annotated[
    str | None, typer.Option("--engine", metavar="NAME", help="docker, podman or auto; stands over the matrix's own key.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="How many variants to work on at once.", show_default="processors"),
]
Progress = Annotated[ProgressStyle, typer.Option("--progress", help="How progress is shown on stderr.")]
Wait = Annotated[bool, typer.Option("--wait", help="When another run holds this matrix, wait for it instead of failing.")]
