"""apt with a state of its own: what it is told, and what it says, without running it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from builder.adapters.debian_apt import HELPER, Apt, Refusal
from builder.adapters.debian_sources import Source
from builder.errors import HostBlockedError, ImgbuildError, MismatchError, ProgramError, UnreachableError, UnsatisfiableError
from builder.model.build import Completed
from builder.model.lock import LockedDeb

MAIN = "http://m.example/debian"
SECURE = "http://m.example/debian-security"
HASH = "ab" * 32


class FakeApt:
    """Stands in for apt's programs; ``answers`` maps a program or apt-get's command to code and output."""

    def __init__(self, **answers: tuple[int, str] | Callable[[Sequence[str]], tuple[int, str]]) -> None:
        self.answers = answers
        self.ran: list[tuple[str, ...]] = []
        self.environments: list[Mapping[str, str]] = []

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
        self.ran.append(tuple(argv))
        self.environments.append(env or {})
        name = next((word for word in ("update", "install", "pkgnames", "download-file", "dump") if word in argv), argv[0])
        answer = self.answers.get(name.replace("-", "_"), (0, ""))
        code, text = answer(argv) if callable(answer) else answer
        return Completed(argv=tuple(argv), code=code, stdout=text, stderr="", seconds=0.1, timed_out=code == -15)

    def stop(self) -> None:
        pass

    @property
    def stopping(self) -> bool:
        return False


def apt(tmp_path: Path, processes: FakeApt) -> Apt:
    sources = (
        Source(uri=MAIN, suites=("bookworm", "bookworm-updates"), components=("main",)),
        Source(uri=SECURE + "/", suites=("bookworm-security",), components=("main",)),
    )
    return Apt(processes=processes, folder=tmp_path / "apt", sources=sources, keyring="/k.gpg", architecture="amd64")


def deb(name: str = "bash", path: str = "") -> LockedDeb:
    place = path or f"pool/main/b/{name}/{name}_5+x_amd64.deb"
    return LockedDeb(name=name, version="5+x", architecture="amd64", sha256=HASH, path=place, size=7)


PYTHON = "pool/updates/main/p/python3.11/python3.11_3.11.2-6%2bdeb12u9_amd64.deb"
URIS = f"""Reading package lists...
'{SECURE}/{PYTHON}' python3.11_3.11.2-6+deb12u9_amd64.deb 575032 SHA256:{HASH}
'{MAIN}/pool/main/g/gmp/libgmp10_6.2.1%2bdfsg1-1.1_amd64.deb' libgmp10_2%3a6.2.1+dfsg1-1.1_amd64.deb 562588 SHA256:{HASH}
'{MAIN}/pool/main/t/tzdata/tzdata_2026f-0%2bdeb12u1_all.deb' tzdata_2026f-0+deb12u1_all.deb 7 SHA256:{HASH}
"""


def test_resolving_reads_every_address(tmp_path: Path) -> None:
    fake = FakeApt(install=(0, URIS))
    debs = apt(tmp_path, fake).resolve(["python3"])
    assert [(one.name, one.version, one.architecture, one.size) for one in debs] == [
        ("libgmp10", "2:6.2.1+dfsg1-1.1", "amd64", 562588),
        ("python3.11", "3.11.2-6+deb12u9", "amd64", 575032),
        ("tzdata", "2026f-0+deb12u1", "all", 7),
    ]
    assert debs[1].path == "pool/updates/main/p/python3.11/python3.11_3.11.2-6+deb12u9_amd64.deb"
    assert {one.sha256 for one in debs} == {HASH}
    assert fake.ran[-1][-2:] == ("install", "python3")


@pytest.mark.parametrize(
    "line",
    ["'x' y", f"'http://other/pool/b_1_all.deb' b_1_all.deb 1 SHA256:{HASH}", f"'{MAIN}/pool/b.deb' b_1_all.deb 1 MD5Sum:0",
     f"'{MAIN}/pool/b' b 1 SHA256:{HASH}"],
)  # fmt: skip
def test_an_address_that_cannot_be_read_is_an_error(tmp_path: Path, line: str) -> None:
    with pytest.raises(ProgramError, match="cannot be read"):
        apt(tmp_path, FakeApt(install=(0, line))).resolve(["b"])


def test_nothing_of_the_hosts_is_read_but_its_network_settings(tmp_path: Path) -> None:
    dump = (
        'Acquire::http::Proxy "http://p.example:3128/";\nAcquire::Check-Valid-Until "false";\nDPkg::Post-Invoke:: "rm -rf /";\n'
        'APT::Update::Post-Invoke:: "evil";\nAcquire::AllowInsecureRepositories "1";\nAcquire::IndexTargets::deb::X "1";\n'
        'Acquire::Odd "a"; APT::Update::Post-Invoke:: "b";\nDir::Etc::Trusted "/x";\n'
    )
    fake = FakeApt(dump=(0, dump))
    apt(tmp_path, fake).refresh()
    configuration = (tmp_path / "apt" / "apt.conf").read_text()
    assert 'Acquire::http::Proxy "http://p.example:3128/";' in configuration
    assert 'Acquire::Check-Valid-Until "false";' in configuration
    for never in ("Invoke", "AllowInsecure", "IndexTargets", "Odd", "Trusted"):
        assert never not in configuration
    assert 'APT::Architecture "amd64";' in configuration
    assert (tmp_path / "apt" / "apt.conf").stat().st_mode & 0o077 == 0
    assert (tmp_path / "apt" / "status").read_bytes() == b""
    assert "Signed-By: /k.gpg" in (tmp_path / "apt" / "archive.sources").read_text()
    update = fake.ran[-1]
    assert f"Dir::State::status={tmp_path}/apt/status" in update
    assert fake.environments[-1]["APT_CONFIG"] == f"{tmp_path}/apt/apt.conf"
    assert fake.environments[-1]["LC_ALL"] == "C"


def test_lists_are_fetched_once(tmp_path: Path) -> None:
    fake = FakeApt()
    archive = apt(tmp_path, fake)
    assert archive.refresh() is None
    assert archive.refresh() is None
    assert sum("update" in argv for argv in fake.ran) == 1


NO_KEY = """\
Err:1 http://m.example/debian bookworm InRelease
  The following signatures couldn't be verified because the public key is not available: NO_PUBKEY 0E98404D386FA1D9
