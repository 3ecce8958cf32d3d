"""What to pin, and what drifted."""
