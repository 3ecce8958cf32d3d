"""Frozen value types that every floor above shares; standard library and packaging only."""
