"""uv as the resolver of Python packages, for another Python and platform than this one.

One resolution is two runs of ``uv pip compile`` on the same cache: the first prints the files
(PEP 751), the second who asked for each and which index it came from. A name comes only from the
first index that has it (uv's ``first-index``): the variant's own indexes, then pip's index, then
pip's extra indexes, in order; files of pip's find-links are candidates beside those of that index.
An index that counts for some names only (``Index.only``) is asked for no other.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import uv
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from builder.adapters.downloads import Downloads
from builder.adapters.files import disk_errors
from builder.adapters.index_pages import IndexPages
from builder.adapters.pip_config import PipConfig, plain_url
from builder.adapters.scratch import scratch_folder
from builder.adapters.stub_wheels import stubs
from builder.adapters.uv_output import ChosenFile, Origin, chosen_files, origins, wheel_tags
from builder.adapters.uv_python import ROUNDS, Places, Refusal, unfit
from builder.adapters.uv_sources import index_for_uv, indexes_to_ask, link_for_uv, links_to_ask
from builder.adapters.uv_words import Question, failure
from builder.errors import ProgramError, UnreachableError, UnsatisfiableError
from builder.model.build import Completed
from builder.model.lock import Installed, LockedPackage
from builder.model.oci import Platform
from builder.model.plan import Index
from builder.ports import ProcessRunner

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_GLIBC_MINORS = (17, 28, *range(31, 41))
"""The manylinux levels uv knows as platforms; a base's C library is rounded down to one of them."""
_PYTHON = re.compile(r"3\.\d+(\.\d+)?((a|b|rc)\d+)?")
_GLIBC = re.compile(r"2\.(\d+)")
_SECONDS = 900.0
_RETRIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What a resolution is for, in uv's terms."""

    python: str
    machine: str
    glibc_minor: int

    @property
    def platform(self) -> str:
        """The name uv has for the platform."""
        return f"{self.machine}-manylinux_2_{self.glibc_minor}"


