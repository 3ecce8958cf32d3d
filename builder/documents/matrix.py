"""Reading a matrix file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from builder.documents.checks import check
from builder.documents.convert import to_matrix
from builder.documents.nodes import Bare, Items, Table, Value
from builder.documents.reader import read_yaml
from builder.documents.sections import FORMAT
from builder.documents.suggest import nearest, shown
from builder.documents.text import MAX_BYTES, mend, wrong
from builder.documents.validate import validate
from builder.errors import Complaint, DocumentError, UsageError, Where
from builder.model.matrix import Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A matrix file as far as it could be read.

    ``matrix`` lacks the parts that complaints are about, so that other checks can go on and all
    complaints come at once; ``None`` when too little is left. ``cells_known`` is whether its
    axes, exclude and include are whole, so that what follows from its cells is worth saying.
    """

    matrix: Matrix | None
    complaints: tuple[Complaint, ...]
    cells_known: bool


def read_matrix(path: Path) -> Matrix:
    """Return the matrix in a file; ``DocumentError`` with every complaint, ``UsageError`` when there is no such file."""
    return _sound(examine_matrix(path), str(path))


def read_matrix_text(text: str | bytes, file: str) -> Matrix:
    """Return the matrix in a text; ``file`` is the name that complaints give it."""
    return _sound(examine_matrix_text(text, file), file)


def examine_matrix(path: Path) -> Reading:
    """Return what can be read of a file, and every complaint about the rest.

    ``DocumentError`` only when it is no mapping in YAML at all.
    """
    return examine_matrix_text(file_bytes(path), str(path))


def examine_matrix_text(text: str | bytes, file: str) -> Reading:
    """Return what can be read of a text, and every complaint about the rest."""
    root, complaints = read_yaml(text, file)
    if not isinstance(root, Table):
        what = "a list" if isinstance(root, Items) else "a single value"
        raise wrong(
            file, f"the file is {what}, not a mapping", line=root.at.line, column=root.at.column, hint="begin with: imgbuild init"
        )
    other = _other_format(root.get("imgbuild"), file)
    if other is not None:
        return Reading(matrix=None, complaints=(other,), cells_known=False)
    validated = validate(root, file)
    across = tuple(check(validated.data, file))
    whole = validated.cells_known and not any(one.where.field.startswith("matrix") for one in (*complaints, *across))
    matrix = to_matrix(validated.document, validated.data, file) if validated.document is not None else None
    return Reading(matrix=matrix, complaints=distinct(complaints, validated.complaints, across), cells_known=whole)


def distinct(*stages: Iterable[Complaint]) -> tuple[Complaint, ...]:
    """Return complaints in the order of the document, without those that only follow from an earlier stage's.

    A stage has nothing to add about a value that an earlier stage complained about. A value that
    stands in several places through an alias is complained about once.
    """
    kept: list[Complaint] = []
    said: set[tuple[str, int, int, str]] = set()
    settled: set[Where] = set()
    for stage in stages:
        fresh = [complaint for complaint in stage if complaint.where not in settled]
        for complaint in fresh:
            where = complaint.where
            sentence = (where.file, where.line, where.column, complaint.message)
            if sentence not in said:
                said.add(sentence)
                kept.append(complaint)
        settled.update(complaint.where for complaint in fresh)
    return tuple(sorted(kept, key=lambda one: (one.where.file, one.where.line, one.where.column)))


def file_bytes(path: Path) -> bytes:
    """Return the bytes of a document, one more than is allowed at most; ``UsageError`` says why it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        msg = f"there is no file {str(path)!r}"
        raise UsageError(msg, hint=_similar(path)) from error
    except IsADirectoryError as error:
        msg = f"{str(path)!r} is a folder, not a file"
        raise UsageError(msg, hint="name the matrix file in it") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        msg = f"{str(path)!r} cannot be read: {reason.lower()}"
        raise UsageError(msg, hint="check the path and its permissions") from error


def _similar(path: Path) -> str:
    """Return a hint that names a file of a similar name beside the missing one."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix in {".yaml", ".yml"})
    except OSError:
        names = []
    close = nearest(path.name, names)
    return f"did you mean {path.with_name(close)}?" if close else "begin with: imgbuild init"


def _other_format(value: Value | None, file: str) -> Complaint | None:
    """Return the only complaint about a file of another format, of which nothing else can be said."""
    if not isinstance(value, Bare) or value.kind != "int" or value.text == str(FORMAT) or not value.text.isdecimal():
        return None
    message = f"this file is of format {shown(value.text)[1:-1]}, and this program reads format {FORMAT}"
    return Complaint(
        where=value.at.where(file), message=message, hint=f"use an imgbuild that reads it, or write imgbuild: {FORMAT}"
    )


def _sound(reading: Reading, file: str) -> Matrix:
    if reading.complaints or reading.matrix is None:
        raise DocumentError(reading.complaints, hint=mend(file))
    return reading.matrix
