"""Whatever a file holds: a matrix, or complaints with a place; never another error."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from builder.documents.matrix import examine_matrix_text, read_matrix_text
from builder.documents.reader import read_yaml
from builder.errors import DocumentError
from builder.expand import lint
from builder.resources import shipped

PRODUCT = (Path(__file__).parents[2] / "data" / "matrix" / "product.yaml").read_text()
ANNOTATED = (shipped("matrices") / "annotated.yaml").read_text()
DOCUMENT: dict[str, Any] = yaml.safe_load(ANNOTATED)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def check(text: str | bytes) -> None:
    """Read and lint; every complaint has a place in the file, a message on one line and a hint."""
    try:
        complaints = lint(examine_matrix_text(text, "m"))
    except DocumentError as error:
        complaints = error.complaints
        assert complaints
    lines = (text if isinstance(text, str) else text.decode("utf-8", "replace")).splitlines()
    for one in complaints:
        assert 1 <= one.where.line <= len(lines) + 1
        assert one.where.column >= 1
        assert one.message
        assert one.message.isprintable()
        assert one.hint
        assert one.hint.isprintable()


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf")
@example(b"\xff\xfe\x00")
@example(b"a: \xc3")
def test_any_bytes(raw: bytes) -> None:
    check(raw)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="ab:-,[]{}&*!|>'\"%@`#?<= \n\t0.~\\\u2028\x85\r", max_size=60))
@example("a: &a [*a]")
@example("<<: *x\n<<: {}")
@example("? ? ? a")
@example("'\\")
def test_any_text_of_yaml_signs(text: str) -> None:
    check(text)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["cuda", "pytorch==2.9.*", ">=3"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)
KEYS = sorted(DOCUMENT)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6))
def test_any_values_under_the_known_keys(document: dict[str, Any]) -> None:
    check(json.dumps({"imgbuild": 1, **document}))


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of every value inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, item in inner for deeper in paths(item, (*path, key)))]


ALL_PATHS = [path for path in paths(DOCUMENT) if path]


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(ALL_PATHS), VALUES)
def test_any_value_in_place_of_one_of_the_annotated_file(path: tuple[Any, ...], value: Any) -> None:
    document = copy.deepcopy(DOCUMENT)
    holder = document
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    check(yaml.dump(document, Dumper=DUMPER, allow_unicode=True, sort_keys=False))


@settings(deadline=None, max_examples=200)
@given(st.integers(0, len(PRODUCT) - 1), st.integers(0, 12), st.text(alphabet="ab:-,[]{}&*'\" \n\t0", max_size=4))
def test_any_small_edit_of_the_example(start: int, length: int, put: str) -> None:
    check(PRODUCT[:start] + put + PRODUCT[start + length :])


names = st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True)
versions = st.builds("{}.{}".format, st.integers(0, 30), st.integers(0, 30))
DOCUMENTS = st.fixed_dictionaries(
    {
        "imgbuild": st.just(1),
        "name": names,
        "matrix": st.fixed_dictionaries(
            {
                "framework": st.lists(st.builds("{}=={}.*".format, names, versions), min_size=1, max_size=3, unique=True),
                "stack": st.lists(names, min_size=1, max_size=3, unique=True),
                "python": st.lists(st.builds("3.{}".format, st.integers(0, 30)), min_size=1, max_size=3, unique=True),
            }
        ),
    },
    optional={
        "targets": st.dictionaries(
            names,
            st.fixed_dictionaries(
                {"accelerator": st.builds("{}/{}".format, names, names)},
                optional={
                    "driver": versions,
                    "runner": st.sampled_from(["local", "slurm", "kubernetes"]),
                    "nodes": st.integers(1, 9),
                },
            ),
            max_size=3,
        ),
        "packages": st.lists(st.fixed_dictionaries({"pip": st.lists(names, min_size=1, max_size=3, unique=True)}), max_size=3),
        "env": st.dictionaries(
            names.map(str.upper),
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
            max_size=3,
        ),
        "platforms": st.lists(st.sampled_from(["linux/amd64", "linux/arm64"]), min_size=1, unique=True),
        "limits": st.fixed_dictionaries({"size": st.integers(1, 10**12), "seconds": st.integers(1, 10**6)}),
    },
)


@settings(deadline=None, max_examples=100)
@given(DOCUMENTS, st.booleans())
def test_a_valid_document_comes_back_as_what_it_says(document: dict[str, Any], flow: bool) -> None:  # noqa: FBT001 - a drawn value
    text = yaml.safe_dump(document, default_flow_style=flow, allow_unicode=False, sort_keys=False)
    matrix = read_matrix_text(text, "m")
    assert matrix.name == document["name"]
    assert {axis.name: [value.text for value in axis.values] for axis in matrix.axes} == document["matrix"]
    targets = document.get("targets", {})
    assert [target.name for target in matrix.targets] == list(targets)
    for target in matrix.targets:
        written = targets[target.name]
        assert (target.accelerator, target.driver) == (written["accelerator"], written.get("driver"))
        assert (target.runner.kind, target.nodes) == (written.get("runner", "local"), written.get("nodes", 1))
    assert [list(entry.value.pip) for entry in matrix.packages] == [entry["pip"] for entry in document.get("packages", [])]
    assert [dict(entry.value) for entry in matrix.env] == ([document["env"]] if "env" in document else [])
    assert [str(one) for one in matrix.platforms] == document.get("platforms", ["linux/amd64"])
    if "limits" in document:
        assert (matrix.limits.size, matrix.limits.seconds) == (document["limits"]["size"], document["limits"]["seconds"])


@settings(deadline=None, max_examples=200)
@given(VALUES)
def test_the_reader_reads_what_pyyaml_reads(value: Any) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    assume(value is not None)
    read, complaints = read_yaml(text, "m")
    expected = yaml.safe_load(text)
    assert shape(read) == shape(expected) or complaints


def shape(value: Any) -> Any:
    """Return lists, mappings and texts; other values by their kind alone."""
    if isinstance(value, dict):
        return {str(key): shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return str(value) if isinstance(value, str) else "a word"
