"""Assembling a base: what this host must have, what comes out, and that it is always the same."""

from __future__ import annotations

import dataclasses
import io
import shutil
import tarfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from builder.adapters.debian import AptArchive
from builder.adapters.debian_base import BASE_PACKAGES
from builder.errors import HostBlockedError, ImgbuildError, MismatchError, UnsatisfiableError
from builder.model.lock import LockedDeb
from builder.model.oci import LINUX_AMD64, Platform
from builder.model.plan import DistributionRelease
from builder.ports import DebianArchive
from tests.unit.adapters.deb_files import Entry, Package
from tests.unit.adapters.test_debian_apt import FakeApt

BOOKWORM = DistributionRelease(name="debian", release="12", codename="bookworm")
MAIN = "http://m.example/debian"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Debian host with apt, in a folder."""
    (tmp_path / "etc" / "apt").mkdir(parents=True)
    (tmp_path / "etc" / "os-release").write_text('ID=debian\nVERSION_CODENAME="bookworm"\n# x\nPRETTY_NAME="Debian"\n')
    (tmp_path / "etc" / "apt" / "sources.list").write_text(f"deb {MAIN} bookworm main\n")
    (tmp_path / "keyrings").mkdir()
    (tmp_path / "keyrings" / "debian-archive-keyring.gpg").write_bytes(b"key")
    (tmp_path / "apt-helper").write_text("")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    return tmp_path


def archive(host: Path, processes: FakeApt | None = None) -> AptArchive:
    made = AptArchive(
        processes or FakeApt(), host / "cache", etc=host / "etc", keyrings=host / "keyrings", helper=host / "apt-helper"
    )
    port: DebianArchive = made
    assert port is made
    return made


class TestAvailable:
    def test_here(self, host: Path) -> None:
        fake = FakeApt()
        assert archive(host, fake).available(BOOKWORM, LINUX_AMD64) is None
        assert sum("update" in argv for argv in fake.ran) == 1

    @pytest.mark.parametrize("platform", ["linux/arm64", "linux/arm64/v8", "linux/arm/v7", "linux/riscv64"])
    def test_other_architectures_need_no_emulation(self, host: Path, platform: str) -> None:
        assert archive(host).available(BOOKWORM, Platform.parse(platform)) is None

    @pytest.mark.parametrize(
        ("release", "platform", "words"),
        [
            (DistributionRelease(name="fedora", release="41"), "linux/amd64", "neither Debian nor Ubuntu"),
            (dataclasses.replace(BOOKWORM, name="ubuntu"), "linux/amd64", "this host is 'debian', not 'ubuntu'"),
            (dataclasses.replace(BOOKWORM, codename=None), "linux/amd64", "the codename of debian12 is not known"),
            (dataclasses.replace(BOOKWORM, codename="../x"), "linux/amd64", "the codename of debian12 is not known"),
            (BOOKWORM, "windows/amd64", "no packages for windows/amd64"),
            (BOOKWORM, "linux/wasm", "no packages for linux/wasm"),
        ],
    )  # fmt: skip
    def test_what_no_host_like_this_can(self, host: Path, release: DistributionRelease, platform: str, words: str) -> None:
        fake = FakeApt()
        assert words in (archive(host, fake).available(release, Platform.parse(platform)) or "")
        assert fake.ran == []

    def test_a_host_without_apt(self, host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        assert archive(host).available(BOOKWORM, LINUX_AMD64) == "this host has no apt-get and no apt-cache and no apt-config"

    def test_a_host_without_the_helper(self, host: Path) -> None:
        (host / "apt-helper").unlink()
        assert "apt-helper" in (archive(host).available(BOOKWORM, LINUX_AMD64) or "")

    def test_a_host_without_sources(self, host: Path) -> None:
        (host / "etc" / "apt" / "sources.list").write_text("deb http://x.example/tools stable main\n# deb http://m bookworm main")
        assert "name no archive of 'debian'" in (archive(host).available(BOOKWORM, LINUX_AMD64) or "")

    def test_a_host_without_a_keyring(self, host: Path) -> None:
        (host / "keyrings" / "debian-archive-keyring.gpg").unlink()
        assert "no keyring of 'debian'" in (archive(host).available(BOOKWORM, LINUX_AMD64) or "")

    def test_a_host_that_is_not_known(self, host: Path) -> None:
        (host / "etc" / "os-release").unlink()
        assert archive(host).available(BOOKWORM, LINUX_AMD64) == "this host is 'unknown', not 'debian'"

    def test_a_release_the_mirror_does_not_carry(self, host: Path) -> None:
        text = f"Err:1 {MAIN} forky Release\n  404  Not Found\n"
        forky = dataclasses.replace(BOOKWORM, codename="forky")
        assert "has no release 'forky'" in (archive(host, FakeApt(update=(100, text))).available(forky, LINUX_AMD64) or "")

    def test_a_release_signed_by_an_unknown_key(self, host: Path) -> None:
        text = f"Err:1 {MAIN} bookworm InRelease\n  ... NO_PUBKEY 0E98404D386FA1D9\n"
        assert "NO_PUBKEY" in (archive(host, FakeApt(update=(100, text))).available(BOOKWORM, LINUX_AMD64) or "")

    def test_a_mirror_that_cannot_be_asked_is_no_reason(self, host: Path) -> None:
        text = f"Err:1 {MAIN} bookworm InRelease\n  Could not connect\n"
        assert archive(host, FakeApt(update=(100, text))).available(BOOKWORM, LINUX_AMD64) is None


NOT_NAMES = ["-o=x", "git-", "G++", "a b", "", "git;rm", "../x", "git=", "?essential", "a/sid", "git--x"]


class TestResolve:
    def test_the_base_and_what_is_added(self, host: Path) -> None:
        line = f"'{MAIN}/pool/main/b/bash/bash_5_amd64.deb' bash_5_amd64.deb 7 SHA256:{'ab' * 32}\n"
        fake = FakeApt(install=(0, line), pkgnames=(0, "usr-is-merged\n"))
        (deb,) = archive(host, fake).resolve(BOOKWORM, LINUX_AMD64, ["git", "libgl1=1.6.0-1", "git"])
        assert (deb.name, deb.path) == ("bash", "pool/main/b/bash/bash_5_amd64.deb")
        words = fake.ran[-1]
        assert words[words.index("install") + 1 :] == (*BASE_PACKAGES, "usr-is-merged", "git", "libgl1=1.6.0-1")

    @pytest.mark.parametrize(
        "name", ["-o=x", "git-", "G++", "a b", "", "git;rm", "../x", "git=", "?essential", "a/sid", "git--x"]
    )
    def test_what_is_not_a_name_never_reaches_apt(self, host: Path, name: str) -> None:
        fake = FakeApt()
        with pytest.raises(UnsatisfiableError, match="is not the name of a Debian package"):
            archive(host, fake).resolve(BOOKWORM, LINUX_AMD64, ["git", name])
        assert fake.ran == []

    @pytest.mark.parametrize("name", ["g++", "libstdc++6", "git", "libc6:arm64", "0ad", "python3.11", "git=1:2.39.5-0+deb12u2"])
    def test_names(self, host: Path, name: str) -> None:
        fake = FakeApt()
        archive(host, fake).resolve(BOOKWORM, LINUX_AMD64, [name])
        assert any(name in argv for argv in fake.ran)

    def test_where_it_cannot_be_assembled(self, host: Path) -> None:
        (host / "etc" / "os-release").write_text("ID=fedora\n")
        with pytest.raises(UnsatisfiableError, match="debian12 cannot be assembled here for linux/amd64: this host is") as caught:
            archive(host).resolve(BOOKWORM, LINUX_AMD64, [])
        assert "bases: {distribution: registry}" in (caught.value.hint or "")


MASTER = "root:*:0:0:root:/root:/bin/bash\nnobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\nbroken\n"
UNIX = """\
Name: Unix
Auth-Type: Primary
Auth-Initial:
\t[success=end default=ignore]\tpam_unix.so nullok
Session-Initial:
\trequired\tpam_unix.so
"""
PACKAGES = (
    Package(
        name="base-files",
        control={"postinst": "#!/bin/sh\n", "conffiles": "/etc/host.conf\nremove-on-upgrade /etc/old\n"},
        entries=[
            Entry(path="./"), Entry(path="./bin/"), Entry(path="./tmp/", mode=0o1777), Entry(path="./var/run/"),
            Entry(path="./etc/host.conf", data="multi on\n", mode=0o644), Entry(path="./usr/lib/os-release", data="ID=debian\n"),
            Entry(path="./usr/share/base-files/dot.profile", data="# profile\n"),
            Entry(path="./etc/dpkg/origins/debian", data="x"),
        ],
    ),
    Package(
        name="base-passwd",
        entries=[
            Entry(path="./usr/share/base-passwd/passwd.master", data=MASTER),
            Entry(path="./usr/share/base-passwd/group.master", data="root:*:0:\nshadow:*:42:ann\n"),
        ],
    ),
    Package(
        name="ca-certificates", architecture="all", control={"postinst": "x", "triggers": "interest update-ca-certificates\n"},
        entries=[
            Entry(path="./usr/share/ca-certificates/mozilla/B_(x),y z.crt", data="BBB"),
            Entry(path="./usr/share/ca-certificates/mozilla/A\u0151.crt", data="AAA\n\n"),
            Entry(path="./usr/lib/ssl/"),
        ],
    ),
    Package(name="dash", entries=[Entry(path="./bin/dash", data="elf"), Entry(path="./bin/sh", target="dash")]),
    Package(
        name="debianutils", control={"postinst": "x", "triggers": "# c\ninterest-noawait /usr/share/debianutils/shells.d\n"},
        entries=[
            Entry(path="./usr/share/debianutils/shells", data="# shells\n/bin/sh\n"),
            Entry(path="./usr/share/debianutils/shells.d/dash", data="/bin/dash # d\n/usr/bin/dash\n"),
            Entry(path="./usr/bin/which.debianutils", data="w"),
        ],
    ),
    Package(
        name="libc6", version="2:2.36-9", fields={"Multi-Arch": "same"}, control={"shlibs": "libc 6\n", "postinst": "x"},
        entries=[Entry(path="./lib/libc.so", data="c"), Entry(path="./lib64/ld.so", target="/lib/libc.so")],
    ),
    Package(
        name="libpam-runtime", architecture="all", control={"postinst": "x"},
        entries=[
            Entry(path="./usr/share/pam/common-auth", data="$auth_primary\nauth requisite pam_deny.so\n$auth_additional\n"),
            Entry(path="./usr/share/pam/common-session", data="$session_primary\n-\n$session_additional\n"),
            Entry(path="./usr/share/pam-configs/unix", data=UNIX),
        ],
    ),
    Package(name="mawk", control={"postinst": "x"}, entries=[Entry(path="./usr/bin/mawk", data="m")]),
    Package(name="apt", entries=[Entry(path="./usr/share/keyrings/debian-archive-keyring.pgp", data="k")]),
    Package(name="passwd", control={"postinst": "x"}),
    Package(name="python3.11-minimal", control={"postinst": "x"}),
    Package(name="git", control={"postinst": "x", "preinst": "#!/bin/sh\ndpkg-divert --no-rename --add /x\n"}),
)  # fmt: skip


@pytest.fixture
def debs(host: Path) -> tuple[LockedDeb, ...]:
    return tuple(package.put(host / "cache") for package in PACKAGES)


def contents(path: Path) -> tuple[dict[str, tarfile.TarInfo], dict[str, str]]:
    with tarfile.open(path) as tar:
        members = {member.name: member for member in tar}
        texts = {
            name: stream.read().decode()
            for name, member in members.items()
            if (stream := member.isreg() and tar.extractfile(member))
        }
    return members, texts


class TestAssemble:
    @pytest.fixture
    def tree(self, host: Path, debs: tuple[LockedDeb, ...]) -> tuple[dict[str, tarfile.TarInfo], dict[str, str]]:
        return contents(archive(host).assemble(BOOKWORM, debs)[0])

    def test_the_same_packages_make_the_same_bytes(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        path, digest = archive(host).assemble(BOOKWORM, debs)
        first = path.read_bytes()
        path.unlink()
        again, digest_again = archive(host).assemble(BOOKWORM, debs[::-1])
        assert (again, digest_again) == (path, digest)
        assert path.read_bytes() == first

    def test_what_is_kept_is_not_made_again(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        path, digest = archive(host).assemble(BOOKWORM, debs)
        shutil.rmtree(host / "cache" / "debs")
        assert archive(host).assemble(BOOKWORM, debs) == (path, digest)

    def test_a_tar_that_somebody_changed_is_made_again(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        path, digest = archive(host).assemble(BOOKWORM, debs)
        path.write_bytes(b"something else")
        assert archive(host).assemble(BOOKWORM, debs) == (path, digest)
        assert len(contents(path)[0]) > 50

    def test_other_packages_and_another_release_are_another_tar(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        one = archive(host).assemble(BOOKWORM, debs)[0]
        two = archive(host).assemble(BOOKWORM, debs[:-1])[0]
        three = archive(host).assemble(dataclasses.replace(BOOKWORM, codename="trixie"), debs)[0]
        assert len({one, two, three}) == 3

    def test_two_at_once_make_one(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        found: list[tuple[Path, str]] = []
        threads = [threading.Thread(target=lambda: found.append(archive(host).assemble(BOOKWORM, debs))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert len(set(found)) == 1
        assert not list((host / "cache" / "rootfs").glob(".rootfs-*"))

    def test_accounts(self, tree: tuple[dict[str, tarfile.TarInfo], dict[str, str]]) -> None:
        members, texts = tree
        assert texts["etc/passwd"].splitlines() == [
            "root:x:0:0:root:/root:/bin/bash",
            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
            "_apt:x:100:65534::/nonexistent:/usr/sbin/nologin",
        ]
        assert texts["etc/group"] == "root:x:0:\nshadow:x:42:ann\n"
        assert texts["etc/shadow"].splitlines()[0] == "root:*::0:99999:7:::"
        assert texts["etc/gshadow"] == "root:*::\nshadow:*::ann\n"
        assert (members["etc/shadow"].mode, members["etc/shadow"].gid) == (0o640, 42)

    def test_folders_links_and_modes(self, tree: tuple[dict[str, tarfile.TarInfo], dict[str, str]]) -> None:
        members, texts = tree
        modes = {name: members[name].mode for name in ("tmp", "root", "proc", "var/tmp", "run/lock", "usr/local/bin")}
        assert modes == {
            "tmp": 0o1777, "root": 0o700, "proc": 0o755, "var/tmp": 0o1777, "run/lock": 0o1777, "usr/local/bin": 0o755
        }  # fmt: skip
        links = (
            "bin",
            "lib64",
            "var/run",
            "var/lock",
            "usr/bin/sh",
            "usr/bin/awk",
            "etc/alternatives/awk",
            "etc/dpkg/origins/default",
        )
        assert [members[name].linkname for name in links] == [
            "usr/bin", "usr/lib64", "/run", "/run/lock", "dash", "/etc/alternatives/awk", "/usr/bin/mawk", "debian",
        ]  # fmt: skip
        assert texts["root/.profile"] == "# profile\n"
        assert (
            texts["var/lib/dpkg/alternatives/awk"]
            == "auto\n/usr/bin/awk\nnawk\n/usr/bin/nawk\n\n/usr/bin/mawk\n5\n/usr/bin/mawk\n\n"
        )
        assert "usr/local/lib/python3.11/dist-packages" in members
        assert "usr/bin/pager" not in members

    def test_certificates(self, tree: tuple[dict[str, tarfile.TarInfo], dict[str, str]]) -> None:
        members, texts = tree
        assert texts["etc/ssl/certs/ca-certificates.crt"] == "AAA\nBBB\n"
        assert texts["etc/ca-certificates.conf"] == "mozilla/A\u0151.crt\nmozilla/B_(x),y z.crt\n"
        assert members["etc/ssl/certs/B_=x=_y_z.pem"].linkname == "/usr/share/ca-certificates/mozilla/B_(x),y z.crt"
        assert members["usr/lib/ssl/cert.pem"].linkname == "/etc/ssl/certs/ca-certificates.crt"

    def test_shells_and_pam(self, tree: tuple[dict[str, tarfile.TarInfo], dict[str, str]]) -> None:
        _, texts = tree
        assert texts["etc/shells"] == "# shells\n/bin/sh\n/usr/bin/sh\n/bin/dash\n/usr/bin/dash\n"
        assert texts["etc/pam.d/common-auth"].startswith("auth\t[success=1 default=ignore]\tpam_unix.so nullok\nauth requisite")
        assert texts["etc/pam.d/common-session"] == "session\t[default=1]\t\t\tpam_permit.so\n-\nsession\trequired\tpam_unix.so\n"

    def test_what_apt_is_told_in_the_image(self, tree: tuple[dict[str, tarfile.TarInfo], dict[str, str]]) -> None:
        members, texts = tree
        sources = texts["etc/apt/sources.list.d/distribution.sources"]
        assert "Suites: bookworm bookworm-updates\n" in sources
        assert "Suites: bookworm-security\n" in sources
        assert "Signed-By: /usr/share/keyrings/debian-archive-keyring.pgp\n" in sources
        assert MAIN not in sources
        assert members["usr/sbin/policy-rc.d"].mode == 0o755
        assert "path-exclude /usr/share/doc/*" in texts["etc/dpkg/dpkg.cfg.d/90-slim"]

    def test_what_dpkg_sees(self, tree: tuple[dict[str, tarfile.TarInfo], dict[str, str]]) -> None:
        members, texts = tree
        stanzas = texts["var/lib/dpkg/status"].split("\n\n")
        status = {stanza.splitlines()[0]: stanza.splitlines() for stanza in stanzas}
        assert [name.partition(": ")[2] for name in status] == sorted(package.name for package in PACKAGES)
        assert status["Package: base-files"][1] == "Status: install ok installed"
        assert status["Package: git"][1] == "Status: install ok unpacked"
        assert " /etc/host.conf 4eb63731c9f5e30903ac4fc07a7fe3d6" in status["Package: base-files"]
        assert not any("/etc/old" in line for line in status["Package: base-files"])
        assert texts["var/lib/dpkg/info/libc6:amd64.list"] == "/lib/libc.so\n/lib64/ld.so\n"
        assert texts["var/lib/dpkg/info/base-files.list"].startswith("/.\n/bin\n/tmp\n/var/run\n")
        assert members["var/lib/dpkg/info/git.postinst"].mode == 0o755
        assert members["var/lib/dpkg/info/libc6:amd64.shlibs"].mode == 0o644
        assert texts["var/lib/dpkg/triggers/File"] == "/usr/share/debianutils/shells.d debianutils/noawait\n"
        assert texts["var/lib/dpkg/triggers/update-ca-certificates"] == "ca-certificates\n"

    def test_packages_that_are_not_kept_are_fetched(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        store = {f"{MAIN}/{deb.path}": package.build() for deb, package in zip(debs, PACKAGES, strict=True)}
        expected = archive(host).assemble(BOOKWORM, debs)
        shutil.rmtree(host / "cache")
        fake = FakeApt(download_file=serve(store))
        assert archive(host, fake).assemble(BOOKWORM, debs) == expected
        assert not list((host / "cache" / "debs").glob("part-*"))

    def test_a_damaged_package_in_the_cache_is_fetched_again(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        kept = next((host / "cache" / "debs").rglob(f"{debs[0].sha256}.deb"))
        kept.write_bytes(b"damaged")
        fake = FakeApt(download_file=serve({f"{MAIN}/{debs[0].path}": PACKAGES[0].build()}))
        archive(host, fake).assemble(BOOKWORM, debs)
        downloads = [argv for argv in fake.ran if "download-file" in argv]
        assert len(downloads) == 1
        assert f"{MAIN}/{debs[0].path}" in downloads[0]

    def test_what_was_downloaded_is_checked_again(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        shutil.rmtree(host / "cache")
        fake = FakeApt(download_file=serve({f"{MAIN}/{deb.path}": b"evil" for deb in debs}))
        with pytest.raises(MismatchError, match="is not the one that is locked"):
            archive(host, fake).assemble(BOOKWORM, debs)
        assert not list((host / "cache" / "rootfs").glob("*.tar"))

    def test_a_host_that_cannot_fetch(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        shutil.rmtree(host / "cache")
        (host / "etc" / "os-release").write_text("ID=fedora\n")
        with pytest.raises(HostBlockedError, match="cannot be fetched here: this host is 'fedora'"):
            archive(host).assemble(BOOKWORM, debs)

    @pytest.mark.parametrize("field", ["name", "version", "architecture"])
    def test_a_package_that_is_not_what_the_lock_says(self, host: Path, debs: tuple[LockedDeb, ...], field: str) -> None:
        wrong = changed(debs[0], field, "x")
        with pytest.raises(MismatchError, match="the package with that hash is base-files"):
            archive(host).assemble(BOOKWORM, [wrong, *debs[1:]])

    @pytest.mark.parametrize("field", ["name", "sha256"])
    def test_a_lock_that_names_what_cannot_be(self, host: Path, debs: tuple[LockedDeb, ...], field: str) -> None:
        with pytest.raises(MismatchError, match="that cannot be one"):
            archive(host).assemble(BOOKWORM, [changed(debs[0], field, "../../etc/passwd")])

    @pytest.mark.parametrize("script", ["dpkg-divert --add \\\n --rename /x\n", "#!/bin/sh\n  adduser --system x\n"])
    def test_a_package_that_must_run_before_it_is_unpacked(self, host: Path, debs: tuple[LockedDeb, ...], script: str) -> None:
        odd = Package(name="odd", control={"preinst": script}).put(host / "cache")
        with pytest.raises(UnsatisfiableError, match="'odd' changes the system before it is unpacked"):
            archive(host).assemble(BOOKWORM, [*debs, odd])

    def test_what_fails_leaves_nothing_behind(self, host: Path, debs: tuple[LockedDeb, ...]) -> None:
        evil = Package(name="evil", entries=[Entry(path="./tmp", target="/")]).put(host / "cache")
        with pytest.raises(ImgbuildError):
            archive(host).assemble(BOOKWORM, [*debs, evil])
        left = [path.suffix for path in (host / "cache" / "rootfs").iterdir()]
        assert left == [".lock"]


def changed(deb: LockedDeb, field: str, value: str) -> LockedDeb:
    fields = {one.name: getattr(deb, one.name) for one in dataclasses.fields(deb)}
    return LockedDeb(**{**fields, field: value})


def serve(store: dict[str, bytes]) -> Callable[[Sequence[str]], tuple[int, str]]:
    """Answer apt-helper's downloads from a store."""

    def download(argv: Sequence[str]) -> tuple[int, str]:
        arguments = argv[argv.index("download-file") + 1 :]
        for uri, path in zip(arguments[::3], arguments[1::3], strict=True):
            with io.BytesIO(store[uri]) as stream, Path(path).open("wb") as target:
                shutil.copyfileobj(stream, target)
        return 0, ""

    return download
