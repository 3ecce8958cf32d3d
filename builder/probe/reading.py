"""Reading how a probe ended: exit 0 is passed, 77 is skipped, anything else is failed."""

from __future__ import annotations

import json
import signal
import unicodedata
from collections.abc import Mapping
from typing import cast

from builder.model.build import Completed
from builder.model.evidence import JsonValue, ProbeResult, ProbeScript, ProbeStatus
from builder.model.matrix import Tier

_SKIPPED = 77
_SHELL_SIGNAL = 128
_MAX_LINE = 64 * 1024
_MAX_REASON = 500
_CODES = {
    125: "the engine could not start the container",
    126: "the image's Python is there but could not be started",
    127: "the image's Python was not found",
}
_SIGNALS = {
    signal.SIGKILL: "it was killed (signal 9), which is mostly the memory limit of the container or host",
    signal.SIGSEGV: "it crashed (segmentation fault, signal 11)",
    signal.SIGABRT: "it aborted itself (signal 6)",
    signal.SIGILL: "it met an instruction that this CPU does not have (signal 4)",
    signal.SIGBUS: "it crashed (bus error, signal 7), which can be too little shared memory",
    signal.SIGFPE: "it crashed in arithmetic (signal 8)",
    signal.SIGTERM: "it was told to end (signal 15)",
}


class _NoReportError(ValueError):
    """The last line is not a probe's report; the text says why."""


def read_result(script: ProbeScript, completed: Completed, *, limit: float | None = None) -> ProbeResult:
    """Return what a probe reported; never raises, whatever the output holds.

    A probe that ends with 0 without its report counts as failed: nothing says that it ran to its
    end. ``limit`` is the time limit in seconds, for the reason when it was reached. A probe meant
    for the device that reports having computed elsewhere shows ``host-cpu``.
    """
    try:
        values, said = _report(completed.stdout)
        broken = None
    except _NoReportError as error:
        values, said, broken = {}, None, str(error)
    status, reason = _status(completed, said, broken, limit)
    return ProbeResult(
        name=script.name,
        tier=_tier(script, values),
        status=status,
        seconds=round(completed.seconds, 3),
        reason=_plain(reason) if reason else None,
        values=values,
        script_sha256=script.sha256,
    )


def _status(completed: Completed, said: str | None, broken: str | None, limit: float | None) -> tuple[ProbeStatus, str | None]:
    if completed.timed_out:
        return ProbeStatus.FAILED, f"it did not end within {limit if limit is not None else completed.seconds:g} s"
    if completed.code == 0:
        return (ProbeStatus.FAILED, f"it ended with 0, but {broken}") if broken else (ProbeStatus.PASSED, None)
    if completed.code == _SKIPPED and not broken:
        return ProbeStatus.SKIPPED, said or "it gave no reason"
    return ProbeStatus.FAILED, said or _ending(completed)


def _tier(script: ProbeScript, values: Mapping[str, JsonValue]) -> Tier:
    device = values.get("device")
    if script.tier is Tier.DEVICE and isinstance(device, str) and script.stack and device != script.stack:
        return Tier.HOST_CPU
    return script.tier


def _report(stdout: str) -> tuple[dict[str, JsonValue], str | None]:
    line = stdout.rstrip().rpartition("\n")[2].strip()
    if not line:
        msg = "it printed nothing"
        raise _NoReportError(msg)
    if len(line) > _MAX_LINE:
        msg = f"its last line is {len(line)} characters long, at most {_MAX_LINE} are read"
        raise _NoReportError(msg)
    try:
        report = json.loads(line, parse_constant=_refuse)
        json.dumps(report, ensure_ascii=False, allow_nan=False).encode()  # refuses 1e999 and half a character
    except (ValueError, RecursionError):
        report = None
    if not isinstance(report, dict) or not isinstance(report.get("values"), dict):
        msg = f"its last line is not a probe's report: {line[:80]!r}"
        raise _NoReportError(msg)
    said = report.get("reason")
    return cast("dict[str, JsonValue]", report["values"]), said if isinstance(said, str) and said.strip() else None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _ending(completed: Completed) -> str:
    """Say why a probe failed that gave no reason itself."""
    number = -completed.code if completed.code < 0 else completed.code - _SHELL_SIGNAL
    if number in {known.value for known in _SIGNALS}:
        return _SIGNALS[signal.Signals(number)]
    last = completed.stderr.rstrip().rpartition("\n")[2].strip()
    if completed.code in _CODES:
        return f"{_CODES[completed.code]}: {last}" if last else _CODES[completed.code]
    if completed.code < 0:
        return f"it was ended by signal {number}"
    return last or f"it ended with {completed.code} and said nothing"


def _plain(text: str) -> str:
    """Return text as one line without control characters, cut to a length a report can show."""
    characters = (character if unicodedata.category(character)[0] != "C" else " " for character in text)
    line = " ".join("".join(characters).split())
    return line if len(line) <= _MAX_REASON else line[: _MAX_REASON - 1] + "…"
