"""Running a probe the way a container does, and importing one as a module."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from builder.model.build import Completed
from builder.model.evidence import ProbeResult, ProbeScript
from builder.model.matrix import Tier
from builder.probe import read_result
from tests.unit.probe.samples import SCRIPTS


def load(name: str) -> ModuleType:
    """Import a script without running it."""
    spec = importlib.util.spec_from_file_location("probe_" + name.replace("/", "_").replace("-", "_"), SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(
    name: str,
    *modules: Path,
    expect: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> ProbeResult:
    """Feed a script to a Python that finds ``modules`` first, and read how it ended."""
    environment = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, modules)), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    if expect is not None:
        environment["IMGBUILD_EXPECT"] = json.dumps(expect)
    text = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    argv = (sys.executable, *options, "-")
    done = subprocess.run(argv, input=text, capture_output=True, text=True, env=environment, check=False)
    completed = Completed(argv=argv, code=done.returncode, stdout=done.stdout, stderr=done.stderr, seconds=0.1)
    stack = ((expect or {}).get("stack") or {}).get("name", "cpu")
    script = ProbeScript(name=name, tier=Tier.DEVICE, text=text, sha256="0" * 64, stack=stack)
    return read_result(script, completed)


def distribution(
    folder: Path, name: str, version: str, *, requires: Sequence[str] = (), files: Mapping[str, str] | None = None
) -> Path:
    """Put an installed distribution into a folder: its metadata, and files of its own."""
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
    (about / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n", encoding="utf-8")
    for path, text in (files or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (about / "RECORD").write_text("".join(f"{path},,\n" for path in files or {}), encoding="utf-8")
    return folder
