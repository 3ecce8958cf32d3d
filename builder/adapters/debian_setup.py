"""What the set-up scripts of a distribution's basic packages do, without running them.

Each function reads what the packages brought and returns what is to be made. The packages are
those that ``debian_base.SET_UP_HERE`` names; scripts of others run inside the image.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from builder.adapters.debian_base import FAMILIES
from builder.adapters.debian_tree import Made
from builder.model.plan import DistributionRelease

KEEP = re.compile(
    r"usr/share/base-(?:passwd|files)/[^/]+|usr/share/libc-bin/nsswitch\.conf|usr/share/debianutils/shells(?:\.d/[^/]+)?"
    r"|usr/share/ca-certificates/.+\.crt|usr/share/pam/common-[a-z-]+|usr/share/pam-configs/unix|usr/share/readline/inputrc"
)
"""The files whose content set-up reads."""

_MAIL, _SHADOW, _UTMP = 8, 42, 43
_USER, _GROUP = 6, 3  # colons in a line
_NOLOGIN = "/usr/sbin/nologin"
_FOLDER, _OPEN_FOLDER = 0o755, 0o1777


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What the packages brought: their names, every path, and the content of the files ``KEEP`` names."""

    release: DistributionRelease
    architecture: str
    packages: frozenset[str]
    paths: Callable[[str], bool]
    kept: Mapping[str, bytes]

    def text(self, path: str) -> str:
        """Return a kept file as text, empty when it is not there."""
        return self.kept.get(path, b"").decode(errors="replace")

    def below(self, folder: str) -> Iterator[str]:
        """Yield the kept paths below a folder, sorted."""
        yield from sorted(path for path in self.kept if path.startswith(f"{folder}/"))


def set_up(material: Material) -> tuple[Made, ...]:
    """Return everything to make, folders before what is in them."""
    return tuple(made for step in _STEPS for made in step(material))


def _file(path: str, text: str, *, mode: int = 0o644, group: int = 0) -> Made:
    return Made(path=path, data=text.encode(), mode=mode, group=group)


def _folder(path: str, *, mode: int = _FOLDER, group: int = 0) -> Made:
    return Made(path=path, mode=mode, group=group)


def _link(path: str, target: str) -> Made:
    return Made(path=path, target=target)


def _base_files(material: Material) -> Iterator[Made]:
    for name in ("proc", "sys", "dev", "run", "mnt", "srv", "opt", "etc/opt", "var/opt", "media", "home", "boot"):
        yield _folder(name)
    yield _folder("root", mode=0o700)
    yield _folder("tmp", mode=_OPEN_FOLDER)
    yield _folder("var/tmp", mode=_OPEN_FOLDER)
    yield _folder("run/lock", mode=_OPEN_FOLDER)
    yield _folder("var/mail", mode=0o2775, group=_MAIL)
    yield _link("var/spool/mail", "../mail")
    for name in ("share", "share/man", "bin", "games", "lib", "include", "sbin", "src", "etc"):
        yield _folder(f"usr/local/{name}")
    yield _link("usr/local/man", "share/man")
    for source, target in (("dot.profile", "root/.profile"), ("dot.bashrc", "root/.bashrc"), ("profile", "etc/profile")):
        if text := material.text(f"usr/share/base-files/{source}"):
            yield _file(target, text)
    yield _file("etc/motd", material.text("usr/share/base-files/motd"))
    if material.paths(f"etc/dpkg/origins/{material.release.name}"):
        yield _link("etc/dpkg/origins/default", material.release.name)
    for name, mode in (("wtmp", 0o664), ("btmp", 0o660), ("lastlog", 0o664)):
        yield _file(f"var/log/{name}", "", mode=mode, group=_UTMP)


