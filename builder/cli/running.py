"""What every long command has around it: a reporter, signals, the run lock, an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from builder.adapters.state import StateFolder
from builder.cli.reporters import ProgressStyle, choose
from builder.cli.services import Services
from builder.cli.signals import Received, stopping
from builder.errors import UsageError
from builder.model.event import Note
from builder.model.matrix import EngineName, Matrix
from builder.ports import Engine, Reporter


class Watch:
    """A run under way: where it reports, and which signal ended it, if one did."""

    def __init__(self, reporter: Reporter, received: Received) -> None:
        self.reporter = reporter
        self.received = received


@contextmanager
def watched(services: Services, state: StateFolder, style: ProgressStyle, *, wait: bool) -> Iterator[Watch]:
    """Hold the matrix for one run, show its progress, and end it in order at Ctrl-C, SIGTERM and SIGHUP.

    ``HostBlockedError`` when another run holds the matrix and ``wait`` is false.
    """
    with stopping(services.stop) as received:
        reporter = choose(style, services.environment)

        def on_wait(held: str) -> None:
            reporter.report(Note(text=f"waiting: {held}"))

        try:
            with state.running(started=services.clock.now(), wait=wait, on_wait=on_wait):
                yield Watch(reporter, received)
        finally:
            close = getattr(reporter, "close", None)
            if close is not None:
                close()


def engine_of(services: Services, matrix: Matrix, asked: str | None) -> Engine:
    """Return the engine of a run: the option's, else the matrix's; ``UsageError`` for a name that is none."""
    if asked is None:
        return services.engine(matrix.engine)
    try:
        return services.engine(EngineName(asked))
    except ValueError as error:
        msg = f"{asked!r} is not an engine"
        raise UsageError(msg, hint=f"engines are {', '.join(name.value for name in EngineName)}") from error
