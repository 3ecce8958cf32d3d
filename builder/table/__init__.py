"""The compatibility table, computed from plan, lock and evidence; never typed."""

from builder.table.table import table

__all__ = ["table"]
