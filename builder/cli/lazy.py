"""Command groups whose commands are imported when they are asked for, so that start-up stays cheap."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typer.core import TyperCommand


class LazyGroup(TyperGroup):
    """A group that knows its commands' modules; each module holds a ``typer.Typer`` named ``app``."""

    modules: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own Context class is private from 0.29 on
        """Return the names of all commands, in the order of the work."""
        del ctx
        return list(self.modules)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:  # noqa: ANN401 - as above
        """Import and return one command, ``None`` when there is none of that name."""
        del ctx
        if cmd_name not in self.modules:
            return None
        module = importlib.import_module(self.modules[cmd_name])
        command: TyperCommand | TyperGroup = typer.main.get_command(module.app)  # type: ignore[assignment]
        command.name = cmd_name
        return command