W: GPG error: http://m.example/debian bookworm InRelease: The following signatures couldn't be verified
E: The repository 'http://m.example/debian bookworm InRelease' is not signed.
"""
NO_RELEASE = """\
Err:4 http://m.example/debian bookworm Release
  404  Not Found [IP: 192.0.2.80 80]
E: The repository 'http://m.example/debian bookworm Release' does not have a Release file.
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NO_KEY, "NO_PUBKEY 0E98404D386FA1D9"),
        ("E: The repository 'http://m.example/debian bookworm InRelease' is not signed.", "is not signed"),
        (NO_RELEASE, "has no release 'bookworm' for 'amd64'"),
    ],
)
def test_an_archive_that_does_not_serve(tmp_path: Path, text: str, words: str) -> None:
    refusal = apt(tmp_path, FakeApt(update=(100, text))).refresh()
    assert isinstance(refusal, Refusal)
    assert words in refusal.words
    assert refusal.hint


@pytest.mark.parametrize(
    ("code", "text", "words"),
    [
        (
            100,
            "Err:1 http://m.example/debian bookworm InRelease\n  Temporary failure resolving 'm.example'\n",
            "Temporary failure",
        ),
        (0, "W: Failed to fetch http://m.example/debian/dists/x  Could not connect to m.example:80\n", "Could not connect"),
        (-15, "", "no answer in 600 s"),
    ],
)
def test_an_archive_that_cannot_be_asked(tmp_path: Path, code: int, text: str, words: str) -> None:
    with pytest.raises(UnreachableError, match=words) as caught:
        apt(tmp_path, FakeApt(update=(code, text))).refresh()
    assert MAIN in caught.value.message


def test_an_update_that_fails_for_another_reason(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="apt-get update failed") as caught:
        apt(tmp_path, FakeApt(update=(100, "E: Malformed entry 1\n"))).refresh()
    assert caught.value.message == "apt-get update failed (100): E: Malformed entry 1"


