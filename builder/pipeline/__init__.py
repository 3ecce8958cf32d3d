"""The order of the stages, over ports."""
