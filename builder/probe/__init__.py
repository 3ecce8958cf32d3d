"""Which probes apply, what they are told to expect, and reading what they say."""

from builder.probe.expectation import expectation
from builder.probe.reading import read_result
from builder.probe.selection import Selection, probe_names, probes_for, select

__all__ = ["Selection", "expectation", "probe_names", "probes_for", "read_result", "select"]
