"""Which probes apply, what they are told to expect, and reading what they say."""

from builder.probe.expectation import EXPECT, expectation
from builder.probe.reading import read_result
from builder.probe.selection import Selection, probes_for, select
from builder.probe.together import read_together, result_name, together

__all__ = [
    "EXPECT",
    "Selection",
    "expectation",
    "probes_for",
    "read_result",
    "read_together",
    "result_name",
    "select",
    "together",
]
