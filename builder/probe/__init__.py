"""Which probes apply, and reading what they say."""
