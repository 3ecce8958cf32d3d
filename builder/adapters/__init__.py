"""The outside world: programs, engines, registries, indexes, files, clock."""
