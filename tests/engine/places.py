"""Where the matrices of a test lie, and what is beside them and in the engines when they were built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.engine.command import ask, write_matrix

ENGINES = ("docker", "podman")


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One matrix file, with what runs leave beside it."""

    path: Path
    name: str

    @property
    def lock_path(self) -> Path:
        return self.path.with_name(f"{self.path.stem}.lock.yaml")

    @property
    def lock(self) -> dict[str, Any]:
        """The lock, as a reader of YAML sees it."""
        found = yaml.safe_load(self.lock_path.read_text())
        assert isinstance(found, dict)
        return found

    @property
    def state(self) -> Path:
        """What runs leave: records, logs, the run lock."""
        return self.path.parent / ".imgbuild" / self.path.stem

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """Every record."""
        return [json.loads(path.read_text()) for path in sorted((self.state / "evidence").glob("*.json"))]

    def log(self, variant: str) -> Path:
        return self.state / "logs" / f"{variant}.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder of matrices. ``mark`` begins every name, so that images of one test are told from all others."""

    folder: Path
    mark: str
    environ: Mapping[str, str]
    made: list[Matrix] = field(default_factory=list)

    def matrix(self, name: str, **sections: Any) -> Matrix:
        """Write a matrix, each in a folder of its own."""
        full = f"{self.mark}-{name}"
        made = Matrix(path=write_matrix(self.folder / name / f"{name}.yaml", {"name": full, **sections}), name=full)
        self.made.append(made)
        return made

    def tags(self, engine: str, environ: Mapping[str, str] | None = None) -> list[str]:
        """Return every image of these matrices that an engine has."""
        listed = ask(environ or self.environ, engine, "images", "--format", "{{.Repository}}:{{.Tag}}").split()
        return [name for name in listed if name.startswith(f"localhost/imgbuild/{self.mark}")]

    def clear(self) -> None:
        """Remove the images from both engines, and bases of repositories that bear the mark."""
        for engine in ENGINES:
            form = "{{.Repository}} {{.Tag}} {{.Digest}}"
            listed = ask(self.environ, engine, "images", "--all", "--digests", "--format", form).splitlines()
            mine = [line.split() for line in listed if self.mark in line.split()[0]]
            names = {f"{name}@{digest}" if tag == "<none>" else f"{name}:{tag}" for name, tag, digest in mine}
            if names:
                ask(self.environ, engine, "image", "rm", "--force", *sorted(names), check=False)


def small(framework: str = "onnxruntime==1.31.*", **more: Any) -> dict[str, Any]:
    """Return the sections of a matrix whose one variant takes seconds: an image that has a Python, and a wheel of one line."""
    return {
        "matrix": {"framework": [framework], "stack": ["cpu"], "python": ["3.12"]},
        "base": ["docker.io/library/ubuntu:24.04"],
        "probes": ["import", "declared", "pip-check"],
        **more,
    }
