"""This host's own apt with a state of its own: nothing of the host's is read but mirrors, keys and network settings."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder.adapters.debian_sources import Source, write_deb822
from builder.adapters.files import disk_errors, write_atomically
from builder.errors import HostBlockedError, MismatchError, ProgramError, UnreachableError, UnsatisfiableError
from builder.model.build import Completed
from builder.model.lock import LockedDeb
from builder.ports import ProcessRunner

HELPER = "/usr/lib/apt/apt-helper"
_SECONDS = 600.0
_FETCH_SECONDS = 3600.0
_LOCALE = {"LC_ALL": "C", "LANGUAGE": "C", "DEBIAN_FRONTEND": "noninteractive"}
_SETTING = re.compile(r'(?P<name>Acquire::[\w:./-]+) "(?P<value>[^"\n]*)";')
_OWN_SETTINGS = re.compile(
    r"Acquire::(AllowInsecureRepositories|AllowWeakRepositories|AllowDowngradeToInsecureRepositories|IndexTargets"
    r"|Languages|GzipIndexes|CompressionTypes|ForceHash|cdrom)(::|$)"
)
_URI = re.compile(r"'(?P<uri>[^']+)' (?P<file>\S+) (?P<size>\d+) SHA256:(?P<sha256>[0-9a-f]{64})")
_DEB = re.compile(r"(?P<name>[a-z0-9][a-z0-9+.-]*)_(?P<version>[^_]+)_(?P<architecture>[a-z0-9-]+)\.deb")
_ERR = re.compile(r"(?:Err:\d+|Err|W: Failed to fetch|E: Failed to fetch) (?P<uri>\S+)(?P<rest>[^\n]*)(?:\n {2}(?P<why>[^\n]+))?")
_UNKNOWN = re.compile(r"E: (?:Unable to locate package (\S+)|Package '([^']+)' has no installation candidate"
                      r"|Version '([^']+)' for '([^']+)' was not found|Couldn't find any package by \w+ '([^']+)')")  # fmt: skip
_KEY = re.compile(r"NO_PUBKEY [0-9A-F]+|EXPKEYSIG [0-9A-F]+|KEYEXPIRED|BADSIG [0-9A-F]+|is not signed|is no longer signed")
_DATED = re.compile(r"Release file for \S+ is (?P<words>not valid yet|expired) \(")
_DATES = {"not valid yet": "are not valid yet", "expired": "have expired"}
_GONE = re.compile(
    r"404 |Hash Sum mismatch|unexpected size|File not found|No such file|does not have a Release file", re.IGNORECASE
)
_MOST_DETAILS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why an archive cannot be used for a release: it is not one of its releases, or is not signed by a key we hold."""

    words: str
    hint: str


