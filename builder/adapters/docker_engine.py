"""Docker behind the port: builds through buildx, keeps and runs images.

The ``docker`` program builds, pulls, imports and runs: it alone has BuildKit and the user's
credential helpers, it shows progress as its users know it, and ending it ends what it does. The
daemon is asked about itself and its images through the SDK where that reaches it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from packaging.version import Version

from builder.adapters import buildx, saved_image
from builder.adapters.docker_daemon import (
    ENV,
    SECONDS,
    Daemon,
    DaemonByProgram,
    DaemonRefusedError,
    error_text,
    last_line,
    says_absent,
)
from builder.adapters.docker_endpoint import find_endpoint
from builder.adapters.engine_failures import Log, by_hand, disk_full, is_disk_full, registry_failure
from builder.adapters.files import cache_root, disk_errors
from builder.adapters.image_json import digest_from, image_info, parsed, refuse_other_platform
from builder.adapters.owner import PREFIX, end_orphans, left_behind, new_name
from builder.adapters.process import LocalProcesses
from builder.errors import BuildFailedError, HostBlockedError, ImgbuildError, MismatchError, ProgramError, UsageError
from builder.model.build import BuildRequest, Completed, ImageInfo, RunRequest
from builder.model.oci import Digest, ImageReference, Platform
from builder.ports import ProcessRunner

MINIMUM = Version("20.10")
_TIDY_SECONDS = 5.0
_PULL_SECONDS = 3600.0
_ENGINE_FAILED = 125
T = TypeVar("T")
_SAVE = 'docker image save "$1" | "$2" "$3" "$4" "$5"'


class DockerEngine:
    """The Docker that the ``docker`` program of this user talks to, version 20.10 or newer, with buildx 0.10 or newer.

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
        self._containerd: bool | None = None
        self._daemon: Daemon | None = None
        self._ids = _KnownIds(self._environ)

    @property
    def name(self) -> str:
        """``docker``."""
        return "docker"

    def version(self) -> str:
        """Return the daemon's and buildx's versions; ``HostBlockedError`` when one does not answer or is too old."""
        engine = str(self._info().get("ServerVersion", ""))
        _require("docker", engine, MINIMUM)
        done = self._processes.run(["docker", "buildx", "version"], env=ENV, seconds=SECONDS)
        if done.code != 0:
            msg = f"docker {engine} answers, but has no buildx: {last_line(done.stderr)!r}"
            raise HostBlockedError(
                msg,
                hint="install it (apt-get install docker-buildx, or docker-buildx-plugin from Docker), or use --engine podman",
            )
        words = done.stdout.split()
        buildx_version = words[1].removeprefix("v") if len(words) > 1 else done.stdout.strip()
        _require("buildx", buildx_version, buildx.MINIMUM)
        return f"{engine}, buildx {buildx_version}"

    def build(self, request: BuildRequest, *, on_line: Callable[[str], None]) -> ImageInfo:
        """Build one image by one ``docker buildx build`` and tag it, as ``ports.Engine`` says.

        ``HostBlockedError`` when the disk is full or the daemon goes away, ``MismatchError`` or
        ``UnreachableError`` when the base could not be had. Registry mirrors are refused with
        ``UsageError``.
        """
        _refuse_mirrors(request)
        self._sweep_once()
        log = Log(on_line)
        folder = Path(tempfile.gettempdir()) / new_name()
        with disk_errors(f"preparing the build of {request.variant}"):
            folder.mkdir(mode=0o700)
        try:
            metadata = folder / "metadata.json"
            argv = buildx.arguments(request, metadata)
            done = self._processes.run(argv, env=ENV, seconds=request.seconds, on_line=log)
            if done.timed_out or done.code != 0:
                gone, root = (None, "") if done.timed_out else self._state()
                raise buildx.build_error(request, done, log, root=root, gone=gone)
            digests = buildx.built_digests(metadata)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if digests is not None:
            self._ids.add(*digests)
        image = self.inspect(request.tag)
        if image is None:
            msg = f"{request.variant} was built, but docker does not have the image any more"
            raise BuildFailedError(
                msg,
                hint="something removes images on this host; run the same command again",
                details=log.end,
            )
        return image

    def inspect(self, reference: str) -> ImageInfo | None:
        """Return an image that docker holds, ``None`` when it holds none of that name.

        ``digest`` is ``None`` with Docker's classic image store, which keeps no manifests.
        """
        found = self._ask(lambda daemon: daemon.image(reference), f"docker could not look at {reference!r}")
        if found is None:
            return None
        target = digest_from(found["Id"])
        if not self._keeps_manifests():
            return image_info(found, image_id=target, digest=None)
        info = image_info(found, image_id=target, digest=target)
        manifest, config = self._ids.get(target) or self._read_saved(target, info.platform)
        return replace(info, image_id=config, digest=manifest, size=self._unpacked_size(target) or info.size)

    def pull(self, reference: ImageReference, platform: Platform, *, on_line: Callable[[str], None]) -> ImageInfo:
        """Pull one platform of an image, by its digest where it has one."""
        name = str(replace(reference, tag=None) if reference.digest else reference)
        argv = ["docker", "pull", "--platform", str(platform), name]
        done = self._processes.run(argv, env=ENV, seconds=_PULL_SECONDS, on_line=on_line)
        if done.code != 0 or done.timed_out:
            said = error_text(done.stderr)
            raise registry_failure(said, repr(name), self.name) or self._failure(done, f"docker could not pull {name!r}")
        image = self.inspect(name)
        if image is None:
            msg = f"docker pulled {name!r} but does not have it"
            raise MismatchError(msg, hint="run the same command again")
        refuse_other_platform(image, name, platform, self.name)
        return image

    def import_rootfs(self, tar: Path, tag: str, platform: Platform) -> ImageInfo:
        """Make a one-layer image of a root file system tar and tag it."""
        argv = ["docker", "import", "--platform", str(platform), str(tar), tag]
        done = self._processes.run(argv, env=ENV, seconds=_PULL_SECONDS)
        image = self.inspect(tag) if done.code == 0 else None
        if image is None:
            raise self._failure(done, f"docker could not import {str(tar)!r}")
        return image

    def run(self, request: RunRequest, *, on_line: Callable[[str], None] | None = None) -> Completed:
        """Run one container to its end; whatever ends it, the container is gone afterwards.

        ``MismatchError`` when docker has no such image. A program that is not in the image ends
        with code 127, one that cannot be run with 126.
        """
        self._sweep_once()
        name = new_name()
        argv = ["docker", "run", "--name", name, *_run_arguments(request), request.image, *request.argv]
        done: Completed | None = None
        try:
            done = self._processes.run(argv, env=ENV, stdin=request.stdin, seconds=request.seconds, on_line=on_line)
        finally:
            if done is None or done.timed_out or done.code == _ENGINE_FAILED or done.code < 0:
                self._remove_containers([name])
        if done.timed_out:
            return replace(done, code=-9)
        if done.code == _ENGINE_FAILED:
            self._refuse_engine_failure(request, done)
        return done

    def _refuse_engine_failure(self, request: RunRequest, done: Completed) -> None:
        """Raise when it was docker, and not the program in the container, that ended with docker's own code."""
        said = error_text(done.stderr)
        if says_absent(said):
            msg = f"docker has no image {request.image!r}"
            raise MismatchError(msg, hint="build it first: imgbuild matrix build")
        if "error waiting for container" in done.stderr or "error during connect" in said:
            msg = f"docker does not answer any more: {said or last_line(done.stderr)!r}"
            raise self._state()[0] or HostBlockedError(msg, hint="start the Docker daemon again, and run the same command again")
        if said:
            raise self._failure(done, f"docker could not run a container of {request.image!r}")

    def remove(self, reference: str) -> None:
        """Remove a tag, and the image with its last one; no error when it is not there."""
        self._ask(lambda daemon: daemon.remove_image(reference), f"docker could not remove {reference!r}")

    def _reach(self) -> Daemon:
        """Return the way to ask the daemon that the ``docker`` program would talk to."""
        if self._daemon is None:
            endpoint = find_endpoint(self._processes, self._environ)
            endpoint.knock()
            if endpoint.suits_sdk(self._environ):
                from builder.adapters.docker_sdk import DaemonBySdk  # noqa: PLC0415 - slow; podman's users never need it

                self._daemon = DaemonBySdk(endpoint, self._processes)
            else:
                self._daemon = DaemonByProgram(self._processes)
        return self._daemon

    def _ask(self, question: Callable[[Daemon], T], what: str) -> T:
        try:
            return question(self._reach())
        except DaemonRefusedError as refused:
            raise self._refusal(what, refused.said, refused.argv) from refused

    def _info(self) -> Mapping[str, Any]:
        return self._reach().info()

    def _state(self) -> tuple[HostBlockedError | None, str]:
        """Return why the daemon does not answer, ``None`` when it does, and the folder it keeps its images in."""
        try:
            return None, str(self._info().get("DockerRootDir", ""))
        except HostBlockedError as error:
            return error, ""

    def _keeps_manifests(self) -> bool:
        """Whether this is Docker's containerd image store, which names images by manifest."""
        if self._containerd is None:
            status = self._info().get("DriverStatus") or ()
            self._containerd = any("io.containerd.snapshotter" in str(value) for _, value in status)
        return self._containerd

    def _read_saved(self, target: Digest, platform: Platform) -> tuple[Digest, Digest]:
        """Return the digests of manifest and config, read out of the saved image: slow, and kept."""
        script = str(Path(saved_image.__file__))
        argv = ["sh", "-c", _SAVE, "sh", str(target), sys.executable, script, str(target), str(platform)]
        done = self._processes.run(argv, env=ENV, seconds=_PULL_SECONDS)
        found = parsed(done.stdout, "docker image save") if done.stdout.strip() else None
        if not found:
            raise self._failure(done, f"docker's image {str(target)!r} has no manifest for {platform}")
        digests = (Digest.parse(found[0]), Digest.parse(found[1]))
        self._ids.add(*digests, target=target)
        return digests

    def _unpacked_size(self, target: Digest) -> int:
        """Return the bytes of all layers, unpacked; the containerd store itself names the packed size."""
        return sum(self._ask(lambda daemon: daemon.layer_sizes(str(target)), f"docker could not look at {str(target)!r}"))

    def _sweep_once(self) -> None:
        """End and remove what killed processes of ours left: containers, builds, folders."""
        with self._lock:
            if self._swept:
                return
            self._swept = True
        argv = ["docker", "ps", "--all", "--filter", f"name={PREFIX}", "--format", "{{.Names}}"]
        with contextlib.suppress(ImgbuildError):
            names = self._processes.run(argv, env=ENV, seconds=SECONDS).stdout.split()
            self._remove_containers([name for name in names if left_behind(name)])
        end_orphans("docker")
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            if left_behind(folder.name):
                shutil.rmtree(folder, ignore_errors=True)

    def _remove_containers(self, names: Sequence[str]) -> None:
        for name in names:
            with contextlib.suppress(ImgbuildError):
                self._cleanup.run(["docker", "rm", "--force", "--volumes", name], env=ENV, seconds=_TIDY_SECONDS)

    def _failure(self, done: Completed, what: str) -> ImgbuildError:
        """Return the error for a program that should not have failed."""
        said = error_text(done.stderr) or last_line(done.stderr) or f"it ended with code {done.code}"
        return self._state()[0] or self._refusal(what, said, done.argv)

    def _refusal(self, what: str, said: str, argv: Sequence[str]) -> ImgbuildError:
        """Return the error for something that the daemon, which answers, did not do."""
        if is_disk_full(said):
            return disk_full(self.name, self._state()[1], said)
        return ProgramError(f"{what}: {said}", hint=by_hand(argv))


