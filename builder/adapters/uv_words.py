"""Why a resolution failed, in the words of somebody who wrote a matrix."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from builder.adapters.pip_config import local_path, redacted, without_credentials
from builder.errors import Complaint, DocumentError, ImgbuildError, ProgramError, UnreachableError, UnsatisfiableError, Where
from builder.model.lock import Installed
from builder.model.plan import Index

_NO_SOLUTION = "No solution found"
_NOT_ASKED = (
    "Failed to fetch",
    "error sending request",
    "Failed to read `--find-links` URL",
    "Request failed after",
    "Error while accessing remote",
)
_NO_WHEEL = ("no usable wheels", "has no wheels", "have no wheels", "building from source is disabled")
_NO_PAGE = ("Unsupported `Content-Type`", "Received some unexpected JSON", "Received some unexpected HTML")
_REFUSED = re.compile(r"(?P<code>401) Unauthorized|(?P<forbidden>403) Forbidden")
_GONE = re.compile(r"\(404 Not Found\) for url \((?P<url>[^)]+)\)")
_CONSTRAINT = "Error parsing included file in `constraints.txt`"
_OF_URL = re.compile(r"for package `(?P<asker>[^`]+)`.*?Package `(?P<name>[^`]+)` was included as a URL dependency", re.DOTALL)
_BROKEN = re.compile(r"Failed to (?:extract archive|read metadata): (?P<file>\S+)")
_URL = re.compile(r"https?://[^\s`'\"()<>]+")
_FRAME = re.compile(r"^[ \t│╰╭├─▶\u00d7]*", re.MULTILINE)
_ADVICE = re.compile(r"By default, uv will only consider .*? in which they were defined\.", re.DOTALL)
"""uv's advice to change an option that is not the user's to change here."""
_CONCLUSION = ", we can conclude that your requirements are unsatisfiable"
_CAUSE = re.compile(r"(?:cause:\s*|\bBecause\b)(?P<text>.*?)(?=\n\s*hint:|\Z)", re.DOTALL)
_NETWORK = "look at the network, the proxy and pip's configuration (pip config list), then run the same command again"
_TRUST = "add its authority to this host's certificates, or name it with cert in pip's configuration (pip config list)"
_CREDENTIALS = "put them into ~/.netrc, or into the index's URL in pip's configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked of the resolver, for the words of an answer."""

    requirements: tuple[Requirement, ...]
    installed: Mapping[str, Installed]
    indexes: tuple[Index, ...]
    links: tuple[Index, ...] = ()
    constraints: tuple[str, ...]
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What uv printed: ``text`` is plain, with the names of indexes; ``output`` has their URLs, and may hold credentials."""

    output: str
    text: str
    question: Question

    @property
    def details(self) -> tuple[str, ...]:
        """The lines to show."""
        return tuple(line for line in self.text.splitlines() if line.strip())

    @property
    def last(self) -> str:
        """The last cause that uv gives: the innermost one."""
        found = re.findall(r"^cause: (.*)$", self.text, re.MULTILINE)
        return found[-1] if found else self.text.partition("\n")[0].removeprefix("error: ")


def failure(output: str, question: Question) -> ImgbuildError:
    """Return the error for what uv printed when it failed: a constraint file, unsatisfiable, not reachable, or uv itself."""
    said = _Said(output=output, text=_plain(output, question.indexes), question=question)
    for read in _READERS:
        error = read(said)
        if error is not None:
            return error
    first = said.details[0].removeprefix("error: ") if said.details else "it printed nothing"
    msg = f"uv could not resolve the packages: {first}"
    return ProgramError(msg, hint="the lines above are uv's own; report them if they make no sense", details=said.details)


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


def _constraint(said: _Said) -> ImgbuildError | None:
    """Return the error for a constraint file of pip's configuration that cannot be had or read."""
    if _CONSTRAINT not in said.text:
        return None
    plain = redacted(said.output).replace("****@", "")
    named = max((one for one in said.question.constraints if without_credentials(one) in plain), key=len, default="")
    if urlsplit(named).scheme in {"http", "https"}:
        msg = f"the constraint file {redacted(named)!r}, which pip's configuration names, could not be had"
        return UnreachableError(msg, hint=_NETWORK, details=said.details)
    reason = re.sub(r"failed to read from file `[^`]*`: ", "", said.last).partition(" (os error")[0]
    at = re.search(r":(\d+):(\d+)$", reason)
    line, column = (int(at[1]), int(at[2])) if at else (1, 1)
    reason = reason.removesuffix(f": {named}{at[0] if at else ''}").replace(f"`{named}` ", "")
    message = f"pip's configuration names it as a constraint file, and it cannot be read: {_phrase(reason)}"
    complaint = Complaint(where=Where(file=named or "pip's configuration", line=line, column=column), message=message)
    return DocumentError((complaint,), hint="mend it there; pip config list shows who names it")


