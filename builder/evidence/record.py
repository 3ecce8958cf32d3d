"""Probe results of one image on one host, made into a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builder.model.build import ImageInfo
from builder.model.evidence import Evidence, JsonValue, ProbeResult, ProbeStatus
from builder.model.matrix import Target, Tier
from builder.model.plan import Variant
from builder.model.tier import fits_level, record_tier

_DECLARED = "declared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a record is about: an image of a variant, and the target it ran on (``None``: the host that builds)."""

    variant: Variant
    image: ImageInfo
    content: str
    target: Target | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """When, with what and where the probes ran. ``recorded`` is UTC, ISO 8601; ``simulated`` for devices that are not real."""

    recorded: str
    engine: str
    host: Mapping[str, str]
    simulated: bool = False


def record(subject: Subject, results: Sequence[ProbeResult], circumstances: Circumstances) -> Evidence:
    """Return the record; its tier is computed from the results, never given."""
    target = subject.target
    evidence = Evidence(
        variant=subject.variant.id,
        target=target.name if target else "",
        accelerator=target.accelerator if target else "",
        platform=subject.image.platform,
        digest=subject.image.digest,
        image_id=subject.image.image_id,
        content=subject.content,
        recorded=circumstances.recorded,
        engine=circumstances.engine,
        tier=Tier.BUILT,
        results=tuple(results),
        host=dict(circumstances.host),
        actual=_actual(results),
        simulated=circumstances.simulated,
        stack=subject.variant.stack.name,
    )
    return replace(evidence, tier=record_tier(evidence))


def failures(results: Sequence[ProbeResult]) -> tuple[str, ...]:
    """Return one line per probe that failed: its name and why."""
    return tuple(f"{one.name}: {one.reason or 'failed'}" for one in results if one.status is ProbeStatus.FAILED)


def why_not_higher(evidence: Evidence) -> str | None:
    """Return in words what keeps a record from the tier ``device``, ``None`` when it has it."""
    if evidence.tier is Tier.DEVICE:
        return None
    return next(_obstacles(evidence))


def _obstacles(evidence: Evidence) -> Iterator[str]:
    """Yield what is in the way, most telling first; never nothing."""
    results = evidence.results
    failed = [result.name for result in results if result.status is ProbeStatus.FAILED]
    if failed:
        yield f"{', '.join(failed)} failed"
    if evidence.tier is Tier.BUILT:
        yield "no import probe ran"
    if evidence.simulated or any(result.values.get("emulated") for result in results):
        yield "the device was simulated or emulated"
    skipped = [f"{result.name} was skipped: {result.reason}" for result in results if result.status is ProbeStatus.SKIPPED]
    if skipped:
        yield "; ".join(skipped)
    if evidence.tier is Tier.IMPORTED:
        yield "nothing was computed"
    if not evidence.target:
        yield "it ran on the host that built it, which is no target of the matrix"
    level = next((result.values["level"] for result in results if "level" in result.values), None)
    if isinstance(level, str) and not fits_level(evidence.accelerator, level):
        yield f"the CPU there is {level}, and the target names {evidence.accelerator}"
    yield f"what identifies the {evidence.stack} device was not all reported"


def _actual(results: Sequence[ProbeResult]) -> dict[str, JsonValue]:
    """Return what was read inside the finished image, passed or not: a mismatch is worth most."""
    return next((dict(result.values) for result in results if result.name == _DECLARED), {})