@pytest.mark.parametrize(("said", "words"), [("not valid yet", "are not valid yet"), ("expired", "have expired")])
def test_a_clock_that_is_wrong_is_named(tmp_path: Path, said: str, words: str) -> None:
    text = f"E: Release file for {MAIN}/dists/x/InRelease is {said} (invalid for another 9d). Updates will not be applied.\n"
    with pytest.raises(HostBlockedError, match=f"by this host's clock .* {words}$") as caught:
        apt(tmp_path, FakeApt(update=(100, text))).refresh()
    assert "set the clock" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("E: Unable to locate package nope\nE: Unable to locate package gone\n", "'nope', 'gone'"),
        ("Package x is not available\nE: Package 'x' has no installation candidate\n", "'x'"),
        ("E: Version '9' for 'bash' was not found\n", "'9'"),
        ("E: Unable to locate package foo.1\nE: Couldn't find any package by glob 'foo.1'\n", "'foo.1'"),
    ],
)
def test_packages_that_a_release_does_not_have(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        apt(tmp_path, FakeApt(install=(100, text))).resolve(["nope"])
    assert words in caught.value.message
    assert "'bookworm'" in caught.value.message


def test_packages_that_conflict(tmp_path: Path) -> None:
    text = "The following packages have unmet dependencies:\n a : Conflicts: b but 1 is there\nE: Unable to correct problems\n"
    with pytest.raises(UnsatisfiableError) as caught:
        apt(tmp_path, FakeApt(install=(100, text))).resolve(["a", "b"])
    assert caught.value.details == ("a : Conflicts: b but 1 is there", "E: Unable to correct problems")


def test_which_names_are_known(tmp_path: Path) -> None:
    fake = FakeApt(pkgnames=(0, "usr-is-merged-x\nusr-is-merged\n"))
    assert apt(tmp_path, fake).known(["usr-is-merged", "nope"]) == ("usr-is-merged",)


class Downloads:
    """apt-helper that writes what ``have`` names and says of the rest what ``why`` says."""

    def __init__(self, have: Sequence[str], why: str) -> None:
        self.have = tuple(have)
        self.why = why
        self.asked: list[str] = []

    def __call__(self, argv: Sequence[str]) -> tuple[int, str]:
        arguments = argv[argv.index("download-file") + 1 :]
        text = ""
        for uri, path, digest in zip(arguments[::3], arguments[1::3], arguments[2::3], strict=True):
            assert digest == f"SHA256:{HASH}"
            self.asked.append(uri)
            if uri in self.have:
                Path(path).write_text("deb")
            else:
                text += f"Err:1 {uri}\n  {self.why}\n"
        return 100 if text else 0, text


def fetch(tmp_path: Path, downloads: Downloads, *debs: LockedDeb) -> FakeApt:
    fake = FakeApt(download_file=downloads)
    apt(tmp_path, fake).fetch({one: tmp_path / f"{one.name}.deb" for one in debs})
    return fake


def test_packages_come_from_the_archive_that_has_them(tmp_path: Path) -> None:
    secure = deb("python3", "pool/updates/main/p/python3/python3_1_amd64.deb")
    downloads = Downloads([f"{MAIN}/pool/main/b/bash/bash_5+x_amd64.deb", f"{SECURE}/{secure.path}"], "404  Not Found")
    fake = fetch(tmp_path, downloads, deb(), secure)
    assert (tmp_path / "bash.deb").read_text() == "deb"
    assert len(downloads.asked) == 2
    assert fake.ran[-1][0] == HELPER


def test_a_package_may_be_in_the_other_archive(tmp_path: Path) -> None:
    downloads = Downloads([f"{SECURE}/{deb().path}"], "404  Not Found")
    fetch(tmp_path, downloads, deb())
    assert downloads.asked == [f"{MAIN}/{deb().path}", f"{SECURE}/{deb().path}"]


@pytest.mark.parametrize("why", ["404  Not Found [IP: 192.0.2.80 80]", "Hash Sum mismatch", "File has unexpected size (8 != 7)"])
def test_a_package_that_is_gone(tmp_path: Path, why: str) -> None:
    with pytest.raises(MismatchError, match=r"no longer has what the lock names: bash 5\+x") as caught:
        fetch(tmp_path, Downloads([], why), deb())
    assert "matrix lock FILE --update" in (caught.value.hint or "")


@pytest.mark.parametrize("why", ["Could not connect to m.example:80", ""])
def test_a_package_that_could_not_be_asked_for(tmp_path: Path, why: str) -> None:
    with pytest.raises(ImgbuildError) as caught:
        fetch(tmp_path, Downloads([], why), deb())
    assert isinstance(caught.value, UnreachableError)
    assert why in caught.value.message
