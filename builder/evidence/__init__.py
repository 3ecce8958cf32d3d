"""Probe results to records and tiers."""
