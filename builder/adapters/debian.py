"""Debian and Ubuntu bases assembled here: resolved by this host's apt, verified, and merged into one tar.

Needs neither root nor a container engine nor a registry. The same packages always make the same
bytes. A tar is kept under the hashes of its packages, so that the second time costs nothing.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from builder.adapters.debian_apt import HELPER, Apt, Refusal
from builder.adapters.debian_base import BASE_PACKAGES, DPKG_ARCHITECTURES, FAMILIES, FORMAT, WHERE_KNOWN, must_be_package_names
from builder.adapters.debian_package import Control, DebFile
from builder.adapters.debian_setup import KEEP, Material, set_up
from builder.adapters.debian_sources import Source, own_archives, read_sources
from builder.adapters.debian_status import Unpacked, must_not_need_preinst, records, replaced_by
from builder.adapters.debian_tree import RootTree, replacing_first
from builder.adapters.files import disk_errors, locked, sha256_of, write_atomically
from builder.adapters.scratch import scratch_folder
from builder.errors import HostBlockedError, MismatchError, UnreachableError, UnsatisfiableError
from builder.model.lock import LockedDeb
from builder.model.oci import Platform
from builder.model.plan import DistributionRelease
from builder.ports import ProcessRunner

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]*")
_FIRST = ("base-files",)
_CODENAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_TOOLS = ("apt-get", "apt-cache", "apt-config")


class AptArchive:
    """This host's own distribution's archive; satisfies ``ports.DebianArchive``.

    ``cache`` is the folder for package lists, packages and finished tars. ``etc`` and ``keyrings``
    are this host's, and others in tests.
    """

    def __init__(
        self,
        processes: ProcessRunner,
        cache: Path,
        *,
        etc: Path = Path("/etc"),
        keyrings: Path = Path("/usr/share/keyrings"),
        helper: Path = Path(HELPER),
    ) -> None:
        self._processes = processes
        self._cache = cache
        self._etc = etc
        self._keyrings = keyrings
        self._helper = helper
        self._apts: dict[tuple[str, str, str], Apt] = {}
        self._lock = threading.RLock()

    def available(self, distribution: DistributionRelease, platform: Platform) -> str | None:
        """Return ``None`` when this host can assemble that release for that platform, else why it cannot.

        Asks the archive whether it has the release and is signed by a key of this host; an archive
        that cannot be asked is no reason: ``resolve`` will say so.
        """
        refusal = self._missing(distribution, platform)
        if refusal is not None:
            return refusal.words
        try:
            refusal = self._refresh(distribution, DPKG_ARCHITECTURES[_machine(platform)])
        except UnreachableError:
            return None
        return refusal.words if refusal is not None else None

    def resolve(self, distribution: DistributionRelease, platform: Platform, packages: Sequence[str]) -> tuple[LockedDeb, ...]:
        """Return every package of a base with Python and ``packages`` in it, sorted by name.

        ``UnsatisfiableError`` for packages that the release does not have or that conflict.
        """
        must_be_package_names(packages)
        refusal = self._missing(distribution, platform)
        architecture = DPKG_ARCHITECTURES.get(_machine(platform), "")
        refusal = refusal or self._refresh(distribution, architecture)
        if refusal is not None:
            msg = f"{distribution.label} cannot be assembled here for {platform}: {refusal.words}"
            raise UnsatisfiableError(msg, hint=refusal.hint)
        apt = self._apt(distribution, architecture)
        with self._held(apt.folder):
            return apt.resolve([*BASE_PACKAGES, *apt.known(WHERE_KNOWN), *dict.fromkeys(packages)])

    def assemble(self, distribution: DistributionRelease, debs: Sequence[LockedDeb]) -> tuple[Path, str]:
        """Return the root file system tar of these packages, made where it is not kept, and its SHA-256."""
        for deb in debs:
            if _NAME.fullmatch(deb.name) is None or re.fullmatch(r"[0-9a-f]{64}", deb.sha256) is None:
                msg = f"the lock names a Debian package that cannot be one: {deb.name!r}"
                raise MismatchError(msg, hint="make the lock again with `imgbuild matrix lock FILE --update`")
        target = self._cache / "rootfs" / f"{_key(distribution, debs)}.tar"
        with locked(target.with_suffix(".lock")):
            known = _recorded(target)
            if known is not None:
                return target, known
            self._fetch(distribution, debs)
            with disk_errors(f"assembling {distribution.label}"):
                return target, self._write(distribution, debs, target)

    def _missing(self, distribution: DistributionRelease, platform: Platform) -> Refusal | None:
        """Return what this host lacks, without asking the network."""
        release = _os_release(self._etc)
        refusal = _unfit(distribution, platform, release.get("ID", ""))
        if refusal is not None:
            return refusal
        tools = [tool for tool in _TOOLS if shutil.which(tool) is None]
        tools += [] if self._helper.exists() else [str(self._helper)]
        if tools:
            return Refusal(words=f"this host has no {' and no '.join(tools)}", hint="apt-get install apt")
        if not self._sources(distribution):
            words = f"the sources of apt on this host name no archive of {distribution.name!r}"
            return Refusal(words=words, hint="add one to /etc/apt/sources.list.d")
        if self._keyring(distribution) is None:
            words = f"this host has no keyring of {distribution.name!r} in {self._keyrings}"
            return Refusal(words=words, hint=f"apt-get install {FAMILIES[distribution.name].keyrings[0].rpartition('.')[0]}")
        return None

    def _sources(self, distribution: DistributionRelease) -> tuple[Source, ...]:
        release = _os_release(self._etc)
        host = release.get("VERSION_CODENAME") or release.get("UBUNTU_CODENAME") or "sid"
        return own_archives(
            read_sources(self._etc), distribution=distribution.name, host=host, wanted=distribution.codename or ""
        )

    def _keyring(self, distribution: DistributionRelease) -> Path | None:
        places = (self._keyrings / name for name in FAMILIES[distribution.name].keyrings)
        return next((place for place in places if place.is_file()), None)

    def _refresh(self, distribution: DistributionRelease, architecture: str) -> Refusal | None:
        apt = self._apt(distribution, architecture)
        with self._held(apt.folder):
            return apt.refresh()

    def _held(self, folder: Path) -> AbstractContextManager[None]:
        return locked(folder.with_name(f"{folder.name}.lock"))

    def _apt(self, distribution: DistributionRelease, architecture: str) -> Apt:
        codename = distribution.codename or ""
        key = distribution.name, codename, architecture
        with self._lock:
            if key not in self._apts:
                self._apts[key] = Apt(
                    processes=self._processes,
                    folder=self._cache / "apt" / "-".join(key),
                    sources=self._sources(distribution),
                    keyring=str(self._keyring(distribution) or ""),
                    architecture=architecture,
                )
            return self._apts[key]

    def _deb(self, deb: LockedDeb) -> Path:
        return self._cache / "debs" / deb.sha256[:2] / f"{deb.sha256}.deb"

    def _fetch(self, distribution: DistributionRelease, debs: Sequence[LockedDeb]) -> None:
        """Download the packages that are not kept yet, checked by their hashes."""
        wanted = [deb for deb in debs if not _is_whole(self._deb(deb), deb)]
        if not wanted:
            return
        architecture = next((deb.architecture for deb in debs if deb.architecture != "all"), "amd64")
        platform = next((name for name, value in DPKG_ARCHITECTURES.items() if value == architecture), "")
        refusal = self._missing(distribution, Platform.parse(f"linux/{platform or 'unknown'}"))
        if refusal is not None:
            msg = f"the packages of {distribution.label} cannot be fetched here: {refusal.words}"
            raise HostBlockedError(msg, hint=refusal.hint)
        needed = sum(deb.size or 0 for deb in wanted)
        with disk_errors("fetching Debian packages", needed=needed), scratch_folder(self._cache / "debs") as folder:
            parts = {deb: folder / f"{deb.sha256}.deb" for deb in wanted}
            self._apt(distribution, architecture).fetch(parts)
            for deb, part in parts.items():
                self._take(deb, part)

    def _take(self, deb: LockedDeb, part: Path) -> None:
        """Move a downloaded package to its place; a link (from a `file:` archive) becomes a file."""
        if part.is_symlink():
            data = part.read_bytes()
            part.unlink()
            part.write_bytes(data)
        if not _is_whole(part, deb):
            msg = f"the Debian package {deb.name} {deb.version} that was downloaded is not the one that is locked"
            raise MismatchError(msg, hint="a proxy or mirror between alters what passes it; use another")
        self._deb(deb).parent.mkdir(parents=True, exist_ok=True)
        part.replace(self._deb(deb))

    def _write(self, distribution: DistributionRelease, debs: Sequence[LockedDeb], target: Path) -> str:
        """Write the tar beside its place, then put it there, and note its hash."""
        with scratch_folder(target.parent) as folder:
            part = folder / target.name
            with tarfile.open(part, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8") as archive:
                self._merge(distribution, debs, archive)
            digest = sha256_of(part)
            part.chmod(0o644)
            part.replace(target)
        write_atomically(_record(target), f"{digest} {_fingerprint(target)}\n".encode())
        return digest

    def _merge(self, distribution: DistributionRelease, debs: Sequence[LockedDeb], archive: tarfile.TarFile) -> None:
        files = {deb.name: DebFile(self._deb(deb), self._processes) for deb in debs}
        controls = {deb.name: _checked(deb, files[deb.name].control()) for deb in debs}
        replaces = replaced_by(controls)
        tree = RootTree(archive, keep=KEEP, replaces=replaces)
        unpacked = []
        for name in replacing_first(replaces, _FIRST):
            with files[name].data() as members:
                harvest = tree.add_package(name, members, conffiles=_conffiles(controls[name]))
            unpacked.append(Unpacked(name=name, control=controls[name], harvest=harvest))
        architecture = next((deb.architecture for deb in debs if deb.architecture != "all"), "all")
        material = Material(
            release=distribution, architecture=architecture, packages=frozenset(files), paths=tree.__contains__, kept=tree.kept
        )
        tree.make(set_up(material))
        tree.make(records(sorted(unpacked, key=lambda one: one.name), architecture))
        tree.finish()


def _unfit(distribution: DistributionRelease, platform: Platform, host: str) -> Refusal | None:
    """Return why no host, or none like this one, could assemble a release for a platform."""
    registry = "set `bases: {distribution: registry}` in the matrix, or use such a host"
    if distribution.name not in FAMILIES:
        return Refusal(words=f"{distribution.name!r} is neither Debian nor Ubuntu", hint=registry)
    if host != distribution.name:
        return Refusal(words=f"this host is {host or 'unknown'!r}, not {distribution.name!r}", hint=registry)
    if platform.os != "linux" or _machine(platform) not in DPKG_ARCHITECTURES:
        return Refusal(words=f"{distribution.name!r} has no packages for {platform}", hint="build for a platform that it has")
    if distribution.codename is None or _CODENAME.fullmatch(distribution.codename) is None:
        return Refusal(words=f"the codename of {distribution.label} is not known", hint="add it to the catalog")
    return None


def _machine(platform: Platform) -> str:
    return f"{platform.architecture}/{platform.variant}" if platform.variant else platform.architecture


def _os_release(etc: Path) -> Mapping[str, str]:
    """Return the fields of os-release, empty when there is none."""
    try:
        text = (etc / "os-release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


def _key(distribution: DistributionRelease, debs: Iterable[LockedDeb]) -> str:
    """Return what a tar is kept under: all that its bytes depend on."""
    parts = [str(FORMAT), distribution.name, distribution.codename or "", *sorted(f"{deb.name} {deb.sha256}" for deb in debs)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_whole(path: Path, deb: LockedDeb) -> bool:
    try:
        return sha256_of(path) == deb.sha256
    except FileNotFoundError:
        return False


def _record(target: Path) -> Path:
    return target.with_suffix(".sha256")


def _fingerprint(target: Path) -> str:
    found = target.stat()
    return f"{found.st_size} {found.st_mtime_ns}"


def _recorded(target: Path) -> str | None:
    """Return the noted hash of a tar that nobody has touched since, ``None`` when there is no such tar."""
    try:
        digest, _, fingerprint = _record(target).read_text(encoding="ascii").strip().partition(" ")
        return digest if fingerprint == _fingerprint(target) else None
    except (OSError, ValueError):
        return None


def _conffiles(control: Control) -> tuple[str, ...]:
    """Return the configuration files of a package, without those marked for removal."""
    return tuple(line.strip() for line in control.lines("conffiles") if line.startswith("/"))


def _checked(deb: LockedDeb, control: Control) -> Control:
    found = control.get("Package"), control.get("Version"), control.get("Architecture")
    if found != (deb.name, deb.version, deb.architecture):
        msg = f"the lock says {deb.name} {deb.version} ({deb.architecture}), and the package with that hash is {' '.join(found)}"
        raise MismatchError(msg, hint="make the lock again with `imgbuild matrix lock FILE --update`")
    must_not_need_preinst(deb.name, control)
    return control
