"""Pinning the bases of a plan: each distinct one is read once, or taken from the previous lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from builder.errors import ImgbuildError
from builder.lock.inputs import base_key
from builder.model.event import Progress, Stage
from builder.model.lock import Lock, LockedBase
from builder.model.oci import Platform
from builder.model.plan import Variant
from builder.pipeline.lock_tools import Key, LockTools, Pair, gather, key_of

Pinned = LockedBase | ImgbuildError


def pin_bases(pairs: Sequence[Pair], held: Mapping[Key, LockedBase], tools: LockTools) -> dict[Key, Pinned]:
    """Return the base of each variant on each platform, or why it has none.

    ``held`` are bases that stay as they are, by key and platform. Of a base that may be assembled
    here or come from its registry, one is tried first: when it comes from the registry, it serves
    every variant, whatever Debian packages each adds.
    """
    found: dict[Key, Pinned] = {}
    rest: list[Pair] = []
    for pair in pairs:
        base = _held(pair, held)
        if base is None:
            rest.append(pair)
        else:
            found[key_of(pair)] = base
    first: dict[tuple[str, Platform], Pair] = {}
    for pair in rest:
        first.setdefault((str(pair[0].base.reference), pair[1]), pair)
    answers = gather({place: _reading(pair, tools) for place, pair in first.items()}, tools.jobs)
    more: dict[Key, Callable[[], LockedBase]] = {}
    for pair in rest:
        answer = answers[str(pair[0].base.reference), pair[1]]
        if _serves(answer, pair, first[str(pair[0].base.reference), pair[1]]):
            found[key_of(pair)] = answer
        else:
            more.setdefault((_asked_key(pair[0]), pair[1]), _reading(pair, tools))
    others = gather(more, tools.jobs)
    return {
        key_of(pair): found[key_of(pair)] if key_of(pair) in found else others[_asked_key(pair[0]), pair[1]] for pair in pairs
    }


def base_keys(pairs: Collection[Pair]) -> set[Key]:
    """Return every key that the bases of these variants may have in a lock."""
    return {(key, platform) for variant, platform in pairs for key in (_asked_key(variant), base_key(variant.base))}


def _asked_key(variant: Variant) -> str:
    return base_key(variant.base, variant.apt)


def _held(pair: Pair, held: Mapping[Key, LockedBase]) -> LockedBase | None:
    """Return the base that stays for a variant, ``None`` when there is none that is what the plan asks for."""
    variant, platform = pair
    for key in (_asked_key(variant), base_key(variant.base)):
        base = held.get((key, platform))
        if base is None or base.reference != str(variant.base.reference):
            continue
        if not base.assembled or (variant.base.may_assemble and key == _asked_key(variant)):
            return base
    return None


def _serves(answer: Pinned, pair: Pair, asked: Pair) -> bool:
    """Whether the answer to one variant is also another's: the same packages in it, or none because it is an image."""
    if isinstance(answer, LockedBase) and not answer.assembled:
        return True
    return _asked_key(pair[0]) == _asked_key(asked[0])


def _reading(pair: Pair, tools: LockTools) -> Callable[[], LockedBase]:
    return partial(_read, pair[0], pair[1], tools)


def _read(variant: Variant, platform: Platform, tools: LockTools) -> LockedBase:
    """Read one base, and give it the key it has in the lock."""
    tools.reporter.report(Progress(stage=Stage.LOCK, subject=str(variant.base.reference), text=f"reading it for {platform}"))
    found = tools.bases.read(variant.base, platform, apt=variant.apt if variant.base.may_assemble else ())
    key = _asked_key(variant) if found.assembled else base_key(variant.base)
    return replace(found, key=key)


def bases_to_hold(previous: Lock | None, keys: Collection[Key] | None = None) -> dict[Key, LockedBase]:
    """Return the bases of the previous lock that stay: all, or those of ``keys``."""
    bases = previous.bases if previous is not None else ()
    return {(base.key, base.platform): base for base in bases if keys is None or (base.key, base.platform) in keys}
