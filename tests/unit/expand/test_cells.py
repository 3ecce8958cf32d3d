"""Product, exclude and include, and what is wrong with them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from builder.documents.matrix import examine_matrix_text, read_matrix, read_matrix_text
from builder.errors import DocumentError
from builder.expand import examine, expand, lint

PRODUCT = Path(__file__).parents[2] / "data" / "matrix" / "product.yaml"


def text_of(matrix: dict[str, Any], **more: object) -> str:
    base: dict[str, Any] = {"framework": ["pytorch"], "stack": ["cuda", "cpu"], "python": ["3.11", "3.12"]}
    return yaml.safe_dump({"imgbuild": 1, "name": "m", "matrix": {**base, **matrix}, **more}, sort_keys=False, width=1000)


def cells(matrix: dict[str, Any], **more: object) -> list[str]:
    """Return the cells as text; the matrix must have no complaint."""
    return [str(cell) for cell in expand(read_matrix_text(text_of(matrix, **more), "m")).cells]


def complaints(matrix: dict[str, Any], **more: object) -> list[tuple[str, str]]:
    found = lint(examine_matrix_text(text_of(matrix, **more), "m"))
    assert all(one.where.line >= 1 and one.hint for one in found)
    return [(one.where.field, one.message) for one in found]


def test_the_example_of_the_product_has_fourteen_cells_and_two_excluded_with_the_reason() -> None:
    expansion = expand(read_matrix(PRODUCT))
    assert len(expansion.cells) == 14
    assert [cell.index for cell in expansion.cells] == list(range(14))
    assert [(dict(cell.axes)["framework"].text, cell.reason) for cell in expansion.excluded] == [
        ("pytorch==2.9.*", "our NVIDIA hosts are on Python 3.12"),
        ("pytorch==2.10.*", "our NVIDIA hosts are on Python 3.12"),
    ]
    assert str(expansion.cells[0]) == "framework=pytorch==2.9.*, stack=cuda, python=3.12"
    assert str(expansion.cells[1]) == "framework=pytorch==2.9.*, stack=rocm, python=3.10"


def test_the_last_axis_varies_fastest() -> None:
    assert cells({}) == [
        "framework=pytorch, stack=cuda, python=3.11",
        "framework=pytorch, stack=cuda, python=3.12",
        "framework=pytorch, stack=cpu, python=3.11",
        "framework=pytorch, stack=cpu, python=3.12",
    ]


def test_the_first_exclude_that_matches_gives_the_reason() -> None:
    matrix = {"exclude": [{"stack": "cuda", "python": "3.11", "reason": "one"}, {"python": "3.11", "reason": "two"}]}
    expansion = examine(read_matrix_text(text_of(matrix), "m"))[0]
    assert [cell.reason for cell in expansion.excluded] == ["one", "two"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ({"framework": "pytorch"}, ["jax==0.9.*"]),
        ({"framework": "pytorch<2.10"}, ["pytorch==2.10.*", "jax==0.9.*"]),
        ({"framework": "pytorch==2.10.*"}, ["pytorch==2.9.*", "jax==0.9.*"]),
        ({"framework": "PyTorch"}, ["jax==0.9.*"]),
    ],
)
def test_exclude_matches_names_and_specifiers(pattern: dict[str, str], left: list[str]) -> None:
    matrix = {"framework": ["pytorch==2.9.*", "pytorch==2.10.*", "jax==0.9.*"], "exclude": [pattern]}
    expansion, _ = examine(read_matrix_text(text_of(matrix), "m"))
    assert list(dict.fromkeys(str(cell.get("framework")) for cell in expansion.cells)) == left


def test_include_extends_the_cells_it_does_not_contradict() -> None:
    found = cells({"python": ["3.12"], "include": [{"stack": "cuda", "precision": "bf16"}, {"colour": "red"}]})
    assert found == [
        "framework=pytorch, stack=cuda, python=3.12, precision=bf16, colour=red",
        "framework=pytorch, stack=cpu, python=3.12, colour=red",
    ]


def test_include_adds_a_cell_where_it_fits_none_in_the_order_of_the_axes() -> None:
    found = cells({"python": ["3.12"], "include": [{"own": "x", "python": "3.13", "stack": "rocm==6.4", "framework": "jax"}]})
    assert found[2:] == ["framework=jax, stack=rocm==6.4, python=3.13, own=x"]


def test_a_cell_that_include_adds_is_not_extended_by_a_later_one() -> None:
    """As GitHub documents it: that combination was not one of the original ones."""
    new = {"framework": "jax", "stack": "tpu", "python": "3.13"}
    found = cells({"python": ["3.12"], "include": [new, {**new, "own": "x"}]})
    assert found[2:] == ["framework=jax, stack=tpu, python=3.13", "framework=jax, stack=tpu, python=3.13, own=x"]


def test_include_may_bring_back_what_exclude_took() -> None:
    back = {"framework": "pytorch", "stack": "cuda", "python": "3.11"}
    expansion, found = examine(read_matrix_text(text_of({"exclude": [{"python": "3.11"}], "include": [back]}), "m"))
    assert [str(cell) for cell in expansion.cells][-1] == "framework=pytorch, stack=cuda, python=3.11"
    assert len(expansion.excluded) == 2
    assert found == ()


def test_include_matches_as_exclude_does_and_never_overwrites_an_axis() -> None:
    found = cells({"framework": ["pytorch==2.9.*", "jax"], "python": ["3.12"], "include": [{"framework": "pytorch", "own": "x"}]})
    assert found[0] == "framework=pytorch==2.9.*, stack=cuda, python=3.12, own=x"
    assert found[2] == "framework=jax, stack=cuda, python=3.12"


def test_what_one_key_rules_out_is_not_guessed_at_by_another() -> None:
    found = cells({"python": ["3.12"], "include": [{"framework": "jax", "stack": "cuda==12.6", "python": "3.12"}]})
    assert found[-1] == "framework=jax, stack=cuda==12.6, python=3.12"


def test_a_matrix_of_includes_alone() -> None:
    text = "imgbuild: 1\nname: m\nmatrix: {include: [{framework: jax, stack: cpu, python: '3.12'}]}\n"
    assert [str(cell) for cell in expand(read_matrix_text(text, "m")).cells] == ["framework=jax, stack=cpu, python=3.12"]


NO_VALUE = "this exclude matches no cell: {} is no value of the axis {}"
SHADOWED = "this exclude has no effect: what it names is left out by the ones above it"
GUESS = "{} cannot be compared with {}, which has no one written version (==X or ==X.*)"
USELESS = "this include has no effect: the cells that it fits have all of its values already"
LACKS = "this include fits no cell, so it makes one of its own, which has no framework and no python"


@pytest.mark.parametrize(
    ("matrix", "field", "message"),
    [
        ({"exclude": [{"stack": "rocm"}]}, "exclude[0].stack", NO_VALUE.format("'rocm'", "'stack'")),
        ({"exclude": [{"stack": "cuda", "python": "3.13"}]}, "exclude[0].python", NO_VALUE.format("'3.13'", "'python'")),
        ({"exclude": [{"stack": "cuda", "python": "3.11"}, {"stack": "cuda", "python": "3.11"}]}, "exclude[1]", SHADOWED),
        ({"exclude": [{"stack": "cuda>=12"}]}, "exclude[0].stack", GUESS.format("'cuda>=12'", "'cuda'")),
        ({"include": [{"stack": "cuda==12.6", "own": "x"}]}, "include[0].stack", GUESS.format("'cuda==12.6'", "'cuda'")),
        ({"include": [{"stack": "cuda"}]}, "include[0]", USELESS),
        ({"include": [{"own": "x"}, {"stack": "cuda", "own": "x"}]}, "include[1]", USELESS),
        ({"include": [{"stack": "rocm"}]}, "include[0]", LACKS),
        ({"exclude": [{"stack": "cuda"}]}, "stack[0]", "no cell is left with stack=cuda: exclude names them all"),
    ],
)
def test_a_complaint_about_cells(matrix: dict[str, Any], field: str, message: str) -> None:
    assert complaints(matrix) == [(f"matrix.{field}", message)]


def test_a_matrix_of_which_nothing_is_left() -> None:
    assert complaints({"exclude": [{"framework": "pytorch"}]}) == [("matrix", "exclude leaves no cell")]


def test_a_dead_exclude_says_which_value_was_probably_meant() -> None:
    reading = examine_matrix_text(text_of({"stack": ["cuda", "rocm"], "exclude": [{"stack": "rcom"}]}), "m")
    assert [one.hint for one in lint(reading)] == ["did you mean 'rocm'?"]


def test_an_include_must_not_overwrite_what_another_added() -> None:
    found = complaints({"include": [{"own": "x"}, {"stack": "cuda", "own": "y"}]})
    assert [field for field, _ in found] == ["matrix.include[1].own"]
    assert found[0][1].startswith("this include overwrites own='x', which the include in line ")


def test_cells_that_two_includes_make_alike() -> None:
    new = {"framework": "jax", "stack": "tpu", "python": "3.13"}
    found = complaints({"include": [new, {**new, "framework": "JAX"}]})
    assert [field for field, _ in found] == ["matrix.include[1]"]
    assert found[0][1].startswith("this include makes the same cell as the one in line ")


@pytest.mark.parametrize("axis", ["framework", "stack", "python"])
def test_a_matrix_without_a_needed_axis(axis: str) -> None:
    document = yaml.safe_load(text_of({}))
    del document["matrix"][axis]
    (found,) = lint(examine_matrix_text(yaml.safe_dump(document), "m"))
    assert found.message == f"there is no axis {axis!r}, so the cells of the product have no {axis}"
    assert found.where.field == "matrix"


def test_a_needed_axis_may_come_from_includes() -> None:
    assert cells({"python": ["3.12"], "stack": ["cpu"]}) == ["framework=pytorch, stack=cpu, python=3.12"]
    text = "imgbuild: 1\nname: m\nmatrix: {framework: [jax], stack: [cpu], include: [{python: '3.12'}]}\n"
    assert [str(cell) for cell in expand(read_matrix_text(text, "m")).cells] == ["framework=jax, stack=cpu, python=3.12"]


def test_no_axes_at_all() -> None:
    (found,) = lint(examine_matrix_text("imgbuild: 1\nname: m\nmatrix: {exclude: []}\n", "m"))
    assert found.message == "there are no axes and no include, so there is no cell"


def test_expand_raises_every_complaint_at_once() -> None:
    matrix = read_matrix_text(text_of({"exclude": [{"stack": "rocm"}], "include": [{"stack": "cuda"}]}), "m")
    with pytest.raises(DocumentError, match="2 complaints about m"):
        expand(matrix)


def test_lint_joins_what_is_wrong_in_the_file_and_in_its_cells() -> None:
    text = text_of({"exclude": [{"stack": "rocm"}]}, pakages=[])
    assert sorted(one.where.field for one in lint(examine_matrix_text(text, "m"))) == ["matrix.exclude[0].stack", "pakages"]
    unknown = text_of({"exclude": [{"stak": "rocm"}]})
    assert [one.message for one in lint(examine_matrix_text(unknown, "m"))] == ["there is no axis 'stak'"]


def test_ten_thousand_cells_in_half_a_second() -> None:
    axes = {"framework": [f"pytorch=={n}.*" for n in range(10)], "stack": [f"s{n}" for n in range(10)]}
    axes |= {"python": [f"3.{n}" for n in range(10)], "own": [f"o{n}" for n in range(10)]}
    excludes = [{"framework": f"pytorch=={n}.*", "stack": f"s{m}", "python": "3.1"} for n in range(9) for m in range(9)]
    includes = [{"stack": f"s{n}", "python": f"3.{m}", "more": "x"} for n in range(10) for m in range(10)]
    packages = [{"when": {"stack": f"s{n % 10}", "own": [f"o{n % 7}", "o9"]}, "pip": ["x"]} for n in range(100)]
    matrix = read_matrix_text(text_of({**axes, "exclude": excludes, "include": includes}, packages=packages), "m")
    begin = time.process_time()
    expansion, found = examine(matrix)
    assert time.process_time() - begin < 2.0
    assert (len(expansion.cells), len(expansion.excluded), found) == (10_000 - 810, 810, ())


def test_a_value_of_no_axis_is_said_beside_other_mistakes_of_the_axes() -> None:
    matrix = {
        "python": ["3.11", ">=3.12"],
        "exclude": [{"stack": "cudaa"}, {"stak": "cuda", "stack": "nope"}, {"python": "3.13"}, {"stack": "cpu"}],
    }
    assert complaints(matrix) == [
        ("matrix.python[1]", "'>=3.12' is not a Python version such as 3.12"),
        ("matrix.exclude[0].stack", "this exclude matches no cell: 'cudaa' is no value of the axis 'stack'"),
        ("matrix.exclude[1].stak", "there is no axis 'stak'"),
    ]


def test_a_product_that_nobody_can_mean() -> None:
    own = {f"own{number}": [f"v{value}" for value in range(10)] for number in range(8)}
    before = time.perf_counter()
    assert complaints(own) == [("matrix", "the axes make 400,000,000 cells, and more than 100,000 are not made")]
    assert time.perf_counter() - before < 5
