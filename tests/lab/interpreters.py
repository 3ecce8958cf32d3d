"""Interpreters for stand-ins: the very minor version that a vendor's image has, copied from this host.

Debian has one Python per release, vendors' images have others. Looked for, in this order: the
folders of ``IMGBUILD_LAB_PYTHONS``, pyenv's, GitHub's tool cache, uv's; then uv is asked to bring one.
"""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.lab.layers import Entry
from tests.lab.place import CHECKOUT, LabError, cache_folder
from tests.lab.process import run

LEFT_OUT = re.compile(
    r"(^|/)(__pycache__|site-packages|test|tests|idlelib|turtledemo|tkinter|lib2to3|config-3\.[^/]*)(/|$)|_tkinter\.|\.a$|_test[a-z]*\."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A CPython on this host: ``minor`` such as ``3.12``, ``full`` such as ``3.12.1``."""

    minor: str
    full: str
    prefix: Path


def places(minor: str) -> Iterator[Path]:
    """Yield folders that may be the prefix of a CPython of this minor version."""
    for own in filter(None, os.environ.get("IMGBUILD_LAB_PYTHONS", "").split(":")):
        yield Path(own)
    roots = (
        Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions",
        Path(os.environ.get("RUNNER_TOOL_CACHE") or "/opt/hostedtoolcache") / "Python",
        Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "uv" / "python",
        cache_folder() / "pythons",
    )
    for root in roots:
        for found in sorted(root.glob(f"*{minor}.*"), reverse=True):
            yield from (found, found / "x64", found / "arm64")


def here(minor: str) -> Interpreter | None:
    """Return a CPython of this minor version that is on this host, ``None`` when none is."""
    for prefix in places(minor):
        program = prefix / "bin" / f"python{minor}"
        if (prefix / "lib" / f"python{minor}" / "os.py").exists() and program.exists():
            full = run([str(program), "-I", "-S", "-c", "import platform; print(platform.python_version())"]).strip()
            return Interpreter(minor=minor, full=full, prefix=prefix.resolve())
    return None


@cache
def find(minor: str) -> Interpreter:
    """Return a CPython of this minor version, brought by uv if need be; ``LabError`` saying how to get one."""
    found = here(minor)
    if found is None:
        bring(minor)
        found = here(minor)
    if found is None:
        ways = f"'uv python install {minor}' or pyenv brings one, or name its prefix in IMGBUILD_LAB_PYTHONS"
        msg = f"no CPython {minor} on this host; {ways}"
        raise LabError(msg)
    return found


@cache
def bring(minor: str) -> None:
    """Ask uv for an interpreter, once; nothing when there is no uv or it cannot."""
    uv = shutil.which("uv") or str(CHECKOUT / ".venv" / "bin" / "uv")
    if not Path(uv).exists():
        return
    try:
        command = [uv, "python", "install", "--no-bin", "--install-dir", str(cache_folder() / "pythons"), minor]
        run(command, env={"UV_HTTP_TIMEOUT": "30", "UV_HTTP_RETRIES": "1"})
    except LabError:
        return


def entries(found: Interpreter, at: str) -> Iterator[Entry]:
    """Yield an interpreter below ``at``, with pip, and what it links against beside Debian's libraries."""
    minor = found.minor
    for name in (f"python{minor}", "python3", "python"):
        if name == f"python{minor}":
            yield Entry(path=f"{at}/bin/{name}", data=(found.prefix / "bin" / name).read_bytes(), mode=0o755)
        else:
            yield Entry(path=f"{at}/bin/{name}", link=f"python{minor}", mode=0o777)
    for shared in (found.prefix / "lib").glob(f"libpython{minor}.so.1.0"):
        yield Entry(path=f"usr/lib/{shared.name}", data=shared.read_bytes(), mode=0o755)
    library = found.prefix / "lib" / f"python{minor}"
    for path in sorted(library.rglob("*")):
        inside = str(path.relative_to(library))
        if path.is_file() and not LEFT_OUT.search(inside):
            yield Entry(
                path=f"{at}/lib/python{minor}/{inside}", data=path.read_bytes(), mode=0o755 if ".so" in path.name else 0o644
            )
    yield from pip(found, f"{at}/lib/python{minor}/site-packages", f"{at}/bin", f"/{at}/bin/python{minor}")


def pip(found: Interpreter, packages: str, programs: str, python: str) -> Iterator[Entry]:
    """Yield the pip that came with the interpreter, installed."""
    wheel = next((found.prefix / "lib" / f"python{found.minor}" / "ensurepip" / "_bundled").glob("pip-*.whl"))
    yield from unpacked(wheel, packages)
    script = f"#!{python}\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n".encode()
    for name in ("pip", "pip3", f"pip{found.minor}"):
        yield Entry(path=f"{programs}/{name}", data=script, mode=0o755)


def unpacked(wheel: Path, packages: str) -> Iterator[Entry]:
    """Yield a wheel's files in a folder of packages, marked as pip's work."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("/"):
                yield Entry(path=f"{packages}/{name}", data=archive.read(name))
        information = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
    yield Entry(path=f"{packages}/{information}/INSTALLER", data=b"pip\n")
