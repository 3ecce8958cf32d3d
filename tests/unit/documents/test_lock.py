"""The lock document: what is written is read back, reads well, and is refused with its place when it is wrong."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.documents.lock import lock_text, read_lock, read_lock_text
from builder.documents.lock_text import quoted, scalar
from builder.errors import DocumentError
from builder.model.lock import BaseFacts, Installed, Lock, LockedBase, LockedDeb, LockedPackage, LockedVariant
from builder.model.oci import Digest, Platform

AMD64 = Platform.parse("linux/amd64")
DIGEST = Digest.parse("sha256:" + "9b" * 32)
NUMPY = LockedPackage(
    name="numpy",
    version="2.4.6",
    index="pypi",
    file="numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    sha256="89" * 32,
    size=16918164,
    requested_by=("matrix", "onnxruntime"),
)
LOCK = Lock(
    name="quickstart",
    date="2026-12-01",
    tool="imgbuild 0.1.0",
    bases=(
        LockedBase(
            key="debian12",
            reference="docker.io/library/debian:12",
            platform=AMD64,
            suite="bookworm",
            rootfs_sha256="ab" * 32,
            debs=(
                LockedDeb(
                    name="adduser",
                    version="3.134",
                    architecture="all",
                    sha256="cd" * 32,
                    path="pool/main/a/adduser/adduser_3.134_all.deb",
                    size=104508,
                ),
            ),
            facts=BaseFacts(os="debian", os_version="12", glibc="2.36", python="/usr/bin/python3", python_version="3.11.2"),
        ),
        LockedBase(
            key="nvcr.io/nvidia/pytorch:25.10-py3",
            reference="nvcr.io/nvidia/pytorch:25.10-py3",
            platform=AMD64,
            digest=DIGEST,
            facts=BaseFacts(
                os="ubuntu",
                os_version="24.04",
                glibc="2.39",
                python="/usr/bin/python",
                python_version="3.12.3",
                externally_managed=True,
                env={"PATH": "/usr/bin", "GREETING": 'say "hi"\nto: #all'},
                arch_list=("sm_80", "sm_90", "compute_90"),
                distributions=(Installed(name="torch", version="2.9.0a0+145a3a7bda.nv25.10", requires=("numpy>=1,<3",)),),
            ),
        ),
    ),
    variants=(
        LockedVariant(
            id="onnxruntime1.22.1-cpu-py3.11",
            platform=AMD64,
            framework="onnxruntime1.22.1",
            stack="cpu",
            python="3.11",
            base="debian12",
            pip=("numpy>=2,<3",),
            apt=("git",),
            indexes=("pypi",),
            packages=(NUMPY,),
        ),
    ),
)


def test_a_lock_reads_like_this() -> None:
    assert (
        lock_text(LOCK, matrix="quickstart.yaml")
        == f"""\
# The lock of the matrix "quickstart": every base and every package its images are made of, pinned by digest and hash.
# imgbuild writes this file; keep it beside the matrix, in version control, and do not edit it.
#
#   build what it pins          imgbuild matrix build quickstart.yaml
#   check it                    imgbuild matrix lock quickstart.yaml --check
#   pin what is there now       imgbuild matrix lock quickstart.yaml --update

imgbuild-lock: 1
name: quickstart
date: "2026-12-01"
tool: "imgbuild 0.1.0"

bases:
  - key: debian12
    platform: linux/amd64
    reference: docker.io/library/debian:12
    suite: bookworm
    rootfs_sha256: {"ab" * 32}
    facts:
      os: debian
      os_version: "12"
      glibc: "2.36"
      python: /usr/bin/python3
      python_version: 3.11.2
    debs:
      - {{name: adduser, version: "3.134", architecture: all, path: pool/main/a/adduser/adduser_3.134_all.deb, \
sha256: "{"cd" * 32}", size: 104508}}

  - key: nvcr.io/nvidia/pytorch:25.10-py3
    platform: linux/amd64
    reference: nvcr.io/nvidia/pytorch:25.10-py3
    digest: sha256:{"9b" * 32}
    facts:
      os: ubuntu
      os_version: "24.04"
      glibc: "2.39"
      python: /usr/bin/python
      python_version: 3.12.3
      externally_managed: true
      arch_list: [sm_80, sm_90, compute_90]
      env:
        GREETING: "say \\"hi\\"\\nto: #all"
        PATH: /usr/bin
      distributions:
        - {{name: torch, version: "2.9.0a0+145a3a7bda.nv25.10", requires: ["numpy>=1,<3"]}}

