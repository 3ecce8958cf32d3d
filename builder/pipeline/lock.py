"""From a plan to a lock: bases pinned and read, packages resolved, what has not changed kept byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.errors import ImgbuildError, UnsatisfiableError
from builder.lock.drift import ABSENT, PRESENT, drift, place, variant_drift
from builder.lock.inputs import wanted
from builder.model.event import Note, Stage, StageFinished, StageStarted
from builder.model.lock import Difference, Lock, LockedBase, LockedVariant
from builder.model.oci import ImageReference, Platform
from builder.model.plan import Plan
from builder.pipeline.lock_bases import Pinned, base_keys, bases_to_hold, pin_bases
from builder.pipeline.lock_packages import pin_variants
from builder.pipeline.lock_tools import Key, LockTools, Pair, key_of
from builder.ports import Registry

__all__ = ["LockFailure", "LockResult", "LockTools", "Relock", "check_lock", "make_lock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFailure:
    """One variant on one platform that could not be locked."""

    variant: str
    platform: Platform
    error: ImgbuildError


@dataclass(frozen=True, slots=True, kw_only=True)
class LockResult:
    """A lock of everything that could be locked, and what could not.

    ``kept`` and ``resolved`` count entries (a variant on a platform). ``changed`` is false when
    ``lock`` is the previous lock as it was. A failed variant keeps its previous entry where that
    still holds, or where nobody could be asked for another one.
    """

    lock: Lock
    failures: tuple[LockFailure, ...]
    kept: int
    resolved: int
    changed: bool

    @property
    def failed(self) -> dict[str, ImgbuildError]:
        """The first failure of each variant, by its id."""
        found: dict[str, ImgbuildError] = {}
        for failure in self.failures:
            found.setdefault(failure.variant, failure.error)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Relock:
    """What to do with the lock there is.

    ``update`` asks for everything anew; otherwise entries whose inputs have not changed stay.
    ``partial`` says that the plan holds only some of the matrix's variants, so that the entries
    of others stay whatever they are.
    """

    previous: Lock | None = None
    update: bool = False
    partial: bool = False


def make_lock(plan: Plan, *, tools: LockTools, tool: str, relock: Relock | None = None) -> LockResult:
    """Lock every variant of a plan on every platform; one variant's failure hides no other's.

    ``tool`` is the name and version that the lock says it was made by. The lock's date moves only
    when something in it does. Raises only when the run is interrupted.
    """
    relock = relock or Relock()
    began = tools.clock.monotonic()
    pairs = tuple(wanted(plan))
    kept = {} if relock.update else _still_held(pairs, relock.previous)
    todo = tuple(pair for pair in pairs if key_of(pair) not in kept)
    tools.reporter.report(StageStarted(stage=Stage.LOCK, total=len(todo)))
    bases = pin_bases(todo, _held_bases(pairs, relock, tools), tools)
    found = pin_variants(todo, bases, tools)
    entries = dict(kept)
    failures: list[LockFailure] = []
    for key, one in found.items():
        if isinstance(one, LockedVariant):
            entries[key] = one
        else:
            failures.append(LockFailure(variant=key[0], platform=key[1], error=one))
    fresh = _stood_on(bases, entries)
    stays = _stays(pairs, failures, fresh, relock.previous)
    lock = _lock_of(_entries(pairs, {**stays, **entries}, fresh, relock), fresh, plan.name, relock.previous)
    changed = lock != relock.previous
    if changed:
        lock = replace(lock, date=tools.clock.now()[:10], tool=tool)
    resolved = len(todo) - len(failures)
    text = f"{resolved} resolved, {len(kept)} as they were" + (f", {len(failures)} failed" if failures else "")
    tools.reporter.report(StageFinished(stage=Stage.LOCK, seconds=tools.clock.monotonic() - began, text=text))
    return LockResult(lock=lock, failures=tuple(failures), kept=len(kept), resolved=resolved, changed=changed)


def check_lock(
    lock: Lock | None, plan: Plan, *, partial: bool = False, registry: Registry | None = None
) -> tuple[Difference, ...]:
    """Return every difference between a lock and its plan, and with ``registry`` between its bases and the registry.

    No lock at all is a difference for every variant. ``UnreachableError`` when a registry could not be asked.
    """
    if lock is None:
        return tuple(
            Difference(where=place(variant.id, platform), field="variant", locked=ABSENT, expected=PRESENT)
            for variant, platform in wanted(plan)
        )
    found = list(drift(lock, plan, partial=partial))
    if registry is not None:
        asked = {key_of(pair) for pair in wanted(plan)}
        used = {(one.base, one.platform) for one in lock.variants if (one.id, one.platform) in asked}
        found += [one for base in lock.bases if (base.key, base.platform) in used for one in _moved(base, registry)]
    return tuple(found)


def _moved(base: LockedBase, registry: Registry) -> Iterator[Difference]:
    """Yield how a base in its registry is not what the lock says; a base assembled here is in none."""
    if base.digest is None:
        return
    now = registry.resolve(ImageReference.parse(base.reference), base.platform)
    where = place(f"base {base.key}", base.platform)
    if now is None:
        yield Difference(where=where, field="digest", locked=str(base.digest), expected=ABSENT)
    elif now.digest != base.digest:
        yield Difference(where=where, field="digest", locked=str(base.digest), expected=str(now.digest))


def _still_held(pairs: Sequence[Pair], previous: Lock | None) -> dict[Key, LockedVariant]:
    """Return the entries whose inputs are what the plan says."""
    found: dict[Key, LockedVariant] = {}
    for variant, platform in pairs if previous is not None else ():
        entry = previous.variant(variant.id, platform) if previous is not None else None
        if previous is not None and entry is not None and not variant_drift(previous, variant, platform):
            found[variant.id, platform] = entry
    return found


def _held_bases(pairs: Sequence[Pair], relock: Relock, tools: LockTools) -> dict[Key, LockedBase]:
    """Return the previous bases that stay: all of them, or under ``update`` those that entries outside the plan stand on."""
    if not relock.update:
        return bases_to_hold(relock.previous)
    if relock.previous is None or not relock.partial:
        return {}
    asked = {key_of(pair) for pair in pairs}
    outside = {(one.base, one.platform) for one in relock.previous.variants if (one.id, one.platform) not in asked}
    held = bases_to_hold(relock.previous, outside & base_keys(pairs))
    if held:
        names = ", ".join(sorted({key for key, _ in held}))
        text = f"the base {names} stays as it is locked, because variants that were not chosen stand on it"
        tools.reporter.report(Note(text=f"{text}; lock without --only to pin it anew"))
    return held


def _stays(
    pairs: Sequence[Pair], failures: Sequence[LockFailure], fresh: Mapping[Key, LockedBase], previous: Lock | None
) -> dict[Key, LockedVariant]:
    """Return the previous entries that failed variants keep: those that still hold, and those nobody could be asked about.

    None stays whose base is another now.
    """
    if previous is None:
        return {}
    held = _still_held(pairs, previous)
    found: dict[Key, LockedVariant] = {}
    for failure in failures:
        key = (failure.variant, failure.platform)
        entry = held.get(key)
        if entry is None and not isinstance(failure.error, UnsatisfiableError):
            entry = previous.variant(*key)
        if entry is not None and _same_base(entry, previous, fresh):
            found[key] = entry
    return found


def _entries(
    pairs: Sequence[Pair], entries: Mapping[Key, LockedVariant], fresh: Mapping[Key, LockedBase], relock: Relock
) -> list[LockedVariant]:
    """Return the entries of the new lock in order: the plan's, or for a partial plan the previous lock's and then new ones.

    Entries outside a partial plan stay, unless the base they stand on is another now.
    """
    chosen = {key_of(pair): entries.get(key_of(pair)) for pair in pairs}
    ordered: dict[Key, LockedVariant | None] = {}
    if relock.partial and relock.previous is not None:
        for entry in relock.previous.variants:
            key = (entry.id, entry.platform)
            ordered[key] = chosen.get(key, entry if _same_base(entry, relock.previous, fresh) else None)
    ordered.update({key: entry for key, entry in chosen.items() if key not in ordered})
    return [entry for entry in ordered.values() if entry is not None]


def _stood_on(bases: Mapping[Key, Pinned], entries: Mapping[Key, LockedVariant]) -> dict[Key, LockedBase]:
    """Return the pinned bases that an entry stands on, by their own key: one nothing could be resolved on changes nothing."""
    return {(base.key, base.platform): base for key, base in bases.items() if isinstance(base, LockedBase) and key in entries}


def _same_base(entry: LockedVariant, previous: Lock, fresh: Mapping[Key, LockedBase]) -> bool:
    before, now = previous.base(entry.base, entry.platform), fresh.get((entry.base, entry.platform))
    return before is not None and now in (None, before)


def _lock_of(entries: Sequence[LockedVariant], fresh: Mapping[Key, LockedBase], name: str, previous: Lock | None) -> Lock:
    """Return a lock of these entries and the bases they stand on, in the order of their first use."""
    bases: dict[Key, LockedBase] = {}
    for entry in entries:
        key = (entry.base, entry.platform)
        base = fresh.get(key) or (previous.base(*key) if previous is not None else None)
        if base is None:
            msg = f"the entry {entry.id} stands on the base {entry.base}, which nobody pinned"
            raise AssertionError(msg)
        bases.setdefault(key, base)
    date, tool = (previous.date, previous.tool) if previous is not None else ("", "")
    return Lock(name=name, date=date, tool=tool, bases=tuple(bases.values()), variants=tuple(entries))