@dataclass(slots=True, kw_only=True)
class Apt:
    """apt on one release of a distribution and one architecture, in a folder of its own."""

    processes: ProcessRunner
    folder: Path
    sources: Sequence[Source]
    keyring: str
    architecture: str
    _written: bool = field(default=False, init=False)
    _refreshed: bool = field(default=False, init=False)
    _refusal: Refusal | None = field(default=None, init=False)

    def refresh(self) -> Refusal | None:
        """Fetch the archive's lists once and check their signatures; return why they cannot be used.

        ``UnreachableError`` when the archive could not be asked.
        """
        if not self._refreshed:
            done = self._run("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update")
            self._refusal = self._judge(done)
            self._refreshed = True
        return self._refusal

    def resolve(self, packages: Sequence[str]) -> tuple[LockedDeb, ...]:
        """Return every package to unpack for ``packages`` on nothing at all, sorted by name.

        ``UnsatisfiableError`` names the packages that the release does not have.
        """
        done = self._run("apt-get", "-qq", "-y", "--no-install-recommends", "--print-uris", "install", *packages)
        if done.code != 0:
            raise unsatisfiable(done.stdout + done.stderr, where=f"the release {self._release!r}")
        return read_uris(done.stdout, self._below_root)

    def known(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of ``names`` that the release has."""
        found: list[str] = []
        for name in names:
            found += [name for line in self._run("apt-cache", "pkgnames", name).stdout.splitlines() if line == name]
        return tuple(found)

    def fetch(self, debs: Mapping[LockedDeb, Path]) -> None:
        """Download packages, each to its path; apt checks the hashes and tries again where that helps.

        ``MismatchError`` for one that is gone or is another now; ``UnreachableError``.
        """
        left = dict(debs)
        failures: dict[str, str] = {}
        for position in range(len({source.root for source in self.sources})):
            wanted = [(self._uri(deb, position), path, f"SHA256:{deb.sha256}") for deb, path in left.items()]
            done = self._run(
                HELPER, "download-file", *(str(part) for triple in wanted for part in triple), seconds=_FETCH_SECONDS
            )
            left = {deb: path for deb, path in left.items() if not path.is_file()}
            for deb, why in _reasons(done.stdout + done.stderr, {self._uri(deb, position): deb for deb in left}).items():
                failures.setdefault(deb.name, why)
            if not left or any(not _GONE.search(failures.get(deb.name, "")) for deb in left):
                break
        if left:
            raise _not_fetched(left, failures, self.sources[0].shown)

    def _below_root(self, uri: str) -> str | None:
        roots = [source.root for source in self.sources if uri.startswith(f"{source.root}/")]
        return uri.removeprefix(f"{max(roots, key=len)}/") if roots else None

    def _uri(self, deb: LockedDeb, position: int) -> str:
        """Return where a package is below the ``position``-th archive that may hold it; security updates have their own."""
        secure = deb.path.startswith("pool/updates/")
        roots = list(dict.fromkeys(source.root for source in self.sources))
        roots.sort(key=lambda root: root.endswith("-security") != secure)
        return f"{roots[position]}/{urllib.parse.quote(deb.path, safe='/+~:')}"

    @property
    def _release(self) -> str:
        return self.sources[0].suites[0]

    def _write_state(self) -> None:
        with disk_errors(f"making {self.folder}"):
            for name in ("lists/partial", "archives/partial", "empty"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        write_atomically(self.folder / "status", b"")
        text = write_deb822(self.sources, keyring=self.keyring, architecture=self.architecture)
        write_atomically(self.folder / "archive.sources", text.encode(), mode=0o600)  # addresses and proxies may hold passwords
        write_atomically(self.folder / "apt.conf", self._configuration().encode(), mode=0o600)

    def _configuration(self) -> str:
        """Return an apt.conf that knows no other file of this host; proxies and the like are carried over."""
        dumped = self.processes.run(["apt-config", "dump"], env=_LOCALE, seconds=_SECONDS).stdout
        carried = [
            line for line in dumped.splitlines() if (match := _SETTING.fullmatch(line)) and not _OWN_SETTINGS.match(match["name"])
        ]
        own = {
            "Dir::Etc::Parts": "/dev/null", "Dir::Etc::Main": "/dev/null",
            "Acquire::Languages": "none", "Acquire::GzipIndexes": "false", "Acquire::ForceHash": "SHA256",
            "APT::Architecture": self.architecture, "APT::Sandbox::User": "", "APT::Get::AllowUnauthenticated": "false",
            "APT::Default-Release": "",
        }  # fmt: skip
        lines = [f'{name} "{value}";' for name, value in own.items()]
        return "\n".join([*carried, *lines, f'APT::Architectures {{ "{self.architecture}"; }};', ""])

    def _run(self, program: str, *arguments: str, seconds: float = _SECONDS) -> Completed:
        """Run a program of apt's on this state; folders come as arguments, which need no quoting."""
        if not self._written:
            self._write_state()
            self._written = True
        places = {
            "Dir::State": self.folder, "Dir::State::lists": self.folder / "lists", "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder, "Dir::Cache::archives": self.folder / "archives",
            "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "",
            "Dir::Etc::sourcelist": self.folder / "archive.sources", "Dir::Etc::sourceparts": self.folder / "empty",
            "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": self.folder / "empty",
            "Dir::Etc::trusted": "/dev/null", "Dir::Etc::trustedparts": self.folder / "empty",
        }  # fmt: skip
        options = [part for name, value in places.items() for part in ("-o", f"{name}={value}")]
        environment = {**_LOCALE, "APT_CONFIG": str(self.folder / "apt.conf")}
        return self.processes.run([program, *options, *arguments], env=environment, cwd=self.folder, seconds=seconds)

    def _judge(self, done: Completed) -> Refusal | None:
        """Return what keeps the lists from being used, ``None`` when they are good."""
        text = done.stdout + done.stderr
        if match := _KEY.search(text):
            return Refusal(
                words=f"its signature cannot be checked with the keys of this host ({match[0]})",
                hint="install the distribution's newest archive keyring package",
            )
        if done.code == 0 and not _ERR.search(text):
            return None
        if done.timed_out:
            raise _unreachable(self.sources[0].shown, f"no answer in {_SECONDS:.0f} s")
        if _GONE.search(text):
            return Refusal(
                words=f"the archive {self.sources[0].shown} has no release {self._release!r} for {self.architecture!r}",
                hint="name a release that the mirror of this host carries",
            )
        if match := _DATED.search(text):
            msg = f"by this host's clock the lists of the archive {self.sources[0].shown} {_DATES[match['words']]}"
            raise HostBlockedError(msg, hint="set the clock if it is wrong (date), else name a mirror that is kept up to date")
        match = _ERR.search(text)
        if match is None:
            msg = f"apt-get update failed ({done.code}): {_last(text)}"
            raise ProgramError(msg, hint="mend what apt says; 'apt-get update' by hand may say more", details=_tail(text))
        raise _unreachable(self.sources[0].shown, (match["why"] or match["rest"]).strip())


def read_uris(text: str, below_root: Callable[[str], str | None]) -> tuple[LockedDeb, ...]:
    """Read what ``apt-get --print-uris`` prints, sorted by name.

    ``below_root`` returns the part of an address that is below its archive's root, ``None`` where it is in none.
    """
    debs = []
    for line in text.splitlines():
        if not line.startswith("'"):
            continue
        match = _URI.fullmatch(line.strip())
        file = _DEB.fullmatch(match["file"]) if match else None
        path = below_root(match["uri"]) if match else None
        if match is None or file is None or path is None:
            msg = f"apt-get named a package in a way that cannot be read: {line[:200]!r}"
            raise ProgramError(msg, hint="tell us your version of apt: apt-get --version")
        debs.append(
            LockedDeb(
                name=file["name"],
                version=urllib.parse.unquote(file["version"]),
                architecture=file["architecture"],
                sha256=match["sha256"],
                path=urllib.parse.unquote(path),
                size=int(match["size"]),
            )
        )
    return tuple(sorted(debs, key=lambda deb: (deb.name, deb.architecture)))


def unsatisfiable(text: str, *, where: str) -> UnsatisfiableError:
    """Return what apt says about packages it cannot install, in words; ``where`` is what lacks them."""
    names = [next(word for word in match.groups() if word) for match in _UNKNOWN.finditer(text)]
    if names:
        many = ", ".join(repr(name) for name in dict.fromkeys(names))
        return UnsatisfiableError(
            f"{where} has no Debian package {many}",
            hint="correct the names under `apt:`; packages.debian.org or packages.ubuntu.com finds them",
        )
    details = tuple(line.strip() for line in text.splitlines() if " : " in line or line.startswith("E: "))[:_MOST_DETAILS]
    msg = f"apt cannot install these packages together on {where}"
    return UnsatisfiableError(msg, hint="leave out one of those that conflict", details=details)


def _reasons(text: str, wanted: Mapping[str, LockedDeb]) -> Mapping[LockedDeb, str]:
    """Return why packages were not downloaded, from what apt says of each address."""
    said: dict[LockedDeb, str] = {}
    for match in _ERR.finditer(text):
        deb = wanted.get(match["uri"])
        why = (match["why"] or match["rest"]).strip()
        if deb is not None and why:
            said.setdefault(deb, why)
    return said


def _not_fetched(left: Mapping[LockedDeb, Path], failures: Mapping[str, str], archive: str) -> MismatchError | UnreachableError:
    """Return the error for packages that were not downloaded: gone, or not asked for."""
    for deb in left:
        why = failures.get(deb.name, "")
        if not _GONE.search(why):
            return _unreachable(archive, why or "it gave no reason")
    many = ", ".join(f"{deb.name} {deb.version}" for deb in list(left)[:_MOST_DETAILS])
    return MismatchError(
        f"the archive {archive} no longer has what the lock names: {many}",
        hint="the distribution has moved on; run `imgbuild matrix lock FILE --update` to pin what it has now",
        details=tuple(f"{deb.path}: {failures.get(deb.name, '')}" for deb in list(left)[:_MOST_DETAILS]),
    )


def _unreachable(archive: str, why: str) -> UnreachableError:
    return UnreachableError(
        f"the archive {archive} could not be asked: {why}",
        hint="check the network and the proxy settings of apt, then run it again",
    )


def _last(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def _tail(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines()[-_MOST_DETAILS:])
