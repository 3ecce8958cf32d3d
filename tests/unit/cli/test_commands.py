"""The command line on documents: what it prints where, and the exit codes."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from builder import __version__
from builder.resources import shipped
from tests.unit.cli.conftest import GOOD, Call

BAD = GOOD.replace("onnxruntime", "onxruntime").replace("accelerator", "acelerator").replace('"3.11"', "3.10")


def test_version(call: Call) -> None:
    assert call("--version") == (0, f"imgbuild {__version__}\n", "")


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("--help",),
        ("matrix", "--help"),
        *(("matrix", name, "--help") for name in ("lint", "plan", "lock", "render", "build", "test", "table", "schema")),
        ("init", "--help"),
        ("explain", "--help"),
    ],
)
def test_every_help_is_there_and_plain(call: Call, argv: tuple[str, ...]) -> None:
    code, out, err = call(*argv)
    assert code in ({0, 2} if not argv else {0})
    text = out + err
    assert "Usage: imgbuild" in text
    assert "``" not in text
    assert "completion" not in text
    assert "..." not in text.replace("[ARGS]...", "")


@pytest.mark.parametrize("argv", [("nope",), ("matrix", "nope"), ("matrix", "plan"), ("matrix", "plan", "x", "--nope")])
def test_wrong_words_are_usage_errors_without_a_traceback(call: Call, argv: tuple[str, ...]) -> None:
    code, out, err = call(*argv)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_lint_is_silent_about_a_good_matrix(call: Call, matrix: Path) -> None:
    assert call("matrix", "lint", str(matrix)) == (0, f"{matrix}: nothing to complain about (2 cells)\n", "")


def test_lint_says_every_complaint_at_once_with_its_place_and_its_mend(call: Call, matrix: Path) -> None:
    matrix.write_text(BAD)
    code, out, err = call("matrix", "lint", str(matrix))
    assert code == 3
    assert f"{matrix}:4:10: targets.here.acelerator: the key 'acelerator' is unknown here" in err
    assert "hint: did you mean 'accelerator'?" in err
    assert f"{matrix}:8:12: matrix.python[0]: 3.10 is a number to YAML (3.1)" in err
    assert out.strip().endswith("complaints")


def test_lint_json_is_one_document(call: Call, matrix: Path) -> None:
    matrix.write_text(BAD)
    code, out, err = call("matrix", "lint", str(matrix), "--json")
    document = json.loads(out)
    assert (code, err, document["schema"]) == (3, "", "imgbuild/lint/1")
    assert {"file", "line", "column", "field", "message", "hint"} == set(document["complaints"][0])


def test_under_github_actions_complaints_are_annotations(call: Call, matrix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    matrix.write_text(BAD)
    _, _, err = call("matrix", "lint", str(matrix))
    assert f"::error file={matrix},line=4,col=10::the key 'acelerator' is unknown here" in err.splitlines()


@pytest.mark.parametrize("command", ["lint", "plan", "lock", "render", "build", "test", "table"])
def test_every_command_says_a_file_that_is_not_there_and_a_wrong_one(call: Call, tmp_path: Path, command: str) -> None:
    code, out, err = call("matrix", command, str(tmp_path / "absent.yaml"))
    assert (code, out) == (2, "")
    assert "there is no file" in err
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(BAD)
    code, _, err = call("matrix", command, str(wrong))
    assert code == 3
    assert "did you mean" in err


def test_plan_json_has_the_documented_shape(call: Call, matrix: Path) -> None:
    code, out, err = call("matrix", "plan", str(matrix), "--json")
    plan = json.loads(out)
    assert (code, err) == (0, "")
    cell = plan["cells"][0]
    assert cell["axes"] == {"framework": "onnxruntime==1.32.*", "stack": "cpu", "python": "3.11"}
    assert cell["variant"] == "onnxruntime1.32.0-cpu-py3.11"
    assert cell["verdicts"]["here"]["verdict"] == "supported"
    assert {"rule", "effect", "text", "source"} <= set(cell["verdicts"]["here"]["reasons"][0])
    assert cell["not_applicable"] == []
    assert plan["excluded"] == []


def test_plan_of_some_cells(call: Call, matrix: Path) -> None:
    _, out, _ = call("matrix", "plan", str(matrix), "--json", "--only", "python=3.13")
    assert [cell["variant"] for cell in json.loads(out)["cells"]] == ["onnxruntime1.32.0-cpu-py3.13"]


def test_plan_strict_fails_where_a_cell_has_no_variant(call: Call, matrix: Path) -> None:
    matrix.write_text(GOOD.replace("onnxruntime==1.32.*", "onnxruntime==0.1.*"))
    assert call("matrix", "plan", str(matrix))[0] == 0
    assert call("matrix", "plan", str(matrix), "--strict")[0] == 4


@pytest.mark.parametrize("text", ["h100", "h100.driver", "=", "h100.driver="])
def test_set_wants_a_whole_pair(call: Call, matrix: Path, text: str) -> None:
    code, _, err = call("matrix", "plan", str(matrix), "--set", text)
    assert code == 2
    assert "target.key=value" in err


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("here.accelerator=H200", "the catalog has no accelerator 'H200'", "did you mean nvidia/h200?"),
        ("here.driver=580.95.05", "cpu/x86-64-v2 has no driver, and '580.95.05' is given", "leave driver out"),
    ],
)
def test_set_asks_only_for_what_a_target_can_have(call: Call, matrix: Path, text: str, message: str, hint: str) -> None:
    code, out, err = call("matrix", "plan", str(matrix), "--set", text)
    assert (code, out) == (2, "")
    assert message in err
    assert hint in err


def test_the_schema_is_json(call: Call) -> None:
    code, out, _ = call("matrix", "schema")
    assert code == 0
    assert json.loads(out)["$schema"].startswith("https://json-schema.org/draft/2020-12")


def test_init_writes_a_matrix_that_lints_and_never_overwrites(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    code, out, _ = call("init", str(folder), "--github")
    assert code == 0
    assert f"wrote {folder}/matrix.yaml" in out
    assert (folder / ".github" / "workflows" / "imgbuild.yaml").is_file()
    assert call("matrix", "lint", str(folder / "matrix.yaml"))[0] == 0
    before = (folder / "matrix.yaml").read_bytes()
    (folder / "matrix.yaml").write_bytes(before + b"# mine\n")
    code, _, err = call("init", str(folder))
    assert code == 2
    assert "nothing was written" in err
    assert (folder / "matrix.yaml").read_bytes() == before + b"# mine\n"
    assert call("init", str(folder), "--force")[0] == 0
    assert (folder / "matrix.yaml").read_bytes() == before


def test_a_host_that_refuses_where_nobody_expected_it_is_no_bug(
    call: Call, matrix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_arguments: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "/srv/facts.yaml")

    monkeypatch.setattr("builder.cli.matrix_plan.plan_lines", gone)
    code, out, err = call("matrix", "plan", str(matrix))
    assert (code, out) == (8, "")
    assert err.splitlines()[0] == "error: /srv/facts.yaml: No such file or directory"
    assert "Traceback" not in err


def test_a_working_folder_that_was_removed_is_said(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    code, out, err = call("init")
    assert (code, out) == (8, "")
    assert err.startswith("error: the folder this is run in is not there any more: No such file or directory\n")


def test_explain(call: Call) -> None:
    code, out, _ = call("explain", "drv003")
    assert code == 0
    assert out.startswith("# DRV003")
    code, _, err = call("explain", "DRV999")
    assert code == 2
    assert "there is no rule 'DRV999'" in err


def test_render_without_a_lock_says_how_to_get_one(call: Call, matrix: Path) -> None:
    code, out, err = call("matrix", "render", str(matrix))
    assert (code, out) == (5, "")
    assert f"imgbuild matrix lock {matrix}" in err


def test_the_table_of_a_matrix_that_was_never_built_shows_what_is_planned(call: Call, matrix: Path) -> None:
    code, out, err = call("matrix", "table", str(matrix), "--format", "json")
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    assert [(row["variant"], row["target"], row["tier"], row["digest"]) for row in rows] == [
        ("onnxruntime1.32.0-cpu-py3.11", "here", None, None),
        ("onnxruntime1.32.0-cpu-py3.13", "here", None, None),
    ]


@pytest.mark.parametrize(
    ("form", "start"), [("md", "#"), ("html", "<!doctype html>"), ("csv", "variant,"), ("text", "variant  ")]
)
def test_the_table_in_every_format(call: Call, matrix: Path, tmp_path: Path, form: str, start: str) -> None:
    code, out, _ = call("matrix", "table", str(matrix), "--format", form)
    assert code == 0
    assert out.lower().startswith(start)
    target = tmp_path / "out" / f"table.{form}"
    assert call("matrix", "table", str(matrix), "--format", form, "--output", str(target))[0] == 0
    assert target.read_text().strip() == out.strip()
    assert call("matrix", "table", str(matrix), "--format", form, "-o", "-") == (0, out, "")


def test_the_shipped_schema_is_the_generated_one(call: Call) -> None:
    """Mend with: imgbuild matrix schema > templates/schema/matrix.schema.json."""
    _, out, _ = call("matrix", "schema")
    assert (shipped("templates") / "schema" / "matrix.schema.json").read_text() == out


def test_a_catalog_folder_is_checked_against_itself_and_the_shipped_catalog(call: Call, matrix: Path, tmp_path: Path) -> None:
    text = "stack: acme\ntitle: Acme\ndriver: none\nreleases:\n  - {version: 1.0}\nsource: us\nsources:\n"
    text += "  us: {title: Ours, url: https://example.org/ours, checked: 2026-12-01}\n"
    good, bad = tmp_path / "good", tmp_path / "bad"
    for folder, facts in ((good, text), (bad, text + "numbering: nobody\n")):
        (folder / "stacks").mkdir(parents=True)
        (folder / "stacks" / "acme.yaml").write_text(facts)
    assert call("matrix", "plan", str(matrix), "--catalog", str(good))[0] == 0
    code, out, err = call("matrix", "plan", str(matrix), "--catalog", str(bad))
    assert (code, out) == (3, "")
    assert f"{bad}:1:1: acme: the drivers 'nobody' have no record" in err
