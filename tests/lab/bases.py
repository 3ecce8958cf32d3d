"""The stand-in bases: what each one says of itself, as data (``bases/*.toml``), and the files that say it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from tests.lab.layers import Entry

FOLDER = Path(__file__).parent / "bases"
MODULES = FOLDER / "modules"
MERGED = ("env", "labels", "files", "programs")
SAYS = {
    "imgbuild.lab": "stand-in",
    "imgbuild.lab.says": "simulated: real variables, labels and layout, none of the vendor's software",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """An installed Python distribution; ``said`` are values that its module answers with."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    module: str | None = None
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One stand-in.

    ``also`` are further tags; ``root`` the Debian release underneath; ``python`` the minor
    version of the interpreter below the folder ``at``; ``venv`` a virtual environment over it.
    ``ubuntu_python`` marks Ubuntu's Python packages of that version as installed. ``wheels`` are
    distributions that are really there, from the package index.
    """

    reference: str
    also: tuple[str, ...] = ()
    root: str = "bookworm"
    os: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None
    at: str = ""
    venv: str | None = None
    ubuntu_python: str | None = None
    wheels: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    media: str = "oci"
    index: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    workdir: str = ""
    user: str = ""

    @property
    def host(self) -> str:
        """The registry's name."""
        return self.reference.partition("/")[0]

    @property
    def repository(self) -> str:
        """The path in the registry."""
        return self.reference.partition("/")[2].rpartition(":")[0]

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag, the reference's first."""
        return (self.reference.rpartition(":")[2], *self.also)

    @property
    def interpreter(self) -> str | None:
        """The path of the Python that holds the vendor's distributions."""
        if self.venv:
            return f"/{self.venv}/bin/python"
        return f"/{self.at}/bin/python{self.python}" if self.python else None

    @property
    def packages(self) -> str:
        """The folder of installed distributions."""
        return f"{self.venv or self.at}/lib/python{self.python}/site-packages"


@cache
def images() -> tuple[Image, ...]:
    """Return every stand-in, sorted by reference."""
    found = [image for path in sorted(FOLDER.glob("*.toml")) for image in read(path)]
    return tuple(sorted(found, key=lambda image: image.reference))


def read(path: Path) -> Iterator[Image]:
    """Yield the stand-ins of one file; what stands under ``every`` and ``like`` is inherited."""
    document = tomllib.loads(path.read_text())
    names = {one.name for one in fields(Image)}
    for raw in document["image"]:
        layers = [document.get("every", {}), document.get("like", {}).get(raw.pop("like", ""), {}), raw]
        made: dict[str, Any] = {}
        for layer in layers:
            made |= {key: {**made.get(key, {}), **value} if key in MERGED else value for key, value in layer.items()}
        made["distributions"] = tuple(
            Distribution(**{**one, "requires": tuple(one.get("requires", ()))}) for one in made.pop("distribution", [])
        )
        if unknown := made.keys() - names:
            msg = f"{path.name}: {raw['reference']} has unknown keys {sorted(unknown)}"
            raise ValueError(msg)
        made = {key: tuple(value) if isinstance(value, list) else value for key, value in made.items()}
        yield Image(**made)


def entries(image: Image, python_full: str) -> Iterator[Entry]:
    """Yield what sets a stand-in apart from the others over the same root and interpreter."""
    if image.os:
        yield Entry(path="usr/lib/os-release", data=os_release(image.os))
    yield from virtual_environment(image, python_full) if image.venv else ()
    for distribution in image.distributions:
        yield from installed(distribution, image.packages)
    pins = "".join(f"{one.name}=={one.version}\n" for one in image.distributions)
    for name in image.env.get("PIP_CONSTRAINT", "").split():
        yield Entry(path=name.lstrip("/"), data=pins.encode())
    for path, text in image.files.items():
        yield Entry(path=path, data=text.encode())
    for path, text in image.programs.items():
        yield Entry(path=path, data=text.encode(), mode=0o755)
    if image.workdir:
        yield Entry(path=image.workdir.lstrip("/"), folder=True, mode=0o755)


