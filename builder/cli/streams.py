"""Standard streams as a process may find them: closed, full, without a reader, or in an encoding that lacks a letter."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO


def prepare() -> None:
    """Make stdout and stderr safe to write any text to, and take the numbers of closed streams, so that no file gets them.

    A closed stdout stays ``None``: a result must not vanish. What is told on a closed stderr goes nowhere.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def forget(stream: TextIO) -> None:
    """Point a stream that cannot be written at nothing, so that no later write or flush fails once more."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def close() -> None:
    """Forget each stream that cannot be written, so that the interpreter's last flush does not change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            forget(stream)