def _accounts(material: Material) -> Iterator[Made]:
    """Users and groups from base-passwd's masters; shadow files where the tools for them are."""
    users = [
        line.split(":") for line in material.text("usr/share/base-passwd/passwd.master").splitlines() if line.count(":") == _USER
    ]
    groups = [
        line.split(":") for line in material.text("usr/share/base-passwd/group.master").splitlines() if line.count(":") == _GROUP
    ]
    if "apt" in material.packages and all(user[0] != "_apt" for user in users):
        users.append(["_apt", "*", "100", "65534", "", "/nonexistent", _NOLOGIN])
    if "passwd" in material.packages:
        yield _file("etc/shadow", "".join(f"{user[0]}:*::0:99999:7:::\n" for user in users), mode=0o640, group=_SHADOW)
        yield _file("etc/gshadow", "".join(f"{group[0]}:*::{group[3]}\n" for group in groups), mode=0o640, group=_SHADOW)
        users = [[user[0], "x", *user[2:]] for user in users]
        groups = [[group[0], "x", *group[2:]] for group in groups]
    yield _file("etc/passwd", "".join(":".join(user) + "\n" for user in users))
    yield _file("etc/group", "".join(":".join(group) + "\n" for group in groups))
    yield _file("etc/subuid", "")
    yield _file("etc/subgid", "")


def _libc(material: Material) -> Iterator[Made]:
    if text := material.text("usr/share/libc-bin/nsswitch.conf"):
        yield _file("etc/nsswitch.conf", text)
    if text := material.text("usr/share/readline/inputrc"):
        yield _file("etc/inputrc", text)
    if "tzdata" in material.packages:
        yield _link("etc/localtime", "/usr/share/zoneinfo/Etc/UTC")
        yield _file("etc/timezone", "Etc/UTC\n")


def _shells(material: Material) -> Iterator[Made]:
    """List the valid login shells, each also by its merged path, as update-shells does."""
    own = material.text("usr/share/debianutils/shells")
    if not own:
        return
    shells: list[str] = []
    for path in ("usr/share/debianutils/shells", *material.below("usr/share/debianutils/shells.d")):
        for line in material.text(path).splitlines():
            shell = line.partition("#")[0].strip()
            shells += [one for one in (shell, f"/usr{shell}" if shell.startswith("/bin/") else "") if one and one not in shells]
    have = {line.partition("#")[0].strip() for line in own.splitlines()}
    yield _file("etc/shells", own + "".join(f"{shell}\n" for shell in shells if shell not in have))
    yield _file("var/lib/shells.state", "".join(f"{shell}\n" for shell in shells))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alternative:
    """One choice of update-alternatives: ``link`` leads to ``path``, ``slaves`` (name, link, path) go with it."""

    package: str
    name: str
    link: str
    path: str
    priority: int
    slaves: tuple[tuple[str, str, str], ...] = ()


_ALTERNATIVES = (
    _Alternative(
        package="mawk", name="awk", link="/usr/bin/awk", path="/usr/bin/mawk", priority=5,
        slaves=(("nawk", "/usr/bin/nawk", "/usr/bin/mawk"),),
    ),
    _Alternative(package="debianutils", name="which", link="/usr/bin/which", path="/usr/bin/which.debianutils", priority=0),
    _Alternative(package="util-linux", name="pager", link="/usr/bin/pager", path="/bin/more", priority=50),
    _Alternative(package="tar", name="rmt", link="/usr/sbin/rmt", path="/usr/sbin/rmt-tar", priority=50),
)  # fmt: skip


def _alternatives(material: Material) -> Iterator[Made]:
    for choice in _ALTERNATIVES:
        if choice.package not in material.packages:
            continue
        links = [(choice.name, choice.link, choice.path), *choice.slaves]
        for name, link, path in links:
            yield _link(f"etc/alternatives/{name}", path)
            yield _link(link.lstrip("/"), f"/etc/alternatives/{name}")
        slaves = "".join(f"{name}\n{link}\n" for name, link, _ in choice.slaves)
        paths = "".join(f"{path}\n" for _, _, path in choice.slaves)
        text = f"auto\n{choice.link}\n{slaves}\n{choice.path}\n{choice.priority}\n{paths}\n"
        yield _file(f"var/lib/dpkg/alternatives/{choice.name}", text)


