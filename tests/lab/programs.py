"""The programs the lab needs: Debian's own by apt, newer ones unpacked for the lab alone.

Podman, buildah, skopeo and runc come from the release that runs here. Docker of Debian 12 is too
old for today's builds, so Docker, buildx, containerd and the registry are taken from a newer
release: downloaded through a list of our own made from the mirror this host uses, verified with
Debian's keyring, and unpacked into the cache. They are not installed: no service starts, no
``/etc/docker`` appears, and ``apt`` does not know of them.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.lab.place import LabError, Place
from tests.lab.process import run, succeeds

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
NEWER = "trixie"
UNPACKED = ("docker.io", "docker-cli", "docker-buildx", "containerd", "docker-registry")
LINKED = {
    "usr/bin": ("docker", "containerd", "containerd-shim-runc-v2", "ctr", "docker-registry"),
    "usr/sbin": ("dockerd", "docker-proxy"),
}
INSTALLED = {  # a file that shows that the package is there: the package
    "/usr/bin/podman": "podman",
    "/usr/bin/buildah": "buildah",
    "/usr/bin/skopeo": "skopeo",
    "/usr/sbin/runc": "runc",
    "/usr/lib/podman/netavark": "netavark",
    "/usr/lib/podman/aardvark-dns": "aardvark-dns",
    "/usr/bin/catatonit": "catatonit",
    "/usr/sbin/iptables": "iptables",
    "/usr/bin/jq": "jq",
    "/usr/bin/umount": "mount",
    "/usr/bin/openssl": "openssl",
    "/etc/ssl/certs/ca-certificates.crt": "ca-certificates",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A Debian release as apt may ask it here, with lists of its own."""

    name: str
    options: tuple[str, ...]
    downloads: Path
    mirror: str


def check_host() -> None:
    """Refuse a host on which the lab cannot work, saying why."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', Path("/etc/os-release").read_text(), re.MULTILINE))
    if release.get("ID") != "debian":
        name = release.get("PRETTY_NAME", "something else")
        msg = f"the lab needs Debian 12 or newer, this is {name}; run it in a privileged debian:12 container"
        raise LabError(msg)
    if os.geteuid() != 0:
        msg = "the lab needs root (it starts dockerd and a bridge of its own); run it as root, or in a privileged container"
        raise LabError(msg)


def install() -> list[str]:
    """Install what is missing from the release that runs here; return the packages."""
    missing = [package for proof, package in INSTALLED.items() if not Path(proof).exists()]
    if not shutil.which("ip"):
        missing.append("iproute2")
    if not missing:
        return []
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
    command = [*apt, "install", "-y", "--no-install-recommends", *missing]
    if not succeeds([*command, "--simulate"]):
        run([*apt, "update"], env=quiet)
    run(command, env=quiet)
    return missing


def mirror() -> str:
    """Return the address of the Debian archive that this host's apt uses."""
    for address in re.findall(r"'([^']+)/dists/[^/']+/InRelease'", run(["apt-get", "update", "--print-uris"])):
        if address.rstrip("/").endswith("/debian"):
            return str(address)
    msg = "apt's sources name no Debian archive (an address that ends in /debian); the lab takes its packages from there"
    raise LabError(msg)


def suite(place: Place, name: str, *, components: str = "main") -> Suite:
    """Return a release of Debian with lists and downloads in the cache, asked for once."""
    folder = place.cache / "apt" / name
    lists = folder / "lists"
    downloads = folder / "debs"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (downloads / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    source = folder / "sources.list"
    options = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": lists,
        "Dir::State::Status": folder / "status",
        "Dir::Cache::Archives": downloads,
        "Dir::Cache::PkgCache": "",
        "Dir::Cache::SrcPkgCache": "",
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
        "APT::Keep-Downloaded-Packages": "true",
        "Debug::NoLocking": "true",
    }
    made = Suite(
        name=name,
        options=tuple(word for key, value in options.items() for word in ("-o", f"{key}={value}")),
        downloads=downloads,
        mirror=mirror() if not source.exists() else source.read_text().split()[2],
    )
    if not source.exists() or not list(lists.glob("*_Packages*")):
        source.write_text(f"deb [signed-by={KEYRING}] {made.mirror} {name} {components}\n")
        run(["apt-get", "-q", *made.options, "update", "-o", "APT::Update::Error-Mode=any"])
    return made


def refresh(at: Suite) -> None:
    """Ask the archive again: the lists name files that are no longer there."""
    run(["apt-get", "-q", *at.options, "update", "-o", "APT::Update::Error-Mode=any"])


def unpack(place: Place) -> Path:
    """Unpack the newer programs into the cache, once; return their root folder."""
    root = place.cache / "programs"
    if root.is_dir():
        return root
    at = suite(place, NEWER)
    draft = place.cache / f"programs.{os.getpid()}"
    debs = draft / "debs"
    debs.mkdir(parents=True)
    command = ["apt-get", "-q", *at.options, "download", *UNPACKED]
    if not succeeds([*command, "--print-uris"]):
        refresh(at)
    run(command, cwd=debs)
    for deb in sorted(debs.glob("*.deb")):
        run(["dpkg-deb", "--extract", str(deb), str(draft)])
    shutil.rmtree(debs)
    try:
        draft.rename(root)
    except OSError:  # another lab was quicker
        shutil.rmtree(draft)
    return root


def link(place: Place, root: Path) -> None:
    """Put the unpacked programs into the lab's own folder of programs."""
    for folder, names in LINKED.items():
        for name in names:
            here = place.bin / name
            here.unlink(missing_ok=True)
            here.symlink_to(root / folder / name)
