"""Pinning and reading bases on a fake engine, and the script itself on this host's own shell and Python."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform as this_platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters.base_facts import EngineBaseReader, _scripts
from builder.adapters.base_facts_reading import MARK, read_config, read_facts
from builder.errors import (
    HostBlockedError,
    ImgbuildError,
    MismatchError,
    ProgramError,
    UnreachableError,
    UnsatisfiableError,
)
from builder.model.build import ImageInfo, RunRequest
from builder.model.lock import BaseFacts, Installed, LockedBase, LockedDeb
from builder.model.matrix import BaseKind
from builder.model.oci import LINUX_AMD64, ImageReference, Platform
from builder.model.plan import Base, DistributionRelease
from builder.ports import BaseReader
from tests.fakes import Answer, FakeDebianArchive, FakeEngine, FakeRegistry, FakeResolvedImage, digest_of

BOOKWORM = DistributionRelease(name="debian", release="12", codename="bookworm")
DEBIAN = Base(
    kind=BaseKind.DISTRIBUTION, reference=ImageReference.parse("debian:12-slim"), distribution=BOOKWORM, may_assemble=True
)
NGC = Base(kind=BaseKind.VENDOR, reference=ImageReference.parse("nvcr.io/nvidia/pytorch:25.10-py3"), frameworks=("torch",))
DEB = LockedDeb(name="bash", version="5", architecture="amd64", sha256="ab" * 32, path="pool/main/b/bash/bash_5_amd64.deb")

PYTHON: dict[str, Any] = {
    "python": "/usr/bin/python3",
    "version": "3.11.2",
    "libc": "glibc 2.36",
    "externally_managed": True,
    "pip": None,
    "missing": [],
    "unlisted": None,
    "constraints": {},
    "distributions": [],
    "arch_list": None,
}


def said(*lines: str, end: bool = True) -> str:
    """What the script prints, with what else a base may print between."""
    marked = [f"{MARK} {line}" for line in (*lines, *(("end",) if end else ()))]
    return "\n".join(["Welcome to this image", *marked, ""])


def python(**changes: Any) -> str:
    return f"python {json.dumps({**PYTHON, **changes})}"


OS = ("os ID=debian", 'os VERSION_ID="12"', "os VERSION_CODENAME=bookworm")
SIMPLE = said(*OS, "has apt", "libc glibc 2.36", python())


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(PYTHON)), inner, max_size=4),
)


class TestReading:
    def read(self, output: str) -> BaseFacts:
        return read_facts(output, what="a base")

    def test_a_plain_base(self) -> None:
        assert self.read(SIMPLE) == BaseFacts(
            os="debian", os_version="12", glibc="2.36", python="/usr/bin/python3", python_version="3.11.2",
            externally_managed=True, has_ld_cache=False, has_apt=True,
        )  # fmt: skip

    def test_a_base_without_a_python(self) -> None:
        facts = self.read(said("os ID=alpine", "os VERSION_ID=3.20.1", "has ld-cache"))
        assert facts == BaseFacts(os="alpine", os_version="3.20.1", glibc=None, python=None, python_version=None)

    def test_a_base_without_anything(self) -> None:
        assert self.read(said()).os == "linux"

    def test_what_a_vendors_base_says(self) -> None:
        row = {"name": "torch", "version": "2.9.0a0+1", "location": "/x", "requires": ["numpy"], "module_version": "2.9"}
        constraints = {"/c.txt": "a==1\nb\n"}
        broken = {"name": "apex", "version": "1", "requires": [], "unread": "importing apex:\nno libcuda"}
        facts = self.read(
            said(
                python(
                    distributions=[row, broken], arch_list=["sm_90", "compute_120"], pip="25.2", constraints=constraints
                ),
                "unconfigured perl", "unconfigured git", "unconfigured git",
            )
        )  # fmt: skip
        assert facts.distributions == (
            Installed(name="torch", version="2.9.0a0+1", location="/x", module_version="2.9", requires=("numpy",)),
            Installed(name="apex", version="1", unread="importing apex: no libcuda"),
        )
        assert (facts.arch_list, facts.pip_version) == (("sm_90", "compute_120"), "25.2")
        assert facts.constraints == {"/c.txt": "a==1\nb\n"}
        assert facts.unconfigured == ("git", "perl")

    def test_the_python_that_has_the_framework_wins(self) -> None:
        without, has = python(missing=["torch"]), python(python="/opt/venv/bin/python", version="3.12.3")
        assert self.read(said(without, has)).python == "/opt/venv/bin/python"
        both = said(python(missing=["torch"]), python(python="/b", missing=["torch"]))
        assert self.read(both).python == "/usr/bin/python3"

    @pytest.mark.parametrize(
        ("line", "version"),
        [
            ("libc glibc 2.39", "2.39"),
            ("libc ld.so (Ubuntu GLIBC 2.39-0ubuntu8.6) stable release version 2.39.", "2.39"),
            ("libc ldd (Debian GLIBC 2.36-9+deb12u10) 2.36", "2.36"),
            ("libc musl libc (x86_64)", None),
            ("libc ", None),
        ],
    )
    def test_the_c_library(self, line: str, version: str | None) -> None:
        assert self.read(said(line)).glibc == version
        assert self.read(said(line, python(libc="glibc 2.17"))).glibc == (version or "2.17")

    def test_a_release_without_a_number_has_its_codename(self) -> None:
        assert self.read(said("os ID=debian", "os VERSION_CODENAME=sid")).os_version == "sid"

    @pytest.mark.parametrize(
        ("output", "words"),
        [
            ("", "they end before their end"),
            ("nothing of ours", "they end before their end"),
            (said(*OS, python(), end=False), "they end before their end"),
            (said("python {"), "is not JSON"),
            (said("python []"), "a Python's line cannot be"),
            (said("python " + "[" * 100_000), "is not JSON"),
            (said(python(python="python3")), "the path of a Python cannot be 'python3'"),
            (said(python(python="/x\u202e")), "the path of a Python cannot be"),
            (said(python(python="/" + "x" * 600)), "the path of a Python cannot be"),
            (said(python(version="three")), "the version of a Python cannot be 'three'"),
            (said(python(version=None)), "the version of a Python cannot be None"),
            (said(python(distributions={})), "the distributions cannot be"),
            (said(python(distributions=[7])), "a distribution cannot be 7"),
            (said(python(distributions=[{"name": "a\nb", "version": "1"}])), "a distribution's name cannot be"),
            (said(python(distributions=[{"name": "a", "version": 1}])), "the version of a cannot be 1"),
            (said(python(distributions=[{"name": "a", "version": "1"}] * 6000)), "the distributions cannot be"),
            (said(python(constraints={"/c": "x" * 2_000_000})), "the constraints cannot be"),
            (said(python(constraints=[1])), "the constraints cannot be"),
            (said(python(arch_list=["sm_90; rm -rf /"])), "a code cannot be"),
            (said("unconfigured ../../x"), "an unconfigured package cannot be"),
            (said("os ID=\x1b[31m"), "os-release cannot be"),
        ],
    )
    def test_a_hostile_base_is_refused_in_words(self, output: str, words: str) -> None:
        with pytest.raises(MismatchError) as caught:
            self.read(output)
        assert caught.value.message.startswith("the facts read inside a base are not understood: ")
        assert words in caught.value.message
        assert len(caught.value.message) < 300

    @given(st.lists(st.text(max_size=60), max_size=6), _ANYTHING)
    def test_whatever_is_printed_is_facts_or_a_mismatch(self, lines: list[str], told: object) -> None:
        extra = told if isinstance(told, dict) else {"distributions": told}
        try:
            facts = self.read(said(*lines, f"python {json.dumps({**PYTHON, **extra})}"))
        except MismatchError:
            return
        assert facts.python is not None

    def test_the_images_own_settings(self) -> None:
        config = {
            "Env": ["PATH=/bin", "A=b=c", "EMPTY="], "Labels": {"x": "y\nz"}, "User": "app", "WorkingDir": "/w",
            "Entrypoint": ["/run", "two\nlines"], "Cmd": None,
        }  # fmt: skip
        facts = read_config({"config": config}, self.read(SIMPLE), what="a base")
        assert facts.env == {"PATH": "/bin", "A": "b=c", "EMPTY": ""}
        assert facts.labels == {"x": "y\nz"}
        assert (facts.user, facts.workdir, facts.entrypoint, facts.cmd) == ("app", "/w", ("/run", "two\nlines"), ())
        assert read_config({}, facts, what="a base").env == {}

    @pytest.mark.parametrize(
        "config", [{"Env": "A"}, {"Env": [1]}, {"Labels": ["a"]}, {"User": 7}, {"Cmd": "sh"}, {"User": "a\nb"}]
    )
    def test_settings_that_cannot_be(self, config: dict[str, object]) -> None:
        with pytest.raises(MismatchError, match="the config of a base is not understood"):
            read_config({"config": config}, self.read(SIMPLE), what="a base")


def reads(engine: FakeEngine, answer: Answer | Callable[[RunRequest], Answer]) -> FakeEngine:
    shell, code = _scripts()
    engine.programs["sh", "-c", shell, "facts", code] = answer
    return engine


def reader(tmp_path: Path, engine: FakeEngine, **parts: Any) -> EngineBaseReader:
    rootfs = tmp_path / "rootfs.tar"
    rootfs.write_bytes(b"tar")
    parts.setdefault("registry", FakeRegistry())
    parts.setdefault("archive", FakeDebianArchive([DEB], rootfs))
    made = EngineBaseReader(engine=engine, cache=tmp_path / "cache", **parts)
    port: BaseReader = made
    assert port is made
    return made


class TestAssembled:
    def test_it_is_imported_read_and_removed(self, tmp_path: Path) -> None:
        engine = reads(FakeEngine(), Answer(stdout=SIMPLE))
        locked = reader(tmp_path, engine).read(DEBIAN, LINUX_AMD64, apt=("git",))
        assert locked.assembled
        assert (locked.reference, locked.suite, locked.debs) == ("docker.io/library/debian:12-slim", "bookworm", (DEB,))
        assert locked.rootfs_sha256 == hashlib.sha256(b"tar").hexdigest()
        assert locked.digest is None
        assert locked.facts.python == "/usr/bin/python3"
        (request,) = engine.runs
        assert request.image == f"localhost/imgbuild/base:{locked.rootfs_sha256[:32]}"
        assert (request.network, request.user) == (False, "0")
        assert engine.images == {}

    def test_the_same_digest_is_never_read_twice(self, tmp_path: Path) -> None:
        first = reader(tmp_path, reads(FakeEngine(), Answer(stdout=SIMPLE))).read(DEBIAN, LINUX_AMD64, apt=())
        idle = FakeEngine()
        assert reader(tmp_path, idle).read(DEBIAN, LINUX_AMD64, apt=()) == first
        assert idle.runs == []

    def test_facts_that_were_damaged_are_read_again(self, tmp_path: Path) -> None:
        first = reader(tmp_path, reads(FakeEngine(), Answer(stdout=SIMPLE))).read(DEBIAN, LINUX_AMD64, apt=())
        for kept in (tmp_path / "cache" / "facts").glob("*.txt"):
            kept.write_text("half")
        engine = reads(FakeEngine(), Answer(stdout=SIMPLE))
        assert reader(tmp_path, engine).read(DEBIAN, LINUX_AMD64, apt=()) == first
        assert len(engine.runs) == 1

    def test_other_wanted_frameworks_are_another_reading(self, tmp_path: Path) -> None:
        engine = reads(FakeEngine(), Answer(stdout=SIMPLE))
        reader(tmp_path, engine).read(DEBIAN, LINUX_AMD64, apt=())
        reader(tmp_path, engine).read(dataclasses.replace(DEBIAN, frameworks=("torch", "apex")), LINUX_AMD64, apt=())
        assert [run.env["IMGBUILD_FACTS_FRAMEWORKS"] for run in engine.runs] == ["", "apex torch"]

    def test_a_reading_that_fails_leaves_no_image(self, tmp_path: Path) -> None:
        engine = reads(FakeEngine(), Answer(code=3, stderr="boom\n"))
        with pytest.raises(ProgramError, match=r"reading the assembled debian12 in a container failed \(3\)") as caught:
            reader(tmp_path, engine).read(DEBIAN, LINUX_AMD64, apt=())
        assert caught.value.details == ("boom",)
        assert engine.images == {}
        assert not list((tmp_path / "cache" / "facts").glob("*.txt"))

    def test_where_it_cannot_be_assembled_it_comes_from_the_registry(self, tmp_path: Path) -> None:
        engine, registry = from_registry(DEBIAN)
        archive = FakeDebianArchive(why_not="this host is 'fedora'")
        locked = reader(tmp_path, engine, registry=registry, archive=archive).read(DEBIAN, LINUX_AMD64, apt=("git",))
        assert not locked.assembled
        assert locked.digest is not None

    def test_where_it_must_be_assembled_and_cannot(self, tmp_path: Path) -> None:
        archive = FakeDebianArchive(why_not="this host is 'fedora'")
        with pytest.raises(UnsatisfiableError, match="cannot be assembled here: this host is 'fedora'"):
            reader(tmp_path, FakeEngine(), archive=archive, distribution="assembled").read(DEBIAN, LINUX_AMD64, apt=())

    def test_where_the_matrix_wants_the_registry(self, tmp_path: Path) -> None:
        engine, registry = from_registry(DEBIAN)
        locked = reader(tmp_path, engine, registry=registry, distribution="registry").read(DEBIAN, LINUX_AMD64, apt=())
        assert not locked.assembled

    def test_neither_here_nor_from_the_registry(self, tmp_path: Path) -> None:
        registry = FakeRegistry(unreachable=["docker.io"])
        archive = FakeDebianArchive(why_not="this host is 'fedora'")
        with pytest.raises(UnreachableError) as caught:
            reader(tmp_path, FakeEngine(), registry=registry, archive=archive).read(DEBIAN, LINUX_AMD64, apt=())
        assert caught.value.details == ("it was not assembled here either: this host is 'fedora'",)


RUNC = "runc: runc create failed: unable to start container process"
DENIED = "OCI permission denied"


def from_registry(base: Base, answer: Answer | None = None, **config: Any) -> tuple[FakeEngine, FakeRegistry]:
    """An engine and a registry that have an image for a base."""
    digest, config_digest = digest_of("manifest"), digest_of("config")
    image = FakeResolvedImage(
        digest=digest, config_digest=config_digest, index_digest=digest_of("index"), config={"config": config}
    )
    engine = reads(FakeEngine(), answer or Answer(stdout=SIMPLE))
    pinned = dataclasses.replace(base.reference, tag=None, digest=digest)
    engine.registry[str(pinned)] = ImageInfo(image_id=config_digest, digest=digest, size=1, platform=LINUX_AMD64)
    return engine, FakeRegistry({str(base.reference): image})


class TestFromARegistry:
    def test_it_is_pulled_by_digest_and_read(self, tmp_path: Path) -> None:
        engine, registry = from_registry(NGC, Env=["PATH=/bin"], Labels={"a": "b"}, User="ubuntu", Entrypoint=["/e"])
        locked = reader(tmp_path, engine, registry=registry).read(NGC, LINUX_AMD64, apt=())
        assert (locked.digest, locked.index_digest, locked.image_id) == (
            digest_of("manifest"), digest_of("index"), digest_of("config")
        )  # fmt: skip
        assert locked.reference == "nvcr.io/nvidia/pytorch:25.10-py3"
        assert (locked.facts.env, locked.facts.labels, locked.facts.user) == ({"PATH": "/bin"}, {"a": "b"}, "ubuntu")
        assert locked.facts.entrypoint == ("/e",)
        (request,) = engine.runs
        assert request.image == f"nvcr.io/nvidia/pytorch@{digest_of('manifest')}"
        assert request.env["IMGBUILD_FACTS_FRAMEWORKS"] == "torch"

    def test_a_new_digest_is_read_anew_and_an_old_one_is_not(self, tmp_path: Path) -> None:
        engine, registry = from_registry(NGC)
        reading = reader(tmp_path, engine, registry=registry)
        first = reading.read(NGC, LINUX_AMD64, apt=())
        assert reading.read(NGC, LINUX_AMD64, apt=()) == first
        assert len(engine.runs) == 1
        assert len(registry.asked) == 2  # what the tag is now is asked each time

    def test_a_mirror_is_pulled_from(self, tmp_path: Path) -> None:
        engine, registry = from_registry(NGC)
        mirror = ImageReference.parse("registry.local/nv/pytorch:25.10-py3")
        at_mirror = str(dataclasses.replace(mirror, tag=None, digest=digest_of("manifest")))
        engine.registry = {at_mirror: next(iter(engine.registry.values()))}
        locked = reader(tmp_path, engine, registry=registry, mirrored=lambda _: mirror).read(NGC, LINUX_AMD64, apt=())
        assert engine.runs[0].image == at_mirror
        assert locked.reference == "nvcr.io/nvidia/pytorch:25.10-py3"

    def test_an_image_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(UnsatisfiableError, match=r"there is no image nvcr\.io/nvidia/pytorch:25\.10-py3 for linux/arm64"):
            reader(tmp_path, FakeEngine()).read(NGC, Platform("linux", "arm64"), apt=())

    @pytest.mark.parametrize(
        ("code", "said", "hint"),
        [
            (
                126,
                f"Error: {RUNC}: error during container init: error setting rlimit type 7: operation not permitted: {DENIED}",
                "set default_ulimits in containers.conf to limits that this host allows, or run where they may be raised",
            ),
            (
                127,
                f"time=now level=warning msg=odd\nError: crun: mount `proc` to `proc`: Operation not permitted: {DENIED}",
                "mend what it names; 'podman run' of any image shows the same",
            ),
        ],
    )
    def test_a_host_that_starts_no_container_is_not_an_image_without_a_shell(
        self, tmp_path: Path, code: int, said: str, hint: str
    ) -> None:
        engine, registry = from_registry(NGC, Answer(code=code, stderr=f"{said}\n"))
        with pytest.raises(HostBlockedError) as caught:
            reader(tmp_path, engine, registry=registry).read(NGC, LINUX_AMD64, apt=())
        words = said.rpartition("Error: ")[2]
        name = "nvcr.io/nvidia/pytorch:25.10-py3"
        assert caught.value.message == f"podman cannot start a container of {name} on this host: {words!r}"
        assert (caught.value.hint, caught.value.details) == (hint, ())

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            (127, f'{RUNC}: exec: "sh": executable file not found in $PATH'),
            (127, "crun: executable file `sh` not found in $PATH: OCI runtime attempted to invoke a command that was not found"),
            (126, f'{RUNC}: exec: "sh": permission denied: {DENIED}'),
            (126, f"crun: open executable: Permission denied: {DENIED}"),
        ],
    )
    def test_a_runtime_that_finds_no_shell(self, tmp_path: Path, code: int, said: str) -> None:
        engine, registry = from_registry(NGC, Answer(code=code, stderr=f"Error: {said}\n"))
        with pytest.raises(UnsatisfiableError, match="has no shell"):
            reader(tmp_path, engine, registry=registry).read(NGC, LINUX_AMD64, apt=())

    @pytest.mark.parametrize(
        ("answer", "kind", "words"),
        [
            (Answer(code=127, stderr="sh: not found"), UnsatisfiableError, "has no shell"),
            (Answer(code=126, stderr="permission denied"), UnsatisfiableError, "has no shell"),
            (Answer(code=1, stderr="exec /bin/sh: exec format error"), HostBlockedError, "cannot run containers for linux/amd64"),
            (Answer(code=139), ProgramError, r"failed \(139\)"),
            (Answer(hangs=True), HostBlockedError, "took longer than 600 s"),
            (Answer(stdout="hello\n"), MismatchError, "are not understood"),
        ],
    )
    def test_what_cannot_be_read(self, tmp_path: Path, answer: Answer, kind: type[ImgbuildError], words: str) -> None:
        engine, registry = from_registry(NGC, answer)
        with pytest.raises(kind, match=words) as caught:
            reader(tmp_path, engine, registry=registry).read(NGC, LINUX_AMD64, apt=())
        assert "nvcr.io/nvidia/pytorch:25.10-py3" in caught.value.message
        assert caught.value.hint


class TestAddingPackages:
    @pytest.fixture
    def base(self) -> LockedBase:
        facts = BaseFacts(os="debian", os_version="12", glibc="2.36", python=None, python_version=None, has_apt=True)
        return LockedBase(key="d", reference="debian:12-slim", platform=LINUX_AMD64, digest=digest_of("manifest"), facts=facts)

    def engine(self, base: LockedBase, *packages: str, answer: Answer) -> FakeEngine:
        engine = FakeEngine()
        pinned = ImageReference.parse(base.reference)
        pinned = dataclasses.replace(pinned, tag=None, digest=base.digest)
        engine.registry[str(pinned)] = ImageInfo(image_id=digest_of(1), digest=base.digest, size=1, platform=LINUX_AMD64)
        script = (
            (Path(sys.modules[EngineBaseReader.__module__].__file__ or "")).read_text().split('_APT = """\\\n')[1].split('"""')[0]
        )
        engine.programs["sh", "-c", script, "apt", *packages] = answer
        return engine

    def test_what_apt_would_install(self, tmp_path: Path, base: LockedBase) -> None:
        hashed = f"SHA256:{'ab' * 32}"
        out = (
            "Get:1 http://deb.example/debian bookworm InRelease\n'http://never/pool/x_1_all.deb' x_1_all.deb 1 " + hashed + "\n"
            "imgbuild-uris\nReading package lists...\n"
            f"'http://deb.example/debian/pool/main/g/git/git_2.39%2bx_amd64.deb' git_1%3a2.39+x_amd64.deb 9 {hashed}\n"
            f"'https://cuda.example/repos/debian12/x86_64/./cublas_12.1_amd64.deb' cublas_12.1_amd64.deb 8 {hashed}\n"
        )
        engine = self.engine(base, "git", "cublas", answer=Answer(stdout=out))
        debs = reader(tmp_path, engine).resolve_apt(base, ("git", "cublas"))
        assert [(deb.name, deb.version, deb.path, deb.size) for deb in debs] == [
            ("cublas", "12.1", "repos/debian12/x86_64/cublas_12.1_amd64.deb", 8),
            ("git", "1:2.39+x", "pool/main/g/git/git_2.39+x_amd64.deb", 9),
        ]
        (request,) = engine.runs
        assert (request.network, request.user) == (True, "0")

    def test_nothing_to_add(self, tmp_path: Path, base: LockedBase) -> None:
        engine = self.engine(base, "bash", answer=Answer(stdout="imgbuild-uris\nbash is already the newest version\n"))
        assert reader(tmp_path, engine).resolve_apt(base, ("bash",)) == ()

    @pytest.mark.parametrize(
        ("text", "kind", "words"),
        [
            (
                "E: Unable to locate package nope\n",
                UnsatisfiableError,
                "the archive of debian:12-slim has no Debian package 'nope'",
            ),
            (
                "E: Failed to fetch http://x  Temporary failure resolving 'x'\n",
                UnreachableError,
                "could not be asked from a container",
            ),
        ],
    )
    def test_what_apt_cannot(self, tmp_path: Path, base: LockedBase, text: str, kind: type[ImgbuildError], words: str) -> None:
        engine = self.engine(base, "nope", answer=Answer(code=100, stdout="imgbuild-uris\n", stderr=text))
        with pytest.raises(kind, match=words):
            reader(tmp_path, engine).resolve_apt(base, ("nope",))

    def test_a_base_without_apt(self, tmp_path: Path, base: LockedBase) -> None:
        alpine = dataclasses.replace(base, facts=dataclasses.replace(base.facts, os="alpine", os_version="3.20", has_apt=False))
        with pytest.raises(UnsatisfiableError, match=r"\(alpine 3.20\) has no apt-get, so git cannot be added"):
            reader(tmp_path, FakeEngine()).resolve_apt(alpine, ("git",))

    def test_names_that_are_none_start_no_container(self, tmp_path: Path, base: LockedBase) -> None:
        engine = FakeEngine()
        with pytest.raises(UnsatisfiableError, match="'-x' is not the name"):
            reader(tmp_path, engine).resolve_apt(base, ("-x",))
        assert engine.runs == []


TORCH = """\
print("noise")
__version__ = "2.9.0a0+abc"


