"""dpkg's own records of what is installed, so that dpkg, apt and scanners see every package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from builder.adapters.debian_base import SET_UP_HERE
from builder.adapters.debian_package import Control
from builder.adapters.debian_tree import Harvest, Made
from builder.errors import UnsatisfiableError

_ROOT = "var/lib/dpkg"
_SCRIPTS = frozenset({"preinst", "postinst", "prerm", "postrm", "config"})
_BEFORE_UNPACKING = re.compile(r"(?<!no-)(?<!-no)\s--rename\b|^\s*(?:adduser|addgroup|useradd|groupadd)\s", re.MULTILINE)
_INTEREST = re.compile(r"interest(?P<kind>-noawait|-await)?\s+(?P<what>\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """One package that is in the tree, with what it says of itself and what was noticed on the way."""

    name: str
    control: Control
    harvest: Harvest

    @property
    def multi_arch_name(self) -> str:
        """The name under which dpkg keeps its files: with the architecture where several may be installed."""
        same = self.control.get("Multi-Arch") == "same"
        return f"{self.name}:{self.control.get('Architecture')}" if same else self.name

    @property
    def configured(self) -> bool:
        """Whether nothing is left to run for it inside the image."""
        return "postinst" not in self.control.members or SET_UP_HERE.fullmatch(self.name) is not None


def must_not_need_preinst(package: str, control: Control) -> None:
    """Raise ``UnsatisfiableError`` for a package whose script before unpacking does what cannot be made up for later."""
    script = control.members.get("preinst", b"").decode(errors="replace")
    if SET_UP_HERE.fullmatch(package) is None and _BEFORE_UNPACKING.search(script):
        msg = f"the Debian package {package!r} changes the system before it is unpacked, which an assembled base cannot do"
        raise UnsatisfiableError(msg, hint="leave it out, or set `bases: {distribution: registry}` in the matrix")


def records(packages: Sequence[Unpacked], architecture: str) -> tuple[Made, ...]:
    """Return dpkg's database for these packages: status, file lists, scripts and triggers."""
    made = [Made(path=f"{_ROOT}/{name}", mode=0o755) for name in ("info", "updates", "triggers", "alternatives", "parts")]
    made.append(_text(f"{_ROOT}/info/format", "1\n"))
    made.append(_text(f"{_ROOT}/arch-native", f"{architecture}\n"))
    made.append(_text(f"{_ROOT}/status", "\n".join(_stanza(package) for package in packages)))
    for package in packages:
        made += _info(package)
    made += _triggers(packages)
    return tuple(made)


def _text(path: str, text: str) -> Made:
    return Made(path=path, data=text.encode())


def _stanza(package: Unpacked) -> str:
    """Return a package's stanza of the status file: its control file, its state, its configuration files' hashes."""
    state = "installed" if package.configured else "unpacked"
    lines = package.control.text.rstrip("\n").split("\n")
    lines.insert(1, f"Status: install ok {state}")
    if package.harvest.md5:
        files = [f" {path} {digest}" for path, digest in package.harvest.md5.items()]
        place = next((index for index, line in enumerate(lines) if line.startswith("Description:")), len(lines))
        lines[place:place] = ["Conffiles:", *files]
    return "\n".join(lines) + "\n"


def _info(package: Unpacked) -> Iterable[Made]:
    name = package.multi_arch_name
    yield _text(f"{_ROOT}/info/{name}.list", "".join(f"{path}\n" for path in package.harvest.listing))
    for member, data in sorted(package.control.members.items()):
        mode = 0o755 if member in _SCRIPTS else 0o644
        yield Made(path=f"{_ROOT}/info/{name}.{member}", data=data, mode=mode)


def _triggers(packages: Sequence[Unpacked]) -> Iterable[Made]:
    """Return who is to be told of what: by path in one file, by name in a file each."""
    paths: list[str] = []
    names: dict[str, list[str]] = {}
    for package in packages:
        for line in package.control.lines("triggers"):
            match = _INTEREST.fullmatch(line.partition("#")[0].strip())
            if match is None:
                continue
            who = package.multi_arch_name + ("/noawait" if match["kind"] == "-noawait" else "")
            if match["what"].startswith("/"):
                paths.append(f"{match['what']} {who}")
            elif "/" not in match["what"]:
                names.setdefault(match["what"], []).append(who)
    yield _text(f"{_ROOT}/triggers/File", "".join(f"{line}\n" for line in paths))
    yield _text(f"{_ROOT}/triggers/Unincorp", "")
    for name, interested in sorted(names.items()):
        yield _text(f"{_ROOT}/triggers/{name}", "".join(f"{who}\n" for who in interested))


def replaced_by(controls: Mapping[str, Control]) -> Mapping[str, frozenset[str]]:
    """Return, for each package, the names of those whose files it may take over."""
    return {
        name: frozenset(re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)", control.get("Replaces")))
        for name, control in controls.items()
    }
