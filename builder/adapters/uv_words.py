"""Why a resolution failed, in the words of somebody who wrote a matrix."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from builder.adapters.pip_config import redacted, without_credentials
from builder.errors import ImgbuildError, ProgramError, UnreachableError, UnsatisfiableError
from builder.model.lock import Installed
from builder.model.plan import Index

_NO_SOLUTION = "No solution found"
_NOT_ASKED = (
    "Failed to fetch",
    "error sending request",
    "Failed to read `--find-links` URL",
    "401 Unauthorized",
    "Request failed after",
)
_NO_WHEEL = ("no usable wheels", "has no wheels", "have no wheels", "building from source is disabled")
_URL = re.compile(r"https?://[^\s`'\"()<>]+")
_FRAME = re.compile(r"^[ \t│╰╭├─▶\u00d7]*", re.MULTILINE)
_ADVICE = re.compile(r"By default, uv will only consider .*? in which they were defined\.", re.DOTALL)
"""uv's advice to change an option that is not the user's to change here."""
_CONCLUSION = ", we can conclude that your requirements are unsatisfiable"
_CAUSE = re.compile(r"(?:cause:\s*|\bBecause\b)(?P<text>.*?)(?=\n\s*hint:|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked of the resolver, for the words of an answer."""

    requirements: tuple[Requirement, ...]
    installed: Mapping[str, Installed]
    indexes: tuple[Index, ...]
    constraints: tuple[str, ...]
    place: str


def failure(output: str, question: Question) -> ImgbuildError:
    """Return the error for what uv printed when it failed: unsatisfiable, not reachable, or uv itself."""
    text = _plain(output, question.indexes)
    details = tuple(line for line in text.splitlines() if line.strip())
    if _NO_SOLUTION in text and "401 Unauthorized" not in text:
        return _unsatisfiable(text, details, question)
    if any(sign in text for sign in _NOT_ASKED):
        return _unreachable(output, details, question)
    first = details[0].removeprefix("error: ") if details else "it printed nothing"
    msg = f"uv could not resolve the packages: {first}"
    return ProgramError(msg, hint="the lines below are uv's own; imgbuild doctor shows what this host has", details=details)


def conflicts(question: Question) -> list[str]:
    """Return, in words, every requirement that a distribution of the base plainly does not meet.

    A pre-release meets ``==2.9.*`` and never ``>=2.9``: PEP 440's order alone says so.
    """
    found = []
    for requirement in question.requirements:
        have = question.installed.get(canonicalize_name(requirement.name))
        if have is None or requirement.marker is not None:
            continue
        if not requirement.specifier.contains(have.version, prereleases=True):
            found.append(f"the base has {have.name} {have.version}, your matrix asks {requirement}")
    return found


def _plain(output: str, indexes: Sequence[Index]) -> str:
    """Return uv's text without frames and credentials, each index under its name."""
    text = redacted(_FRAME.sub("", output))
    for index in sorted(indexes, key=lambda one: -len(one.url)):
        for url in {without_credentials(index.url), without_credentials(index.url).rstrip("/")}:
            text = text.replace(url, f"<{index.name}>")
    return _ADVICE.sub("imgbuild takes a name only from the first index that has it.", text).strip()


def _unsatisfiable(text: str, details: tuple[str, ...], question: Question) -> UnsatisfiableError:
    clashes = conflicts(question)
    if clashes:
        return UnsatisfiableError("; ".join(clashes), hint=_BASE_HINT, details=details)
    cause = _cause(text)
    named = [have for name, have in question.installed.items() if re.search(rf"(?<![\w.-]){re.escape(name)}[<>=!~]", cause)]
    if named:
        has = ", ".join(f"{have.name} {have.version}" for have in named)
        return UnsatisfiableError(f"the base has {has}, which does not fit: {cause}", hint=_BASE_HINT, details=details)
    if any(sign in text for sign in _NO_WHEEL):
        msg = f"there is no wheel for {question.place}: {cause}"
        return UnsatisfiableError(msg, hint=_WHEEL_HINT, details=details)
    hint = "change the versions asked for under packages: or framework in the matrix file"
    if question.constraints:
        hint += f"; pip's configuration adds the constraints of {', '.join(redacted(one) for one in question.constraints)}"
    return UnsatisfiableError(f"no versions fit together for {question.place}: {cause}", hint=hint, details=details)


_BASE_HINT = "ask for versions that the base fits, or start from another base; what a base brings is never replaced"
_WHEEL_HINT = (
    "imgbuild installs wheels only, it never builds from source; ask for another version or Python, "
    "or put a wheel you built on an index or into a folder of pip's find-links"
)


def _cause(text: str) -> str:
    match = _CAUSE.search(text)
    if match is None:
        return " ".join(text.split())
    body = " ".join((match["text"] if match[0].startswith("cause:") else match[0]).split())
    body = body.removesuffix(".").removesuffix(_CONCLUSION)
    return body[:1].lower() + body[1:]


def _unreachable(output: str, details: tuple[str, ...], question: Question) -> UnreachableError:
    url = _URL.search(redacted(output))
    host = urlsplit(url[0]).netloc.rpartition("@")[2] if url else ", ".join(index.name for index in question.indexes)
    if "401 Unauthorized" in output:
        msg = f"the package index at {host} wants credentials and got none it takes (401)"
        hint = "put them into ~/.netrc, or into the index's URL in pip's configuration"
    else:
        msg = f"the package index at {host} could not be asked"
        hint = "look at the network, the proxy and pip's configuration (pip config list), then run the same command again"
    return UnreachableError(msg, hint=hint, details=details)