class _C:
    @staticmethod
    def _cuda_getArchFlags():
        return "sm_80 sm_90"
"""


@pytest.mark.process
class TestTheScript:
    """The real script, on this host: its own shell, a Python made up for the test."""

    def run(self, folder: Path, **environ: str) -> BaseFacts:
        shell, code = _scripts()
        env = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder), "IMGBUILD_FACTS_MARK": MARK, **environ}
        done = subprocess.run(
            ["sh", "-c", shell, "facts", code], env=env, capture_output=True, text=True, check=True, timeout=120
        )
        return read_facts(done.stdout, what="this host")

    @pytest.fixture
    def venv(self, tmp_path: Path) -> Path:
        """A virtual environment with made-up distributions, and the folder of its Python."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
        site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
        self.put(site, "torch", "2.9.0a0+abc", TORCH, "numpy>=1", "x; python_version<'3'")
        self.put(site, "needs-device", "1.0", "raise RuntimeError('no device')\n")
        self.put(site, "Quiet.Name", "3", "__version__ = '3.0'\n")
        (site / "-unfinished-1.dist-info").mkdir()
        (site / "-unfinished-1.dist-info" / "METADATA").write_text("Name: -unfinished\nVersion: 1\n")
        return tmp_path / "venv" / "bin"

    def put(self, site: Path, name: str, version: str, code: str, *requires: str) -> None:
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
        (info / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")
        module = site / name.replace("-", "_").replace(".", "_")
        module.mkdir()
        (module / "__init__.py").write_text(code)

    def test_a_python_with_a_framework(self, venv: Path, tmp_path: Path) -> None:
        constraint = tmp_path / "constraint.txt"
        constraint.write_text("torch==2.9.0a0+abc\n")
        facts = self.run(venv, IMGBUILD_FACTS_FRAMEWORKS="torch needs-*", PIP_CONSTRAINT=f"{constraint} /nope https://x/y")
        assert facts.python == str(venv / "python3")
        assert facts.python_version == this_platform.python_version()
        assert (facts.externally_managed, facts.pip_version, facts.arch_list) == (False, None, ("sm_80", "sm_90"))
        assert facts.constraints[str(constraint)] == "torch==2.9.0a0+abc\n"
        found = {one.name: one for one in facts.distributions}
        assert found["torch"].module_version == "2.9.0a0+abc"
        assert found["torch"].requires == ("numpy>=1", "x; python_version<'3'")
        assert found["needs-device"].module_version is None
        assert found["needs-device"].unread == "importing needs_device ended with 1: RuntimeError: no device"
        assert found["Quiet.Name"].module_version is None  # nobody asked for it
        assert "-unfinished" not in found

    def test_a_python_further_down_is_found_by_its_framework(self, venv: Path, tmp_path: Path) -> None:
        (tmp_path / "plain").mkdir()
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "plain")], check=True)
        facts = self.run(tmp_path / "plain" / "bin", IMGBUILD_FACTS_FRAMEWORKS="torch", VIRTUAL_ENV=str(venv.parent))
        assert facts.python == str(venv / "python")

    def test_a_python_that_does_not_run_is_none(self, tmp_path: Path) -> None:
        broken = tmp_path / "bin"
        broken.mkdir()
        (broken / "python3").write_text("#!/bin/sh\necho imgbuild-facts-almost\nexit 1\n")
        (broken / "python3").chmod(0o755)
        facts = self.run(broken)
        assert facts.python != str(broken / "python3")

    def test_a_shell_without_any_tool(self, tmp_path: Path) -> None:
        shell, code = _scripts()
        sh = shutil.which("sh")
        assert sh is not None
        done = subprocess.run(
            [sh, "-c", shell, "facts", code], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        facts = read_facts(done.stdout, what="this host")
        assert facts.os != ""
        assert facts.has_apt is False
