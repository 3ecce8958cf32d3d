"""Every chosen file takes the variant's Python, as pip would hold it against Requires-Python."""

from __future__ import annotations

import json
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from builder.adapters.downloads import Downloads
from builder.adapters.index_pages import IndexPages
from builder.adapters.pip_config import PipConfig, named_indexes
from builder.adapters.stub_wheels import stub_wheel
from builder.adapters.uv import UvResolver
from builder.adapters.uv_python import ROUNDS, Refusal, unfit
from builder.errors import UnreachableError, UnsatisfiableError
from builder.model.build import Completed
from builder.model.oci import Platform

AMD64 = Platform.parse("linux/amd64")
PYPI = "https://pypi.org/simple"
Releases = Mapping[str, Mapping[str, str | None]]
"""What is on the index: name to version to Requires-Python."""
STRENUM: Releases = {
    "app": {"2.3.0": None},
    "backports-strenum": {"1.3.1": ">=3.8.6,<3.11", "1.3.0": ">=3.8.6,<3.11", "1.2.8": None, "1.1": ">=3.8"},
}


def file_of(name: str, version: str) -> str:
    return f"{name.replace('-', '_')}-{version}-py3-none-any.whl"


@dataclass
class Uv:
    """A uv that takes the newest version of every name that no constraint forbids, and looks at no Python."""

    releases: Releases
    runs: int = 0
    refused: list[str] = field(default_factory=list)
    origin: str = PYPI

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: bytes | None = None,
        seconds: float | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> Completed:
        assert cwd is not None
        assert argv.count("--constraints") - ("pins.txt" in argv) == 2
        assert "refused.txt" in argv
        self.runs += 1
        if "pins.txt" not in argv:
            self.refused.append((cwd / "refused.txt").read_text())
        forbidden = dict(line.split("!", 1) for line in self.refused[-1].splitlines())
        chosen: dict[str, str] = {}
        for name, versions in self.releases.items():
            allowed = SpecifierSet(f"!{forbidden[name]}" if name in forbidden else "")
            left = [version for version in versions if allowed.contains(version, prereleases=True)]
            if not left:
                cause = f"error: No solution found when resolving dependencies\n  cause: Because there is no {name}==9 and so on."
                return done(argv, stderr=cause, code=1)
            chosen[name] = max(left, key=Version)
        return done(argv, annotated(chosen, self.origin) if "pins.txt" in argv else pylock(chosen))

    @property
    def stopping(self) -> bool:
        return False

    def stop(self) -> None:
        raise NotImplementedError


def done(argv: Sequence[str], stdout: str = "", *, stderr: str = "", code: int = 0) -> Completed:
    return Completed(argv=tuple(argv), code=code, stdout=stdout, stderr=stderr, seconds=0.1)


def pylock(chosen: Mapping[str, str]) -> str:
    rows = (
        f'[[packages]]\nname = "{name}"\nversion = "{version}"\n'
        f'wheels = [{{ url = "https://files.example/{file_of(name, version)}", hashes = {{ sha256 = "ab" }} }}]\n'
        for name, version in chosen.items()
    )
    return 'lock-version = "1.0"\n' + "".join(rows)


def annotated(chosen: Mapping[str, str], origin: str) -> str:
    return "".join(f"{name}=={version}\n    # via -r requirements.in\n    # from {origin}\n" for name, version in chosen.items())


@dataclass
class Index(Downloads):
    """PyPI with these releases; ``slow`` is how long an answer takes, ``down`` whether there is none."""

    releases: Releases
    asked: list[str] = field(default_factory=list)
    slow: float = 0.0
    down: bool = False

    def page(self, url: str, *, accept: str, forbidden_is_absent: bool = False) -> requests.Response | None:
        self.asked.append(url)
        time.sleep(self.slow)
        if self.down:
            msg = "the package index at pypi.org could not be asked"
            raise UnreachableError(msg, hint="look at the network")
        name = url.rstrip("/").rpartition("/")[2]
        files: list[dict[str, object]] = [
            {
                "filename": file_of(name, version),
                "url": f"https://files.example/{file_of(name, version)}",
                "hashes": {},
                "requires-python": requires,
            }
            for version, requires in self.releases[name].items()
        ]
        response = requests.Response()
        response.status_code, response.url = 200, url
        response.headers["Content-Type"] = "application/vnd.pypi.simple.v1+json"
        response._content = json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}).encode()
        return response


def resolver(uv: Uv, index: Index, config: PipConfig | None = None) -> UvResolver:
    config = config or PipConfig()
    pages = IndexPages(index, links=frozenset(link.name for link in config.find_links))
    return UvResolver(uv, config=config, cache=Path("/cache"), environment={}, pages=pages, program="/bin/uv")


