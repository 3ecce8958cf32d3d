"""What the cells say about tags, ids and settings with ``when:``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from builder.documents.matrix import examine_matrix_text
from builder.expand import lint


def complaints(matrix: Mapping[str, Any] | None = None, **more: Any) -> list[tuple[str, str, str | None]]:
    base: dict[str, Any] = {"framework": ["pytorch==2.9.*"], "stack": ["cuda", "cpu"], "python": ["3.11", "3.12"]}
    document = {"imgbuild": 1, "name": "m", "matrix": {**base, **(matrix or {})}, **more}
    found = lint(examine_matrix_text(yaml.safe_dump(document, sort_keys=False, width=1000), "m"))
    return [(one.where.field, one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    "tags",
    [
        ["{id}"],
        ["{framework}-{stack}-py{python}"],
        ["{stack}.{python}", "{id}-{date}"],
        ["{python}-{stack}", "{python}-{stack}"][:1],
    ],
)
def test_tags_that_tell_the_cells_apart(tags: list[str]) -> None:
    assert complaints(tags=tags) == []


@pytest.mark.parametrize(
    ("tags", "field", "hint"),
    [
        (["{framework}-{stack}"], "tags[0]", "add {python}"),
        (["{id}", "py{python}"], "tags[1]", "add {stack}"),
        (["image"], "tags[0]", "add {python}"),
        (["{stack}-{base}-{date}"], "tags[0]", "add {python}"),
    ],
)
def test_a_template_that_gives_two_cells_one_tag(tags: list[str], field: str, hint: str) -> None:
    ((place, message, fix),) = complaints(tags=tags)
    assert (place, fix) == (field, hint)
    assert "gives two cells one tag: " in message
    assert "framework=pytorch==2.9.*, stack=" in message


def test_two_templates_that_meet_in_one_tag() -> None:
    ((field, message, _),) = complaints({"python": ["3.12"], "own": ["a", "b"]}, tags=["{stack}-{own}", "{stack}-b"])
    assert field == "tags[1]"
    assert "gives two cells one tag" in message
    assert complaints({"python": ["3.12"], "stack": ["cpu"]}, tags=["{stack}-{python}", "{stack}-3.12"]) == []


def test_plus_and_underscore_are_one_in_a_tag() -> None:
    ((field, message, _),) = complaints({"python": ["3.12"], "stack": ["cpu"], "own": ["a+b", "a_b"]}, tags=["{own}"])
    assert field == "tags[0]"
    assert "own=a_b; and framework=pytorch==2.9.*, stack=cpu, python=3.12, own=a+b" in message


def test_bases_that_differ_tell_tags_apart() -> None:
    own = [{"base": ["vendor"]}, {"when": {"python": "3.12"}, "base": "distribution"}]
    assert complaints(tags=["{stack}-{base}"], base=own) == []


def test_a_placeholder_that_a_cell_has_no_value_for() -> None:
    ((field, message, _),) = complaints({"include": [{"stack": "cuda", "own": "x"}]}, tags=["{id}-{own}"])
    assert field == "tags[0]"
    assert message == "'{id}-{own}' names 'own', which this cell does not have: framework=pytorch==2.9.*, stack=cpu, python=3.11"


def test_a_tag_that_no_registry_takes_whatever_is_decided_later() -> None:
    ((_, message, _),) = complaints({"own": [".x"]}, tags=["{own}{id}"])
    assert message == "'{own}{id}' makes the tag '.xx', which no registry takes"
    long = {f"own{n}": ["x" * 60] for n in range(3)}
    found = complaints(long, tags=["{framework}-{stack}-{python}-{own0}-{own1}-{own2}"])
    assert [field for field, _, _ in found] == ["matrix", "tags[0]"]
    assert found[1][1].endswith(" makes a tag of 200 characters or more, and registries take 128")


def test_an_id_that_would_be_too_long() -> None:
    ((field, message, _),) = complaints({f"own{n}": ["x" * 50] for n in range(3)})
    assert field == "matrix"
    assert message.startswith("the id of this cell would have more than 128 characters: framework=pytorch==2.9.*, stack=cuda")
    assert complaints({"own": ["x" * 64]}) == []


@pytest.mark.parametrize(
    ("setting", "entry"),
    [
        ("packages", {"pip": ["x"]}),
        ("base", {"base": "vendor"}),
        ("env", {"env": {"A": "b"}}),
        ("probes", {"probes": "import"}),
        ("user", {"user": "app"}),
        ("entrypoint", {"entrypoint": ["python"]}),
    ],
)
def test_an_entry_for_no_cell(setting: str, entry: dict[str, Any]) -> None:
    assert complaints({}, **{setting: [{"when": {"stack": ["cuda", "rocm"]}, **entry}]}) == []
    assert complaints({}, **{setting: [{"when": {"stack": "cdua"}, **entry}]}) == [
        (
            f"{setting}[0].when.stack",
            "this when matches no cell: 'cdua' is no value of 'stack'",
            "did you mean 'cuda'? if not, remove the entry",
        )
    ]
    assert complaints({}, **{setting: [{"when": {"stack": "cuda", "python": "3.8"}, **entry}]})[0][0].startswith(f"{setting}[0]")
    assert complaints({"stack": ["cpu"]}, **{setting: [{"when": {"stack": "gaudi"}, **entry}]}) == [
        (f"{setting}[0]", "this when matches no cell", "remove the entry, or correct its values")
    ]


def test_an_entry_that_would_be_a_guess() -> None:
    assert complaints(packages=[{"when": {"stack": "cuda>=12"}, "pip": ["x"]}]) == [
        (
            "packages[0].when.stack",
            "'cuda>=12' cannot be compared with 'cuda', which has no one written version (==X or ==X.*)",
            "write one version on the axis: ==X or ==X.*",
        )
    ]


def test_a_when_may_name_a_key_that_include_adds() -> None:
    include = [{"stack": "cuda", "precision": "bf16"}]
    assert complaints({"include": include}, packages=[{"when": {"precision": "bf16"}, "pip": ["x"]}]) == []
    found = complaints({"include": include}, packages=[{"when": {"precision": "bf61"}, "pip": ["x"]}])
    assert found[0][2] == "did you mean 'bf16'? if not, remove the entry"
