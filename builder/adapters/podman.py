"""podman behind the port: builds, keeps and runs images."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from packaging.version import InvalidVersion, Version

from builder.adapters.engine_failures import (
    Log,
    by_hand,
    cannot_run,
    disk_full,
    is_disk_full,
    registry_failure,
    step_failure,
    too_slow,
)
from builder.adapters.files import disk_errors
from builder.adapters.image_json import digest_from, first_object, image_info, parsed, refuse_other_platform
from builder.adapters.owner import new_name
from builder.adapters.podman_leftovers import Scratch, Store, end_build, remove_containers, sweep
from builder.adapters.process import LocalProcesses
from builder.errors import BuildFailedError, HostBlockedError, ImgbuildError, MismatchError, ProgramError, UsageError
from builder.model.build import BuildRequest, Completed, ImageInfo, RunRequest
from builder.model.oci import Digest, ImageReference, Platform
from builder.ports import ProcessRunner

MINIMUM = Version("4.0")
ENV: Mapping[str, str] = MappingProxyType({"PODMAN_IGNORE_CGROUPSV1_WARNING": "1", "NO_COLOR": "1"})
"""What every podman of ours runs with."""
_ASK_SECONDS = 60.0
_PULL_SECONDS = 3600.0
_ENGINE_FAILED = 125
_STEP = re.compile(r'building at STEP "(?P<step>.*?)": (?P<why>.*)', re.DOTALL)
_MEND = "run 'podman info' by hand and mend what it says, or start Docker"
_ROOTLESS = "for a user that is not root, podman needs /etc/subuid, /etc/subgid and newuidmap (apt-get install uidmap)"
_COMMIT = re.compile(r"committing container for step \{.*?Original:(?P<step>.*?)\}: (?P<why>.*)", re.DOTALL)
_OWN_WORDS = ("Error: building at STEP", "Error: error building at STEP", "Error: committing container for step")
_NOT_STORED = re.compile(r"storing layer \"[0-9a-f]+\" to file: (?P<why>.*)", re.DOTALL)
_BEGUN = re.compile(r"(?:\[[0-9]+/[0-9]+\] )?STEP [0-9]+/[0-9]+: ")
_NOT_KNOWN = re.compile(r"image not known|no such image|no such object", re.IGNORECASE)
_LAYER = re.compile(r"--> (?P<layer>(?:Using cache )?[0-9a-f]{11,64})\s*")


class PodmanEngine:
    """podman 4.0 or newer on this host, as the user who runs us.

    ``cleanup`` runs the programs that tidy up after a stop, when ``processes`` runs nothing more.
    """

    def __init__(
        self,
        processes: ProcessRunner,
        *,
        cleanup: ProcessRunner | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._environ = os.environ if environ is None else environ  # noqa: TID251 - adapters may read it
        self._processes = processes
        self._cleanup = cleanup if cleanup is not None else LocalProcesses(environ=environ)
        self._lock = threading.Lock()
        self._swept = False

    @property
    def name(self) -> str:
        """``podman``."""
        return "podman"

    def version(self) -> str:
        """Return podman's version; ``HostBlockedError`` when it does not answer or is too old."""
        text = str(self._info().get("version", {}).get("Version", ""))
        try:
            version = Version(text.partition("-")[0])
        except InvalidVersion as error:
            msg = f"'podman info' names a version that is not understood: {text!r}"
            raise ProgramError(msg, hint="run 'podman info' by hand") from error
        if version < MINIMUM:
            msg = f"podman is {text}, {MINIMUM} or newer is needed"
            raise HostBlockedError(msg, hint="install a newer podman, or use --engine docker")
        return text

    def build(self, request: BuildRequest, *, on_line: Callable[[str], None]) -> ImageInfo:
        """Build one image and tag it, as ``ports.Engine`` says.

        Layers of steps that succeeded stay as podman's build cache, except after a stop.
        ``HostBlockedError`` when the disk is full, ``MismatchError`` or ``UnreachableError`` when
        the base could not be had. Registry mirrors are refused with ``UsageError``.
        """
        _refuse_mirrors(request)
        self._sweep_once()
        log = Log(on_line, _LAYER)
        with disk_errors(f"preparing the build of {request.variant}"):
            scratch = Scratch.make(self._environ)
        done: Completed | None = None
        try:
            done = self._processes.run(
                _build_arguments(request, scratch), env={**ENV, **scratch.env}, seconds=request.seconds, on_line=log
            )
            if done.timed_out or done.code != 0:
                raise self._build_error(request, done, log)
            image = self.inspect(scratch.iidfile.read_text(encoding="utf-8").strip())
        finally:
            if done is None or done.timed_out or done.code != 0:
                self._end_build(scratch)
            if done is None:
                self._remove_layers(log)
            scratch.clear()
        if image is None:
            msg = f"{request.variant} was built, but podman does not have the image any more"
            raise BuildFailedError(
                msg,
                hint="something removes images on this host; run the same command again",
                details=log.end,
            )
        return image

    def inspect(self, reference: str) -> ImageInfo | None:
        """Return an image that podman holds, ``None`` when it holds none of that name."""
        done = self._processes.run(["podman", "image", "inspect", reference], env=ENV, seconds=_ASK_SECONDS)
        if done.code != 0:
            if _NOT_KNOWN.search(done.stderr):
                return None
            raise self._failure(done, f"podman could not look at {reference!r}")
        found = first_object(done.stdout, "podman image inspect")
        if found is None:
            return None
        return image_info(found, image_id=digest_from(found["Id"]), digest=self._manifest_digest(found))

    def _manifest_digest(self, found: Mapping[str, Any]) -> Digest | None:
        """Return the digest of the image's own manifest: what podman calls its digest may be an index's."""
        named = found.get("Digest") or ""
        known = {text.partition("@")[2] for text in found.get("RepoDigests") or ()} | {named}
        if len(known) == 1:
            return digest_from(named) if named else None
        for manifest in self._store().root.glob(f"*-images/{found['Id']}/manifest"):
            with contextlib.suppress(OSError):
                return Digest("sha256", hashlib.sha256(manifest.read_bytes()).hexdigest())
        return None

    def pull(self, reference: ImageReference, platform: Platform, *, on_line: Callable[[str], None]) -> ImageInfo:
        """Pull one platform of an image, by its digest where it has one."""
        name = str(replace(reference, tag=None) if reference.digest else reference)
        argv = ["podman", "pull", "--platform", str(platform), name]
        done = self._processes.run(argv, env=ENV, seconds=_PULL_SECONDS, on_line=on_line)
        if done.code != 0 or done.timed_out:
            raise registry_failure(_error(done), repr(name), self.name) or self._failure(done, f"podman could not pull {name!r}")
        image = self.inspect(done.stdout.split()[-1])
        if image is None:
            msg = f"podman pulled {name!r} but does not have it"
            raise MismatchError(msg, hint="run the same command again")
        refuse_other_platform(image, name, platform, self.name)
        return image

    def import_rootfs(self, tar: Path, tag: str, platform: Platform) -> ImageInfo:
        """Make a one-layer image of a root file system tar and tag it."""
        variant = ["--variant", platform.variant] if platform.variant else []
        system = ["--os", platform.os, "--arch", platform.architecture, *variant]
        done = self._processes.run(["podman", "import", "--quiet", *system, str(tar), tag], env=ENV, seconds=_PULL_SECONDS)
        image = self.inspect(tag) if done.code == 0 else None
        if image is None:
            raise self._failure(done, f"podman could not import {str(tar)!r}")
        return image

    def run(self, request: RunRequest, *, on_line: Callable[[str], None] | None = None) -> Completed:
        """Run one container to its end; whatever ends it, the container is gone afterwards.

        ``MismatchError`` when podman has no such image. A program that is not in the image ends
        with code 127, one that cannot be run with 126.
        """
        self._sweep_once()
        name = new_name()
        argv = ["podman", "run", "--name", name, *_run_arguments(request), request.image, *request.argv]
        log = Log(on_line)
        done: Completed | None = None
        try:
            done = self._processes.run(argv, env=ENV, stdin=request.stdin, seconds=request.seconds, on_line=log)
        finally:
            if done is None or done.timed_out or done.code < 0:
                remove_containers(self._cleanup, [name])
        if done.timed_out:
            return replace(done, code=-9)
        if done.code == _ENGINE_FAILED and (said := _error(done)):
            if _NOT_KNOWN.search(said):
                msg = f"podman has no image {request.image!r}"
                raise MismatchError(msg, hint="build it first: imgbuild matrix build")
            raise self._failure(done, f"podman could not start a container of {request.image!r}")
        return done

    def remove(self, reference: str) -> None:
        """Remove a tag, and the image with its last one; no error when it is not there."""
        done = self._processes.run(["podman", "image", "rm", reference], env=ENV, seconds=_ASK_SECONDS)
        if done.code != 0 and not _NOT_KNOWN.search(done.stderr):
            raise self._failure(done, f"podman could not remove {reference!r}")

    def _info(self, processes: ProcessRunner | None = None) -> Mapping[str, Any]:
        done = (processes or self._processes).run(["podman", "info", "--format", "json"], env=ENV, seconds=_ASK_SECONDS)
        if done.code != 0 or done.timed_out:
            said = "nothing within a minute" if done.timed_out else _error(done) or done.stderr.strip()[-300:]
            msg = f"podman does not answer: {said!r}"
            raise HostBlockedError(msg, hint=_MEND if os.geteuid() == 0 else f"{_MEND}; {_ROOTLESS}")
        found = parsed(done.stdout, "podman info")
        return found if isinstance(found, dict) else {}

    def _store(self) -> Store:
        info = self._info(self._cleanup)
        runtime = info.get("host", {}).get("ociRuntime", {}).get("path") or "runc"
        return Store(root=Path(info.get("store", {}).get("graphRoot") or "/nonexistent"), runtime=runtime)

    def _sweep_once(self) -> None:
        with self._lock:
            if not self._swept:
                self._swept = True
                with contextlib.suppress(ImgbuildError):
                    sweep(self._cleanup, self._store(), self._environ)

    def _end_build(self, scratch: Scratch) -> None:
        with contextlib.suppress(ImgbuildError):
            end_build(self._cleanup, self._store(), scratch)

    def _remove_layers(self, log: Log) -> None:
        """Remove the layers that a stopped build made itself; podman keeps those that something else uses."""
        found = [text for text in log.marked if " " not in text]
        cached = [text.split()[-1] for text in log.marked if " " in text]
        for identifier in reversed([short for short in found if not any(whole.startswith(short) for whole in cached)]):
            with contextlib.suppress(ImgbuildError):
                self._cleanup.run(["podman", "image", "rm", "--no-prune", identifier], seconds=_ASK_SECONDS)

    def _build_error(self, request: BuildRequest, done: Completed, log: Log) -> ImgbuildError:
        if done.timed_out:
            return too_slow(request, log)
        if log.disk_full is not None:
            return disk_full(self.name, self._root(), log.disk_full, log.end)
        said = _error(done) or f"podman ended with code {done.code}"
        blocked = cannot_run(done.stderr, self.name, log.end)
        if blocked is not None:
            return blocked
        if unstored := _NOT_STORED.search(said):
            msg = f"podman could not write a layer into its folder for temporary files: {unstored['why']!r}"
            return HostBlockedError(msg, hint="make room in TMPDIR (/var/tmp without it), or name another", details=log.end)
        match = _STEP.search(said) or _COMMIT.search(said)
        if match is None:
            self.version()
            what = f"the base of {request.variant}"
            return registry_failure(said, what, self.name, log.end) or step_failure(request, "", said, (), log)
        return step_failure(request, match["step"], match["why"], _written(log.lines), log)

    def _failure(self, done: Completed, what: str) -> ImgbuildError:
        """Return the error for a call that should not have failed."""
        said = _error(done) or f"it ended with code {done.code}"
        if is_disk_full(said):
            return disk_full(self.name, self._root(), said)
        self.version()
        return ProgramError(f"{what}: {said}", hint=by_hand(done.argv))

    def _root(self) -> str:
        with contextlib.suppress(ImgbuildError):
            return str(self._store().root)
        return ""


