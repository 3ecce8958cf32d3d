"""Several probes in one container, because starting one takes longer than most probes do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from builder.model.build import Completed
from builder.model.evidence import ProbeResult, ProbeScript
from builder.probe.reading import read_result

_DRIVER = Path(__file__).resolve().parent / "scripts" / "driver" / "together.py"
_FIELDS = {"name": str, "code": int, "stdout": str, "stderr": str, "seconds": float, "timed_out": bool}


def together(scripts: Sequence[ProbeScript], *, seconds: float) -> bytes:
    """Return one program for ``python -`` that runs the probes in order, each for ``seconds`` at most.

    It prints one line per probe as it ends and itself ends with 0; ``read_together`` reads them.
    """
    probes = json.dumps([[script.name, script.text] for script in scripts])
    return f"{_DRIVER.read_text(encoding='utf-8')}\n\nmain(json.loads({json.dumps(probes)}), {seconds!r})\n".encode()


def read_together(scripts: Sequence[ProbeScript], completed: Completed, *, seconds: float) -> tuple[ProbeResult, ...]:
    """Return one result per probe, in order; never raises.

    A probe that the container did not come to is failed, with how the container ended: the first
    such with its own reason, the others as not reached.
    """
    ends = {str(end["name"]): end for end in map(_end, completed.stdout.splitlines()) if end}
    results: list[ProbeResult] = []
    stuck: str | None = None
    for script in scripts:
        end = ends.get(script.name)
        if end is not None:
            results.append(read_result(script, _completed(end), limit=seconds))
        elif stuck is None:
            stuck = script.name
            code = completed.code or 1
            whole = Completed(
                argv=completed.argv,
                code=code,
                stdout="",
                stderr=completed.stderr,
                seconds=completed.seconds,
                timed_out=completed.timed_out,
            )
            results.append(read_result(script, whole, limit=completed.seconds))
        else:
            said = f"not reached: the container ended in the probe {stuck}"
            nothing = Completed(argv=(), code=1, stdout="", stderr=said, seconds=0.0)
            results.append(read_result(script, nothing))
    return tuple(results)


def result_name(line: str) -> str | None:
    """Return the probe whose end a line of the program's output reports, for progress; ``None`` for other lines."""
    end = _end(line)
    return str(end["name"]) if end else None


def _end(line: str) -> Mapping[str, object] | None:
    try:
        end = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(end, dict) or not all(isinstance(end.get(name), kind) for name, kind in _FIELDS.items()):
        return None
    return end


def _completed(end: Mapping[str, object]) -> Completed:
    code, seconds = end["code"], end["seconds"]
    return Completed(
        argv=(),
        code=code if isinstance(code, int) else 1,
        stdout=str(end["stdout"]),
        stderr=str(end["stderr"]),
        seconds=seconds if isinstance(seconds, float) else 0.0,
        timed_out=end["timed_out"] is True,
    )
