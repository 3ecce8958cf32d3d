"""The files that ``imgbuild init`` writes."""

from __future__ import annotations

from builder.resources import shipped

_MATRIX = ("matrix.yaml", "matrix.yaml")
_WORKFLOW = (".github/workflows/imgbuild.yaml", "workflow.yaml")


def starter(*, github: bool = False) -> dict[str, bytes]:
    """Return what to write, relative path to content: the commented matrix, with ``github`` the workflow too."""
    folder = shipped("templates") / "init"
    files = (_MATRIX, _WORKFLOW) if github else (_MATRIX,)
    return {path: (folder / name).read_bytes() for path, name in files}
