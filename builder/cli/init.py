"""``imgbuild init``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from builder.adapters.files import write_atomically
from builder.cli.output import emit
from builder.documents.starter import starter
from builder.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to write; the current folder by default.")] = Path(),
    github: Annotated[bool, typer.Option("--github", help="Write a GitHub Actions workflow too.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write a commented starter matrix, which builds as it is."""
    files = starter(github=github)
    there = [path for path in files if (folder / path).exists()]
    if there and not force:
        msg = f"{', '.join(str(folder / path) for path in there)} is there already; nothing was written"
        raise UsageError(msg, hint="add --force to replace it, or name another folder")
    for path, data in files.items():
        write_atomically(folder / path, data)
        emit(f"wrote {folder / path}")
    matrix = next(iter(files))
    emit(f"next: imgbuild matrix plan {folder / matrix}, then imgbuild matrix build {folder / matrix}")