class _KnownIds:
    """Manifest and config digests of images, kept in the user's cache: Docker forgets the second."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folder = cache_root(environ) / "image-ids"
        self._known: dict[Digest, tuple[Digest, Digest]] = {}

    def get(self, target: Digest) -> tuple[Digest, Digest] | None:
        """Return manifest and config of what Docker calls ``target``."""
        if target not in self._known:
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                found = json.loads((self._folder / target.encoded).read_text(encoding="utf-8"))
                self._known[target] = (Digest.parse(found[0]), Digest.parse(found[1]))
        return self._known.get(target)

    def add(self, manifest: Digest, config: Digest, *, target: Digest | None = None) -> None:
        """Keep them; a cache that cannot be written is no error."""
        name = target if target is not None else manifest
        self._known[name] = (manifest, config)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            draft = self._folder / f".{new_name()}"
            draft.write_text(json.dumps([str(manifest), str(config)]), encoding="utf-8")
            draft.replace(self._folder / name.encoded)


def _run_arguments(request: RunRequest) -> list[str]:
    env = [part for name, value in request.env.items() for part in ("--env", f"{name}={value}")]
    return [
        *("--rm", "--interactive", "--pull", "never", "--sig-proxy=false", "--entrypoint", ""),
        *(() if request.network else ("--network", "none")),
        *env,
        *(("--user", request.user) if request.user is not None else ()),
        *request.options,
    ]


def _require(program: str, text: str, minimum: Version) -> None:
    version = buildx.version_in(text)
    if version is None:
        msg = f"{program} names a version that is not understood: {text!r}"
        raise ProgramError(msg, hint="run 'docker version' and 'docker buildx version' by hand")
    if version < minimum:
        msg = f"{program} is {text}, {minimum} or newer is needed"
        raise HostBlockedError(msg, hint=f"install a newer {program}, or use --engine podman")


def _refuse_mirrors(request: BuildRequest) -> None:
    if request.mirrors:
        msg = f"docker cannot be given the mirrors of a matrix yet: {', '.join(map(repr, sorted(request.mirrors)))}"
        raise UsageError(msg, hint="configure them in the builder (buildkitd.toml), and take 'mirrors' out of the matrix")
