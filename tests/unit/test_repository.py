"""The repository keeps its own rules: sizes, pinned actions, short scripts, and no trace of one machine."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
OURS = ("builder", "templates", "matrices", "tests", ".ci", ".github")
MOST_LINES = {"builder": 400, "tests": 600}
MOST_FUNCTION_LINES = {"builder": 60, "tests": 80}
# Written in two halves, so that this file does not name what it looks for.
FOREIGN = (
    "/wo" + "rk/",
    "/tm" + "p/lab",
    "/opt/whe" + "els",
    "/opt/py" + "pi",
    "/root/.py" + "env",
    "203.0." + "113.",
    "disabled-by-" + "farm",
)
PROMISED = ("quickstart", "test", "test-long", "lint", "bench", "lab-up", "lab-down", "help", "clean", "venv")


def files() -> Iterator[Path]:
    """Yield every file that is ours, caches and state left out."""
    yield from (path for path in ROOT.iterdir() if path.is_file())
    for folder in OURS:
        for path in sorted((ROOT / folder).rglob("*")):
            inside = path.relative_to(ROOT).parts
            if path.is_file() and "__pycache__" not in inside and ".imgbuild" not in inside:
                yield path


def sources() -> list[Path]:
    return [path for path in files() if path.suffix == ".py"]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def workflows() -> list[Path]:
    return sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(path: Path) -> dict[Any, Any]:
    document = yaml.safe_load(path.read_text())
    assert isinstance(document, dict)
    return document


def steps(document: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    for job in document["jobs"].values():
        yield from job.get("steps", [])


def test_no_file_names_the_machine_it_was_written_on() -> None:
    found = {}
    for path in files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if hits := [word for word in FOREIGN if word in text]:
            found[name(path)] = hits
    assert found == {}


def test_no_source_file_is_too_long() -> None:
    lines = {name(path): len(path.read_text().splitlines()) for path in sources()}
    assert len(lines) > 50
    assert {path: count for path, count in lines.items() if count > MOST_LINES[path.split("/")[0]]} == {}


def test_no_function_is_too_long() -> None:
    found = {}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > MOST_FUNCTION_LINES[name(path).split("/")[0]]:
                    found[f"{name(path)}:{node.lineno} {node.name}"] = count
    assert found == {}


@pytest.mark.parametrize("path", workflows(), ids=name)
def test_a_workflow_asks_for_little_and_ends(path: Path) -> None:
    document = load(path)
    assert document["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in document[True]  # YAML 1.1 reads the key ``on`` as true
    for job in document["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 60


@pytest.mark.parametrize("path", workflows(), ids=name)
def test_actions_are_pinned_by_commit_with_the_version_beside(path: Path) -> None:
    used = re.findall(r"uses: (\S+)(.*)", path.read_text())
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action


@pytest.mark.parametrize("path", workflows(), ids=name)
def test_a_workflow_puts_no_expression_into_a_script(path: Path) -> None:
    scripts = [step["run"] for step in steps(load(path)) if "run" in step]
    assert scripts
    assert [script for script in scripts if "${{" in script] == []


def test_ci_runs_what_everybody_runs() -> None:
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if not line.startswith("#")]
    assert lines == ['cd "$(dirname "$0")/.." && exec make test']


@pytest.mark.parametrize("path", sorted((ROOT / ".ci").iterdir()), ids=name)
def test_scripts_can_be_run_and_stop_at_the_first_error(path: Path) -> None:
    text = path.read_text()
    assert path.stat().st_mode & 0o111
    assert text.startswith("#!/bin/bash\n")
    assert "set -euo pipefail" in text or path.name == "run"


def test_the_makefile_has_every_target_and_each_is_short() -> None:
    recipes: dict[str, int] = {}
    target = ""
    for line in (ROOT / "Makefile").read_text().splitlines():
        if match := re.match(r"^([\w./-]+):", line):
            target = match[1]
            recipes[target] = 0
        elif line.startswith("\t"):
            recipes[target] += 1
    assert set(PROMISED) <= recipes.keys()
    assert {target: count for target, count in recipes.items() if count > 4} == {}


def test_the_guide_draws_every_floor() -> None:
    guide = (ROOT / ".github" / "CONTRIBUTING.md").read_text()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rooms = [room.strip() for floor in floors for room in floor.split("|")]
    assert len(rooms) > 10
    assert [room for room in rooms if not re.search(rf"\b{room}\b", guide)] == []
