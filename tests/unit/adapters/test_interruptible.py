"""Waiting that a stop ends."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from builder.adapters.interruptible import InterruptibleIndex, InterruptibleRegistry, interruptible
from builder.errors import InterruptedRunError, UnreachableError
from builder.model.oci import LINUX_AMD64, ImageReference
from tests.fakes import FakeRegistry
from tests.unit.lock.samples import package


def test_an_answer_and_an_error_come_through() -> None:
    assert interruptible(lambda: 42, threading.Event()) == 42

    def fail() -> None:
        msg = "nobody answers"
        raise UnreachableError(msg)

    with pytest.raises(UnreachableError, match="nobody answers"):
        interruptible(fail, threading.Event())


def test_a_stop_ends_the_waiting_and_not_the_call() -> None:
    stopped, begun, go_on, ended = (threading.Event() for _ in range(4))

    def call() -> None:
        begun.set()
        go_on.wait(10)
        ended.set()

    def stop() -> None:
        begun.wait(10)
        stopped.set()

    threading.Thread(target=stop).start()
    with pytest.raises(InterruptedRunError, match="the run was interrupted"):
        interruptible(call, stopped)
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(10)


def test_an_index_and_a_registry_answer_as_before() -> None:
    class Files:
        def fetch(self, package: object, indexes: object, *, on_progress: object = None) -> Path:
            return Path("/cache/file")

    assert InterruptibleIndex(Files(), threading.Event()).fetch(package("numpy"), ()) == Path("/cache/file")
    nothing = InterruptibleRegistry(FakeRegistry(), threading.Event())
    assert nothing.resolve(ImageReference.parse("debian:12"), LINUX_AMD64) is None
