"""The matrices that ship: nothing to complain about, and they plan to what their first line says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builder.documents.matrix import read_matrix
from builder.expand.complaints import examine
from builder.model.verdict import Verdict
from builder.resources import shipped
from builder.solve.lint import lint
from builder.solve.solver import plan
from tests.unit.solve.asking import catalog

FILES = sorted(path for path in shipped("matrices").glob("*.yaml") if not path.name.endswith(".lock.yaml"))
COUNTED = [path for path in FILES if path.stem != "annotated"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_to_complain_about(path: Path) -> None:
    read = read_matrix(path)
    _, complaints = examine(read)
    assert (*complaints, *lint(read, catalog())) == ()


@pytest.mark.parametrize("path", COUNTED, ids=lambda path: path.stem)
def test_it_plans_to_what_its_first_line_says(path: Path) -> None:
    first = path.read_text("utf-8").splitlines()[0]
    said = re.fullmatch(r"# plans to (\d+) cells: (\d+) variants", first)
    assert said is not None
    read = read_matrix(path)
    planned = plan(read, examine(read)[0], catalog())
    assert (len(planned.cells), len(planned.variants)) == (int(said[1]), int(said[2]))


@pytest.mark.parametrize("path", COUNTED, ids=lambda path: path.stem)
def test_no_cell_is_refused_or_unknown_on_its_targets(path: Path) -> None:
    read = read_matrix(path)
    for cell in plan(read, examine(read)[0], catalog()).cells:
        assert cell.verdicts
        assert {decision.verdict for decision in cell.verdicts.values()} <= {Verdict.SUPPORTED, Verdict.CONDITIONAL}


def test_the_quickstart_needs_no_registry_and_has_four_frameworks() -> None:
    read = read_matrix(shipped("matrices") / "quickstart.yaml")
    variants = plan(read, examine(read)[0], catalog()).variants
    assert len(variants) >= 6
    assert len({variant.framework.name for variant in variants}) == 4
    assert all(variant.base.may_assemble and not variant.indexes for variant in variants)
    assert {variant.python for variant in variants if variant.framework.name == "onnxruntime"} == {"3.11", "3.13"}