def os_release(said: Mapping[str, str]) -> bytes:
    """Return an ``/etc/os-release``."""
    lines = {
        "PRETTY_NAME": said["name"],
        "NAME": said["name"].partition(" ")[0],
        "VERSION_ID": said["version"],
        "VERSION_CODENAME": said["codename"],
        "ID": said["id"],
        "ID_LIKE": "debian",
    }
    return "".join(f'{key}="{value}"\n' for key, value in lines.items()).encode()


def virtual_environment(image: Image, python_full: str) -> Iterator[Entry]:
    """Yield a virtual environment over the interpreter."""
    program = f"/{image.at}/bin/python{image.python}"
    config = f"home = /{image.at}/bin\ninclude-system-site-packages = false\nversion = {python_full}\nexecutable = {program}\n"
    yield Entry(path=f"{image.venv}/pyvenv.cfg", data=config.encode())
    for name in ("python", "python3", f"python{image.python}"):
        yield Entry(path=f"{image.venv}/bin/{name}", link=program, mode=0o777)


def installed(distribution: Distribution, packages: str) -> Iterator[Entry]:
    """Yield an installed distribution as pip leaves it: its module, metadata, and a record of both."""
    made = dict(module_files(distribution))
    normal = distribution.name.replace("-", "_")
    information = f"{normal}-{distribution.version}.dist-info"
    requires = "".join(f"Requires-Dist: {one}\n" for one in distribution.requires)
    made[f"{information}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {distribution.name}\nVersion: {distribution.version}\n"
        f"Summary: a stand-in of imgbuild's lab\n{requires}"
    ).encode()
    made[f"{information}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: imgbuild lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    made[f"{information}/INSTALLER"] = b"pip\n"
    made[f"{information}/RECORD"] = record(made, f"{information}/RECORD")
    for path, data in made.items():
        yield Entry(path=f"{packages}/{path}", data=data)


def module_files(distribution: Distribution) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a distribution's module, with the values it answers with."""
    if distribution.module is None:
        return
    folder = MODULES / distribution.module
    for path in sorted(folder.rglob("*.py")):
        yield f"{distribution.module}/{path.relative_to(folder)}", path.read_bytes()
    said = {"version": distribution.version, **distribution.said}
    yield f"{distribution.module}/_said.py", f"SAID = {said!r}\n".encode()


def record(files: Mapping[str, bytes], own: str) -> bytes:
    """Return a RECORD: path, hash and size of every file, its own line without."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        lines.writerow([path, f"sha256={digest}", len(data)])
    lines.writerow([own, "", ""])
    return out.getvalue().encode()


def ubuntu_packages(image: Image) -> str:
    """Return dpkg's stanzas that say Ubuntu's Python packages are installed; the files came with the interpreter."""
    names = ["python3", "python3-venv", "python3-pip", f"python{image.python}", f"python{image.python}-venv"]
    stanza = "Package: {}\nStatus: install ok installed\nMaintainer: imgbuild lab\nArchitecture: all\n"
    stanza += "Version: {}\nDescription: a stand-in\n"
    return "\n".join(stanza.format(name, image.ubuntu_python) for name in names)


def recipe(*modules: str) -> str:
    """Return a digest of these modules of the lab, and with none of everything that decides what the stand-ins are."""
    paths = [Path(__file__).parent / f"{name}.py" for name in modules or ("layers", "debs", "interpreters", "bases", "publish")]
    if not modules:
        paths += [path for path in FOLDER.rglob("*") if path.suffix in {".py", ".toml"}]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def listing(image: Image, digest: str | None, missing: str | None) -> dict[str, Any]:
    """Return a stand-in as JSON tells it."""
    return {
        "reference": image.reference,
        "tags": list(image.tags),
        "digest": digest,
        "missing": missing,
        "python": image.interpreter,
        "python_version": image.python,
        "os": f"{image.os['id']}{image.os['version']}" if image.os else f"debian-{image.root}",
        "distributions": {one.name: one.version for one in image.distributions},
        "entrypoint": list(image.entrypoint),
    }


def said_json(image: Image) -> bytes:
    """Return the definition as bytes that change when it does."""
    return json.dumps({one.name: repr(getattr(image, one.name)) for one in fields(image)}, sort_keys=True).encode()
