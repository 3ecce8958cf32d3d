"""Why a step of a build failed, in one line, from what its programs wrote."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_LONGEST_STEP = 60
_LONGEST_CAUSE = 240
_FLAG = re.compile(r"--(?:mount|network|security|chmod|chown|from|link|parents|exclude)(?:=\S+)?\s+")
_LONGEST_LINE = 2000
_UNSEEN = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1f\x7f]")
_KILLED = "it was killed, most likely because memory ran out"
_KILLED_CODE = "137"
_CODE = re.compile(r"exit (?:code|status):? (?P<code>[0-9]+)")


class Remedy(StrEnum):
    """What to do next about a known cause."""

    LOCK = "run imgbuild matrix lock --update on the matrix file, and build again"
    NETWORK = "check the network, proxy and name servers that containers of this host have, and run the same command again"
    OFFLINE = "this build has no network: what it installs has to be in the lock; run imgbuild matrix lock --update"
    PLATFORM = "build on a host of the image's platform, or let this one run such programs: apt-get install qemu-user-static"
    MEMORY = "give this host more memory, or build fewer variants at once with --jobs 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a step failed, and what to do next where that is known."""

    text: str
    remedy: Remedy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sign:
    """A line that says why, as its program writes it; the cause is told by ``says``, from the group ``why``.

    Where ``program`` is given, only steps that run it are looked through.
    """

    line: re.Pattern[str]
    says: str
    remedy: Remedy | None
    program: str


def _sign(line: str, says: str = "{why}", remedy: Remedy | None = None, *, program: str = "") -> _Sign:
    return _Sign(line=re.compile(line), says=says, remedy=remedy, program=program)


_SIGNS = (
    _sign(
        r".*?(?P<why>Temporary failure (?:resolving '[^']*'|in name resolution)|Network is unreachable"
        r"|Could not (?:connect to|resolve) [^\s,]+|Failed to establish a new connection: [^')]*|[Cc]onnection timed out).*",
        "no network: {why}",
        Remedy.NETWORK,
    ),
    _sign(
        r"\s+\S+ from \S*/(?P<why>[^/\s]+) \(from -r .*\):", "pip: {why} does not have the hash that the lock names", Remedy.LOCK
    ),
    _sign(r"(?:.*/)?(?P<why>[^/]+\.deb): FAILED.*", "{why} does not have the hash that the lock names", Remedy.LOCK),
    _sign(
        r"E: (?P<why>Version '.*' for '.*' was not found|Can't find a source to download .*|Failed to fetch .* 404 .*"
        r"|.*Hash Sum mismatch.*)",
        "apt: {why}",
        Remedy.LOCK,
    ),
    _sign(r".*?(?P<why>exec \S+: exec format error).*", remedy=Remedy.PLATFORM),
    _sign(r".*?unable to start container process: (?P<why>.*?)\"?"),
    _sign(r"(?:\S+: )?(?:line )?(?:[0-9]+: )?\s*(?:[0-9]+ )?Killed\b.*", _KILLED, Remedy.MEMORY),
    _sign(r"\s+(?P<why>(?:installed|new|old) \S+ package \S+ script subprocess .*)", "dpkg: {why}"),
    _sign(r"\s+(?P<why>\S+ (?:pre-)?depends on .*); however:", "dpkg: {why}, which is not there"),
    _sign(r"(?P<why>dpkg(?:-\w+)?: (?!warning|error processing).*?):?"),
    _sign(r"E: (?!Sub-process |Unable to fetch some archives|Some index files)(?P<why>.*)", "apt: {why}"),
    _sign(r"ERROR: (?!Exception:$)(?P<why>.*)", "pip: {why}", program="pip"),
    _sign(r"(?P<why>(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b(?:: .*)?)"),
    _sign(r"(?:\S*sh: )(?:line )?(?:[0-9]+: )?(?P<why>.*: (?:command )?not found)"),
    _sign(r"(?P<why>sha[0-9]+sum: .*)"),
    _sign(r"(?P<why>[\w./+-]+: .*(?:No such file|Permission denied|no such user|cannot |can't |not permitted|Is a directory).*)"),
    _sign(r"(?P<why>(?:[\w./+-]+: )?(?:fatal |.*\b)?(?:error|Error|ERROR): .*)"),
    _sign(r".*failed to calculate checksum of ref \S+: (?P<why>.*)"),
)
"""From the most telling to the least: the first that any line shows tells the cause, by the last such line."""


def find_cause(step: str, lines: Sequence[str], ended: str) -> Cause:
    """Return why a step failed that wrote these lines; ``ended`` is how the engine says that it ended."""
    plain = [_UNSEEN.sub("", line[:_LONGEST_LINE]).rstrip() for line in (ended, *reversed(lines))]
    for sign in _SIGNS:
        if sign.program in step:
            for line in plain:
                if match := sign.line.fullmatch(line):
                    why = match.groupdict().get("why") or ""
                    return Cause(text=_short(sign.says.format(why=why)), remedy=sign.remedy)
    return _without_a_sign(plain[1:], plain[0])


def _without_a_sign(newest_first: Sequence[str], ended: str) -> Cause:
    code = _CODE.search(ended)
    if code is None:
        return Cause(text=_short(ended))
    if code["code"] == _KILLED_CODE:
        return Cause(text=_KILLED, remedy=Remedy.MEMORY)
    said = next((line for line in newest_first if line.strip()), None)
    last = f"its last line was {_short(said)!r}" if said is not None else "it wrote nothing"
    return Cause(text=f"it ended with code {code['code']}, and {last}")


def brief_step(step: str) -> str:
    """Return an instruction in at most 60 characters, without its flags and runs of blanks."""
    plain = " ".join(_FLAG.sub("", f"{step} ").split())
    short = textwrap.shorten(plain, _LONGEST_STEP, placeholder=" …", break_on_hyphens=False)
    return short if len(short.split()) > 2 else _cut(plain, _LONGEST_STEP)  # noqa: PLR2004 - more than an instruction and '…'


def _short(text: str) -> str:
    return _cut(" ".join(text.replace('\\"', '"').split()), _LONGEST_CAUSE)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
