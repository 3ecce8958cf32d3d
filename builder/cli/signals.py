"""Ctrl-C, SIGTERM and a terminal that is closed: the first signal ends the run in order, the second at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from builder.errors import ImgbuildError, InterruptedRunError, TerminatedRunError

_ERRORS: dict[int, type[ImgbuildError]] = {
    signal.SIGINT: InterruptedRunError,
    signal.SIGTERM: TerminatedRunError,
    signal.SIGHUP: TerminatedRunError,
}
_AT_ONCE = "error: ended at once; what is left over goes with the next build\n"
_SHOW_CURSOR = "\x1b[?25h"
"""The live view hides it."""


class Received:
    """Which signal came first, as the error it means; ``None`` while none came."""

    def __init__(self) -> None:
        self.error: ImgbuildError | None = None


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[Received]:
    """Call ``stop`` and raise in the main thread at the first signal; exit at once at the second.

    ``stop`` may be called twice. Under ``nohup`` a closed terminal stays of no account. The handlers that were there
    before are back afterwards.
    """
    received = Received()

    def handle(number: int, _frame: FrameType | None) -> None:
        kind = _ERRORS[number]
        stop()
        if received.error is not None:
            with suppress(OSError):
                os.write(2, f"{_SHOW_CURSOR if os.isatty(2) else ''}{_AT_ONCE}".encode())
            os._exit(kind.exit_code)
        word = "interrupted" if number == signal.SIGINT else "told to end"
        received.error = kind(f"the run was {word}", hint="run the same command again: what had ended is kept")
        raise received.error

    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    before = {number: signal.signal(number, handle) for number in _ERRORS if not (nohup and number == signal.SIGHUP)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
