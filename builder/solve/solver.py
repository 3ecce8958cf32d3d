"""From cells to variants: what can be built for each, and the verdict on every target."""

from __future__ import annotations

from collections.abc import Sequence

from builder.catalog.query import Catalog
from builder.model.axis import AxisValue
from builder.model.facts import Wheel
from builder.model.matrix import BaseChoice, BaseKind, Cell, Expansion, Matrix
from builder.model.plan import Index, Plan, PlannedCell, Variant
from builder.model.verdict import Reason
from builder.solve.candidate import Asked, Candidate
from builder.solve.choice import Choice, Chooser
from builder.solve.identity import named, own_values
from builder.solve.rules.reason import unknown
from builder.solve.settings import Settings

FRAMEWORK, STACK, PYTHON = "framework", "stack", "python"
"""The axes the solver reads; all others are the matrix's own."""

DEFAULT_BASES = (BaseChoice(kind=BaseKind.VENDOR), BaseChoice(kind=BaseKind.DISTRIBUTION))
"""The kinds of base that are tried, in order, where a matrix names none."""


def plan(matrix: Matrix, expansion: Expansion, catalog: Catalog) -> Plan:
    """Return every cell with its variant, the reasons for all that was passed over, and a verdict per target.

    Offline: only the catalog is asked. Cells that ask for the same thing are decided once.
    """
    solver = _Solver(matrix, catalog)
    cells = [solver.cell(cell) for cell in expansion.cells]
    return Plan(name=matrix.name, cells=named(cells), excluded=expansion.excluded)


class _Solver:
    def __init__(self, matrix: Matrix, catalog: Catalog) -> None:
        self._matrix = matrix
        self._catalog = catalog
        self._settings = Settings(matrix)
        self._chooser = Chooser(catalog, matrix.targets)
        self._chosen: dict[tuple[str, ...], Choice] = {}
        self._names: dict[tuple[str, str], str | None] = {}

    def cell(self, cell: Cell) -> PlannedCell:
        """Return what became of one cell; its id and tags are given later, when all are known."""
        framework, stack = cell.get(FRAMEWORK), cell.get(STACK)
        if framework is None or stack is None:
            missing = FRAMEWORK if framework is None else STACK
            return PlannedCell(cell=cell, variant=None, reasons=(unknown("MTX001", f"the cell has no {missing}"),))
        lacking = self._lacking(framework, stack)
        if lacking:
            return PlannedCell(cell=cell, variant=None, reasons=lacking)
        bases = self._settings.bases(cell) or DEFAULT_BASES
        choice = self._choose(cell, framework, stack, bases)
        candidate = choice.candidate
        if candidate is None or not choice.admitted:
            return PlannedCell(
                cell=cell,
                variant=None,
                candidate=None if candidate is None else _label(candidate),
                reasons=choice.reasons,
                verdicts=choice.verdicts,
                not_applicable=choice.not_applicable,
            )
        return PlannedCell(
            cell=cell,
            variant=self._variant(cell, candidate),
            reasons=choice.reasons,
            verdicts=choice.verdicts,
            not_applicable=choice.not_applicable,
        )

    def _canonical(self, kind: str, value: AxisValue) -> str | None:
        key = (kind, value.name or value.text)
        if key not in self._names:
            ask = self._catalog.canonical_framework if kind == FRAMEWORK else self._catalog.canonical_stack
            self._names[key] = ask(key[1]).only
        return self._names[key]

    def _lacking(self, framework: AxisValue, stack: AxisValue) -> tuple[Reason, ...]:
        found = [
            (kind, value) for kind, value in ((FRAMEWORK, framework), (STACK, stack)) if self._canonical(kind, value) is None
        ]
        return tuple(unknown("CAT001", f"the {kind} {value.name or value.text!r} is not in the catalog") for kind, value in found)

    def _choose(self, cell: Cell, framework: AxisValue, stack: AxisValue, bases: Sequence[BaseChoice]) -> Choice:
        python = cell.get(PYTHON)
        key = (framework.text, stack.text, "" if python is None else python.text, *(f"{b.kind} {b.reference}" for b in bases))
        if key not in self._chosen:
            asked = Asked(
                framework=framework,
                stack=stack,
                framework_name=self._canonical(FRAMEWORK, framework) or "",
                stack_name=self._canonical(STACK, stack) or "",
                python=None if python is None else python.text,
                platforms=self._matrix.platforms,
            )
            self._chosen[key] = self._chooser.choose(asked, bases)
        return self._chosen[key]

    def _variant(self, cell: Cell, candidate: Candidate) -> Variant:
        base = candidate.base
        if base is None:
            msg = f"{_label(candidate)} was admitted without a base"
            raise AssertionError(msg)
        packages = self._settings.packages(cell)
        framework = self._catalog.framework(candidate.framework.name)
        return Variant(
            id="",
            cell=cell,
            framework=candidate.framework,
            stack=candidate.stack,
            python=candidate.python,
            platforms=candidate.platforms,
            base=base,
            pip=(*_requirements(candidate), *packages.pip),
            apt=packages.apt,
            indexes=self._indexes(candidate),
            env=self._settings.env(cell),
            user=self._settings.user(cell),
            entrypoint=self._settings.entrypoint(cell),
            probes=self._settings.probes(cell),
            tags=self._matrix.tags,
            imports=() if framework is None else framework.imports,
            own=own_values(cell, (FRAMEWORK, STACK, PYTHON)),
        )

    def _indexes(self, candidate: Candidate) -> tuple[Index, ...]:
        """Return the framework's own index, then the matrix's; the default index is not among them."""
        found: list[Index] = []
        name = candidate.build.index if isinstance(candidate.build, Wheel) else None
        facts = self._catalog.index(name) if name else None
        if facts is not None and facts.name != "pypi":
            found.append(Index(name=facts.name, url=self._matrix.indexes.get(facts.name, facts.url), only=facts.only))
        found.extend(Index(name=key, url=url) for key, url in self._matrix.indexes.items() if key != name)
        return tuple(found)


def _requirements(candidate: Candidate) -> tuple[str, ...]:
    """Return what installs the framework; nothing where the base brings it."""
    return candidate.build.requirements if isinstance(candidate.build, Wheel) else ()


def _label(candidate: Candidate) -> str:
    return f"{candidate.framework.label}-{candidate.stack.label}-py{candidate.python}"
