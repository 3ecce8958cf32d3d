"""Resolving the packages of every variant on its pinned base; the same question is asked once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from builder.errors import ImgbuildError, UnsatisfiableError
from builder.lock.constraints import broken, constraints_of
from builder.lock.inputs import inputs_of
from builder.model.event import Progress, Stage
from builder.model.lock import LockedBase, LockedDeb, LockedPackage, LockedVariant
from builder.model.matrix import BaseKind
from builder.model.oci import Platform
from builder.model.plan import Index, Variant
from builder.pipeline.lock_bases import Pinned
from builder.pipeline.lock_tools import Key, LockTools, Pair, gather, key_of

_PYTHON_DEB = re.compile(r"python(3\.\d+)")
_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Python:
    """One resolution of Python packages: equal questions have equal answers."""

    requirements: tuple[str, ...]
    python: str
    platform: Platform
    glibc: str | None
    indexes: tuple[Index, ...]
    base: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Debian:
    """One resolution of Debian packages on a base from a registry."""

    base: str
    platform: Platform
    packages: tuple[str, ...]


Answer = tuple[LockedPackage, ...] | tuple[LockedDeb, ...]


def pin_variants(
    pairs: Sequence[Pair], bases: Mapping[Key, Pinned], tools: LockTools
) -> dict[Key, LockedVariant | ImgbuildError]:
    """Return the entry of each variant on each platform, or why it has none."""
    work: dict[_Python | _Debian, Callable[[], Answer]] = {}
    for pair in pairs:
        base = bases[key_of(pair)]
        if isinstance(base, LockedBase) and _misfit(pair[0], base) is None:
            work.update({question: call for question, call in _questions(pair, base, tools).items() if question not in work})
    answers = gather(work, tools.jobs)
    return {key_of(pair): _entry(pair, bases[key_of(pair)], answers, tools) for pair in pairs}


def _entry(
    pair: Pair, base: Pinned, answers: Mapping[_Python | _Debian, Answer | ImgbuildError], tools: LockTools
) -> LockedVariant | ImgbuildError:
    if isinstance(base, ImgbuildError):
        return base
    misfit = _misfit(pair[0], base)
    if misfit is not None:
        return misfit
    entry = replace(inputs_of(*pair), base=base.key)
    for question in _questions(pair, base, tools):
        answer = answers[question]
        if isinstance(answer, ImgbuildError):
            return answer
        if isinstance(question, _Python):
            entry = replace(entry, packages=tuple(one for one in answer if isinstance(one, LockedPackage)))
        else:
            entry = replace(entry, debs=tuple(one for one in answer if isinstance(one, LockedDeb)))
    return _other_python(pair[0], entry, base) or entry


def _questions(pair: Pair, base: LockedBase, tools: LockTools) -> dict[_Python | _Debian, Callable[[], Answer]]:
    """Return what has to be resolved for a variant, and how."""
    variant, platform = pair
    found: dict[_Python | _Debian, Callable[[], Answer]] = {}
    debs = _debs_to_add(variant, base)
    if debs:
        found[_Debian(base=base.key, platform=platform, packages=debs)] = partial(_resolve_debs, variant, base, debs, tools)
    if variant.pip:
        into_base = not _has_venv(variant, base)
        wants_pip = into_base and base.facts.pip_version is None
        question = _Python(
            requirements=(*variant.pip, "pip") if wants_pip else variant.pip,
            python=_python_version(variant, base),
            platform=platform,
            glibc=base.facts.glibc,
            indexes=variant.indexes,
            base=base.key if into_base else None,
        )
        found[question] = partial(_resolve_python, question, variant, base, tools)
    return found


def _resolve_debs(variant: Variant, base: LockedBase, packages: tuple[str, ...], tools: LockTools) -> tuple[LockedDeb, ...]:
    tools.reporter.report(Progress(stage=Stage.LOCK, subject=variant.id, text=f"resolving Debian's {', '.join(packages)}"))
    return tools.bases.resolve_apt(base, packages)


def _resolve_python(question: _Python, variant: Variant, base: LockedBase, tools: LockTools) -> tuple[LockedPackage, ...]:
    """Resolve, and again with each constraint of the base that the answer breaks, until it breaks none."""
    tools.reporter.report(Progress(stage=Stage.LOCK, subject=variant.id, text=f"resolving {', '.join(question.requirements)}"))
    constraints = constraints_of(base.facts) if question.base is not None else ()
    added: tuple[str, ...] = ()
    for _ in range(_ROUNDS):
        found = tools.resolver.resolve(
            (*question.requirements, *added),
            python=question.python,
            platform=question.platform,
            glibc=question.glibc,
            indexes=question.indexes,
            installed=base.facts.distributions if question.base is not None else (),
        )
        breaks = broken(found, constraints)
        if not breaks:
            return found
        if set(breaks) <= set(added):
            break
        added = tuple(dict.fromkeys((*added, *breaks)))
    msg = f"no versions keep the constraints that {base.reference} sets ({', '.join(base.facts.constraints)})"
    raise UnsatisfiableError(msg, hint="ask for other versions, or start from another base", details=added)


def _has_venv(variant: Variant, base: LockedBase) -> bool:
    """Whether packages go into a virtual environment, where nothing of the base is seen, and not into the base's Python."""
    return variant.base.kind is BaseKind.DISTRIBUTION or base.facts.python is None


def _debs_to_add(variant: Variant, base: LockedBase) -> tuple[str, ...]:
    """Return the Debian packages to add to an image: those asked for, and Python where the base has none."""
    if base.assembled:
        return ()
    wants_python = bool(variant.pip) and base.facts.python is None
    return tuple(dict.fromkeys((*variant.apt, "python3-venv"))) if wants_python else variant.apt


def _python_version(variant: Variant, base: LockedBase) -> str:
    """Return the base's Python to the last digit, so that ``Requires-Python`` is held against what runs."""
    found = re.match(r"3\.\d+\.\d+", base.facts.python_version or "")
    return found[0] if found else variant.python


def _misfit(variant: Variant, base: LockedBase) -> UnsatisfiableError | None:
    """Return why a base's own Python is not the variant's, ``None`` where it is or where there is none."""
    version = base.facts.python_version
    if version is None or version.split(".")[:2] == variant.python.split(".")[:2]:
        return None
    has = ".".join(version.split(".")[:2])
    msg = f"the Python of {base.reference} is {version}, {variant.id} is for Python {variant.python}"
    return UnsatisfiableError(msg, hint=f"ask for python {has} where this base is used, or for another base")


def _other_python(variant: Variant, entry: LockedVariant, base: LockedBase) -> UnsatisfiableError | None:
    """Return why the Python that Debian's packages bring is not the variant's."""
    if base.facts.python is not None:
        return None
    brought = {match[1] for deb in entry.debs if (match := _PYTHON_DEB.fullmatch(deb.name))}
    if not brought or variant.python in brought:
        return None
    msg = f"{base.reference} has no Python, and its release brings Python {', '.join(sorted(brought))}, not {variant.python}"
    return UnsatisfiableError(msg, hint=f"ask for python {max(brought)} where this base is used, or for another base")