def versions(uv: Uv, python: str = "3.13.5", index: Index | None = None, config: PipConfig | None = None) -> dict[str, str]:
    found = resolver(uv, index or Index(uv.releases), config).resolve(
        list(uv.releases), python=python, platform=AMD64, glibc="2.41", indexes=(), installed=()
    )
    return {package.name: package.version for package in found}


def test_a_version_that_pip_would_refuse_is_passed_over_and_so_are_its_fellows() -> None:
    uv = Uv(STRENUM)
    assert versions(uv) == {"app": "2.3.0", "backports-strenum": "1.2.8"}
    assert uv.refused == ["", "backports-strenum!=1.3.0,!=1.3.1\n"]
    assert uv.runs == 4


def test_nothing_is_asked_again_when_every_file_takes_the_python() -> None:
    uv, index = Uv(STRENUM), Index(STRENUM)
    assert versions(uv, "3.10.4", index)["backports-strenum"] == "1.3.1"
    assert uv.runs == 2
    assert sorted(index.asked) == [f"{PYPI}/app/", f"{PYPI}/backports-strenum/"]


@pytest.mark.parametrize(
    ("requires", "python", "version"),
    [
        ("<3.13.6", "3.13.5", "2"),
        ("<3.13.5", "3.13.5", "1"),
        ("!=3.13.5", "3.13.5", "1"),
        ("<=3.13", "3.13.5", "1"),
        ("<4.0,>=3.9", "3.13.5", "2"),
        (">=3.13", "3.13.0rc2", "1"),
        (">=3.12", "3.13.0rc2", "2"),
        (">=3.6.*", "3.13.5", "2"),
        ("python 3 only", "3.13.5", "2"),
    ],
)
def test_the_whole_python_version_counts_and_what_cannot_be_read_does_not(requires: str, python: str, version: str) -> None:
    assert versions(Uv({"app": {"2": requires, "1": None}}), python) == {"app": version}


def test_one_after_the_other_is_passed_over() -> None:
    releases = {f"p{number}": {"2": "<3.13", "1": None} for number in range(5)}
    uv = Uv(releases)
    assert set(versions(uv).values()) == {"1"}
    assert uv.runs == 4


def test_when_nothing_fits_package_requirement_and_python_are_named() -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        versions(Uv({"app": {"2.3.0": ">=3.9,<3.12"}, "other": {"2": "<3.13", "1": None}}))
    assert caught.value.message == "app 2.3.0 is for Python >=3.9,<3.12, not for 3.13.5, and no other version fits"
    assert caught.value.hint == "ask for another Python, or for other versions under packages: or framework in the matrix file"
    assert caught.value.details == (
        "error: No solution found when resolving dependencies",
        "cause: Because there is no app==9 and so on.",
    )


class Endless(Uv):
    """A uv that has another package to choose every time."""

    def run(self, argv: Sequence[str], *, cwd: Path | None = None, **more: object) -> Completed:
        self.runs += 1
        chosen = {f"p{(self.runs + 1) // 2}": "1"}
        return done(argv, annotated(chosen, PYPI) if "pins.txt" in argv else pylock(chosen))


def test_it_ends_when_there_is_always_another_package() -> None:
    uv = Endless({f"p{number}": {"1": "<3"} for number in range(1, 100)})
    with pytest.raises(UnsatisfiableError) as caught:
        versions(uv)
    assert uv.runs == 2 * ROUNDS
    assert caught.value.message.startswith("p1 1 is for Python <3, not for 3.13.5; p2 1 is for ")
    assert caught.value.message.endswith(f"; no versions for it were found in {ROUNDS} attempts")
    assert len(caught.value.details) == ROUNDS - 4


def test_a_failure_before_anything_was_passed_over_is_told_as_it_is() -> None:
    with pytest.raises(UnsatisfiableError, match="no versions fit together"):
        versions(Uv({"app": {}}))


def test_a_page_that_could_not_be_had_is_not_an_answer() -> None:
    with pytest.raises(UnreachableError):
        versions(Uv(STRENUM), index=Index(STRENUM, down=True))


def test_a_page_is_asked_for_once_however_many_want_it_at_once() -> None:
    index = Index(STRENUM, slow=0.05)
    one = resolver(Uv(STRENUM), index)
    pages = [threading.Thread(target=one._pages.files, args=(PipConfig().indexes[0], "app")) for _ in range(6)]
    for thread in pages:
        thread.start()
    for thread in pages:
        thread.join()
    assert index.asked == [f"{PYPI}/app/"]


