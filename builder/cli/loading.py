"""From a matrix file to its plan, as every command of ``imgbuild matrix`` begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.catalog.crosscheck import complaints as misfits
from builder.catalog.query import Catalog, load_catalog
from builder.documents.matrix import distinct, examine_matrix
from builder.documents.suggest import did_you_mean
from builder.documents.text import mend
from builder.errors import Complaint, DocumentError, UsageError, Where
from builder.expand.complaints import examine
from builder.expand.complaints import lint as lint_cells
from builder.expand.selection import select
from builder.model.matrix import Matrix
from builder.model.plan import Plan
from builder.probe.selection import probe_names
from builder.solve.lint import lint
from builder.solve.overrides import with_overrides
from builder.solve.solver import plan as plan_of
from builder.solve.tags import complaints as tag_complaints


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A matrix file, read, checked and planned; ``plan`` holds only the cells that ``--only`` chose."""

    path: Path
    matrix: Matrix
    plan: Plan
    catalog: Catalog

    @property
    def lock_path(self) -> Path:
        """Where the lock of this matrix is: ``<stem>.lock.yaml`` beside it."""
        stem = self.path.name.removesuffix(".yaml").removesuffix(".yml")
        return self.path.parent / f"{stem}.lock.yaml"


def catalog_of(folder: Path | None) -> Catalog:
    """Return the shipped catalog with a folder of the user's laid over it; ``DocumentError`` when they do not fit together."""
    catalog = load_catalog(folder)
    if folder is not None:
        where = Where(file=str(folder), line=1, column=1)
        found = tuple(Complaint(where=where, message=text) for text in misfits(catalog))
        if found:
            raise DocumentError(found, hint="mend the records of that folder; the shipped catalog fits by itself")
    return catalog


def checked(path: Path, catalog: Catalog) -> tuple[Matrix, Plan]:
    """Read a matrix and plan it; ``DocumentError`` with every complaint of reading, expanding, the catalog and the plan."""
    reading = examine_matrix(path)
    complaints = lint_cells(reading)
    if reading.matrix is not None:
        complaints = distinct(complaints, lint(reading.matrix, catalog), _unknown_probes(reading.matrix))
    if complaints or reading.matrix is None:
        raise DocumentError(complaints, hint=mend(str(path)))
    expansion, _ = examine(reading.matrix)
    plan = plan_of(reading.matrix, expansion, catalog)
    complaints = tag_complaints(reading.matrix, plan)
    if complaints:
        raise DocumentError(complaints, hint=mend(str(path)))
    return reading.matrix, plan


def _unknown_probes(matrix: Matrix) -> tuple[Complaint, ...]:
    """Return a complaint for every name under ``probes:`` that is no probe."""
    known = probe_names()
    return tuple(
        Complaint(where=setting.where, message=f"{name!r} is not a probe", hint=did_you_mean(name, known))
        for setting in matrix.probes
        for name in setting.value
        if name not in known
    )


def load(
    path: Path, *, only: Sequence[str] | None = None, overrides: Sequence[str] | None = None, catalog_folder: Path | None = None
) -> Loaded:
    """Read, check and plan; ``UsageError`` when ``--only`` chooses nothing or ``--set`` is not ``target.key=value``."""
    catalog = catalog_of(catalog_folder)
    matrix, plan = checked(path, catalog)
    if overrides:
        matrix = _what_if(matrix, _pairs(overrides), catalog)
        plan = plan_of(matrix, examine(matrix)[0], catalog)
    if only:
        plan = _only(plan, only)
    return Loaded(path=path, matrix=matrix, plan=plan, catalog=catalog)


def _what_if(matrix: Matrix, pairs: Mapping[str, str], catalog: Catalog) -> Matrix:
    """Return the matrix with other settings of its targets; ``UsageError`` for one that the matrix itself could not have."""
    changed = with_overrides(matrix, pairs)
    for complaint in lint(changed, catalog):
        msg = f"--set asks for what no target can have: {complaint.message}"
        raise UsageError(msg, hint=complaint.hint)
    return changed


def _pairs(overrides: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            msg = f"{text!r} is not of the form target.key=value"
            raise UsageError(msg, hint="write for example --set h100.driver=590.44.01")
        pairs[key.strip()] = value.strip()
    return pairs


def _only(plan: Plan, only: Sequence[str]) -> Plan:
    chosen = select([(planned.cell, planned.variant.id if planned.variant else None) for planned in plan.cells], only)
    kept = {cell.index for cell in chosen}
    return dataclasses.replace(plan, cells=tuple(planned for planned in plan.cells if planned.cell.index in kept))
