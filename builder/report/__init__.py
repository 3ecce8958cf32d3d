"""Data documents to Markdown, HTML, CSV and text."""
