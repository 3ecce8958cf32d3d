"""Ctrl-C and SIGTERM: the first ends the run in order, the second at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from builder.errors import ImgbuildError, InterruptedRunError, TerminatedRunError

_ERRORS: dict[int, type[ImgbuildError]] = {signal.SIGINT: InterruptedRunError, signal.SIGTERM: TerminatedRunError}


class Received:
    """Which signal came first, as the error it means; ``None`` while none came."""

    def __init__(self) -> None:
        self.error: ImgbuildError | None = None


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[Received]:
    """Call ``stop`` and raise in the main thread at the first signal; exit at once at the second.

    ``stop`` may be called twice. The handlers that were there before are back afterwards.
    """
    received = Received()

    def handle(number: int, _frame: FrameType | None) -> None:
        kind = _ERRORS[number]
        stop()
        if received.error is not None:
            os._exit(kind.exit_code)
        word = "interrupted" if number == signal.SIGINT else "told to end"
        received.error = kind(f"the run was {word}", hint="run the same command again: what had ended is kept")
        raise received.error

    before = {number: signal.signal(number, handle) for number in _ERRORS}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
