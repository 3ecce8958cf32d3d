"""``--only``."""

from __future__ import annotations

import pytest

from builder.errors import UsageError
from builder.expand import select
from builder.model.axis import AxisValue
from builder.model.matrix import Cell


def cell(index: int, framework: str, stack: str, python: str) -> Cell:
    values = {"framework": framework, "stack": stack, "python": python}
    return Cell(index=index, axes=tuple((name, AxisValue.parse(text)) for name, text in values.items()))


CANDIDATES = [
    (cell(0, "pytorch==2.9.*", "cuda==12.6", "3.11"), "pytorch2.9.1-cuda12.6-py3.11"),
    (cell(1, "pytorch==2.9.*", "cpu", "3.12"), "pytorch2.9.1-cpu-py3.12"),
    (cell(2, "jax", "cuda==12.6", "3.12"), None),
    (cell(3, "jax", "tpu", "3.12"), "jax0.9.0-tpu0.0.30-py3.12"),
]


@pytest.mark.parametrize(
    ("only", "kept"),
    [
        ([], [0, 1, 2, 3]),
        (["stack=cuda"], [0, 2]),
        (["stack=cuda==12.6"], [0, 2]),
        (["stack=c*"], [0, 1, 2]),
        (["framework=pytorch==2.9.*"], [0, 1]),
        (["framework=pytorch"], [0, 1]),
        (["stack=cuda", "stack=tpu"], [0, 2, 3]),
        (["stack=cuda", "python=3.12"], [2]),
        (["pytorch2.9*"], [0, 1]),
        (["*-py3.12"], [1, 3]),
        (["pytorch2.9.1-cpu-py3.12", "jax*"], [1, 3]),
        (["*-py3.12", "framework=jax"], [3]),
        (["python=3.1[12]"], [0, 1, 2, 3]),
        ([" stack = tpu "], [3]),
    ],
)
def test_cells_are_chosen_by_axis_and_by_id(only: list[str], kept: list[int]) -> None:
    assert [chosen.index for chosen in select(CANDIDATES, only)] == kept


def test_facets_that_exclude_one_another_leave_nothing() -> None:
    assert select(CANDIDATES, ["stack=tpu", "python=3.11"]) == ()


@pytest.mark.parametrize(
    ("only", "message", "hint"),
    [
        ("stak=cuda", "--only names the axis 'stak', which no cell has", "did you mean 'stack'?"),
        ("stack=rocm", "--only 'stack=rocm' meets no cell", "known here: cuda==12.6, cpu, tpu"),
        ("stack=cdua==12.6", "--only 'stack=cdua==12.6' meets no cell", "did you mean 'cuda==12.6'?"),
        (
            "pytorch3*",
            "--only 'pytorch3*' meets no cell",
            "ids are such as pytorch2.9.1-cuda12.6-py3.11; in a shell, quote a glob: --only 'pyt*'",
        ),
    ],
)
def test_what_meets_no_cell_is_a_question_back(only: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(CANDIDATES, [only])
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_ids_when_there_are_none() -> None:
    with pytest.raises(UsageError) as caught:
        select([(CANDIDATES[2][0], None)], ["jax*"])
    assert caught.value.hint == "no cell has a variant; choose by axis, such as --only stack=cuda"
