"""Waiting for the network that a stop ends at once: what waits is left behind, and ends with the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import requests

from builder.adapters.downloads import Downloads
from builder.adapters.pip_config import PipConfig
from builder.errors import InterruptedRunError
from builder.model.lock import LockedPackage
from builder.model.oci import ImageReference, Platform
from builder.model.plan import Index
from builder.ports import PackageIndex, Registry, ResolvedImage

T = TypeVar("T")
_LOOK_SECONDS = 0.1


def interruptible(call: Callable[[], T], stopped: threading.Event) -> T:
    """Return what ``call`` returns, or raise what it raises; ``InterruptedRunError`` as soon as ``stopped`` is set.

    The call runs in a thread of its own, which is not waited for after a stop: it may not start
    programs, nor hold what would be missed.
    """
    answers: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 - it is raised again where it was asked for
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="interruptible", daemon=True).start()
    while not done.wait(_LOOK_SECONDS):
        if stopped.is_set():
            msg = "the run was interrupted"
            raise InterruptedRunError(msg, hint="run the same command again: what was downloaded is kept")
    if errors:
        raise errors[0]
    return answers[0]


class InterruptibleIndex:
    """A package index; satisfies ``ports.PackageIndex``."""

    def __init__(self, index: PackageIndex, stopped: threading.Event) -> None:
        self._index = index
        self._stopped = stopped

    def fetch(
        self, package: LockedPackage, indexes: Sequence[Index], *, on_progress: Callable[[int], None] | None = None
    ) -> Path:
        """Fetch as the index does."""
        return interruptible(lambda: self._index.fetch(package, indexes, on_progress=on_progress), self._stopped)


class InterruptibleRegistry:
    """A registry; satisfies ``ports.Registry``."""

    def __init__(self, registry: Registry, stopped: threading.Event) -> None:
        self._registry = registry
        self._stopped = stopped

    def resolve(self, reference: ImageReference, platform: Platform) -> ResolvedImage | None:
        """Resolve as the registry does."""
        return interruptible(lambda: self._registry.resolve(reference, platform), self._stopped)


class InterruptibleDownloads(Downloads):
    """Downloads whose pages are waited for no longer than a stop."""

    def __init__(self, config: PipConfig, stopped: threading.Event) -> None:
        super().__init__(config)
        self._stopped = stopped

    def page(self, url: str, *, accept: str, forbidden_is_absent: bool = False) -> requests.Response | None:
        """Return a page as ``Downloads.page`` does."""
        ask = super().page
        return interruptible(lambda: ask(url, accept=accept, forbidden_is_absent=forbidden_is_absent), self._stopped)
