"""Every way in which uv was seen to fail, in the words and with the exit code of what it means."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from builder.adapters.uv_words import Question, failure
from builder.errors import DocumentError, ImgbuildError, UnreachableError, UnsatisfiableError
from builder.model.plan import Index

INDEX = Index(name="acme", url="https://me:secret@acme.example/simple")
NO_SOLUTION = (
    "error: No solution found when resolving dependencies\n  cause: Because app was not found in the package registry.\n"
)
INCLUDED = "error: Error parsing included file in `constraints.txt` at position 0\n  cause: "


def failed(output: str, *, constraints: tuple[str, ...] = (), links: tuple[Index, ...] = ()) -> ImgbuildError:
    question = Question(
        requirements=(Requirement("app"),), installed={}, indexes=(INDEX,), links=links, constraints=constraints, place="Python 3"
    )
    error = failure(output, question)
    assert error.hint
    assert "secret" not in f"{error.message}{error.hint}{error.details}"
    return error


REFUSED = f"""{NO_SOLUTION}hint: An index URL (https://acme.example/simple) could not be queried due to a lack of valid
authentication credentials (401 Unauthorized)"""
FORBIDDEN = f"""{NO_SOLUTION}hint: An index (https://acme.example/simple) returned a 403 Forbidden error. Check that the index URL
is correct and the credentials are valid."""
TEXT = 'error: Unsupported `Content-Type` "text/plain" for `https://acme.example/simple/app/`. Expected JSON or HTML.'
NO_JSON = "error: Received some unexpected JSON from `https://acme.example/simple/app/`\n  cause: EOF while parsing"
GONE = """error: Failed to fetch: https://acme.example/files/app-1.0%2Bcpu-py3-none-any.whl
  cause: HTTP status client error (404 Not Found) for url (https://acme.example/files/app-1.0%2Bcpu-py3-none-any.whl)"""
LINKS = """error: Failed to read `--find-links` URL: https://me:secret@l.example/x.html
  cause: HTTP status client error (404 Not Found) for url (https://me:secret@l.example/x.html)"""
OF_URL = """error: Failed to resolve dependencies for package `ud==1.0`
  cause: Package `app` was included as a URL dependency. URL dependencies must be expressed as direct requirements."""
BROKEN = """error: Failed to download `tr==1`
  cause: Failed to extract archive: tr-1-py3-none-any.whl
  cause: Invalid zip file structure
  cause: ZIP structure was truncated"""
NO_PAGE = "the package index at acme.example answered something that is not a page of a package index"


@pytest.mark.parametrize(
    ("output", "kind", "message"),
    [
        (REFUSED, UnreachableError, "the package index at acme.example wants credentials and got none it takes (401)"),
        (
            FORBIDDEN,
            UnreachableError,
            "the package index at acme.example forbids what was asked, or wants other credentials (403)",
        ),
        (TEXT, UnreachableError, NO_PAGE),
        (NO_JSON, UnreachableError, NO_PAGE),
        (
            GONE,
            UnreachableError,
            "the package index at acme.example lists app-1.0+cpu-py3-none-any.whl and does not have it (404)",
        ),
        (LINKS, UnreachableError, "the page 'https://l.example/x.html', which pip's find-links name, is not there (404)"),
        (OF_URL, UnsatisfiableError, "ud 1.0 needs app from a URL, and a lock holds no URLs"),
        (
            BROKEN,
            UnsatisfiableError,
            "tr-1-py3-none-any.whl is not a wheel, or not the whole of one: ZIP structure was truncated",
        ),
    ],
)
def test_what_uv_says_is_told_as_what_it_means(output: str, kind: type[ImgbuildError], message: str) -> None:
    error = failed(output)
    assert (type(error), error.message) == (kind, message)
    assert error.details


@pytest.mark.parametrize(
    ("cause", "place", "reason"),
    [
        ("failed to read from file `/c.txt`: No such file or directory (os error 2)", "/c.txt:1:1", "no such file or directory"),
        ("failed to read from file `/c.txt`: Is a directory (os error 21)", "/c.txt:1:1", "is a directory"),
        ("Unexpected 'x', expected '-c' or '-e': /c.txt:3:7", "/c.txt:3:7", "unexpected 'x', expected '-c' or '-e'"),
        (
            'Couldn\'t parse requirement in `/c.txt` at position 6\n  cause: no such comparison operator "<<"\napp<<2\n   ^^^',
            "/c.txt:1:1",
            'no such comparison operator "<<"',
        ),
    ],
)
def test_a_constraint_file_that_cannot_be_read_is_a_complaint_about_it(cause: str, place: str, reason: str) -> None:
    error = failed(INCLUDED + cause, constraints=("/other.txt", "/c.txt"))
    assert isinstance(error, DocumentError)
    said = f"pip's configuration names it as a constraint file, and it cannot be read: {reason}"
    assert [str(complaint) for complaint in error.complaints] == [f"{place}: {said}"]


def test_a_constraint_file_that_cannot_be_had_is_not_an_answer() -> None:
    error = failed(
        f"{INCLUDED}Error while accessing remote requirements file: https://c.example/c.txt",
        constraints=("https://me:secret@c.example/c.txt",),
    )
    assert isinstance(error, UnreachableError)
    assert (
        error.message == "the constraint file 'https://****@c.example/c.txt', which pip's configuration names, could not be had"
    )
