"""Where this host gets its own distribution's packages: apt's source files, one-line and deb822, as values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<uri>\S+)\s+(?P<suite>\S+)(?:\s+(?P<components>[^#]*))?")
_TRUE = frozenset({"yes", "true", "on", "1", "with", "enable"})
_ALIASES = frozenset({"stable", "testing", "unstable", "sid", "oldstable", "oldoldstable"})
_POCKETS = ("", "-updates", "-security", "/updates")
_NO_POCKETS = frozenset({"sid", "unstable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One archive that apt is told of. ``signed_by`` is a keyring's path, or a whole key; empty where none is named."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""
    trusted: bool = False

    @property
    def root(self) -> str:
        """The address below which ``pool/`` and ``dists/`` are, without a slash at its end."""
        return self.uri.rstrip("/")

    @property
    def shown(self) -> str:
        """The root for messages: without a user and password."""
        return re.sub(r"//[^/@]*@", "//", self.root)


def read_sources(etc: Path) -> tuple[Source, ...]:
    """Read every enabled binary source of ``etc/apt``, in apt's order; what cannot be read is not there."""
    folder = etc / "apt" / "sources.list.d"
    found: list[Source] = []
    for file in (etc / "apt" / "sources.list", *(sorted(folder.iterdir()) if folder.is_dir() else ())):
        text = _text(file)
        if file.suffix == ".list":
            found += parse_one_line(text)
        elif file.suffix == ".sources":
            found += parse_deb822(text)
    return tuple(found)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def parse_one_line(text: str) -> tuple[Source, ...]:
    """Read the one-line format: ``deb [options] uri suite component …``."""
    found = []
    for line in text.splitlines():
        match = _ONE_LINE.match(line.strip())
        if match is None:
            continue
        pairs = (word.partition("=") for word in _words(match["options"] or ""))
        options = {name.rstrip("+-").lower(): value for name, _, value in pairs}
        found.append(
            Source(
                uri=match["uri"],
                suites=(match["suite"],),
                components=tuple((match["components"] or "").split()),
                signed_by=options.get("signed-by", ""),
                trusted=options.get("trusted", "").lower() in _TRUE,
            )
        )
    return tuple(found)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def parse_deb822(text: str) -> tuple[Source, ...]:
    """Read the deb822 format: stanzas of ``Types``, ``URIs``, ``Suites``, ``Components``, ``Signed-By``."""
    found = []
    for stanza in _stanzas(text):
        if "deb" not in stanza.get("types", "").split() or stanza.get("enabled", "yes").lower() in {"no", "false", "0", "off"}:
            continue
        found += [
            Source(
                uri=uri,
                suites=tuple(stanza.get("suites", "").split()),
                components=tuple(stanza.get("components", "").split()),
                signed_by=stanza.get("signed-by", "").rstrip(),
                trusted=stanza.get("trusted", "").lower() in _TRUE,
            )
            for uri in stanza.get("uris", "").split()
        ]
    return tuple(found)


def _stanzas(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the fields of each stanza, names in lower case; a value keeps its further lines."""
    stanza: dict[str, str] = {}
    name = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if stanza:
                yield stanza
            stanza, name = {}, ""
        elif line[0] in " \t":
            if name:
                stanza[name] += f"\n{line}"
        else:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            stanza[name] = value.strip()
    return


def own_archives(sources: Sequence[Source], *, distribution: str, host: str, wanted: str) -> tuple[Source, ...]:
    """Return the sources of the distribution itself, turned to the release ``wanted``, the main archive first.

    ``host`` is the codename of the release this host runs. Of several archives that carry the
    host's release, that of the distribution wins over a stranger's that uses the same suite name;
    one that says only ``stable`` counts where it looks like the distribution's. Empty when there is none.
    """
    chosen: dict[str, tuple[int, Source]] = {}
    for source in sources:
        if "main" not in source.components:
            continue
        for suite in source.suites:
            score = _likeness(source, distribution)
            pocket = _pocket(suite, (host, *(sorted(_ALIASES) if score else ())))
            if pocket is not None and (pocket not in chosen or score > chosen[pocket][0]):
                chosen[pocket] = score, source
    if "" not in chosen:
        return ()
    least, main = min(chosen[""][0], 1), chosen[""][1].root
    kept = {pocket: source for pocket, (score, source) in chosen.items() if score >= least or source.root == main}
    return _turned(kept, wanted)


def _pocket(suite: str, names: Sequence[str]) -> str | None:
    """Return what a suite adds to a release by one of its names: ``""``, ``-updates``, ``-security``; else ``None``."""
    for name in names:
        for pocket in _POCKETS:
            if suite.rstrip("/") == f"{name}{pocket}":
                return "-security" if pocket == "/updates" else pocket
    return None


def _likeness(source: Source, distribution: str) -> int:
    """Return how much an archive looks like the distribution's own: its keyring, then its address."""
    own_key = f"{distribution}-archive" in source.signed_by
    own_place = re.search(rf"/{distribution}(-security|-ports)?$", source.root) is not None
    return 2 * own_key + own_place


def _turned(kept: Mapping[str, Source], wanted: str) -> tuple[Source, ...]:
    pockets = [pocket for pocket in ("", "-updates", "-security") if pocket in kept]
    if wanted in _NO_POCKETS:
        pockets = [""]
    turned: list[Source] = []
    for pocket in pockets:
        source = replace(kept[pocket], suites=(f"{wanted}{pocket}",))
        same = next((index for index, other in enumerate(turned) if replace(other, suites=source.suites) == source), None)
        if same is None:
            turned.append(source)
        else:
            turned[same] = replace(source, suites=(*turned[same].suites, *source.suites))
    return tuple(turned)


def write_deb822(sources: Sequence[Source], *, keyring: str, architecture: str) -> str:
    """Return sources as apt reads them; ``keyring`` signs those that name none."""
    stanzas = []
    for source in sources:
        fields = {
            "Types": "deb",
            "URIs": source.uri,
            "Suites": " ".join(source.suites),
            "Components": " ".join(source.components),
            "Architectures": architecture,
            "Signed-By": source.signed_by or keyring,
        }
        if source.trusted:
            fields["Trusted"] = "yes"
        stanzas.append("".join(f"{name}: {value}\n" for name, value in fields.items()))
    return "\n".join(stanzas)
