"""Bad matrix files: every complaint has its place, its field and the likely fix, and all come at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from builder.documents.matrix import distinct, examine_matrix_text, read_matrix_text
from builder.errors import Complaint, DocumentError, Where

HEAD = "imgbuild: 1\nname: m\nmatrix: {framework: [pytorch==2.9.*], stack: [cuda, cpu], python: ['3.12']}\n"
AXES = "imgbuild: 1\nname: m\nmatrix:\n  framework: [pytorch]\n  stack: [cuda]\n"


def complaints(text: str | bytes) -> list[tuple[str, str, str | None]]:
    """Return place, message and hint of every complaint."""
    try:
        found = examine_matrix_text(text, "m").complaints
    except DocumentError as error:
        found = error.complaints
    return [(str(one.where), one.message, one.hint) for one in found]


def only(text: str | bytes) -> tuple[str, str, str | None]:
    """Return the only complaint."""
    found = complaints(text)
    assert len(found) == 1, found
    return found[0]


CASES = yaml.safe_load((Path(__file__).parent / "complaints.yaml").read_text())


@pytest.mark.parametrize("case", CASES["lines"], ids=lambda case: case["text"])
def test_a_bad_line_is_complained_about_once_at_its_place(case: dict[str, str]) -> None:
    assert only(HEAD + case["text"] + "\n") == (case["place"], case["message"], case["hint"])


@pytest.mark.parametrize("case", CASES["axes"], ids=lambda case: case["text"].strip())
def test_a_bad_axis_is_complained_about_once_at_its_place(case: dict[str, str]) -> None:
    assert only(AXES + case["text"] + "\n") == (case["place"], case["message"], case["hint"])


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ("'2.9'", "'2.9' does not name a framework", "write a name, or a name with a PEP 440 specifier, such as pytorch==2.9.*"),
        (
            "pytorch 2.9",
            "'pytorch 2.9' does not name a framework",
            "write a name, or a name with a PEP 440 specifier, such as pytorch==2.9.*",
        ),
        ("pytorch=2.9", "'=2.9' is not a PEP 440 specifier such as ==2.9.* or >=2.9,<3", "did you mean pytorch==2.9?"),
        ("'>=2.9'", "'>=2.9' has a specifier but no name", "write the name too: pytorch>=2.9"),
    ],
)
def test_a_framework_is_a_name(value: str, message: str, hint: str) -> None:
    text = f"imgbuild: 1\nname: m\nmatrix: {{framework: [{value}], stack: [cpu], python: ['3.12']}}\n"
    assert only(text) == ("m:3:22: matrix.framework[0]", message, hint)


@pytest.mark.parametrize("value", ["'>=3.12'", "python==3.12", "3.12.4", "'312'"])
def test_a_python_is_a_plain_version(value: str) -> None:
    text = f"imgbuild: 1\nname: m\nmatrix: {{framework: [jax], stack: [cpu], python: [{value}]}}\n"
    message = f"{value.strip(chr(39))!r} is not a Python version such as 3.12"
    assert only(text) == ("m:3:51: matrix.python[0]", message, 'write "3.12"; the patch release is the base\'s')


def test_a_pattern_for_pythons_is_no_specifier() -> None:
    text = "imgbuild: 1\nname: m\nmatrix: {framework: [jax], stack: [cpu], python: ['3.12'], exclude: [{python: '>=3.12'}]}\n"
    message = "'>=3.12' has a specifier but no name, and is not compared by guessing"
    hint = 'name each Python that is meant, as it stands on the axis: "3.12"'
    assert only(text) == ("m:3:79: matrix.exclude[0].python", message, hint)


def test_names_that_differ_in_spelling_only_are_the_same_value() -> None:
    text = "imgbuild: 1\nname: m\nmatrix: {framework: [PyTorch == 2.9.*, 'pytorch==2.9.*'], stack: [cpu], python: ['3.12']}\n"
    assert only(text)[1] == "'pytorch==2.9.*' stands twice on the axis 'framework', first in line 3"


def test_all_complaints_come_at_once_in_the_order_of_the_file() -> None:
    text = """imgbuild: 1
nmae: pytorch
targets:
  t: {accelerator: nvidia/h100, drivr: "1", runner: shh}
matrix:
  framework: [pytorch]
  stack: [cuda]
  python: [3.10, "3.12"]
  exclude: [{stak: cuda}]
