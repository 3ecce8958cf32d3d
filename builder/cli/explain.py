"""``imgbuild explain``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from builder.cli.output import emit
from builder.errors import UsageError
from builder.solve.rules import codes, page

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def explain(code: Annotated[str, typer.Argument(metavar="CODE", help="A rule's code, such as DRV001.")]) -> None:
    """Print the page of a rule.

    What it says, why, an example, and how to mend what it complains of.
    """
    text = page(code.upper())
    if text is None:
        close = get_close_matches(code.upper(), codes(), n=3) or list(codes())
        msg = f"there is no rule {code!r}"
        raise UsageError(msg, hint=f"rules are: {', '.join(close)}")
    emit(text)
