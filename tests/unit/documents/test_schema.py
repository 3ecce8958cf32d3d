"""The JSON Schema, and the annotated file that shows every key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from builder.documents.matrix import examine_matrix
from builder.documents.schema import matrix_schema
from builder.documents.sections import MatrixFile
from builder.expand import lint
from builder.resources import shipped

ANNOTATED = shipped("matrices") / "annotated.yaml"
GOOD: dict[str, Any] = {"imgbuild": 1, "name": "m", "matrix": {"framework": ["jax"], "stack": ["cpu"], "python": ["3.12"]}}


def validator() -> jsonschema.Draft202012Validator:
    schema = matrix_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", [ANNOTATED, *sorted(shipped("templates").glob("init/matrix.yaml"))], ids=lambda path: path.name)
def test_the_files_that_ship_fit_the_schema_and_lint_clean(path: Any) -> None:
    assert [error.message for error in validator().iter_errors(yaml.safe_load(path.read_text()))] == []
    assert lint(examine_matrix(path)) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"pakages": []},
        {"imgbuild": 2},
        {"name": "A B"},
        {"matrix": {"python": [3.1]}},
        {"matrix": {"python": []}},
        {"matrix": {"python": "3.12"}},
        {"matrix": None},
        {"matrix": {"exclude": [{"stack": ["cuda"]}]}},
        {"matrix": {"include": [{}]}},
        {"targets": {"t": {"driver": "1"}}},
        {"targets": {"t": {"accelerator": "h100"}}},
        {"targets": {"a.b": {"accelerator": "nvidia/h100"}}},
        {"targets": {"t": {"accelerator": "nvidia/h100", "driver": 580.95}}},
        {"targets": {"t": {"accelerator": "nvidia/h100", "runner": "ssh"}}},
        {"targets": {"t": {"accelerator": "nvidia/h100", "runner": {"kind": "ssh", "hots": "x"}}}},
        {"targets": {"t": {"accelerator": "nvidia/h100", "nodes": 0}}},
        {"base": "debian:latest"},
        {"base": []},
        {"packages": [{"apt": ["Git"]}]},
        {"packages": [{"when": {}, "pip": ["a"]}]},
        {"env": {"A-B": "x"}},
        {"env": {"A": None}},
        {"env": [{"when": {"stack": "cpu"}, "A": "x"}]},
        {"user": []},
        {"probes": ["Import"]},
        {"tags": []},
        {"publish": {"tier": "devices"}},
        {"publish": None},
        {"licence": {"a/b": True}},
        {"engine": "dokcer"},
        {"indexes": {"a": "ftp://h"}},
        {"bounds": {"a": {"minimum": "1"}}},
        {"platforms": ["windows/amd64"]},
    ],
    ids=str,
)
def test_a_bad_document_does_not_fit_the_schema(change: Mapping[str, Any]) -> None:
    checker = validator()
    assert checker.is_valid(GOOD)
    assert not checker.is_valid({**GOOD, **change})


def test_what_is_required_is_required() -> None:
    for key in GOOD:
        assert not validator().is_valid({name: value for name, value in GOOD.items() if name != key})


def models(kind: object) -> Iterator[type[BaseModel]]:
    """Yield every model that a model is made of, itself first."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
        for field in kind.model_fields.values():
            for part in (field.annotation, *field.metadata):
                yield from models(part)
        yield from models(kind.__annotations__.get("__pydantic_extra__"))
    for part in get_args(kind):
        yield from models(part)


def described(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and schema of every key in a schema."""
    for name, entry in {"": schema, **schema["$defs"]}.items():
        for key, value in entry.get("properties", {}).items():
            yield f"{name}.{key}", value


def test_every_key_is_described_in_the_schema() -> None:
    found = dict(described(matrix_schema()))
    assert len(found) > 70
    undescribed = [name for name, value in found.items() if not value.get("description") and "$ref" not in value]
    assert undescribed == []


def keys_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from keys_in(item)
    for item in value if isinstance(value, list) else ():
        yield from keys_in(item)


def test_the_annotated_file_has_every_key() -> None:
    written = set(keys_in(yaml.safe_load(ANNOTATED.read_text())))
    known = {name for kind in models(MatrixFile) for name in kind.model_fields}
    assert len(known) > 55
    assert known - written == set()


def test_the_schema_is_the_same_each_time() -> None:
    assert matrix_schema() == matrix_schema()
    assert list(matrix_schema())[:2] == ["$schema", "$id"]
