"""One root of errors, one exit code each."""

from __future__ import annotations

import builder.errors
from builder.errors import Complaint, DocumentError, ImgbuildError, Where


def kinds() -> list[type[ImgbuildError]]:
    return [
        kind
        for kind in vars(builder.errors).values()
        if isinstance(kind, type) and issubclass(kind, ImgbuildError) and kind is not ImgbuildError
    ]


def test_every_kind_has_an_exit_code_of_its_own() -> None:
    codes = [kind.exit_code for kind in kinds()]
    assert len(codes) == len(set(codes)) == 12


def test_no_kind_ends_like_success_or_like_a_bug() -> None:
    assert not {0, 1} & {kind.exit_code for kind in kinds()}


def test_exit_codes_are_those_of_the_documentation() -> None:
    assert {kind.__name__: kind.exit_code for kind in kinds()} == {
        "UsageError": 2,
        "DocumentError": 3,
        "UnsatisfiableError": 4,
        "MismatchError": 5,
        "BuildFailedError": 6,
        "SmokeTestFailedError": 7,
        "HostBlockedError": 8,
        "ProgramError": 9,
        "UnreachableError": 10,
        "PolicyError": 11,
        "InterruptedRunError": 130,
        "TerminatedRunError": 143,
    }


def at(line: int, column: int, field: str = "", file: str = "m.yaml") -> Where:
    return Where(file=file, line=line, column=column, field=field)


def test_a_place_is_written_as_editors_read_it() -> None:
    assert str(at(3, 7, "matrix.stack[0]")) == "m.yaml:3:7: matrix.stack[0]"
    assert str(at(3, 7)) == "m.yaml:3:7"
    assert str(Complaint(where=at(3, 7), message="it is wrong", hint="mend it")) == "m.yaml:3:7: it is wrong"


def test_complaints_stand_in_the_order_of_the_document() -> None:
    error = DocumentError(
        (Complaint(where=at(9, 1), message="c"), Complaint(where=at(2, 5), message="b"), Complaint(where=at(2, 1), message="a"))
    )
    assert [one.message for one in error.complaints] == ["a", "b", "c"]
    assert str(error) == "3 complaints about m.yaml"
    assert str(DocumentError((Complaint(where=at(1, 1), message="a"),))) == "1 complaint about m.yaml"
    two = DocumentError((Complaint(where=at(1, 1), message="a"), Complaint(where=at(1, 1, file="n.yaml"), message="b")))
    assert str(two) == "2 complaints about m.yaml, n.yaml"
