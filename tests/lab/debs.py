"""A Debian root file system from packages: resolved by apt against nothing, unpacked here, marked as installed.

Maintainer scripts do not run; the few things that they would have made and that containers need
(accounts, links of alternatives, the certificate bundle, apt's own account) are made here.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.lab.layers import Entry
from tests.lab.place import LabError
from tests.lab.process import run, succeeds
from tests.lab.programs import Suite, refresh

ESSENTIAL = (
    *("base-files", "base-passwd", "bash", "bsdutils", "coreutils", "dash", "debianutils", "diffutils", "dpkg", "findutils"),
    *("grep", "gzip", "hostname", "init-system-helpers", "libc-bin", "mawk", "ncurses-base", "ncurses-bin"),
    *("perl-base", "sed", "sysvinit-utils", "tar", "util-linux", "login", "passwd"),
    *("apt", "adduser", "ca-certificates", "debian-archive-keyring", "tzdata"),
)
LIBRARIES = (  # what a Python that was built elsewhere links against
    *("libssl3", "libffi8", "libbz2-1.0", "liblzma5", "libsqlite3-0", "libreadline8", "libncursesw6", "libuuid1", "libexpat1"),
    *("libcrypt1", "libnsl2", "libgdbm6", "libdb5.3", "zlib1g", "libstdc++6", "libgomp1"),
)
MERGED = ("bin", "sbin", "lib", "lib64")
LEFT_OUT = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/")


def download(at: Suite, packages: Sequence[str]) -> list[Path]:
    """Return the files of these packages and all they depend on, sorted by name."""
    command = ["apt-get", "-q", *at.options, "install", "-y", *packages]
    if not succeeds([*command, "--download-only"]):
        refresh(at)
        run([*command, "--download-only"])
    planned = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", run([*command, "--simulate"]), re.MULTILINE)
    files = [
        at.downloads / f"{name.partition(':')[0]}_{version.replace(':', '%3a')}_{architecture}.deb"
        for name, version, architecture in planned
    ]
    if missing := [path.name for path in files if not path.exists()]:
        msg = f"apt did not download {', '.join(missing)}"
        raise LabError(msg)
    return sorted(files)


def members(deb: Path) -> dict[str, bytes]:
    """Return the members of a package's ar archive by name."""
    data = deb.read_bytes()
    found, at = {}, 8
    while at < len(data):
        name, size = data[at : at + 16].decode().strip().rstrip("/"), int(data[at + 48 : at + 58])
        found[name] = data[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    return found


def opened(parts: dict[str, bytes], stem: str) -> tarfile.TarFile:
    """Open the control or data archive of a package."""
    name = next(name for name in parts if name.startswith(stem))
    return tarfile.open(fileobj=io.BytesIO(parts[name]), mode="r:*")


def merged(path: str) -> str:
    """Return where a path lies when ``/bin``, ``/sbin`` and ``/lib`` are links into ``/usr``."""
    top, slash, rest = path.partition("/")
    return f"usr/{top}/{rest}" if slash and top in MERGED else path


def files(archive: tarfile.TarFile) -> Iterator[Entry]:
    """Yield a package's files as entries of a merged root, documentation left out."""
    for member in archive:
        path = merged(member.name.removeprefix("./").rstrip("/"))
        if path in {"", ".", *MERGED} or path.startswith(LEFT_OUT):
            continue
        handle = archive.extractfile(member) if member.isreg() else None
        link = member.linkname if member.issym() or member.islnk() else None
        yield Entry(
            path=path,
            data=handle.read() if handle else b"",
            mode=member.mode,
            link=merged(link.removeprefix("./")) if link and member.islnk() else link,
            hard=member.islnk(),
            folder=member.isdir(),
            owner=(member.uid, member.gid),
        )


def root(debs: Sequence[Path], *, suite: str, mirror: str) -> Iterator[Entry]:
    """Yield a whole root file system in which apt works."""
    for top in MERGED:
        yield Entry(path=f"usr/{top}", folder=True, mode=0o755)
        yield Entry(path=top, link=f"usr/{top}", mode=0o777)
    status: list[str] = []
    kept: dict[str, bytes] = {}
    for deb in debs:
        parts = members(deb)
        with opened(parts, "data.tar") as archive:
            for entry in files(archive):
                yield entry
                if entry.path.startswith(("usr/share/base-passwd/", "usr/share/ca-certificates/")):
                    kept[entry.path] = entry.data
        with opened(parts, "data.tar") as archive, opened(parts, "control.tar") as control:
            yield from registered(archive, control, status)
    yield Entry(path="var/lib/dpkg/status", data=("\n".join(status)).encode())
    yield from prepared(kept)
    yield Entry(
        path="etc/apt/sources.list.d/debian.sources",
        data=(
            f"Types: deb\nURIs: {mirror}\nSuites: {suite} {suite}-updates\nComponents: main\n"
            "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
        ).encode(),
    )


def registered(archive: tarfile.TarFile, control: tarfile.TarFile, status: list[str]) -> Iterator[Entry]:
    """Yield what dpkg keeps about an installed package, and add its stanza to ``status``."""
    documents = {member.name.removeprefix("./"): member for member in control if member.isreg()}
    stanza = read(control, documents["control"]).decode()
    fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and not line.startswith(" "))
    name = f"{fields['Package']}:{fields['Architecture']}" if fields.get("Multi-Arch") == "same" else fields["Package"]
    status.append(stanza.replace("\n", "\nStatus: install ok installed\n", 1).rstrip() + "\n")
    listed = ["/" + member.name.removeprefix("./").rstrip("/") for member in archive]
    yield Entry(path=f"var/lib/dpkg/info/{name}.list", data=("\n".join(["/.", *listed[1:]]) + "\n").encode())
    for document, member in documents.items():
        if document != "control":
            data = read(control, member)
            yield Entry(path=f"var/lib/dpkg/info/{name}.{document}", data=data, mode=member.mode)


