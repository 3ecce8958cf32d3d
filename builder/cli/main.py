"""Run the command line; the only place that turns an error into an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import typer

from builder.cli import streams
from builder.cli.app import app
from builder.cli.environment import Environment
from builder.cli.output import lost, report_error, tell
from builder.errors import HostBlockedError, ImgbuildError
from builder.pipeline.endings import told

_BUG = 1
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> None:
    """Run with ``argv`` (``sys.argv`` when ``None``) and exit; the exit codes are the README's."""
    streams.prepare()
    code = run(sys.argv[1:] if argv is None else argv)
    streams.close()
    sys.exit(code)


def run(argv: Sequence[str], *, obj: object = None) -> int:
    """Run and return the exit code. ``obj`` replaces the services that commands would make (tests do)."""
    environment = Environment.read()
    try:
        _require_folder()
        app(args=list(argv), prog_name="imgbuild", obj=obj)
    except ImgbuildError as error:
        report_error(error, environment)
        return error.exit_code
    except SystemExit as end:
        return _code(end.code)
    except KeyboardInterrupt:
        tell("error: interrupted")
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a bug of ours keeps its traceback and has its own exit code
        return _unforeseen(error, environment)
    return 0


def _require_folder() -> None:
    """Raise ``HostBlockedError`` when the working folder was removed: no program works there, ours or an engine's."""
    try:
        Path.cwd()
    except OSError as error:
        msg = f"the folder this is run in is not there any more: {error.strerror}"
        raise HostBlockedError(msg, hint="change to another one (cd), then run the same command again") from error


def _unforeseen(error: Exception, environment: Environment) -> int:
    """Tell of an exception that no code expected: help that stdout does not take, a host that refuses, else a bug."""
    known = lost(error.strerror or str(error)) if isinstance(error, OSError) and _while_printing(error) else told(error)
    if known.exit_code != _BUG:
        report_error(known, environment)
        return known.exit_code
    tell("".join(traceback.format_exception(error)).rstrip())
    tell("error: this is a bug in imgbuild; please report it with the lines above")
    return _BUG


def _while_printing(error: OSError) -> bool:
    """Whether it was raised where help, and nothing else of ours, is printed."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return any(frame.f_code is typer.echo.__code__ for frame in frames)


def _code(code: object) -> int:
    if code is None:
        return 0
    return code if isinstance(code, int) else _BUG
