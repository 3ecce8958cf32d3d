"""What ``imgbuild init`` writes."""

from __future__ import annotations

import re

import yaml

from builder.documents.matrix import examine_matrix_text, read_matrix_text
from builder.documents.starter import starter
from builder.expand import examine, lint


def test_the_starter_matrix_lints_clean_and_has_cells() -> None:
    files = starter()
    assert list(files) == ["matrix.yaml"]
    assert lint(examine_matrix_text(files["matrix.yaml"], "matrix.yaml")) == ()
    expansion, _ = examine(read_matrix_text(files["matrix.yaml"], "matrix.yaml"))
    assert [str(cell) for cell in expansion.cells] == [
        "framework=onnxruntime==1.32.*, stack=cpu, python=3.11",
        "framework=onnxruntime==1.32.*, stack=cpu, python=3.13",
    ]


def test_what_is_commented_out_in_the_starter_works_once_it_is_not() -> None:
    text = starter()["matrix.yaml"].decode()
    for wanted in ("repository", "h100", "mi300x", "gaudi3", "packages", "publish", "licence", "exclude", "include"):
        text = re.sub(rf"(?m)^(\s*)# ({wanted}:.*)$", r"\1\2", text)
    text = re.sub(r"(?m)^(\s*)# (  - \{)", r"\1\2", text)
    text = text.replace("stack: [cpu] ", "stack: [cuda, cpu] ")
    reading = examine_matrix_text(text, "matrix.yaml")
    assert lint(reading) == ()
    assert reading.matrix is not None
    assert [target.name for target in reading.matrix.targets] == ["here", "h100", "mi300x", "gaudi3"]
    assert len(reading.matrix.exclude) == 1
    assert len(reading.matrix.packages) == 2


def test_the_workflow_may_read_and_names_actions_by_major_version() -> None:
    files = starter(github=True)
    assert list(files) == ["matrix.yaml", ".github/workflows/imgbuild.yaml"]
    text = files[".github/workflows/imgbuild.yaml"].decode()
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in workflow["jobs"].values())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    uses = [step["uses"] for step in steps if "uses" in step]
    assert uses
    assert all(re.fullmatch(r"(actions|docker)/[a-z-]+@v\d+", use) for use in uses)
    assert "by major version" in text
    assert [step["run"] for step in steps if "run" in step][:3] == [
        'python -m pip install "$IMGBUILD"',
        "imgbuild matrix lint matrix.yaml",
        "imgbuild matrix build matrix.yaml",
    ]
    assert "${{" not in "".join(step.get("run", "") for step in steps)
