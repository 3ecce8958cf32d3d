"""The cells, against a slow reading of GitHub's published rules."""

from __future__ import annotations

import itertools
import math
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from builder.documents.matrix import read_matrix_text
from builder.expand import examine
from builder.model.matrix import Cell

FRAMEWORKS = ["jax", "jax==0.9.*", "jax==0.8.1", "pytorch==2.9.*", "pytorch==2.10.*", "pytorch"]
STACKS = ["cpu", "cuda==12.6", "cuda==13.0", "cuda", "tpu"]
PYTHONS = ["3.11", "3.12", "3.13"]
OWN = ["x", "y"]
PATTERNS = {
    "framework": [*FRAMEWORKS, "jax<0.9", "pytorch>=2.9.1", "pytorch!=2.9"],
    "stack": [*STACKS, "cuda>=12.6", "cuda<13"],
    "python": [*PYTHONS, "3.14"],
    "own": [*OWN, "z"],
}


def some(values: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)


def pattern(*names: str) -> st.SearchStrategy[dict[str, str]]:
    optional = {name: st.sampled_from(PATTERNS.get(name, OWN)) for name in names}
    return st.fixed_dictionaries({}, optional=optional).filter(bool)


AXES = {"framework": some(FRAMEWORKS), "stack": some(STACKS), "python": some(PYTHONS)}
MATRICES = st.fixed_dictionaries(
    {
        **AXES,
        "exclude": st.lists(pattern(*AXES), max_size=4),
        "include": st.lists(pattern(*AXES, "own", "colour"), max_size=4),
    },
    optional={"own": some(OWN)},
)


def name_of(text: str) -> str:
    for sign in ("==", ">=", "!=", "<"):
        text = text.partition(sign)[0]
    return text


def agrees(wanted: str, value: str) -> bool | None:
    """Return whether a pattern matches a value by the words of the documentation; ``None`` for a guess."""
    if wanted == value:
        return True
    name, specifiers = name_of(wanted), wanted[len(name_of(wanted)) :]
    if wanted[0].isdigit() or value[0].isdigit() or name != name_of(value):
        return False
    if not specifiers:
        return True
    written = value[len(name) :]
    if not written.startswith("=="):
        return None
    return SpecifierSet(specifiers).contains(written[2:].removesuffix(".*"), prereleases=True)


def fits(wanted: dict[str, str], cell: dict[str, str]) -> bool | None:
    """Return whether all keys agree; one that does not decides, else one that is a guess."""
    answers = [agrees(text, cell[axis]) for axis, text in wanted.items()]
    if False in answers:
        return False
    return None if None in answers else True


def slow(matrix: dict[str, Any]) -> tuple[list[dict[str, str]], list[dict[str, str]]] | None:
    """Return cells and excluded cells, step by step; ``None`` where a comparison would be a guess or overwrites."""
    axes = {name: values for name, values in matrix.items() if name not in {"exclude", "include"}}
    originals: list[dict[str, str]] = []
    excluded: list[dict[str, str]] = []
    for values in itertools.product(*axes.values()):
        cell = dict(zip(axes, values, strict=True))
        answers = [fits(one, cell) for one in matrix["exclude"]]
        if None in answers:
            return None
        (excluded if True in answers else originals).append(cell)
    cells = after_include(matrix["include"], axes, originals)
    return None if cells is None else (cells, excluded)


def after_include(
    includes: list[dict[str, str]], axes: dict[str, Any], originals: list[dict[str, str]]
) -> list[dict[str, str]] | None:
    """Return the cells with what the includes add; ``None`` where that would be a guess or overwrite another's value."""
    result = [dict(cell) for cell in originals]
    new: list[dict[str, str]] = []
    for include in includes:
        answers = [fits({axis: text for axis, text in include.items() if axis in axes}, cell) for cell in originals]
        own = {key: text for key, text in include.items() if key not in axes}
        matched = [cell for cell, answer in zip(result, answers, strict=True) if answer]
        if None in answers or any(cell.get(key, text) != text for cell in matched for key, text in own.items()):
            return None
        for cell in matched:
            cell.update(own)
        new += [] if matched else [dict(include)]
    return result + new


def plain(cell: Cell) -> dict[str, str]:
    return {axis: value.text for axis, value in cell.axes}


def read(matrix: dict[str, Any]) -> Any:
    return read_matrix_text(yaml.safe_dump({"imgbuild": 1, "name": "m", "matrix": matrix}, sort_keys=False), "m")


@settings(deadline=None, max_examples=300)
@given(MATRICES)
def test_cells_are_those_of_the_slow_reading(matrix: dict[str, Any]) -> None:
    matrix["exclude"] = [one for one in matrix["exclude"] if "own" not in one or "own" in matrix]
    expansion, complaints = examine(read(matrix))
    expected = slow(matrix)
    messages = [one.message for one in complaints]
    refused = any("cannot be compared" in text or "overwrites" in text for text in messages)
    assert refused is (expected is None)
    if expected is not None:
        cells, excluded = expected
        assert [plain(cell) for cell in expansion.cells] == cells
        assert [{axis: value.text for axis, value in cell.axes} for cell in expansion.excluded] == excluded
    assert [cell.index for cell in expansion.cells] == list(range(len(expansion.cells)))


@settings(deadline=None, max_examples=100)
@given(MATRICES)
def test_dead_excludes_are_those_without_which_nothing_changes(matrix: dict[str, Any]) -> None:
    """Without a complaint, an exclude takes cells that those above it left; with one, it does not, or it is a guess."""
    matrix["include"] = []
    expansion, complaints = examine(read(matrix))
    fields = {one.where.field.split(".")[1] for one in complaints if "exclude[" in one.where.field}
    for number in range(len(matrix["exclude"])):
        without = {**matrix, "exclude": matrix["exclude"][:number]}
        up_to = {**matrix, "exclude": matrix["exclude"][: number + 1]}
        changed = len(examine(read(without))[0].cells) != len(examine(read(up_to))[0].cells)
        if f"exclude[{number}]" not in fields:
            assert changed
        elif slow(up_to) is not None:
            assert not changed
    product = math.prod(len(values) for axis, values in matrix.items() if axis not in {"exclude", "include"})
    assert len(expansion.cells) + len(expansion.excluded) == product