class UvResolver:
    """Resolves with uv, honouring pip's configuration and no configuration of uv's own.

    ``cache`` is the folder all runs share; ``environment`` is this process's, whose ``UV_*``
    variables are kept from uv so that a lock does not depend on them.
    """

    def __init__(
        self,
        processes: ProcessRunner,
        *,
        config: PipConfig,
        cache: Path,
        environment: Mapping[str, str],
        pages: IndexPages | None = None,
        program: str | None = None,
    ) -> None:
        self._processes = processes
        self._pages = pages or IndexPages(Downloads(config), links=frozenset(link.name for link in config.find_links))
        self._config = config
        self._cache = cache
        self._environment = environment
        self._program = program

    def resolve(
        self,
        requirements: Sequence[str],
        *,
        python: str,
        platform: Platform,
        glibc: str | None,
        indexes: Sequence[Index],
        installed: Sequence[Installed],
    ) -> tuple[LockedPackage, ...]:
        """Return every file to install, sorted by name, as ``ports.Resolver`` says."""
        asked = tuple(_requirement(text) for text in requirements)
        if not asked:
            return ()
        place = _place(python, platform, glibc)
        wheels = stubs(installed)
        here: dict[str, Installed] = {canonicalize_name(one.name): one for one in reversed(installed)}
        question = Question(
            requirements=asked,
            installed={name: here[name] for name in wheels},
            indexes=indexes_to_ask(self._config, indexes),
            links=links_to_ask(self._config),
            constraints=self._config.constraints,
            place=f"Python {python} on {platform} with glibc {glibc}",
        )
        with disk_errors("resolving packages"), scratch_folder() as folder:
            places = Places(pages=self._pages, indexes={index.name: index for index in question.indexes}, links=question.links)
            question = replace(
                question,
                indexes=tuple(
                    index_for_uv(index, self._pages, folder / "indexes" / str(number))
                    for number, index in enumerate(question.indexes)
                ),
                links=tuple(link_for_uv(link, folder / "links" / str(number)) for number, link in enumerate(question.links)),
            )
            self._write_inputs(folder, question, wheels)
            return self._fitting(folder, place, question, here, places)

    def _fitting(
        self, folder: Path, place: _Place, question: Question, here: Mapping[str, Installed], places: Places
    ) -> tuple[LockedPackage, ...]:
        """Resolve, and again without the versions that pip would not install on this Python, until it would install all."""
        refused: list[Refusal] = []
        for _ in range(ROUNDS):
            (folder / "refused.txt").write_text("".join(f"{one.constraint}\n" for one in refused), encoding="utf-8")
            try:
                found = self._chosen(folder, place, question, here)
            except UnsatisfiableError as error:
                if refused:
                    raise unfit(refused, error, place.python) from error
                raise
            more = places.refusals(found, place.python)
            if not more:
                return found
            refused += more
        raise unfit(refused, None, place.python)

    def _chosen(
        self, folder: Path, place: _Place, question: Question, here: Mapping[str, Installed]
    ) -> tuple[LockedPackage, ...]:
        """Return what uv chooses, whatever Python it is for."""
        pylock = self._run(folder, place, question, "--format", "pylock.toml").stdout
        files = chosen_files(pylock, wheel_tags(place.python, place.machine, place.glibc_minor))
        pins = "".join(f"{one.name}=={one.version}\n" for one in files if one.file is not None)
        (folder / "pins.txt").write_text(pins, encoding="utf-8")
        printed = self._run(folder, place, question, "--emit-index-annotation", "--constraints", "pins.txt").stdout
        return self._packages(files, origins(printed), here, question)

    def _write_inputs(self, folder: Path, question: Question, wheels: Mapping[str, tuple[str, bytes]]) -> None:
        """Write everything uv reads into a folder only this user may read: URLs may hold credentials."""
        pinned = [f"-c {constraint}\n" for constraint in self._config.constraints]
        for name, (file, data) in sorted(wheels.items()):
            path = folder / "stubs" / file
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            pinned.append(f"{name} @ {path.as_uri()}\n")
        texts = {
            "requirements.in": "".join(f"{requirement}\n" for requirement in question.requirements),
            "constraints.txt": "".join(pinned),
            "none.txt": "",
            "uv.toml": self._settings(question),
        }
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")

    def _settings(self, question: Question) -> str:
        """Return the ``uv.toml`` of one resolution.

        Of two indexes of one name uv takes the first only, and without a default one it asks PyPI, so names are numbers.
        """
        indexes = question.indexes
        lines = ['index-strategy = "first-index"', f"no-index = {'false' if indexes else 'true'}"]
        lines.append(f"find-links = {json.dumps([link.url for link in question.links])}")
        lines.append(f"allow-insecure-host = {json.dumps(list(self._config.trusted_hosts))}")
        for number, index in enumerate(indexes, 1):
            lines += ["[[index]]", f'name = "n{number}"', f"url = {json.dumps(index.url)}"]
            lines += ["default = true"] if number == len(indexes) else []
        return "\n".join(lines) + "\n"

    def _run(self, folder: Path, place: _Place, question: Question, *options: str) -> Completed:
        """Run ``uv pip compile`` and raise the error its failure means."""
        argv = [*self._without_uv_variables(), self._program or _program(), "pip", "compile", "requirements.in"]
        argv += ["--config-file", "uv.toml", "--constraints", "constraints.txt", "--constraints", "refused.txt"]
        argv += ["--overrides", "none.txt", *options]
        argv += ["--python-version", place.python, "--python-platform", place.platform, "--only-binary", ":all:"]
        argv += ["--python", sys.executable, "--no-python-downloads", "--cache-dir", str(self._cache / "uv")]
        argv += ["--no-header", "--quiet", "--color", "never"]
        done = self._processes.run(argv, env=self._variables(), cwd=folder, seconds=_SECONDS)
        if done.timed_out:
            msg = f"the package indexes did not answer within {_SECONDS:.0f} seconds"
            raise UnreachableError(msg, hint="look at the network and the proxy, then run the same command again")
        if done.code != 0:
            raise failure(done.stderr + done.stdout, question)
        return done

    def _without_uv_variables(self) -> list[str]:
        names = sorted(name for name in self._environment if name.startswith("UV_"))
        return ["env", *(part for name in names for part in ("-u", name))] if names else []

    def _variables(self) -> dict[str, str]:
        """Return the variables that carry pip's certificates, proxy and time limit to uv."""
        found = {"UV_HTTP_TIMEOUT": f"{max(1, round(self._config.timeout))}", "UV_HTTP_RETRIES": f"{_RETRIES}"}
        if self._config.cert:
            found["SSL_CERT_DIR" if Path(self._config.cert).is_dir() else "SSL_CERT_FILE"] = self._config.cert
        if self._config.client_cert:
            found["SSL_CLIENT_CERT"] = self._config.client_cert
        if self._config.proxy:
            found.update(dict.fromkeys(("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"), self._config.proxy))
        return found

    def _packages(
        self,
        files: Sequence[ChosenFile],
        notes: Mapping[str, Origin],
        here: Mapping[str, Installed],
        question: Question,
    ) -> tuple[LockedPackage, ...]:
        names = {plain_url(place.url): place.name for place in (*question.links, *question.indexes)}
        found = []
        for one in files:
            if one.file is None and one.name in question.installed:
                continue
            if one.file is None:
                msg = f"pip's configuration constrains {one.name} to a URL, and a lock holds no URLs"
                raise UnsatisfiableError(msg, hint="put a version there instead; pip config list shows where it stands")
            if one.name in here:
                msg = f"the base has {one.name} {here[one.name].version}, whose version cannot be compared with any requirement"
                raise UnsatisfiableError(msg, hint=f"start from another base, or ask for nothing that needs {one.name}")
            note = notes.get(one.name)
            index = names.get(plain_url(note.index)) if note and note.index else None
            if note is None or index is None:
                msg = f"uv did not say which index {one.name} {one.version} came from"
                raise ProgramError(msg, hint="another version of uv may help: pip install --upgrade uv")
            if not one.sha256:
                msg = f"the index {index!r} offers {one.file} without a SHA-256, and a lock needs one"
                raise UnsatisfiableError(msg, hint="ask its operator for one, or put the file into a folder of pip's find-links")
            found.append(
                LockedPackage(
                    name=one.name,
                    version=one.version,
                    index=index,
                    file=one.file,
                    sha256=one.sha256,
                    size=one.size,
                    requested_by=note.requested_by,
                )
            )
        return tuple(sorted(found, key=lambda package: package.name))


