"""Run the command line; the only place that turns an error into an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from builder.cli.app import app
from builder.cli.environment import Environment
from builder.cli.output import report_error, tell
from builder.errors import ImgbuildError

_BUG = 1
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> None:
    """Run with ``argv`` (``sys.argv`` when ``None``) and exit; the exit codes are the README's."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str], *, obj: object = None) -> int:
    """Run and return the exit code. ``obj`` replaces the services that commands would make (tests do)."""
    environment = Environment.read()
    try:
        app(args=list(argv), prog_name="imgbuild", obj=obj)
    except ImgbuildError as error:
        report_error(error, environment)
        return error.exit_code
    except SystemExit as end:
        return _code(end.code)
    except BrokenPipeError:
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        tell("error: interrupted")
        return _INTERRUPTED
    except Exception:  # noqa: BLE001 - the last resort: a bug of ours keeps its traceback and has its own exit code
        traceback.print_exc()
        tell("error: this is a bug in imgbuild; please report it with the lines above")
        return _BUG
    return 0


def _code(code: object) -> int:
    if code is None:
        return 0
    return code if isinstance(code, int) else _BUG


def _forget_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not fail once more."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
