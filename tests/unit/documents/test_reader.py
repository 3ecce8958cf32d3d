"""Texts that are not clean YAML, or are meant to harm."""

from __future__ import annotations

import tracemalloc

import pytest

from builder.documents.nodes import Bare, Items, Place, Table, Value
from builder.documents.reader import MAX_DEPTH, MAX_VALUES, read_yaml
from builder.documents.text import MAX_BYTES
from builder.errors import DocumentError


def plain(value: Value) -> object:
    """Return a value without its places; a bare word as a tuple."""
    if isinstance(value, Table):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Items):
        return [plain(item) for item in value]
    return (value.text, value.kind) if isinstance(value, Bare) else str(value)


def read(text: str | bytes) -> object:
    value, complaints = read_yaml(text, "m")
    assert complaints == []
    return plain(value)


def refused(text: str | bytes) -> tuple[str, str]:
    """Return place and message of the one complaint that ends the reading."""
    with pytest.raises(DocumentError) as caught:
        read_yaml(text, "m")
    (complaint,) = caught.value.complaints
    assert complaint.hint
    assert caught.value.hint
    return str(complaint.where), complaint.message


def test_scalars_keep_what_was_written() -> None:
    assert read('[3.10, "3.10", on, ~, , 0x1f, 2026-01-02, plain, <<, =]'.replace("~, ,", "~,")) == [
        ("3.10", "float"),
        "3.10",
        ("on", "bool"),
        ("~", "null"),
        ("0x1f", "int"),
        ("2026-01-02", "timestamp"),
        "plain",
        "<<",
        "=",
    ]
    assert read("a: !!str 3.10\nb: ! 3.10") == {"a": "3.10", "b": "3.10"}


def test_places_count_from_one_and_lead_by_keys() -> None:
    value, _ = read_yaml("a:\n  - {b/c: é, d: [x]}\n", "m")
    assert isinstance(value, Table)
    items = value["a"]
    assert isinstance(items, Items)
    entry = items[0]
    assert isinstance(entry, Table)
    assert entry.at == Place(2, 5, ("a", 0))
    assert entry["b/c"].at == Place(2, 11, ("a", 0, "b/c"))
    assert entry["b/c"].at.field == "a[0]['b/c']"
    assert entry.place_of("d") == Place(2, 14, ("a", 0, "d"))
    assert entry["d"].at.field == "a[0].d"
    assert entry.place_of("absent") == entry.at


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (b"", "m:1:1", "the file is empty"),
        ("# only a comment\n", "m:1:1", "the file is empty"),
        ("---\n", "m:1:1", "the file is empty"),
        ("a: x\n---\nb: y\n", "m:2:1", "a second document begins here"),
        (b"a: x\nb: caf\xe9\n", "m:2:7", "the file is not UTF-8: byte 0xE9 cannot stand here"),
        (b"\xef\xbb\xbfa: \xff\n", "m:1:4", "the file is not UTF-8: byte 0xFF cannot stand here"),
        ("a: x\n".encode("utf-16"), "m:1:1", "the file is UTF-16, not UTF-8"),
        ("a: x\n".encode("utf-32"), "m:1:1", "the file is UTF-32, not UTF-8"),
        ("a: x\nb: \x1b[31m\n", "m:2:4", "a character that YAML does not allow: U+001B"),
        ("a: \ud800\n", "m:1:4", "a character that YAML does not allow: U+D800"),
        ("a: x\nb:\n\tc: y\n", "m:3:1", "a tab where YAML wants spaces"),
        ("a:\n  b: x\n \t c: y\n", "m:3:2", "a tab where YAML wants spaces"),
        ("a: [x,\nb: y\n", "m:3:1", "not YAML: a list in brackets is not closed, or lacks a comma"),
        ("a: {b: x\n", "m:2:1", "not YAML: a mapping in braces is not closed, or lacks a comma"),
        ("a: b: c\n", "m:1:5", "not YAML: a ':' where no key can stand"),
        ("a: 'x\n", "m:2:1", "not YAML: a quote is never closed"),
        ("a: 'x' y\n", "m:1:8", "not YAML: text after the end of a value"),
        ("a:\n  - x\n  b: y\n", "m:3:3", "not YAML: the indentation does not fit the list above"),
        ("a:\n    b: x\n  c: y\n", "m:3:3", "not YAML: the indentation does not fit the lines above"),
        ('a: "\\q"\n', "m:1:5", "not YAML: an escape that YAML does not know"),
        ('a: "\\ud800"\n', "m:1:7", "not YAML: an escape that names no character"),
        ("a: @x\n", "m:1:4", "not YAML: a character that cannot begin a value"),
        ("a: - x\n", "m:1:4", "not YAML: a '-' where no list can stand"),
        ("a: * x\n", "m:1:5", "not YAML: an alias (*) or anchor (&) without a name"),
        ("a: [x,,y]\n", "m:1:7", "not YAML: a value is missing here"),
        ("%YAML 3.0\n---\na: x\n", "m:1:1", "not YAML: this version of YAML is not read"),
        ("a: !x!y z\n", "m:1:4", "not YAML: a tag (!) that is not defined"),
    ],
)
def test_what_is_not_yaml_is_refused_at_its_place(text: str | bytes, place: str, message: str) -> None:
    assert refused(text) == (place, message)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: *y\n", "m:1:4: a", "no anchor &y stands above"),
        ("a: &x [*x]\n", "m:1:8: a[0]", "the alias *x stands inside its own anchor &x"),
        ("a: &x {b: *x}\n", "m:1:11: a.b", "the alias *x stands inside its own anchor &x"),
        ("a: &x [b]\nc: {<<: *x}\n", "m:1:8: c['<<'][0]", "'<<' takes mappings only"),
        ("a: {<<: b}\n", "m:1:9: a['<<']", "'<<' takes mappings only"),
        ("a: &x {b: c}\nd:\n  <<: *x\n  <<: *x\n", "m:4:3: d['<<']", "'<<' stands twice in one mapping"),
        ("a: !!python/name:os.system x\n", "m:1:4: a", "the tag 'tag:yaml.org,2002:python/name:os.system' means nothing here"),
        ("a: !secret x\n", "m:1:4: a", "the tag '!secret' means nothing here"),
        ("a: x\nb: y\na: z\n", "m:3:1: a", "the key 'a' stands twice, first in line 1"),
        ("'a': x\na: z\n", "m:2:1: a", "the key 'a' stands twice, first in line 1"),
        ("? {a: b}\n: x\n", "m:1:3: ['?']", "a list or mapping cannot be a key"),
        ("1: x\n", "m:1:1: 1", "the key 1 is a number to YAML"),
    ],
)  # fmt: skip
def test_yaml_that_means_nothing_here_is_a_complaint(text: str, place: str, message: str) -> None:
    _, complaints = read_yaml(text, "m")
    assert [(str(one.where), one.message) for one in complaints] == [(place, message)]
    assert complaints[0].hint


