"""What locking needs of the outside world, and how its work is spread."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from builder.errors import ImgbuildError, InterruptedRunError, TerminatedRunError
from builder.model.oci import Platform
from builder.model.plan import Variant
from builder.pipeline.endings import told
from builder.ports import BaseReader, Clock, Reporter, Resolver

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Pair = tuple[Variant, Platform]
Key = tuple[str, Platform]
"""A variant's id, or a base's key, on a platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockTools:
    """The ports that locking uses. ``jobs`` is how many bases or resolutions are worked on at once."""

    bases: BaseReader
    resolver: Resolver
    clock: Clock
    reporter: Reporter
    jobs: int = 4


def key_of(pair: Pair) -> Key:
    """Return what a variant on a platform goes by."""
    return pair[0].id, pair[1]


def gather(work: Mapping[K, Callable[[], T]], jobs: int) -> dict[K, T | ImgbuildError]:
    """Do every piece of work from a bounded pool; a failure is that piece's answer and stops no other.

    Raises only when the run is interrupted or told to end; what has not begun is dropped then.
    """
    found: dict[K, T | ImgbuildError] = {}
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="lock") as pool:
        futures = {key: pool.submit(function) for key, function in work.items()}
        try:
            for key, future in futures.items():
                try:
                    found[key] = future.result()
                except (InterruptedRunError, TerminatedRunError):
                    raise
                except Exception as error:  # noqa: BLE001 - whatever one piece runs into, the others go on
                    found[key] = told(error)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return found