def read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return the content of a regular member."""
    handle = archive.extractfile(member)
    return handle.read() if handle else b""


def prepared(kept: dict[str, bytes]) -> Iterator[Entry]:
    """Yield what maintainer scripts would have made."""
    accounts = kept["usr/share/base-passwd/passwd.master"] + b"_apt:*:42:65534::/nonexistent:/usr/sbin/nologin\n"
    yield Entry(path="etc/passwd", data=accounts.replace(b":*:", b":x:"))
    yield Entry(path="etc/group", data=kept["usr/share/base-passwd/group.master"].replace(b":*:", b":x:"))
    yield Entry(path="etc/shadow", data=b"root:*:19000:0:99999:7:::\n_apt:!:19000::::::\n", mode=0o640)
    for name in ("awk", "which"):
        target = {"awk": "mawk", "which": "which.debianutils"}[name]
        yield Entry(path=f"etc/alternatives/{name}", link=f"/usr/bin/{target}", mode=0o777)
        yield Entry(path=f"usr/bin/{name}", link=f"/etc/alternatives/{name}", mode=0o777)
    yield Entry(path="usr/bin/sh", link="dash", mode=0o777)
    authorities = [data for path, data in sorted(kept.items()) if path.startswith("usr/share/ca-certificates/")]
    yield Entry(path="etc/ssl/certs/ca-certificates.crt", data=b"".join(authorities))
    yield Entry(path="etc/nsswitch.conf", data=b"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n")
    for folder, mode in (("tmp", 0o1777), ("var/tmp", 0o1777), ("root", 0o700), ("proc", 0o755), ("sys", 0o755), ("dev", 0o755)):
        yield Entry(path=folder, folder=True, mode=mode)
    for folder in (
        "run",
        "var/lib/apt/lists/partial",
        "var/cache/apt/archives/partial",
        "var/lib/dpkg/updates",
        "etc/opt",
        "opt",
    ):
        yield Entry(path=folder, folder=True, mode=0o755)
    for path in ("var/lib/dpkg/available", "var/lib/dpkg/diversions", "var/lib/dpkg/statoverride"):
        yield Entry(path=path)
    yield Entry(path="var/lib/dpkg/info/format", data=b"1\n")
