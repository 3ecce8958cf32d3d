"""Tags and ids once it is decided what stands in them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from packaging.version import Version

from builder.errors import Complaint
from builder.expand.complaints import examine
from builder.model.axis import AxisValue
from builder.model.matrix import Cell, Expansion
from builder.model.plan import Release
from builder.solve.solver import plan
from builder.solve.tags import complaints
from tests.unit.solve.asking import catalog, matrix

HEAD = "imgbuild: 1\nname: t\nbase: [distribution]\n"


def said(axes: str, *tags: str) -> Sequence[Complaint]:
    read = matrix(f"{HEAD}matrix: {{{axes}}}\ntags: [{', '.join(repr(tag) for tag in tags)}]\n")
    expansion, before = examine(read)
    assert before == ()
    return complaints(read, plan(read, expansion, catalog()))


def test_two_cells_that_come_to_one_release() -> None:
    (found,) = said('framework: [pytorch==2.9.*, "pytorch>=2.9,<2.10"], stack: [cpu], python: ["3.12"]', "{framework}-{stack}")
    first, second = "framework=pytorch==2.9.*, stack=cpu, python=3.12", "framework=pytorch>=2.9,<2.10, stack=cpu, python=3.12"
    assert str(found.where) == "test.yaml:5:7: tags[0]"
    assert found.message == f"'{{framework}}-{{stack}}' gives two variants one tag, pytorch2.9.1-cpu: {first}; and {second}"
    assert found.hint == "both come to the same releases: remove one of the two cells, or add {id}"


def test_two_stacks_that_come_to_one_stack() -> None:
    axes = 'framework: [pytorch==2.9.*], stack: [cuda, "cuda==13.*"], python: ["3.12"], own: [a, b]'
    (found,) = said(axes, "{framework}-{stack}-{own}")
    assert "gives two variants one tag, pytorch2.9.1-cuda13.0-a" in found.message


def test_the_tag_of_another_template() -> None:
    axes = 'framework: [pytorch==2.9.1], stack: [cpu], python: ["3.12"], own: [cpu, gpu]'
    assert said(axes, "{framework}-{own}", "{framework}-{stack}-{own}") == ()
    found = said(
        'framework: [pytorch==2.9.1, pytorch==2.9.*], stack: [cpu], python: ["3.12"], own: [a]', "{id}", "{framework}-{own}"
    )
    assert [one.where.field for one in found] == ["tags[1]"]


def test_different_cells_of_one_release_need_not_share() -> None:
    axes = 'framework: [pytorch==2.9.*, "pytorch>=2.9,<2.10"], stack: [cpu], python: ["3.12"]'
    assert said(axes, "{id}") == ()


@pytest.mark.parametrize(("length", "wrong"), [(106, ()), (107, (129,))])
def test_a_tag_that_its_release_makes_too_long(length: int, wrong: tuple[int, ...]) -> None:
    """``pytorch2.9.1`` and ``-20261201-`` and the rest are 128 characters, or 129."""
    found = said('framework: [pytorch==2.9.*], stack: [cpu], python: ["3.12"]', f"{{framework}}-{{date}}-{'x' * length}")
    assert [one.message.partition("makes a tag of ")[2] for one in found] == [
        f"{number} characters for pytorch2.9.1-cpu-py3.12, and registries take 128" for number in wrong
    ]


@pytest.mark.parametrize(
    ("version", "label"),
    [("2.9.1", "pytorch2.9.1"), ("2.9.1+rocm7.2", "pytorch2.9.1"), ("2.9.0a0+145a3a7bda", "pytorch2.9.0a0_145a3a7bda")],
)
def test_a_local_label_is_written_of_pre_releases_only(version: str, label: str) -> None:
    assert Release(name="pytorch", version=Version(version)).label == label


def test_ids_are_never_the_same() -> None:
    """Twenty thousand ids that would all be one: six hex digits alone would meet more than once."""
    read = matrix(f'{HEAD}matrix: {{framework: [openvino==2026.3.*], stack: [cpu], python: ["3.12"]}}\n')
    axes = {"framework": "openvino==2026.3.*", "stack": "cpu", "python": "3.12"}
    cells = tuple(
        Cell(
            index=number,
            axes=tuple((name, AxisValue.parse(value)) for name, value in (*axes.items(), ("own", f"{'x' * 120}{number}"))),
        )
        for number in range(20_000)
    )
    ids = [variant.id for variant in plan(read, Expansion(cells=cells, excluded=()), catalog()).variants]
    assert len(set(ids)) == len(ids) == 20_000
    assert max(map(len, ids)) == 128
