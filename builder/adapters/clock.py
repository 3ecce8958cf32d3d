"""The time, read from this host."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """This host's clock."""

    def now(self) -> str:
        """Return the time, UTC, ISO 8601 to the second, ending in ``Z``."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - the one place that reads it

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        return time.monotonic()
