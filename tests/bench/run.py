"""Benchmarks: ratios in one run against the tool a user would use instead.

``make bench`` runs this and writes ``tests/bench/results.json``; the README's claims are checked
against that file by ``tests/unit/test_readme.py``. Nothing here asserts a time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")
IMGBUILD = [sys.executable, "-m", "builder"]


def seconds(work: Callable[[], object], *, repeat: int = 1) -> float:
    """Return the median wall-clock seconds of ``work``."""
    took = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def call(argv: list[str], *, env: dict[str, str] | None = None, cwd: Path = ROOT, check: bool = True) -> str:
    """Run a program and return its stdout; its stderr is shown when it fails."""
    done = subprocess.run(argv, env={**os.environ, **(env or {})}, cwd=cwd, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
        msg = f"{' '.join(argv)} ended with {done.returncode}"
        raise SystemExit(msg)
    return done.stdout


def start_up() -> dict[str, float]:
    """``imgbuild --version`` against an interpreter that only imports typer."""
    ours = seconds(lambda: call([*IMGBUILD, "--version"]), repeat=15)
    typer = seconds(lambda: call([sys.executable, "-c", "import typer"]), repeat=15)
    return {"version_seconds": ours, "import_typer_seconds": typer, "ratio": ours / typer}


def plan_10000() -> dict[str, float]:
    """Plan a matrix of 10,000 cells, against reading the same YAML with PyYAML alone."""
    values = ", ".join(f'"v{number:03}"' for number in range(500))
    text = (
        "imgbuild: 1\nname: bench\n"
        "targets:\n  here: {accelerator: cpu/x86-64-v3, runner: local}\n"
        "matrix:\n  framework: [onnxruntime>=1.20, openvino, jax, iree, litert]\n  stack: [cpu]\n"
        f'  python: ["3.10", "3.11", "3.12", "3.13"]\n  own: [{values}]\n'
        "base: [distribution]\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.yaml"
        path.write_text(text)
        ours = seconds(lambda: call([*IMGBUILD, "matrix", "plan", str(path), "--json"]), repeat=3)
        yaml = seconds(lambda: call([sys.executable, "-c", f"import yaml; yaml.safe_load(open({str(path)!r}))"]), repeat=3)
    return {"plan_seconds": ours, "read_yaml_seconds": yaml, "cells": 10_000}


def quickstart(folder: Path) -> dict[str, float | str]:
    """Cold build of the quickstart against one ``docker buildx bake`` of the same contexts; then the warm rerun."""
    matrix = folder / "quickstart.yaml"
    shutil.copy(ROOT / "matrices" / "quickstart.yaml", matrix)
    call([*IMGBUILD, "matrix", "lock", str(matrix)])
    contexts = folder / "contexts"
    call([*IMGBUILD, "matrix", "render", str(matrix), "--out", str(contexts), "--contexts"])
    targets = {
        path.parent.name.replace(".", "_"): {"context": str(path.parent), "tags": [f"localhost/bench:{number}"]}
        for number, path in enumerate(sorted(contexts.rglob("Dockerfile")))
    }
    bake = folder / "docker-bake.json"
    bake.write_text(json.dumps({"group": {"default": {"targets": sorted(targets)}}, "target": targets}))
    call(["docker", "buildx", "prune", "--all", "--force"])
    theirs = seconds(lambda: call(["docker", "buildx", "bake", "-f", str(bake), "--provenance=false", "--load"], cwd=folder))
    call(["docker", "buildx", "prune", "--all", "--force"])
    ours = seconds(lambda: call([*IMGBUILD, "matrix", "build", str(matrix), "--engine", "docker"]))
    warm = seconds(lambda: call([*IMGBUILD, "matrix", "build", str(matrix), "--engine", "docker"]))
    return {
        "images": len(targets),
        "bake_seconds": theirs,
        "build_and_test_seconds": ours,
        "ratio": ours / theirs,
        "warm_seconds": warm,
    }


def main() -> None:
    """Run what can be run here, and say what was not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    results: dict[str, object] = {
        "machine": {"processors": os.cpu_count(), "python": platform.python_version(), "machine": platform.machine()},
        "start_up": start_up(),
        "plan": plan_10000(),
    }
    buildx = (
        shutil.which("docker")
        and subprocess.run(["docker", "buildx", "version"], capture_output=True, check=False).returncode == 0
    )
    if buildx:
        with tempfile.TemporaryDirectory() as folder:
            results["quickstart"] = quickstart(Path(folder))
    else:
        results["quickstart"] = {"not_run": "docker with buildx is not here (make lab-up brings one)"}
    options.output.write_text(json.dumps(results, indent=2) + "\n")
    sys.stdout.write(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
