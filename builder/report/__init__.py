"""Data documents written for people and programs."""

from builder.report.documents import csv_text, html, markdown
from builder.report.jsons import build_json, outcome_json, reason_json, table_json
from builder.report.terminal import outcomes_text, text

__all__ = ["build_json", "csv_text", "html", "markdown", "outcome_json", "outcomes_text", "reason_json", "table_json", "text"]
