"""The main job: every variant from its lock entry to an image that is built and tested.

One variant's failure never stops another. An image that is there, with records that still hold,
is neither built nor tested again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

from builder.errors import ImgbuildError, InterruptedRunError, SmokeTestFailedError, TerminatedRunError
from builder.evidence.record import why_not_higher
from builder.model.build import ImageInfo
from builder.model.event import Note, VariantFinished
from builder.model.evidence import Evidence, Outcome, Status
from builder.model.matrix import Matrix, Target, Tier
from builder.model.oci import Digest
from builder.model.plan import Plan, PlannedCell
from builder.model.verdict import Verdict
from builder.pipeline.endings import outcome_of, told
from builder.pipeline.make import make
from builder.pipeline.pieces import Piece
from builder.pipeline.smoke import Place, failures, holds, scripts_for, smoke_test
from builder.pipeline.tools import Tools
from builder.probe.selection import select


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run. ``known`` are the records of earlier runs; ``again`` builds and tests even what is unchanged.

    ``device_options`` are the engine's options that give a container the devices of a stack, by stack.
    """

    matrix: Matrix
    plan: Plan
    pieces: tuple[Piece, ...]
    failed: Mapping[str, ImgbuildError]
    known: tuple[Evidence, ...] = ()
    again: bool = False
    build: bool = True
    device_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What one piece came to."""

    image: ImageInfo
    tier: Tier
    fresh: bool
    note: str | None = None


def run_all(job: Job, tools: Tools) -> tuple[Outcome, ...]:
    """Work on every variant and return an outcome for each, in the plan's order.

    Raises nothing for a variant's failure. When the run is interrupted, what had not ended is
    ``aborted`` and the outcomes are returned all the same; ``tools.stopped`` is set then.
    """
    outcomes: dict[str, Outcome] = {}
    ending: ImgbuildError = InterruptedRunError("the run was interrupted")
    groups = _groups(job)
    with ThreadPoolExecutor(max_workers=tools.jobs, thread_name_prefix="variant") as pool:
        futures: dict[Future[Outcome], PlannedCell] = {}
        try:
            futures.update({pool.submit(_one, planned, group, job, tools): planned for planned, group in groups})
            _collect(futures, outcomes, tools)
        except (InterruptedRunError, TerminatedRunError) as error:
            ending = error
            tools.stopped.set()
            tools.reporter.report(Note(text=f"{error.message}: ending what runs; a second time ends it at once", warning=True))
            pool.shutdown(wait=True, cancel_futures=True)
            _collect_done(futures, outcomes)
    ordered = []
    for planned, _ in groups:
        identifier = _id(planned)
        outcome = outcomes.get(identifier) or _not_begun(identifier)
        ordered.append(replace(outcome, exit_code=ending.exit_code) if outcome.status is Status.ABORTED else outcome)
    return tuple(ordered)


def none_began(plan: Plan, ending: ImgbuildError) -> tuple[Outcome, ...]:
    """Return the outcomes of a run that ended before its first variant began: all ``aborted``."""
    return tuple(replace(_not_begun(variant.id), exit_code=ending.exit_code) for variant in plan.variants)


def _groups(job: Job) -> list[tuple[PlannedCell, tuple[Piece, ...]]]:
    by_variant: dict[str, list[Piece]] = {}
    for piece in job.pieces:
        by_variant.setdefault(piece.variant.id, []).append(piece)
    cells = (planned for planned in job.plan.cells if planned.variant is not None)
    return [(planned, tuple(by_variant.get(_id(planned), ()))) for planned in cells]


def _id(planned: PlannedCell) -> str:
    return planned.variant.id if planned.variant else str(planned.cell)


def _collect(futures: Mapping[Future[Outcome], PlannedCell], outcomes: dict[str, Outcome], tools: Tools) -> None:
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in done:
            outcome = future.result()
            outcomes[outcome.variant] = outcome
            tools.reporter.report(VariantFinished(outcome=outcome))


def _collect_done(futures: Iterable[Future[Outcome]], outcomes: dict[str, Outcome]) -> None:
    for future in futures:
        if future.done() and not future.cancelled() and future.exception() is None:
            outcome = future.result()
            outcomes.setdefault(outcome.variant, outcome)


def _one(planned: PlannedCell, group: Sequence[Piece], job: Job, tools: Tools) -> Outcome:
    """Bring one variant to its end, whatever that is."""
    identifier = _id(planned)
    started = tools.clock.monotonic()
    try:
        log = tools.records.log(identifier)
    except (ImgbuildError, OSError) as error:
        return outcome_of(identifier, Status.FAILED, told(error), None)
    if identifier in job.failed:
        return outcome_of(identifier, Status.FAILED, job.failed[identifier], log)
    try:
        shown = [_piece(piece, _targets(planned, job.matrix), job, tools) for piece in group]
    except Exception as error:  # noqa: BLE001 - whatever one variant runs into, the others go on
        status = Status.ABORTED if isinstance(error, InterruptedRunError) else Status.FAILED
        outcome = outcome_of(identifier, status, told(error), log)
        return replace(outcome, seconds=tools.clock.monotonic() - started)
    digests = {str(piece.platform): one.image.digest for piece, one in zip(group, shown, strict=True)}
    outcome = _passed(identifier, shown, digests, tools.clock.monotonic() - started, str(log))
    return replace(outcome, images={str(piece.platform): piece.tag for piece in group})


def _passed(identifier: str, shown: Sequence[_Shown], digests: Mapping[str, Digest | None], seconds: float, log: str) -> Outcome:
    known = {platform: digest for platform, digest in digests.items() if digest is not None}
    notes = sorted({one.note for one in shown if one.note})
    return Outcome(
        variant=identifier,
        status=Status.PASSED,
        tier=min((one.tier for one in shown), key=lambda tier: tier.rank),
        digest=next(iter(known.values())) if len(digests) == 1 and known else None,
        digests=known,
        seconds=seconds,
        reason="; ".join(notes) or None,
        fresh=any(one.fresh for one in shown),
        log=log,
    )


def _targets(planned: PlannedCell, matrix: Matrix) -> tuple[Target, ...]:
    """Return the applicable targets of a cell, less those that refuse it."""
    return tuple(
        target
        for target in matrix.targets
        if target.name in planned.verdicts and planned.verdicts[target.name].verdict is not Verdict.UNSUPPORTED
    )


def _piece(piece: Piece, targets: Sequence[Target], job: Job, tools: Tools) -> _Shown:
    """Build and test one piece, as far as an earlier run has not done it already."""
    log = tools.records.log(piece.variant.id)
    image = None if job.again and job.build else tools.engine.inspect(piece.tag)
    fresh = image is None
    if image is None:
        if not job.build:
            msg = f"{piece.variant.id} is not built here: the engine has no image {piece.tag}"
            raise SmokeTestFailedError(msg, hint="run imgbuild matrix build on the matrix file first")
        image = make(piece, job.matrix, tools, log)
    fitting = [target for target in targets if target.platform == piece.platform]
    local = [target for target in fitting if target.runner.kind == "local"]
    tiers: list[Tier] = []
    notes = [f"probe {name} was left out: {why}" for name, why in select(piece.variant).left_out]
    places: Sequence[Target | None] = local or (None,)
    for target in places:
        known = None if job.again else _known(piece, image, target, job.known)
        fresh = fresh or known is None
        evidence = known or smoke_test(piece, image, _where(target, piece, job), limits=job.matrix.limits, tools=tools, log=log)
        _refuse_failures(evidence)
        tiers.append(evidence.tier)
        why = why_not_higher(evidence) if target is not None else None
        if why is not None:
            notes.append(f"tier {evidence.tier.value} on {evidence.target}: {why}")
    elsewhere = [target.name for target in fitting if target not in local]
    if elsewhere:
        tiers.append(Tier.HOST_CPU)
        notes.append(f"{'' if local else 'tested here without the device; '}not tested on {', '.join(elsewhere)}")
    lowest = min(tiers, key=lambda tier: tier.rank)
    return _Shown(image=image, tier=lowest, fresh=fresh, note="; ".join(notes) or None)


def _where(target: Target | None, piece: Piece, job: Job) -> Place:
    """Return where a piece is tested: on a target with its devices, or on this host as it is."""
    if target is None:
        return Place(target=None)
    return Place(target=target, options=job.device_options.get(piece.variant.stack.name, ()))


def _known(piece: Piece, image: ImageInfo, target: Target | None, known: Sequence[Evidence]) -> Evidence | None:
    scripts = scripts_for(piece, target)
    name = target.name if target else ""
    for evidence in known:
        same = (evidence.variant, evidence.platform, evidence.target) == (piece.variant.id, piece.platform, name)
        if same and holds(evidence, piece, image, scripts):
            return evidence
    return None


def _refuse_failures(evidence: Evidence) -> None:
    failed = failures(evidence)
    if failed:
        text = "; ".join(f"probe {result.name}: {result.reason or 'failed'}" for result in failed)
        where = f" on {evidence.target}" if evidence.target else ""
        msg = f"{evidence.variant}{where}: {text}"
        raise SmokeTestFailedError(msg, hint="read the log for the probe's whole output")


def _not_begun(identifier: str) -> Outcome:
    return Outcome(variant=identifier, status=Status.ABORTED, reason="the run was interrupted before this variant began")