def _program() -> str:
    try:
        return uv.find_uv_bin()
    except FileNotFoundError as error:
        msg = "the program uv, which resolves Python packages, is not installed"
        raise ProgramError(msg, hint="install it: pip install uv") from error


def _requirement(text: str) -> Requirement:
    """Read one PEP 508 requirement; a lock cannot hold one that names a URL or a path."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        msg = f"{text!r} is not a requirement: {reason}"
        raise UnsatisfiableError(msg, hint="write a name and a version, such as transformers~=4.57") from error
    if requirement.url is not None:
        msg = f"{requirement.name} is asked for by URL, and a lock holds no URLs"
        raise UnsatisfiableError(
            msg, hint="put the wheel on an index or into a folder of pip's find-links, and ask for its version"
        )
    return requirement


def _place(python: str, platform: Platform, glibc: str | None) -> _Place:
    if _PYTHON.fullmatch(python) is None:
        msg = f"Python {python!r} is not one that packages can be resolved for"
        raise UnsatisfiableError(msg, hint="write a CPython version such as 3.12; free-threaded builds are not supported yet")
    machine = _MACHINES.get(platform.architecture) if platform.os == "linux" else None
    if machine is None:
        msg = f"Python packages cannot be resolved for {platform}"
        raise UnsatisfiableError(msg, hint=f"use one of {', '.join(f'linux/{name}' for name in _MACHINES)}")
    match = _GLIBC.fullmatch(glibc or "")
    minors = [minor for minor in _GLIBC_MINORS if match and minor <= int(match[1])]
    if not minors:
        has = f"glibc {glibc}" if glibc else "no glibc (musl, as in Alpine, is another C library)"
        msg = f"the base has {has}, and packages are resolved for glibc 2.{_GLIBC_MINORS[0]} or newer only"
        raise UnsatisfiableError(msg, hint="start from a base with glibc, such as Debian, Ubuntu or a Red Hat family image")
    return _Place(python=python, machine=machine, glibc_minor=minors[-1])