tags: ["{framwork}"]
limits: {size: big}
"""
    assert [place for place, _, _ in complaints(text)] == [
        "m:1:1: name",
        "m:2:1: nmae",
        "m:4:33: targets.t.drivr",
        "m:4:53: targets.t.runner",
        "m:8:12: matrix.python[0]",
        "m:9:14: matrix.exclude[0].stak",
        "m:10:8: tags[0]",
        "m:11:16: limits.size",
    ]


def test_an_unquoted_version_does_not_hide_what_follows_from_the_cells() -> None:
    reading = examine_matrix_text(AXES + "  python: [3.10, '3.12']\n", "m")
    assert reading.cells_known
    assert reading.matrix is not None
    assert [value.text for value in reading.matrix.axes[2].values] == ["3.10", "3.12"]
    broken = examine_matrix_text(AXES + "  python: ['3.12']\n  exclude: [{stak: cuda}]\n", "m")
    assert not broken.cells_known


def test_what_is_sound_can_be_checked_further_where_the_rest_is_not() -> None:
    reading = examine_matrix_text(HEAD + "targets: {a: {accelerator: nvidia/h100}, b: {accelerator: x}}\nengine: no\n", "m")
    assert len(reading.complaints) == 2
    assert reading.matrix is not None
    assert [target.name for target in reading.matrix.targets] == ["a"]


def test_a_value_behind_several_aliases_is_complained_about_once() -> None:
    text = HEAD + "targets:\n  a: &a {accelerator: nvidia/h100, driver: 580.95}\n  b: *a\n  c: {<<: *a}\n"
    assert only(text)[0] == "m:5:44: targets.a.driver"


@pytest.mark.parametrize("version", ["2", "0", "17"])
def test_another_format_is_the_only_complaint(version: str) -> None:
    place, message, hint = only(f"imgbuild: {version}\nnonsense: x\n")
    assert (place, message) == ("m:1:11: imgbuild", f"this file is of format {version}, and this program reads format 1")
    assert hint == "use an imgbuild that reads it, or write imgbuild: 1"


@pytest.mark.parametrize(
    ("version", "hint"),
    [('"1"', "write 1 without quotes"), ("one", "write a number such as 1"), ("1.0", "write a number such as 1")],
)
def test_the_format_is_a_whole_number(version: str, hint: str) -> None:
    text = HEAD.replace("imgbuild: 1", f"imgbuild: {version}")
    assert only(text)[2] == hint


@pytest.mark.parametrize("name", ["PyTorch", "a b", "a--", ".a", "a/b", "x" * 65, "été"])
def test_a_name_is_one_that_a_registry_takes(name: str) -> None:
    place, message, _ = only(HEAD.replace("name: m", f"name: {name}"))
    assert place == "m:2:7: name"
    assert "is not a name that a registry takes" in message


def test_an_error_carries_every_complaint_and_says_what_to_do() -> None:
    with pytest.raises(DocumentError, match="2 complaints about m") as caught:
        read_matrix_text(HEAD + "a: 1\nb: 2\n", "m")
    assert [one.where.line for one in caught.value.complaints] == [4, 5]
    assert caught.value.hint == "mend these places, then look again: imgbuild matrix lint m"


def test_a_long_or_strange_value_is_shown_on_one_short_line() -> None:
    found = complaints(HEAD + 'engine: "' + "\\e[31m" + "x" * 5000 + '"\nuser: "' + "\\u202e" + '"\n')
    for _, message, _ in found:
        assert len(message) < 200
        assert message.isprintable()
    assert len(found) == 2


def test_the_product_example_with_one_slip_names_the_slip(request: pytest.FixtureRequest) -> None:
    text = (
        (Path(request.path).parents[2] / "data" / "matrix" / "product.yaml").read_text().replace('"3.10", "3.12"', "3.10, 3.12")
    )
    assert [place.split(": ")[1] for place, _, _ in complaints(text)] == ["matrix.python[0]", "matrix.python[1]"]


def test_a_later_stage_adds_nothing_about_what_an_earlier_one_complained_about() -> None:
    def said(line: int, message: str, field: str = "f") -> Complaint:
        return Complaint(where=Where(file="m", line=line, column=1, field=field), message=message)

    first = [said(2, "a"), said(2, "b"), said(2, "a", field="other")]
    assert distinct(first, [said(2, "c"), said(1, "d"), said(1, "e")], [said(1, "f"), said(3, "g")]) == (
        said(1, "d"),
        said(1, "e"),
        said(2, "a"),
        said(2, "b"),
        said(3, "g"),
    )