variants:
  - id: onnxruntime1.22.1-cpu-py3.11
    platform: linux/amd64
    framework: onnxruntime1.22.1
    stack: cpu
    python: "3.11"
    base: debian12
    pip: ["numpy>=2,<3"]
    apt: [git]
    indexes: [pypi]
    packages:
      - {{name: numpy, version: "2.4.6", index: pypi, \
file: numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl, \
sha256: "{"89" * 32}", size: 16918164, requested_by: [matrix, onnxruntime]}}
"""
    )


def test_what_is_written_is_read_back() -> None:
    assert read_lock_text(lock_text(LOCK), "q.lock.yaml") == LOCK


def test_a_lock_that_is_not_there_is_an_answer(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "q.lock.yaml") is None
    (tmp_path / "q.lock.yaml").write_text(lock_text(LOCK), encoding="utf-8")
    assert read_lock(tmp_path / "q.lock.yaml") == LOCK


def test_a_file_name_of_a_matrix_cannot_leave_the_header() -> None:
    empty = Lock(name="q", date="2026-12-01", tool="t")
    assert "imgbuild matrix build 'my matrix.yaml'\n" in lock_text(empty, matrix="my matrix.yaml")
    wicked = lock_text(replace(empty, name='x"\nimgbuild-lock: 2'), matrix="a\nimgbuild-lock: 2")
    assert "imgbuild matrix build FILE\n" in wicked
    assert read_lock_text(wicked, "q").name == 'x"\nimgbuild-lock: 2'


# Every text a file can hold: no lone surrogates, and no NUL, which no variable, path or name can hold either.
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
_SOME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
_TRICKY = st.sampled_from(
    ["1.10", "3.10", "1e5", "0x1f", "yes", "NO", "null", "~", "2026-12-01", "1:30", "- a", "a: b", "#", "*a", "<<", "="]
)
_WORD = st.one_of(_SOME, _TRICKY)
_HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
_PLATFORMS = st.sampled_from([AMD64, Platform.parse("linux/arm64")])
_SIZES = st.none() | st.integers(0, 10**15)


@st.composite
def packages(draw: st.DrawFn) -> tuple[LockedPackage, ...]:
    names = draw(st.lists(st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)?", fullmatch=True), max_size=3, unique=True))
    found = []
    for name in names:
        version = draw(st.sampled_from(["1.0", "2.10", "3.12.1", "2.9.0a0+145a3a7bda.nv25.10", "1!2.0", "26.4"]))
        found.append(
            LockedPackage(
                name=name,
                version=version,
                index=draw(st.sampled_from(["pypi", "index-nexus.acme.example-8443-pypi", "find-links-opt-wheels"])),
                file=f"{name.replace('-', '_')}-{version}-py3-none-any.whl",
                sha256=draw(_HEX),
                size=draw(_SIZES),
                requested_by=tuple(draw(st.lists(_WORD, max_size=2))),
            )
        )
    return tuple(found)


_DEBS = st.lists(
    st.builds(
        LockedDeb,
        name=st.sampled_from(["git", "libstdc++6", "python3.11-venv", "1e5"]),
        version=st.sampled_from(["1:2.38.1-5+deb12u3", "2.10", "3.134", "20250419~deb12u2"]),
        architecture=st.sampled_from(["amd64", "all"]),
        sha256=_HEX,
        path=st.sampled_from(["pool/main/a/a_1%3a2.0-1~deb12u1+b3_amd64.deb", "x.deb"]),
        size=_SIZES,
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda deb: (deb.name, deb.architecture),
).map(tuple)
_FACTS = st.builds(
    BaseFacts,
    os=_TEXT,
    os_version=_TEXT | _TRICKY,
    glibc=st.none() | _TEXT | _TRICKY,
    python=st.none() | st.sampled_from(["/usr/bin/python3", "/opt/my python: #1/bin/python"]),
    python_version=st.none() | st.just("3.10.12"),
    pip_version=st.none() | _TRICKY,
    externally_managed=st.booleans(),
    has_ld_cache=st.booleans(),
    has_apt=st.booleans(),
    unconfigured=st.lists(_WORD, max_size=2).map(tuple),
    distributions=st.lists(
        st.builds(
            Installed,
            name=_WORD,
            version=_TEXT | _TRICKY,
            location=_TEXT,
            module_version=st.none() | _TEXT,
            unread=st.none() | _TEXT,
            requires=st.lists(_TEXT, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    env=st.dictionaries(_WORD, _TEXT | _TRICKY, max_size=3),
    labels=st.dictionaries(_WORD, _TEXT | _TRICKY, max_size=2),
    user=_TEXT,
    workdir=_TEXT,
    entrypoint=st.lists(_TEXT | _TRICKY, max_size=2).map(tuple),
    cmd=st.lists(_TEXT | _TRICKY, max_size=2).map(tuple),
    constraints=st.dictionaries(_WORD, _TEXT, max_size=1),
    arch_list=st.none() | st.lists(_WORD, max_size=2).map(tuple),
)


@st.composite
def locks(draw: st.DrawFn) -> Lock:
    keys = draw(st.lists(st.tuples(_WORD, _PLATFORMS), max_size=3, unique=True))
    bases = []
    for key, platform in keys:
        pinned = (
            {"digest": DIGEST}
            if draw(st.booleans())
            else {"debs": draw(_DEBS), "suite": draw(_WORD), "rootfs_sha256": draw(_HEX)}
        )
        bases.append(LockedBase(key=key, platform=platform, reference="docker.io/library/x:1", facts=draw(_FACTS), **pinned))
    variants = []
    for identifier in draw(st.lists(_WORD, max_size=3, unique=True)) if bases else []:
        base = draw(st.sampled_from(bases))
        packaged = draw(packages())
        variants.append(
            LockedVariant(
                id=identifier,
                platform=base.platform,
                framework=draw(_WORD),
                stack=draw(_WORD),
                python="3.10",
                base=base.key,
                pip=tuple(f"{one.name}=={one.version}" for one in packaged),
                apt=tuple(draw(st.lists(_WORD, max_size=2))),
                indexes=tuple(draw(st.lists(st.sampled_from(["pypi", "cu126", "x.y-z"]), max_size=2))),
                packages=packaged,
                debs=draw(st.just(()) | _DEBS),
            )
        )
    return Lock(name=draw(_WORD), date="2026-12-01", tool=draw(_WORD), bases=tuple(bases), variants=tuple(variants))


@settings(max_examples=150)
@given(locks())
def test_every_lock_survives_the_way_to_disk_and_back(lock: Lock) -> None:
    text = lock_text(lock)
    assert read_lock_text(text.encode(), "q.lock.yaml") == lock
    assert lock_text(read_lock_text(text, "q.lock.yaml")) == text


@given(_TEXT | _TRICKY)
def test_every_text_is_the_same_text_to_both_parsers(text: str) -> None:
    for shown in (scalar(text), quoted(text), f"{{a: {scalar(text)}, b: [{scalar(text)}]}}"):
        for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            found = yaml.load(shown, Loader=loader)  # noqa: S506 - both are safe loaders
            assert found in (text, {"a": text, "b": [text]})


def complaints(text: str | bytes) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_lock_text(text, "q.lock.yaml")
    assert caught.value.hint
    return [str(complaint) for complaint in caught.value.complaints]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


TEXT = lock_text(LOCK)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("suite: bookworm", "suit: bookworm", "the key 'suit' is unknown in a lock"),
        ("tool: ", "tols: ", "the key 'tool' is missing"),
        ('version: "2.4.6"', "version: 2.4", "version should be a valid string, not '2.4'"),
        ('version: "2.4.6"', "version: 2.4.7", "is not a file of numpy 2.4.7"),
        ('version: "2.4.6"', "version: newest", "'newest' is not a version"),
        ("name: numpy", "name: NumPy", "'NumPy' is not a canonical name, 'numpy' is"),
        ("index: pypi", 'index: "https://pypi.org/simple"', "a lock holds names, never URLs"),
        ("index: pypi,", "", "the key 'index' is missing"),
        ("89" * 32, "89" * 31, "is not a SHA-256 of 64 hexadecimal digits"),
        ("file: numpy-", "file: ../numpy-", "is not the name of a wheel"),
        (
            "file: numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
            "file: numpy.tar.gz",
            "is not the name of a wheel",
        ),
        ("path: pool/", "path: ../../etc/", "is not a path of a package below an archive's root"),
        ("path: pool/", "path: /pool/", "is not a path of a package below an archive's root"),
        ("sha256:" + "9b" * 32, "sha256:9b", "is not a content digest"),
        ("platform: linux/amd64", "platform: linux", "'linux' is not a platform"),
        ("base: debian12", "base: debian13", "the base 'debian13' on linux/amd64 is not in this lock"),
        ("size: 16918164", "size: many", "size should be a valid integer, not 'many'"),
        ("size: 16918164", "size: -1", "size should be a valid integer, not '-1'"),
        ("imgbuild-lock: 1", "imgbuild-lock: 2", "the lock is of format 2, and this imgbuild reads format 1"),
        ("imgbuild-lock: 1", "imgbuild-lock: one", "imgbuild-lock should be 1, not 'one'"),
        ("imgbuild-lock: 1", "imgbuild: 1", "this is not a lock: it does not begin with imgbuild-lock: 1"),
        ('date: "2026-12-01"', "date: 2026-12-01", "date should be a valid string, not '2026-12-01'"),
        ('date: "2026-12-01"', 'date: "today"', "'today' is not a day such as 2026-12-01"),
        ('date: "2026-12-01"', 'date: "2026-13-01"', "'2026-13-01' is not a day such as 2026-12-01"),
        ("name: adduser", 'name: "a; rm -rf /"', "'a; rm -rf /' is not the name of a Debian package"),
        ('version: "3.134"', 'version: "3.134 || id"', "'3.134 || id' is not the version of a Debian package"),
        ("python: /usr/bin/python3", "python: ../python3", "'../python3' is not the path of a Python"),
        ("    rootfs_sha256: " + "ab" * 32 + "\n", "", "has the key 'rootfs_sha256', and no other has it"),
        ("rootfs_sha256: " + "ab" * 32, "rootfs_sha256: " + "ab" * 31, "is not a SHA-256 of 64 hexadecimal digits"),
        ("digest: sha256:" + "9b" * 32, "rootfs_sha256: " + "ab" * 32 + "\n    digest: sha256:" + "9b" * 32, "no other has it"),
        ("python_version: 3.11.2", "python_version: 3.12.3", "python: the base 'debian12' has Python 3.12.3, not 3.11"),
        ('python: "3.11"', 'python: "3.12"', "python: the base 'debian12' has Python 3.11.2, not 3.12"),
        ('pip: ["numpy>=2,<3"]', 'pip: ["numpy<2"]', "pip[0]: this lock has numpy 2.4.6, which is not 'numpy<2'"),
        ('pip: ["numpy>=2,<3"]', 'pip: ["numpy>=2", scipy]', "pip[1]: nothing in this lock is 'scipy'"),
        ("platform: linux/amd64\n    framework", "platform: linux/vax\n    framework", "base 'debian12' on linux/vax is not in"),
        ("name: quickstart", "name: quickstart\nname: other", "the key 'name' stands twice"),
        (
            "digest: sha256:" + "9b" * 32,
            "suite: x",
            "a base is pinned either by a digest, or by the packages it is assembled from",
        ),
    ],
)
def test_what_was_changed_by_hand_is_refused_with_its_place(old: str, new: str, expected: str) -> None:
    assert old in TEXT
    found = complaints(TEXT.replace(old, new, 1))
    assert any(expected in one for one in found), found
    assert all(one.startswith("q.lock.yaml:") for one in found)


def test_the_place_is_the_line_and_the_field() -> None:
    changed = TEXT.replace("size: 16918164", "sise: 16918164")
    line = line_of(changed, "sise")
    column = changed.splitlines()[line - 1].index("sise") + 1
    place = f"q.lock.yaml:{line}:{column}: variants[0].packages[0].sise"
    assert complaints(changed) == [f"{place}: the key 'sise' is unknown in a lock"]


def test_all_complaints_come_at_once() -> None:
    changed = TEXT.replace("suite: bookworm", "suit: x").replace("stack: cpu", "stack: 1")
    assert [one.rpartition(": ")[2] for one in complaints(changed)] == [
        "the key 'suit' is unknown in a lock",
        "stack should be a valid string, not '1'",
    ]


def test_twice_the_same_is_refused() -> None:
    twice = replace(LOCK, bases=(*LOCK.bases, LOCK.bases[0]), variants=(*LOCK.variants, LOCK.variants[0]))
    assert [one.partition("]")[2].partition(": ")[2] for one in complaints(lock_text(twice))] == [
        "the base 'debian12' on linux/amd64 is there twice",
        "the variant 'onnxruntime1.22.1-cpu-py3.11' on linux/amd64 is there twice",
    ]


def test_a_package_twice_is_refused() -> None:
    twice = replace(LOCK, variants=(replace(LOCK.variants[0], packages=(NUMPY, NUMPY)),))
    assert "variants[0].packages[1]: the package 'numpy' is there twice" in complaints(lock_text(twice))[0]
    base = LOCK.bases[0]
    other = replace(base.debs[0], version="9")
    twice = replace(LOCK, bases=(replace(base, debs=(*base.debs, other)), LOCK.bases[1]))
    assert "bases[0].debs[1]: the package 'adduser' is there twice" in complaints(lock_text(twice))[0]


def test_what_the_base_has_and_what_only_some_places_need_is_in_no_package() -> None:
    variant = replace(
        LOCK.variants[0], base=LOCK.bases[1].key, python="3.12", pip=("torch>=2", "pywin32; sys_platform == 'win32'")
    )
    assert read_lock_text(lock_text(replace(LOCK, variants=(variant,))), "q").variants == (variant,)


def test_conflict_markers_are_called_by_their_name() -> None:
    merged = TEXT.replace(
        'date: "2026-12-01"', '<<<<<<< HEAD\ndate: "2026-12-01"\n=======\ndate: "2026-12-02"\n>>>>>>> update-lock'
    )
    line = line_of(merged, "<<<<<<<")
    assert complaints(merged) == [
        f"q.lock.yaml:{line}:1: a merge left conflict markers here",
        f"q.lock.yaml:{line + 2}:1: a merge left conflict markers here",
        f"q.lock.yaml:{line + 4}:1: a merge left conflict markers here",
    ]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"- a\n", b"imgbuild-lock: [", b"imgbuild-lock: 1\n", b"just text"])
def test_anything_else_is_a_complaint(data: bytes) -> None:
    assert complaints(data)[0].startswith("q.lock.yaml:")


@given(st.binary(max_size=200))
def test_no_bytes_are_a_bug_of_ours(data: bytes) -> None:
    with pytest.raises(DocumentError):
        read_lock_text(data, "q.lock.yaml")


@given(st.integers(0, len(TEXT) - 1), st.text(max_size=3))
def test_no_damage_is_a_bug_of_ours(position: int, inserted: str) -> None:
    damaged = TEXT[:position] + inserted + TEXT[position + 1 :]
    with contextlib.suppress(DocumentError):
        assert lock_text(read_lock_text(damaged, "q.lock.yaml"))
