"""Pins bases and reads what is inside them, each digest once: one throw-away container, one script."""

from __future__ import annotations

import hashlib
import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from builder.adapters.base_facts_reading import MARK, read_config, read_facts
from builder.adapters.debian_apt import read_uris, unsatisfiable
from builder.adapters.debian_base import must_be_package_names
from builder.adapters.files import locked, write_atomically
from builder.errors import HostBlockedError, ImgbuildError, MismatchError, ProgramError, UnreachableError, UnsatisfiableError
from builder.model.build import Completed, RunRequest
from builder.model.lock import BaseFacts, LockedBase, LockedDeb
from builder.model.oci import Digest, ImageReference, Platform
from builder.model.plan import Base, DistributionRelease
from builder.ports import DebianArchive, Engine, Registry, ResolvedImage

_SCRIPTS = Path(__file__).resolve().parent.parent / "probe" / "scripts" / "base"
_READ_SECONDS = 600.0
_APT_SECONDS = 600.0
_NOT_FOUND = 127
_NOT_RUN = 126
_DETAILS = 8
_RUNTIME = re.compile(r"\bOCI (?:runtime|permission)|\brunc\b|\bcrun\b|\bcontainer init\b|\bshim task\b")
_PROGRAM = re.compile(r"\bexec:? ?\S|\bexecutable\b|\bcommand that was not found\b|exec format error", re.IGNORECASE)
"""What a container runtime says of itself, and of a program that is not there or cannot be run."""
_UNASKED = re.compile(
    r"Temporary failure|Could not resolve|Could not connect|Unable to connect|Failed to fetch"
    r"|Connection (?:failed|timed out|refused)"
)
_APT = """\
set -e
apt-get -q -o APT::Update::Error-Mode=any update
echo "imgbuild-uris"
exec apt-get -q -y --no-install-recommends -o Acquire::ForceHash=SHA256 --print-uris install "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """What is read: an image the engine can run, under a name for messages, cached under ``identity``."""

    image: str
    identity: str
    name: str
    platform: Platform


class EngineBaseReader:
    """Reads bases with a container engine; satisfies ``ports.BaseReader``.

    ``cache`` is the folder where facts are kept by digest; ``distribution`` is the matrix's
    ``bases: {distribution: …}``: ``auto``, ``assembled`` or ``registry``. ``mirrored`` says under
    which name an image is pulled where a mirror stands in for its registry (``model.mirror.mirrored``).
    """

    def __init__(
        self,
        *,
        engine: Engine,
        registry: Registry,
        archive: DebianArchive,
        cache: Path,
        distribution: str = "auto",
        mirrored: Callable[[ImageReference], ImageReference] | None = None,
    ) -> None:
        self._engine = engine
        self._registry = registry
        self._archive = archive
        self._cache = cache
        self._distribution = distribution
        self._mirrored = mirrored or (lambda reference: reference)

    def read(self, base: Base, platform: Platform, *, apt: tuple[str, ...]) -> LockedBase:
        """Return the base as it is now, as ``ports.BaseReader`` says; its ``key`` is its reference."""
        why_not = self._why_not_assembled(base, platform)
        if why_not is None and base.distribution is not None:
            return self._assembled(base, base.distribution, platform, apt)
        if self._distribution == "assembled" and base.may_assemble:
            msg = f"the base {base.reference} cannot be assembled here: {why_not}"
            raise UnsatisfiableError(msg, hint="set `bases: {distribution: auto}` in the matrix to pull it where that is so")
        try:
            return self._from_registry(base, platform)
        except UnreachableError as error:
            if base.may_assemble and why_not is not None:
                error.details = (*error.details, f"it was not assembled here either: {why_not}")
            raise

    def resolve_apt(self, base: LockedBase, packages: tuple[str, ...]) -> tuple[LockedDeb, ...]:
        """Return what ``apt-get install`` would bring in a container of the base, which may use the network."""
        must_be_package_names(packages)
        if not base.facts.has_apt or base.digest is None:
            system = f"{base.facts.os} {base.facts.os_version}".strip()
            msg = f"the base {base.reference} ({system}) has no apt-get, so {', '.join(packages)} cannot be added to it"
            raise UnsatisfiableError(msg, hint="leave out `apt:` for this base, or use one of Debian or Ubuntu")
        image = self._pulled(self._pinned(ImageReference.parse(base.reference), base.digest), base.platform)
        request = RunRequest(
            image=image,
            argv=("sh", "-c", _APT, "apt", *packages),
            seconds=_APT_SECONDS,
            network=True,
            env={"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            user="0",
        )
        done = self._engine.run(request)
        said = done.stdout + done.stderr
        if done.code != 0:
            raise _not_started(done, base.reference, self._engine.name) or _apt_failed(done, said, base)
        printed = done.stdout.partition("imgbuild-uris\n")[2]
        return read_uris(printed, _below_root)

    def _why_not_assembled(self, base: Base, platform: Platform) -> str | None:
        if base.distribution is None or not base.may_assemble:
            return "it is not a distribution's own"
        if self._distribution == "registry":
            return "the matrix wants distribution bases from their registry"
        return self._archive.available(base.distribution, platform)

    def _assembled(self, base: Base, release: DistributionRelease, platform: Platform, apt: Sequence[str]) -> LockedBase:
        debs = self._archive.resolve(release, platform, apt)
        rootfs, digest = self._archive.assemble(release, debs)
        tag = f"localhost/imgbuild/base:{digest[:32]}"
        subject = _Subject(image=tag, identity=digest, name=f"the assembled {release.label}", platform=platform)

        def bring() -> None:
            self._engine.import_rootfs(rootfs, tag, platform)

        facts = self._facts(subject, base.frameworks, bring=bring, leave=lambda: self._engine.remove(tag))
        return LockedBase(
            key=str(base.reference),
            reference=str(base.reference),
            platform=platform,
            debs=debs,
            suite=release.codename,
            rootfs_sha256=digest,
            facts=facts,
        )

    def _from_registry(self, base: Base, platform: Platform) -> LockedBase:
        found = self._registry.resolve(base.reference, platform)
        if found is None:
            msg = f"there is no image {base.reference} for {platform}"
            raise UnsatisfiableError(msg, hint="check its name and tag in the registry, and the platforms it is there for")
        facts = self._image_facts(base, platform, found)
        return LockedBase(
            key=str(base.reference),
            reference=str(base.reference),
            platform=platform,
            digest=found.digest,
            index_digest=found.index_digest,
            image_id=found.config_digest,
            facts=facts,
        )

    def _image_facts(self, base: Base, platform: Platform, found: ResolvedImage) -> BaseFacts:
        pinned = self._pinned(base.reference, found.digest)
        name = str(base.reference)
        subject = _Subject(image=str(pinned), identity=str(found.digest), name=name, platform=platform)
        facts = self._facts(subject, base.frameworks, bring=lambda: self._pulled(pinned, platform), leave=lambda: None)
        return read_config(found.config, facts, what=name)

    def _pinned(self, reference: ImageReference, digest: Digest) -> ImageReference:
        """Return what is pulled: by digest alone, from the mirror where there is one."""
        return replace(self._mirrored(reference), tag=None, digest=digest)

    def _pulled(self, pinned: ImageReference, platform: Platform) -> str:
        """Return the name of an image that the engine holds now, pulled where it did not."""
        if self._engine.inspect(str(pinned)) is None:
            self._engine.pull(pinned, platform, on_line=lambda _: None)
        return str(pinned)

    def _facts(
        self, subject: _Subject, frameworks: Sequence[str], *, bring: Callable[[], object], leave: Callable[[], None]
    ) -> BaseFacts:
        """Return the facts of an image, from the cache or from a container; one reader at a time per image."""
        wanted = " ".join(sorted(set(frameworks)))
        scripts = _scripts()
        key = hashlib.sha256("\n".join([*scripts, subject.identity, wanted]).encode()).hexdigest()
        kept = self._cache / "facts" / f"{key}.txt"
        with locked(kept.with_suffix(".lock")):
            known = _kept_facts(kept, subject)
            if known is not None:
                return known
            bring()
            try:
                output = self._run(subject, scripts, {"IMGBUILD_FACTS_FRAMEWORKS": wanted, "IMGBUILD_FACTS_MARK": MARK})
            finally:
                leave()
            facts = read_facts(output, what=subject.name)
            marked = "".join(f"{line}\n" for line in output.splitlines() if line.startswith(f"{MARK} "))
            write_atomically(kept, marked.encode())
            return facts

    def _run(self, subject: _Subject, scripts: tuple[str, str], env: Mapping[str, str]) -> str:
        shell, python = scripts
        request = RunRequest(
            image=subject.image,
            argv=("sh", "-c", shell, "facts", python),
            seconds=_READ_SECONDS,
            env={**env, "PYTHONDONTWRITEBYTECODE": "1"},
            user="0",
        )
        done = self._engine.run(request)
        if done.code != 0 or done.timed_out:
            raise _not_started(done, subject.name, self._engine.name) or _not_read(done, subject)
        return done.stdout


def _scripts() -> tuple[str, str]:
    return (_SCRIPTS / "facts.sh").read_text(encoding="utf-8"), (_SCRIPTS / "facts.py").read_text(encoding="utf-8")


def _kept_facts(kept: Path, subject: _Subject) -> BaseFacts | None:
    """Return facts that were kept, ``None`` when there are none or they are damaged."""
    try:
        return read_facts(kept.read_text(encoding="utf-8"), what=subject.name)
    except (OSError, ValueError, MismatchError):
        return None


def _not_started(done: Completed, name: str, engine: str) -> HostBlockedError | None:
    """Return the error for a host that lets the engine's runtime start no container, else ``None``.

    The runtime ends with the same codes when the image lacks the program; then its words name the program.
    """
    if done.timed_out or done.code not in {_NOT_FOUND, _NOT_RUN}:
        return None
    said = " ".join(done.stderr.split())
    if not _RUNTIME.search(said) or _PROGRAM.search(said):
        return None
    words = said.rpartition("Error: ")[2]
    msg = f"{engine} cannot start a container of {name} on this host: {words!r}"
    if "rlimit" in said:
        where = "default-ulimits in the daemon's daemon.json" if engine == "docker" else "default_ulimits in containers.conf"
        return HostBlockedError(msg, hint=f"set {where} to limits that this host allows, or run where they may be raised")
    return HostBlockedError(msg, hint=f"mend what it names; '{engine} run' of any image shows the same")


def _not_read(done: Completed, subject: _Subject) -> ImgbuildError:
    """Return why a container of a base could not be read."""
    said = (done.stderr or done.stdout).strip()
    details = tuple(said.splitlines()[-_DETAILS:])
    if done.timed_out:
        msg = f"reading {subject.name} took longer than {_READ_SECONDS:.0f} s"
        return HostBlockedError(msg, hint="run it again; if it hangs again, run the image by hand to see why", details=details)
    if "exec format error" in said.lower():
        msg = f"this host cannot run containers for {subject.platform}, so {subject.name} cannot be read here"
        return HostBlockedError(msg, hint="lock on a host of that platform, or set up emulation (qemu-user-static, binfmt)")
    if done.code in {_NOT_FOUND, _NOT_RUN}:
        msg = f"{subject.name} has no shell, so nothing can be read or installed in it"
        return UnsatisfiableError(msg, hint="start from an image that has /bin/sh", details=details)
    msg = f"reading {subject.name} in a container failed ({done.code})"
    return ProgramError(msg, hint="run a container of it by hand to see why", details=details)


def _apt_failed(done: Completed, said: str, base: LockedBase) -> ImgbuildError:
    if done.timed_out or _UNASKED.search(said):
        msg = f"the Debian archives that {base.reference} names could not be asked from a container"
        why = "check that containers reach the network (proxy, DNS), then run it again"
        return UnreachableError(msg, hint=why, details=tuple(said.splitlines()[-_DETAILS:]))
    return unsatisfiable(said, where=f"the archive of {base.reference}")


def _below_root(uri: str) -> str:
    """Return a package's path below its archive's root: from ``pool/`` on, or all of a flat archive's path."""
    path = urllib.parse.urlsplit(uri).path.replace("/./", "/").lstrip("/")
    return f"pool/{path.partition('/pool/')[2]}" if "/pool/" in path else path