def test_a_page_that_could_not_be_had_is_asked_for_again() -> None:
    index = Index(STRENUM, down=True)
    pages = IndexPages(index, links=frozenset())
    with pytest.raises(UnreachableError):
        pages.files(PipConfig().indexes[0], "app")
    index.down = False
    assert [one.file for one in pages.files(PipConfig().indexes[0], "app")] == ["app-2.3.0-py3-none-any.whl"]


def put(folder: Path, name: str, version: str, requires_python: str | None) -> None:
    """Write a wheel with a Requires-Python into a folder."""
    file, data = stub_wheel(name, Version(version), ())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(data)
    if requires_python is None:
        return
    with zipfile.ZipFile(folder / file) as archive:
        entries = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(folder / file, "w") as archive:
        for entry, content in entries.items():
            more = f"Requires-Python: {requires_python}\n".encode() if entry.endswith("METADATA") else b""
            archive.writestr(entry, content + more)


def test_a_folder_of_wheels_says_nothing_so_the_wheels_are_read(tmp_path: Path) -> None:
    put(tmp_path, "app", "2.0", "<3.13")
    put(tmp_path, "app", "1.0", None)
    (tmp_path / "broken-2-py3-none-any.whl").write_bytes(b"not a zip")
    config = PipConfig(find_links=named_indexes("find-links", [str(tmp_path)]))
    uv = Uv({"app": {"2.0": None, "1.0": None}, "broken": {"2": None}}, origin=tmp_path.as_uri())
    assert versions(uv, config=config) == {"app": "1.0", "broken": "2"}
    assert uv.refused == ["", "app!=2.0\n"]


def test_what_pips_links_have_that_fits_is_not_passed_over_with_the_rest(tmp_path: Path) -> None:
    put(tmp_path, "app", "1.5+rebuilt", None)
    config = PipConfig(find_links=named_indexes("find-links", [str(tmp_path)]))
    releases: Releases = {"app": {"2": "<3.13", "1.5": "<3.13", "1.4": "<3.13", "1.5+rebuilt": None}}
    index = Index({"app": {version: requires for version, requires in releases["app"].items() if "+" not in version}})
    uv = Uv(releases)
    found = resolver(uv, index, config)
    names = found.resolve(["app"], python="3.13.5", platform=AMD64, glibc="2.41", indexes=(), installed=())
    assert [package.version for package in names] == ["1.5+rebuilt"]
    assert uv.refused == ["", "app!=1.4,!=2\n"]


def test_the_packages_that_are_to_blame_are_named_first_and_few() -> None:
    refusals = [Refusal(name=f"p{number}", version="1", requires_python="<3", versions=("1",)) for number in range(7)]
    error = unfit(refusals, UnsatisfiableError("because p3==1 and p33 and x.p4"), "3.13.5")
    assert error.message == "p3 1 is for Python <3, not for 3.13.5, and no other version fits"
    error = unfit(refusals, UnsatisfiableError("because of something else"), "3.13.5")
    assert error.message.count("is for Python") == 4
    assert [line.partition(" ")[0] for line in error.details] == ["p4", "p5", "p6", "because"]


_PYTHONS = st.sampled_from(["3.10.4", "3.12", "3.13.5", "3.14.0rc1"])
_REQUIRES = st.none() | st.sampled_from([">=3.8", "<3.11", "<3.13,>=3.9", "<3.14", "~=3.12", "!=3.13.*", ">=3.6.*"])


@given(python=_PYTHONS, found=st.dictionaries(st.sampled_from(["1", "1.5", "2", "3.0rc1", "4"]), _REQUIRES, min_size=1))
def test_what_is_chosen_is_the_newest_that_pip_would_install(python: str, found: dict[str, str | None]) -> None:
    def takes(requires: str | None) -> bool:
        return requires in {None, ">=3.6.*"} or SpecifierSet(requires or "").contains(python, prereleases=True)

    fit = [version for version, requires in found.items() if takes(requires)]
    uv = Uv({"app": found})
    if fit:
        assert versions(uv, python) == {"app": max(fit, key=Version)}
    else:
        with pytest.raises(UnsatisfiableError, match=r"app \S+ is for Python"):
            versions(uv, python)
    assert uv.runs <= 4


def test_a_refusal_is_written_as_a_constraint() -> None:
    one = Refusal(name="app", version="2", requires_python="<3", versions=("1", "2"))
    assert one.constraint == "app!=1,!=2"


def test_no_packages_ask_no_index() -> None:
    index = Index({})
    assert versions(Uv({}), index=index) == {}
    assert index.asked == []
