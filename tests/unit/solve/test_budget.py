"""Ten thousand cells are planned in a moment."""

from __future__ import annotations

import itertools
import time

from builder.model.matrix import Cell, Expansion
from builder.solve.solver import plan
from tests.unit.solve.asking import catalog, matrix

MATRIX = """
imgbuild: 1
name: big
targets:
  h100: {accelerator: nvidia/h100, driver: "580.95.05"}
  mi300x: {accelerator: amd/mi300x, driver: "30.30.0"}
  cpu: {accelerator: cpu/x86-64-v3}
matrix:
  framework: [pytorch==2.9.*, pytorch==2.10.*]
  stack: [cuda, rocm, cpu]
  python: ["3.10", "3.12"]
packages:
  - {pip: [accelerate]}
  - {when: {stack: cuda}, pip: [bitsandbytes]}
"""


def test_ten_thousand_cells() -> None:
    asked = matrix(MATRIX)
    names = [axis.name for axis in asked.axes]
    few = [tuple(zip(names, values, strict=True)) for values in itertools.product(*(axis.values for axis in asked.axes))]
    cells = tuple(Cell(index=index, axes=few[index % len(few)]) for index in range(10_000))
    begun = time.perf_counter()
    planned = plan(asked, Expansion(cells=cells, excluded=()), catalog())
    assert time.perf_counter() - begun < 10
    assert len(planned.cells) == 10_000
    assert len({cell.variant.base.reference.tag for cell in planned.cells if cell.variant}) > 3
