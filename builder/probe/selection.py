"""Which probes apply to a variant: the path of a script says where it applies.

``scripts/common/`` is for every image, ``scripts/<framework>/`` for one framework and
``scripts/<stack>/`` for one stack. A framework's script takes the place of a common one of the
same name; a stack's is beside them, named ``<stack>/<name>``.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from builder.errors import UsageError
from builder.model.evidence import ProbeScript
from builder.model.matrix import Tier
from builder.model.plan import Variant

_SCRIPTS = Path(__file__).resolve().parent / "scripts"
_COMMON = "common"
_NOT_TOPICS = frozenset({"base", "driver"})  # what reads a base while locking, and what runs several probes
_CPU = "cpu"
_DEVICE = "device"
_CHEAP_FIRST = ("import", "declared", "pip-check", _DEVICE, "matmul", "model", "train")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The probes to run, cheap first, and those asked for that do not apply here, each with the reason."""

    scripts: tuple[ProbeScript, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def probes_for(variant: Variant, *, device_here: bool = True) -> tuple[ProbeScript, ...]:
    """Return the probes to run on a variant, cheap first; ``select`` also says what is left out."""
    return select(variant, device_here=device_here).scripts


def select(variant: Variant, *, device_here: bool = True) -> Selection:
    """Return the probes of a variant: those that its matrix names, or all that apply where it names none.

    ``device_here`` is whether the device of the variant's stack is where the probes will run;
    without it the probes that only look at the device are left out and computing shows
    ``host-cpu`` at most. ``UsageError`` with the candidates when a name is no probe at all.
    """
    applicable = _applicable(variant)
    wanted = variant.probes or tuple(dict.fromkeys(path.stem for path in applicable.values()))
    left_out = [(name, _why_not(name, variant)) for name in dict.fromkeys(wanted) if not _named(name, applicable)]
    chosen = {name: path for name, path in applicable.items() if any(_matches(one, name) for one in wanted)}
    if not device_here and variant.stack.name != _CPU:
        for name in [name for name, path in chosen.items() if path.stem == _DEVICE]:
            left_out.append((name, f"it looks at the {variant.stack.name} device, and there is none here"))
            del chosen[name]
    computing = Tier.DEVICE if device_here else Tier.HOST_CPU
    scripts = (_script(name, path, variant.stack.name, computing) for name, path in chosen.items())
    return Selection(scripts=tuple(sorted(scripts, key=_cost)), left_out=tuple(left_out))


def probe_names() -> tuple[str, ...]:
    """Return every name that a matrix may write under ``probes:``, sorted."""
    return tuple(sorted({name for topic, path in _all_scripts() for name in (path.stem, f"{topic}/{path.stem}")}))


def _all_scripts() -> Iterable[tuple[str, Path]]:
    return ((path.parent.name, path) for path in sorted(_SCRIPTS.glob("*/*.py")) if path.parent.name not in _NOT_TOPICS)


def _applicable(variant: Variant) -> dict[str, Path]:
    """Return the scripts for a variant by the name they report under."""
    found: dict[str, Path] = {}
    framework, stack = variant.framework.name, variant.stack.name
    for topic in (_COMMON, framework):
        found |= {path.stem: path for where, path in _all_scripts() if where == topic}
    if stack not in (_COMMON, framework):
        found |= {f"{stack}/{path.stem}": path for where, path in _all_scripts() if where == stack}
    return found


def _matches(wanted: str, name: str) -> bool:
    return wanted in {name, name.rpartition("/")[2]}


def _named(wanted: str, applicable: Iterable[str]) -> bool:
    return any(_matches(wanted, name) for name in applicable)


def _why_not(name: str, variant: Variant) -> str:
    """Say why a probe that was asked for does not apply; ``UsageError`` when there is no such probe."""
    topics = [topic for topic, path in _all_scripts() if name in {path.stem, f"{topic}/{path.stem}"}]
    if topics:
        return f"it is a probe for {', '.join(topics)}, and this is {variant.framework.name} on {variant.stack.name}"
    applicable = sorted(_applicable(variant))
    close = difflib.get_close_matches(name, applicable, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    msg = f"{name!r} is not a probe"
    raise UsageError(msg, hint=f"{guess}probes for {variant.framework.name} are {', '.join(applicable)}")


def _script(name: str, path: Path, stack: str, computing: Tier) -> ProbeScript:
    """Return a script; one that takes the place of a common one shows what that one shows."""
    text = path.read_text(encoding="utf-8")
    common = path.parent.name == _COMMON or (_SCRIPTS / _COMMON / path.name).is_file()
    tier = Tier.IMPORTED if common else computing
    return ProbeScript(name=name, tier=tier, text=text, sha256=hashlib.sha256(text.encode()).hexdigest(), stack=stack)


def _cost(script: ProbeScript) -> tuple[int, bool, str]:
    stem = script.name.rpartition("/")[2]
    place = _CHEAP_FIRST.index(stem) if stem in _CHEAP_FIRST else len(_CHEAP_FIRST)
    return place, "/" not in script.name, script.name
