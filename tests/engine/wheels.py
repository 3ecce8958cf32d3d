"""Small wheels of a test's own, and a folder of them that pip and uv read as an index."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab.bases import Distribution, module_files

ONNXRUNTIME = ("1.30.0", "1.31.1")
"""Releases of a framework that the catalog has, made here of one line."""
LINGERS = "1.31.0"
"""Another, whose import takes ``LINGER_SECONDS``."""
LINGER_SECONDS = 6
SLOW_FILES = 6_000
LARGE_BYTES = 24 * 1024 * 1024
TORCH = "2.9.1+cu130"


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, bytes], requires: Sequence[str] = ()) -> Path:
    """Write a pure wheel into a folder, always the same bytes, and return its path."""
    normal = name.replace("-", "_")
    information = f"{normal}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    made = {
        **files,
        f"{information}/METADATA": (metadata + "".join(f"Requires-Dist: {one}\n" for one in requires)).encode(),
        f"{information}/WHEEL": b"Wheel-Version: 1.0\nGenerator: imgbuild tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    made[f"{information}/RECORD"] = _record(made, f"{information}/RECORD")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{normal}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for place, data in made.items():
            wheel.writestr(zipfile.ZipInfo(place, (2026, 1, 1, 0, 0, 0)), data)
    return path


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for place, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        lines.writerow([place, f"sha256={digest}", len(data)])
    lines.writerow([own, "", ""])
    return text.getvalue().encode()


def write_pages(index: Path) -> None:
    """Write the page of every project below a folder of wheels, so that the folder is an index by ``file://``."""
    for project in (path for path in index.iterdir() if path.is_dir()):
        links = [f'<a href="{wheel.name}#sha256={sha256(wheel)}">{wheel.name}</a>\n' for wheel in sorted(project.glob("*.whl"))]
        (project / "index.html").write_text("".join(links))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_index(index: Path) -> None:
    """Write an index of all that the tests ask for.

    ``imgbuild-greeter`` needs a torch, any; version 2 one that no stand-in has. ``imgbuild-large`` takes room.
    """
    write_wheel(index / "imgbuild-plain", "imgbuild-plain", "1.0", {"imgbuild_plain.py": b"SAID = 1\n"})
    for version, needs in (("1.0", "torch>=2"), ("2.0", "torch==99.0")):
        write_wheel(index / "imgbuild-greeter", "imgbuild-greeter", version, {"imgbuild_greeter.py": b"SAID = 1\n"}, [needs])
    noise = b"".join(hashlib.sha256(str(number).encode()).digest() for number in range(LARGE_BYTES // 32))
    write_wheel(index / "imgbuild-large", "imgbuild-large", "1.0", {"imgbuild_large.bin": noise})
    for version in (*ONNXRUNTIME, LINGERS):
        wait = f"import time\ntime.sleep({LINGER_SECONDS})\n" if version == LINGERS else ""
        module = f"{wait}__version__ = {version!r}\n".encode()
        write_wheel(index / "onnxruntime", "onnxruntime", version, {"onnxruntime/__init__.py": module})
    write_pages(index)


def write_slow(index: Path) -> str:
    """Add a package whose installing takes seconds, which no engine has in its cache of steps; return its name."""
    name = f"imgbuild-slow-{uuid.uuid4().hex[:8]}"
    folder = name.replace("-", "_")
    write_wheel(index / name, name, "1.0", {f"{folder}/{number // 100}/{number}.txt": b"\n" for number in range(SLOW_FILES)})
    return name


def write_torch_index(index: Path) -> None:
    """Write an index of two builds of a torch that computes nothing, as the lab's stand-ins do."""
    for version in (TORCH, "99.0"):
        torch = Distribution(name="torch", version=version, module="torch", said={"cuda": "13.0"})
        write_wheel(index / "torch", "torch", version, dict(module_files(torch)))
    write_pages(index)
