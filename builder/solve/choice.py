"""Which candidate a cell gets, and why the better ones were passed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from builder.catalog.query import Catalog
from builder.model.facts import Image, Wheel
from builder.model.matrix import BaseChoice, Target
from builder.model.oci import Platform
from builder.model.verdict import Decision, Effect, Reason, Verdict, combine
from builder.solve.candidate import Asked, Candidate, candidates
from builder.solve.merge import merged
from builder.solve.missing import missing
from builder.solve.places import Places
from builder.solve.rules import judge
from builder.solve.rules.package import artifact, build_name, pre_release
from builder.solve.rules.reason import note
from builder.solve.subject import Subject, series_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What became of a cell: ``admitted`` tells whether ``candidate`` may be built or is only the closest one."""

    candidate: Candidate | None = None
    admitted: bool = False
    reasons: tuple[Reason, ...] = ()
    verdicts: Mapping[str, Decision] = field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()


class Chooser:
    """Chooses for cells of one matrix; verdicts are kept by build, platform and target."""

    def __init__(self, catalog: Catalog, targets: Sequence[Target]) -> None:
        self._catalog = catalog
        self._targets = targets
        self._places = Places(catalog)
        self._decided: dict[tuple[str, str, str], Decision] = {}

    def choose(self, asked: Asked, choices: Sequence[BaseChoice]) -> Choice:
        """Try the kinds of base in order; within one, the best candidate that stands on some target."""
        reasons: list[Reason] = []
        closest: list[Candidate] = []
        for choice in choices:
            found = candidates(asked, choice, self._catalog)
            passed: list[tuple[Candidate, Reason]] = []
            for candidate in found:
                barrier = self._barrier(candidate)
                if barrier is None:
                    newer = [item for item in passed if item[0].rank > candidate.rank]
                    kept = [*reasons, *merged(choice.kind.value, newer)]
                    return self._finished(candidate, [*map(_as_note, kept), *self._own(asked, candidate)], admitted=True)
                passed.append((candidate, barrier))
            reasons.extend(merged(choice.kind.value, passed) if found else (missing(asked, choice, self._catalog),))
            closest.extend(candidate for candidate, _ in passed if candidate.stack.name == asked.stack_name)
        if not closest:
            return Choice(reasons=tuple(reasons), not_applicable=self._not_applicable(asked.stack_name, asked.platforms))
        nearest = max(closest, key=self._nearness)
        return self._finished(nearest, reasons, admitted=False)

    def _finished(self, candidate: Candidate, reasons: list[Reason], *, admitted: bool) -> Choice:
        return Choice(
            candidate=candidate,
            admitted=admitted,
            reasons=tuple(reasons),
            verdicts=self._verdicts(candidate),
            not_applicable=self._not_applicable(candidate.stack.name, candidate.platforms),
        )

    def _barrier(self, candidate: Candidate) -> Reason | None:
        """Return why a candidate cannot be the variant: a barrier of its own, or refused on every applicable target."""
        refused = [reason for reason in candidate.barriers if reason.effect is Effect.REFUSES]
        if refused:
            return refused[0]
        verdicts = self._verdicts(candidate)
        if not verdicts or any(decision.verdict is not Verdict.UNSUPPORTED for decision in verdicts.values()):
            return None
        target, decision = next(iter(verdicts.items()))
        first = next(reason for reason in decision.reasons if reason.effect is Effect.REFUSES)
        where = f"on {target}" if len(verdicts) == 1 else f"on every target it is for ({', '.join(verdicts)}); on {target}"
        return Reason(rule=first.rule, effect=Effect.REFUSES, text=f"unsupported {where}: {first.text}", source=first.source)

    def _nearness(self, candidate: Candidate) -> tuple[int, int]:
        """Order candidates that may not be built: fewer barriers, then fewer refusals; the first of equals wins."""
        refused = sum(decision.verdict is Verdict.UNSUPPORTED for decision in self._verdicts(candidate).values())
        return -len(candidate.barriers), -refused

    def _applicable(self, stack: str, platforms: Sequence[Platform]) -> tuple[Target, ...]:
        return tuple(target for target in self._targets if target.platform in platforms and self._places.drives(stack, target))

    def _not_applicable(self, stack: str, platforms: Sequence[Platform]) -> tuple[str, ...]:
        applicable = self._applicable(stack, platforms)
        return tuple(target.name for target in self._targets if target not in applicable)

    def _verdicts(self, candidate: Candidate) -> Mapping[str, Decision]:
        applicable = self._applicable(candidate.stack.name, candidate.platforms)
        return {target.name: self._decide(candidate, target) for target in applicable}

    def _decide(self, candidate: Candidate, target: Target) -> Decision:
        name = build_name(candidate.build)
        key = (f"{name} {candidate.stack.label}", str(target.platform), target.name)
        if key not in self._decided:
            place = self._places.of(target, candidate.stack.name)
            decision = judge(self._subject(candidate, target.platform), place.place)
            extra = [*place.problems, *(r for r in (artifact(candidate.build),) if r.effect is Effect.UNKNOWN)]
            reasons = (*decision.reasons, *extra)
            self._decided[key] = Decision(verdict=combine(reasons), reasons=reasons)
        return self._decided[key]

    def _subject(self, candidate: Candidate, platform: Platform) -> Subject:
        stack = self._catalog.stack(candidate.stack.name)
        if stack is None:
            msg = f"the stack {candidate.stack.name!r} is not in the catalog"
            raise LookupError(msg)
        build, version = candidate.build, candidate.stack.version
        drivers = self._catalog.drivers(stack.numbering) if stack.numbering else None
        series = series_of(version, candidate.release)
        return Subject(
            stack=stack,
            version=version,
            release=candidate.release,
            build=build_name(build),
            code=build.code.get(platform),
            code_source=build.code_source,
            compat=build.compat if isinstance(build, Image) else None,
            cpu_level=build.cpu_level if isinstance(build, Wheel) else None,
            platform=platform,
            packages=() if drivers is None else tuple(package for package in drivers.compat if package.stack == series),
        )

    def _own(self, asked: Asked, candidate: Candidate) -> list[Reason]:
        """Return what is to say of the chosen candidate itself, free of targets."""
        found = [artifact(candidate.build), *candidate.barriers]
        early = pre_release(candidate.build)
        if early is not None:
            found.append(early)
        missing = [str(platform) for platform in asked.platforms if platform not in candidate.platforms]
        if missing:
            text = f"{build_name(candidate.build)} is not there for {', '.join(missing)}; the variant is made without"
            found.append(note("PLT004", text, candidate.build.source))
        return found


def _as_note(reason: Reason) -> Reason:
    """Return a reason that did not keep the cell from its variant as what it is: worth knowing."""
    return replace(reason, deciding=False) if reason.effect is Effect.UNKNOWN else reason