def _build_arguments(request: BuildRequest, scratch: Scratch) -> list[str]:
    labels = [part for name, value in sorted(request.labels.items()) for part in ("--label", f"{name}={value}")]
    return [
        *("podman", "build", "--rm", "--force-rm", "--platform", str(request.platform)),
        *(() if request.network else ("--network", "none")),
        *scratch.arguments,
        *("--iidfile", str(scratch.iidfile), "--tag", request.tag),
        *labels,
        str(request.context),  # its Dockerfile is found: --file would take a comma in the path for the end of a name
    ]


def _run_arguments(request: RunRequest) -> list[str]:
    """Return what every container of ours is run with; podman itself ends it if we are killed."""
    env = [part for name, value in request.env.items() for part in ("--env", f"{name}={value}")]
    return [
        *("--rm", "--interactive", "--pull", "never", "--sig-proxy=false", "--entrypoint", ""),
        *("--timeout", str(int(request.seconds) + 60)),
        *(() if request.network else ("--network", "none")),
        *env,
        *(("--user", request.user) if request.user is not None else ()),
        *request.options,
    ]


def _error(done: Completed) -> str:
    """Return podman's own message: what follows the last ``Error:`` at the start of a line."""
    _, found, message = f"\n{done.stderr}".rpartition("\nError: ")
    return message.strip() if found else ""


def _written(lines: Iterable[str]) -> list[str]:
    """Return what the last step wrote."""
    lines = list(lines)
    begin = max((number for number, line in enumerate(lines, 1) if _BEGUN.match(line)), default=0)
    return [line for line in lines[begin:] if not line.startswith(_OWN_WORDS)]


def _refuse_mirrors(request: BuildRequest) -> None:
    if request.mirrors:
        names = sorted(request.mirrors)
        msg = f"podman cannot be given the mirrors of a matrix yet: {', '.join(map(repr, names))}"
        raise UsageError(
            msg,
            hint="name them in registries.conf (man containers-registries.conf) and take 'mirrors' out of the matrix",
        )