def test_a_repeated_key_keeps_its_first_value_and_reading_goes_on() -> None:
    value, complaints = read_yaml("a: x\na: {b: y}\nc: z\n", "m")
    assert plain(value) == {"a": "x", "c": "z"}
    assert len(complaints) == 1


def test_complaints_before_a_syntax_error_are_kept() -> None:
    with pytest.raises(DocumentError) as caught:
        read_yaml("a: x\na: y\nb: [\n", "m")
    assert [one.where.line for one in caught.value.complaints] == [2, 4]


def laughs(width: int, levels: int) -> str:
    lines = ["a0: &a0 [" + ", ".join(["ha"] * width) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * width) + "]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize("text", [laughs(10, 9), laughs(2, 40), laughs(1000, 3)], ids=["10 wide", "2 wide", "1000 wide"])
def test_a_billion_laughs_are_refused_in_words(text: str) -> None:
    assert refused(text)[1] == f"the file has more than {MAX_VALUES:,} values once its aliases (*name) are written out"


def test_a_billion_laughs_do_not_fill_the_memory() -> None:
    tracemalloc.start()
    try:
        refused(laughs(10, 9))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 1024 * 1024


def test_merge_keys_cannot_multiply_without_bound() -> None:
    lines = ["m0: &m0 {" + ", ".join(f"k{n}: v" for n in range(200)) + "}"]
    lines += [f"m{n}: &m{n} {{<<: [" + ", ".join([f"*m{n - 1}"] * 20) + "]}" for n in range(1, 30)]
    _, message = refused("\n".join(lines))
    assert message.startswith("the file has more than 200,000 values")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 100_000])
def test_deep_nesting_is_refused_without_exhausting_the_stack(opening: str, depth: int) -> None:
    _, message = refused(opening * depth)
    assert "inside one another" in message or message.startswith("not YAML")


def test_depth_behind_aliases_counts_too() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 60)]
    assert refused("\n".join(lines))[1] == f"more than {MAX_DEPTH} mappings and lists inside one another"


def test_what_is_allowed_is_read() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


def test_a_file_that_is_too_large_is_not_read() -> None:
    assert refused(b"#" * (MAX_BYTES + 1)) == ("m:1:1", f"the file has {MAX_BYTES + 1} bytes, and more than 4 MiB is not read")
    assert refused("é" * (MAX_BYTES // 2 + 1))[1] == f"the file has {MAX_BYTES + 2} bytes, and more than 4 MiB is not read"
