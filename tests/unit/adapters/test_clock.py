from __future__ import annotations

import time
from datetime import UTC, datetime

from builder.adapters.clock import SystemClock
from builder.ports import Clock


def test_now_is_this_second_in_utc() -> None:
    clock: Clock = SystemClock()
    before = int(time.time())
    read = datetime.strptime(clock.now(), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    assert before <= read <= time.time()


def test_monotonic_grows() -> None:
    clock = SystemClock()
    first = clock.monotonic()
    assert clock.monotonic() >= first > 0
