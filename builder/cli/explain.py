"""``imgbuild explain``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from builder.cli.output import emit
from builder.errors import UsageError
from builder.solve.rules import codes, page

app = typer.Typer(rich_markup_mode=None)


@app.command()
def explain(code: Annotated[str, typer.Argument(metavar="CODE", help="A rule's code, such as DRV001.")]) -> None:
    """Print the page of a rule: what it says, why, an example, its source, and how to mend it."""
    text = page(code.upper())
    if text is None:
        close = get_close_matches(code.upper(), codes(), n=3) or list(codes())
        msg = f"there is no rule {code!r}"
        raise UsageError(msg, hint=f"rules are: {', '.join(close)}")
    emit(text)
