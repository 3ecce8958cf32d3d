"""The README says what is true: commands, exit codes, planned counts, measured numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import typer

from builder import errors
from builder.catalog.query import load_catalog
from builder.cli.app import app as root
from builder.cli.lazy import LazyGroup
from builder.cli.loading import load
from builder.cli.matrix import app as matrix_group
from builder.errors import ImgbuildError

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "tests" / "bench" / "results.json"
MATRIX_ROWS = re.findall(r"\| \[([a-z-]+)\]\((matrices/[a-z-]+\.yaml)\) \| (\d+) \| (\d+) \| ([a-z, ]+) \|", README)


def test_every_shipped_matrix_is_in_the_readme() -> None:
    shipped = {path.stem for path in (ROOT / "matrices").glob("*.yaml") if not path.name.endswith(".lock.yaml")}
    assert {row[0] for row in MATRIX_ROWS} == shipped - {"annotated"}


@pytest.mark.parametrize("row", MATRIX_ROWS, ids=lambda row: row[0])
def test_the_planned_counts_are_those_of_the_plan(row: tuple[str, ...]) -> None:
    _, path, cells, variants, stacks = row
    plan = load(ROOT / path).plan
    assert (len(plan.cells), len(plan.variants)) == (int(cells), int(variants))
    names = dict.fromkeys(str(planned.cell.get("stack")).split("=")[0] for planned in plan.cells)
    assert list(names) == stacks.split(", ")


def _modules(app: typer.Typer) -> Mapping[str, str]:
    group = app.info.cls
    assert isinstance(group, type)
    assert issubclass(group, LazyGroup)
    return group.modules


def test_every_command_is_in_the_readme_and_every_one_in_it_exists() -> None:
    groups = {"": _modules(root), "matrix ": _modules(matrix_group)}
    there = {f"{group}{name}" for group, modules in groups.items() for name in modules} - {"matrix"}
    named = set(re.findall(r"\| `imgbuild ((?:matrix )?[a-z]+)(?: [A-Z]+)?` \|", README))
    assert named == there


def test_the_exit_codes_are_those_of_the_errors() -> None:
    codes = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, ImgbuildError) and kind is not ImgbuildError
    }
    table = README.split("| exit code | when |")[1].split("\n\n")[0]
    named = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for code in row.split(",")}
    assert named == codes | {0, 1}


def test_the_measured_numbers_are_those_of_the_benchmark() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = re.findall(r"^\| .+ \| ([\d.]+) ?(s|times|ms) <!-- ([a-z_.]+) --> \|", README, re.MULTILINE)
    assert len(rows) >= 4
    for shown, unit, key in rows:
        value: object = results
        for part in key.split("."):
            assert isinstance(value, dict)
            value = value[part]
        assert isinstance(value, int | float)
        factor = 1000 if unit == "ms" else 1
        digits = len(shown.partition(".")[2])
        assert f"{value * factor:.{digits}f}" == shown, key


def test_the_quickstart_table_names_the_variants_of_the_quickstart() -> None:
    load_catalog()
    variants = [variant.id for variant in load(ROOT / "matrices" / "quickstart.yaml").plan.variants]
    shown = re.findall(r"^(\S+)\s+here \(", README, re.MULTILINE)
    assert shown == variants
