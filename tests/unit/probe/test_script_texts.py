"""What holds for every probe script, read as text."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.unit.probe.samples import SCRIPTS

PROBES = sorted(path for path in SCRIPTS.glob("*/*.py") if path.parent.name not in {"base", "driver"})
COMPUTING = [path for path in PROBES if path.stem in {"matmul", "model", "train"}]
BLOCK = re.compile(r"^# --- block: (\w+) \(.*?\)\n(.*?)^# --- end of block$", re.DOTALL | re.MULTILINE)
FRAMEWORKS = {
    "iree": {"iree", "numpy"},
    "jax": {"jax", "jax_neuronx"},
    "litert": {"ai_edge_litert", "numpy"},
    "onnxruntime": {"onnxruntime", "numpy"},
    "openvino": {"openvino", "numpy"},
    "pytorch": {"torch"},
    "tensorflow": {"tensorflow"},
    "vllm": {"vllm", "torch"},
}


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return found | {str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_there_are_probes() -> None:
    assert len(PROBES) >= 25
    assert len(COMPUTING) >= 18


@pytest.mark.parametrize("path", PROBES, ids=named)
def test_it_is_python_3_8_with_a_sentence_that_says_what_it_shows(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    assert (ast.get_docstring(tree) or "").partition("\n")[0].strip()


@pytest.mark.parametrize("path", PROBES, ids=named)
def test_it_imports_the_standard_library_and_its_framework_alone(path: Path) -> None:
    allowed = FRAMEWORKS.get(path.parent.name, set())
    assert imported(path) <= allowed | sys.stdlib_module_names


@pytest.mark.parametrize("path", COMPUTING, ids=named)
def test_it_reports_how_many_numbers_it_checked_and_where(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    body = BLOCK.sub("", text)
    assert re.search(r"finish\(\s*0,.*?device=.*?checked=", body, re.DOTALL) or "check_losses(found, " in body
    assert "compare(" in text


def test_blocks_of_one_name_are_the_same_everywhere() -> None:
    found: dict[str, dict[str, list[str]]] = {}
    for path in PROBES:
        for name, body in BLOCK.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, {}).setdefault(body, []).append(named(path))
    assert {name for name, bodies in found.items() if len(bodies) > 1} == set()
    assert all(sum(len(paths) for paths in bodies.values()) > 1 for bodies in found.values()), "a block of one script is no block"
    assert len(found["protocol"][next(iter(found["protocol"]))]) == len(PROBES)