def _refused(said: _Said) -> ImgbuildError | None:
    """Return the error for an index that wants other credentials, which uv takes for one without the package."""
    match = _REFUSED.search(said.text)
    if match is None:
        return None
    if match["code"]:
        msg = f"the package index at {_host(said)} wants credentials and got none it takes (401)"
    else:
        msg = f"the package index at {_host(said)} forbids what was asked, or wants other credentials (403)"
    return UnreachableError(msg, hint=_CREDENTIALS, details=said.details)


def _unsatisfiable(said: _Said) -> ImgbuildError | None:
    if _NO_SOLUTION not in said.text:
        return None
    question, details = said.question, said.details
    clashes = conflicts(question)
    if clashes:
        return UnsatisfiableError("; ".join(clashes), hint=_BASE_HINT, details=details)
    cause = _cause(said.text)
    named = [have for name, have in question.installed.items() if re.search(rf"(?<![\w.-]){re.escape(name)}[<>=!~]", cause)]
    if named:
        has = ", ".join(f"{have.name} {have.version}" for have in named)
        return UnsatisfiableError(f"the base has {has}, which does not fit: {cause}", hint=_BASE_HINT, details=details)
    if any(sign in said.text for sign in _NO_WHEEL):
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
    return _phrase(body)


def _phrase(sentence: str) -> str:
    """Return a sentence as a part of another: without a full stop, and without its capital unless it is an abbreviation's."""
    text = sentence.removesuffix(".")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _of_url(said: _Said) -> ImgbuildError | None:
    match = _OF_URL.search(said.text)
    if match is None:
        return None
    msg = f"{match['asker'].replace('==', ' ')} needs {match['name']} from a URL, and a lock holds no URLs"
    hint = f"ask for another version of it, or for {match['name']} by version under packages: in the matrix file"
    return UnsatisfiableError(msg, hint=hint, details=said.details)


def _broken(said: _Said) -> ImgbuildError | None:
    match = _BROKEN.search(said.text)
    if match is None:
        return None
    folders = [path for link in said.question.links if (path := local_path(link.url)) is not None]
    place = next((str(folder / match["file"]) for folder in folders if (folder / match["file"]).is_file()), match["file"])
    msg = f"{place} is not a wheel, or not the whole of one: {_phrase(said.last)}"
    return UnsatisfiableError(msg, hint="build or download it anew, or take it away", details=said.details)


def _not_a_page(said: _Said) -> ImgbuildError | None:
    if not any(sign in said.text for sign in _NO_PAGE):
        return None
    msg = f"the package index at {_host(said)} answered something that is not a page of a package index"
    return UnreachableError(msg, hint="look at its URL in the matrix or in pip's configuration", details=said.details)


def _gone(said: _Said) -> ImgbuildError | None:
    """Return the error for a file that an index lists, or a page that pip's find-links name, and that is not there."""
    match = _GONE.search(redacted(said.output))
    if match is None:
        return None
    url = without_credentials(match["url"])
    if "`--find-links`" in said.text:
        msg = f"the page {url!r}, which pip's find-links name, is not there (404)"
        return UnreachableError(msg, hint="mend find-links in pip's configuration (pip config list)", details=said.details)
    msg = f"the package index at {_host(said)} lists {unquote(urlsplit(url).path).rpartition('/')[2]} and does not have it (404)"
    return UnreachableError(msg, hint="run the same command again; if it stays so, tell its operator", details=said.details)


def _unreachable(said: _Said) -> ImgbuildError | None:
    if not any(sign in said.text for sign in _NOT_ASKED):
        return None
    reason = said.last.partition(" (os error")[0]
    hint = _TRUST if "certificate" in reason else _NETWORK
    msg = f"the package index at {_host(said)} could not be asked: {_phrase(reason)}"
    return UnreachableError(msg, hint=hint, details=said.details)


def _host(said: _Said) -> str:
    """Return the host that uv's message is about, without credentials."""
    url = _URL.search(redacted(said.output))
    return urlsplit(url[0]).netloc.rpartition("@")[2] if url else ", ".join(index.name for index in said.question.indexes)


_READERS: tuple[Callable[[_Said], ImgbuildError | None], ...] = (
    _constraint,
    _refused,
    _unsatisfiable,
    _of_url,
    _broken,
    _not_a_page,
    _gone,
    _unreachable,
)
"""In this order: uv tells a refused index and a missing package in the same message."""
