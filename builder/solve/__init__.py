"""Cells to variants, and a verdict with reasons per target."""
