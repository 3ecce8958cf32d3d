"""Variant and lock entry to Dockerfile and what stands beside it."""
