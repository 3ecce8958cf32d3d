"""Rendered contexts, whole, one per family of bases.

``IMGBUILD_UPDATE_GOLDENS=1 pytest tests/golden`` writes them anew; read the diff before you commit it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builder.model.build import RenderedContext
from builder.render.check import differences
from builder.render.render import render
from tests.golden.cases import CASES

HERE = Path(__file__).parent
UPDATE = os.environ.get("IMGBUILD_UPDATE_GOLDENS") == "1"
LARGE = "large-files.txt"  # what the context needs beside these files: sha256 and path


def rendered(name: str) -> RenderedContext:
    case = CASES[name]
    return render(case.variant, case.platform, case.locked, case.base)


def as_files(context: RenderedContext) -> dict[str, bytes]:
    large = "".join(f"{sha256}  {path}\n" for path, sha256 in context.files.items())
    return {**context.rendered, LARGE: large.encode()}


def on_disk(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", sorted(CASES))
def test_golden(name: str) -> None:
    folder = HERE / name
    files = as_files(rendered(name))
    if UPDATE:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path, data in files.items():
            (folder / path).write_bytes(data)
    found = differences(files, on_disk(folder))
    assert not found, "\n".join(
        line for difference in found for line in (f"{difference.path}: {difference.kind}", *difference.lines)
    )


def test_every_golden_has_a_case() -> None:
    assert {path.name for path in HERE.iterdir() if (path / "Dockerfile").is_file()} == set(CASES)


@pytest.mark.process
@pytest.mark.parametrize("name", sorted(CASES))
def test_hadolint_has_nothing_to_say(name: str) -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert hadolint is not None, "hadolint is missing; it comes with the dev extra (pip install -e .[dev])"
    argv = [hadolint, "--config", str(HERE / ".hadolint.yaml"), "--failure-threshold", "style", str(HERE / name / "Dockerfile")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