def _certificates(material: Material) -> Iterator[Made]:
    """Make the bundle of certificate authorities, and what update-ca-certificates needs to make it again."""
    root = "usr/share/ca-certificates"
    paths = list(material.below(root))
    if not paths:
        return
    yield _folder("usr/local/share/ca-certificates")
    bundle = b"".join(material.kept[path].rstrip(b"\n") + b"\n" for path in paths)
    yield Made(path="etc/ssl/certs/ca-certificates.crt", data=bundle)
    if material.paths("usr/lib/ssl"):
        yield _link("usr/lib/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt")
    for path in paths:
        name = path.rpartition("/")[2].removesuffix(".crt").translate(str.maketrans(" ,()", "__=="))
        yield _link(f"etc/ssl/certs/{name}.pem", f"/{path}")
    yield _file("etc/ca-certificates.conf", "".join(f"{path.removeprefix(f'{root}/')}\n" for path in paths))


def _pam(material: Material) -> Iterator[Made]:
    """PAM's common files with the one profile of a basic system: passwords in the shadow file."""
    profile = _pam_profile(material.text("usr/share/pam-configs/unix"))
    for path in material.below("usr/share/pam"):
        name = path.rpartition("/")[2]
        kind = name.split("-")[1]
        variable = "session_nonint" if name.endswith("noninteractive") else kind
        primary, additional = profile.get(kind, ""), ""
        if kind == "session":
            primary, additional = "session\t[default=1]\t\t\tpam_permit.so", primary
        text = material.text(path).replace(f"${variable}_primary", primary).replace(f"${variable}_additional", additional)
        yield _file(f"etc/pam.d/{name}", text)


def _pam_profile(text: str) -> Mapping[str, str]:
    """Return the line of each kind in a profile; ``end`` jumps over the one line that denies."""
    found: dict[str, str] = {}
    for match in re.finditer(r"^(Auth|Account|Password|Session)-Initial:\n[ \t]+(.+)$", text, re.MULTILINE):
        kind = match[1].lower()
        found[kind] = f"{kind}\t{match[2].replace('success=end', 'success=1')}"
    return found


def _packaging(material: Material) -> Iterator[Made]:
    """Let users of the image install more, as a slim image does: from the public archive, without documentation."""
    if "apt" in material.packages:
        yield _file("etc/apt/sources.list.d/distribution.sources", _public_sources(material))
        yield _file("etc/apt/apt.conf.d/90-slim", 'Acquire::Languages "none";\nAcquire::GzipIndexes "true";\n')
    rules = [f"path-exclude /usr/share/{name}/*" for name in ("doc", "man", "locale", "info", "groff", "lintian", "linda")]
    rules += ["path-include /usr/share/doc/*/copyright", "path-include /usr/share/locale/locale.alias"]
    yield _file("etc/dpkg/dpkg.cfg.d/90-slim", "".join(f"{rule}\n" for rule in rules))
    yield _file("usr/sbin/policy-rc.d", "#!/bin/sh\n# no service is started in an image\nexit 101\n", mode=0o755)


def _public_sources(material: Material) -> str:
    family, codename = FAMILIES[material.release.name], material.release.codename or ""
    place = family.archive
    secure = family.security
    if family.ports is not None and material.architecture not in {"amd64", "i386"}:
        place = secure = family.ports
    keyring = next((name for name in family.keyrings if material.paths(f"usr/share/keyrings/{name}")), family.keyrings[0])
    pairs = (
        [(place, codename)]
        if codename == "sid"
        else [(place, f"{codename} {codename}-updates"), (secure, f"{codename}-security")]
    )
    return "\n".join(
        f"Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: {family.components}\nSigned-By: /usr/share/keyrings/{keyring}\n"
        for uri, suites in pairs
    )


def _python(material: Material) -> Iterator[Made]:
    for package in sorted(material.packages):
        if match := re.fullmatch(r"python(3\.\d+)-minimal", package):
            yield _folder(f"usr/local/lib/python{match[1]}")
            yield _folder(f"usr/local/lib/python{match[1]}/dist-packages")


_STEPS = (_base_files, _accounts, _libc, _shells, _alternatives, _certificates, _pam, _packaging, _python)
