"""The compatibility rules, one topic per module."""
