"""Fakes of every port: ordinary classes that tests script. ``conforms`` at the end is checked by mypy."""

from __future__ import annotations

import hashlib
import json
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from builder import ports
from builder.adapters.engine_failures import Log, step_failure
from builder.errors import (
    BuildFailedError,
    HostBlockedError,
    InterruptedRunError,
    MismatchError,
    ProgramError,
    UnreachableError,
    UnsatisfiableError,
    UsageError,
)
from builder.model.build import BuildRequest, Completed, ImageInfo, RunRequest
from builder.model.event import Event
from builder.model.lock import Installed, LockedBase, LockedDeb, LockedPackage
from builder.model.oci import Digest, ImageReference, Platform
from builder.model.plan import Base, DistributionRelease, Index


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a scripted program does: ends as told, or hangs until its time limit or a stop."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
    hangs: bool = False


def digest_of(*parts: object) -> Digest:
    """A digest that stands for these parts."""
    return Digest("sha256", hashlib.sha256(repr(parts).encode()).hexdigest())


class FakeProcesses:
    """A process runner whose programs are scripted: the longest argv prefix that is known answers."""

    def __init__(
        self, programs: Mapping[tuple[str, ...], Answer | Callable[[Sequence[str], bytes], Answer]] | None = None
    ) -> None:
        self.programs = dict(programs or {})
        self.calls: list[tuple[str, ...]] = []
        self.stopped = threading.Event()

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: bytes | None = None,
        seconds: float | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> Completed:
        if self.stopped.is_set():
            raise self.interrupted()
        self.calls.append(tuple(argv))
        known = [prefix for prefix in self.programs if tuple(argv[: len(prefix)]) == prefix]
        if not known:
            msg = f"the program {argv[0]!r} was not found"
            raise ProgramError(msg, hint=f"script it: {shlex.join(argv)}")
        program = self.programs[max(known, key=len)]
        return self.play(program if isinstance(program, Answer) else program(argv, stdin or b""), argv, seconds, on_line)

    def play(
        self, answer: Answer, argv: Sequence[str], seconds: float | None, on_line: Callable[[str], None] | None
    ) -> Completed:
        """Do what an answer says."""
        for line in (answer.stdout + answer.stderr).splitlines():
            if on_line is not None:
                on_line(line)
        done = Completed(argv=tuple(argv), code=answer.code, stdout=answer.stdout, stderr=answer.stderr, seconds=0.0)
        if not answer.hangs:
            return done
        if seconds is None:
            self.stopped.wait()
        if self.stopped.is_set():
            raise self.interrupted()
        return replace(done, code=-15, seconds=seconds or 0.0, timed_out=True)

    def stop(self) -> None:
        self.stopped.set()

    @property
    def stopping(self) -> bool:
        return self.stopped.is_set()

    @staticmethod
    def interrupted() -> InterruptedRunError:
        return InterruptedRunError("interrupted", hint="run the same command again to go on")


class FakeEngine:
    """An engine that reads Dockerfiles and keeps images in a dict.

    ``steps`` says what a ``RUN`` line does (nothing, by default), ``programs`` what argv does in
    a container (not found, by default), ``registry`` what ``pull`` and ``FROM`` may find.
    """

    name = "podman"

    def __init__(self, processes: FakeProcesses | None = None) -> None:
        self.processes = processes or FakeProcesses()
        self.steps: dict[str, Answer] = {}
        self.programs: dict[tuple[str, ...], Answer | Callable[[RunRequest], Answer]] = {}
        self.registry: dict[str, ImageInfo] = {}
        self.unreachable: set[str] = set()
        self.images: dict[str, ImageInfo] = {}
        self.builds: list[BuildRequest] = []
        self.runs: list[RunRequest] = []
        self.down = False

    def version(self) -> str:
        if self.down:
            msg = "the engine does not answer"
            raise HostBlockedError(msg, hint="start it")
        return "9.9.9"

    def build(self, request: BuildRequest, *, on_line: Callable[[str], None]) -> ImageInfo:
        self.version()
        if self.processes.stopped.is_set():
            raise self.processes.interrupted()
        if request.mirrors:
            msg = f"this engine cannot be given mirrors: {', '.join(map(repr, sorted(request.mirrors)))}"
            raise UsageError(msg, hint="take 'mirrors' out of the matrix")
        self.builds.append(request)
        info = ImageInfo(image_id=digest_of(request.tag), digest=None, size=0, platform=request.platform)
        stages: dict[str, ImageInfo] = {}
        stage = ""
        for word, rest in _instructions(request.context / "Dockerfile"):
            on_line(f"STEP {word} {rest}")
            if word == "FROM":
                stages[stage] = info
                source, _, stage = rest.partition(" AS ")
                info = stages[source] if source in stages else self._step(info, word, source, request, on_line)
            else:
                info = self._step(info, word, rest, request, on_line)
        content = (request.context / "Dockerfile").read_bytes(), sorted(request.labels.items()), str(request.platform)
        info = replace(
            info, image_id=digest_of(content), digest=digest_of("manifest", content), labels={**info.labels, **request.labels}
        )
        self.images[request.tag] = info
        return info

    def _step(self, info: ImageInfo, word: str, rest: str, request: BuildRequest, on_line: Callable[[str], None]) -> ImageInfo:
        first = next(part for part in rest.split() if not part.startswith("--"))
        if word == "RUN":
            self._run_step(rest, request, on_line)
        elif word == "FROM" and first != "scratch":
            info = self._find(first, f"the base of {request.variant}")
        elif word in {"ADD", "COPY"}:
            info = replace(info, size=info.size + (request.context / first).stat().st_size)
        return _configured(info, word, rest)

    def _run_step(self, step: str, request: BuildRequest, on_line: Callable[[str], None]) -> None:
        answer = self.steps.get(step, Answer())
        log = Log(on_line)
        done = self.processes.play(answer, ["RUN", step], request.seconds, log)
        if done.timed_out:
            msg = f"{request.variant} did not build within {request.seconds} seconds and was ended"
            raise BuildFailedError(msg, hint="raise 'seconds' under 'limits' in the matrix")
        if done.code:
            raise step_failure(request, f"RUN {step}", f"exit code: {done.code}", tuple(log.lines), log)

    def inspect(self, reference: str) -> ImageInfo | None:
        return self.images.get(reference)

    def pull(self, reference: ImageReference, platform: Platform, *, on_line: Callable[[str], None]) -> ImageInfo:
        on_line(f"pulling {reference}")
        self.images[str(reference)] = self._find(str(reference), repr(str(reference)))
        return self.images[str(reference)]

    def _find(self, reference: str, what: str) -> ImageInfo:
        if reference.partition("/")[0] in self.unreachable:
            msg = f"the registry could not be asked for {what}"
            raise UnreachableError(msg, hint="check the network")
        found = self.images.get(reference) or self.registry.get(reference)
        if found is None:
            msg = f"{what} is not in its registry"
            raise MismatchError(msg, hint="check name, tag and digest")
        return found

    def import_rootfs(self, tar: Path, tag: str, platform: Platform) -> ImageInfo:
        content = hashlib.sha256(tar.read_bytes()).hexdigest()
        self.images[tag] = ImageInfo(
            image_id=digest_of(content), digest=digest_of("manifest", content), size=tar.stat().st_size, platform=platform
        )
        return self.images[tag]

    def run(self, request: RunRequest, *, on_line: Callable[[str], None] | None = None) -> Completed:
        self.version()
        if request.image not in self.images:
            msg = f"there is no image {request.image!r}"
            raise MismatchError(msg, hint="build it first")
        self.runs.append(request)
        program = self.programs.get(request.argv, Answer(code=127, stderr="executable file not found"))
        answer = program if isinstance(program, Answer) else program(request)
        return self.processes.play(answer, request.argv, request.seconds, on_line)

    def remove(self, reference: str) -> None:
        self.images.pop(reference, None)


def _configured(info: ImageInfo, word: str, rest: str) -> ImageInfo:
    """Return the image with what one instruction says about its config."""
    match word:
        case "ENV":
            info = replace(info, env={**info.env, **dict(part.split("=", 1) for part in shlex.split(rest))})
        case "LABEL":
            info = replace(info, labels={**info.labels, **dict(part.split("=", 1) for part in shlex.split(rest))})
        case "USER":
            info = replace(info, user=rest)
        case "WORKDIR":
            info = replace(info, workdir=rest)
        case "ENTRYPOINT":
            info = replace(info, entrypoint=tuple(json.loads(rest)))
    return info


def _instructions(dockerfile: Path) -> Iterator[tuple[str, str]]:
    text = dockerfile.read_text(encoding="utf-8").replace("\\\n", "")
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            word, _, rest = line.strip().partition(" ")
            yield word.upper(), rest.strip()


@dataclass(frozen=True, kw_only=True)
class FakeResolvedImage:
    """A reference as a registry answers it."""

    digest: Digest
    config_digest: Digest
    index_digest: Digest | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    size: int = 0


class FakeRegistry:
    """A registry that knows what it is given, by reference; ``unreachable`` holds registries that do not answer."""

    def __init__(self, images: Mapping[str, FakeResolvedImage] | None = None, *, unreachable: Sequence[str] = ()) -> None:
        self.images = dict(images or {})
        self.unreachable = set(unreachable)
        self.asked: list[str] = []

    def resolve(self, reference: ImageReference, platform: Platform) -> FakeResolvedImage | None:
        self.asked.append(str(reference))
        if reference.registry in self.unreachable:
            msg = f"the registry {reference.registry!r} could not be asked"
            raise UnreachableError(msg, hint="check the network")
        return self.images.get(str(reference))


class FakePackageIndex:
    """An index whose files are already on disk, by file name."""

    def __init__(self, files: Mapping[str, Path] | None = None) -> None:
        self.files = dict(files or {})
        self.fetched: list[str] = []

    def fetch(
        self, package: LockedPackage, indexes: Sequence[Index], *, on_progress: Callable[[int], None] | None = None
    ) -> Path:
        self.fetched.append(package.file)
        path = self.files.get(package.file)
        if path is None:
            msg = f"the index {package.index!r} no longer has {package.file!r}"
            raise MismatchError(msg, hint="run imgbuild matrix lock --update")
        data = path.read_bytes()
        if on_progress is not None:
            on_progress(len(data))
        if hashlib.sha256(data).hexdigest() != package.sha256:
            msg = f"{package.file!r} is not the file that the lock names"
            raise MismatchError(msg, hint="run imgbuild matrix lock --update")
        return path


class FakeResolver:
    """A resolver that knows the answer for a set of requirements."""

    def __init__(self, answers: Mapping[tuple[str, ...], tuple[LockedPackage, ...]] | None = None) -> None:
        self.answers = dict(answers or {})
        self.asked: list[tuple[str, ...]] = []

    def resolve(
        self,
        requirements: Sequence[str],
        *,
        python: str,
        platform: Platform,
        glibc: str | None,
        indexes: Sequence[Index],
        installed: Sequence[Installed],
    ) -> tuple[LockedPackage, ...]:
        self.asked.append(tuple(requirements))
        found = self.answers.get(tuple(requirements))
        if found is None:
            msg = f"nothing satisfies {', '.join(requirements)} for Python {python} on {platform}"
            raise UnsatisfiableError(msg, hint="ask for other versions")
        here = {each.name for each in installed}
        return tuple(sorted((each for each in found if each.name not in here), key=lambda each: each.name))


class FakeDebianArchive:
    """An archive with one answer for every question; ``why_not`` is why nothing can be assembled here."""

    def __init__(self, debs: Sequence[LockedDeb] = (), rootfs: Path | None = None, *, why_not: str | None = None) -> None:
        self.debs = tuple(debs)
        self.rootfs = rootfs
        self.why_not = why_not

    def available(self, distribution: DistributionRelease, platform: Platform) -> str | None:
        return self.why_not

    def resolve(self, distribution: DistributionRelease, platform: Platform, packages: Sequence[str]) -> tuple[LockedDeb, ...]:
        return tuple(sorted(self.debs, key=lambda deb: deb.name))

    def assemble(self, distribution: DistributionRelease, debs: Sequence[LockedDeb]) -> tuple[Path, str]:
        if self.rootfs is None:
            msg = "a package is gone from the archive"
            raise MismatchError(msg, hint="run imgbuild matrix lock --update")
        return self.rootfs, hashlib.sha256(self.rootfs.read_bytes()).hexdigest()


class FakeBaseReader:
    """A reader that knows bases by reference."""

    def __init__(self, bases: Mapping[str, LockedBase] | None = None, debs: Sequence[LockedDeb] = ()) -> None:
        self.bases = dict(bases or {})
        self.debs = tuple(debs)

    def read(self, base: Base, platform: Platform, *, apt: tuple[str, ...]) -> LockedBase:
        found = self.bases.get(str(base.reference))
        if found is None:
            msg = f"there is no image {str(base.reference)!r} for {platform}"
            raise UnsatisfiableError(msg, hint="check the name")
        return found

    def resolve_apt(self, base: LockedBase, packages: tuple[str, ...]) -> tuple[LockedDeb, ...]:
        return tuple(deb for deb in self.debs if deb.name in packages)


class FakeClock:
    """A clock that a test moves."""

    def __init__(self, now: str = "2026-12-01T12:00:00Z") -> None:
        self.time = now
        self.seconds = 0.0

    def now(self) -> str:
        return self.time

    def monotonic(self) -> float:
        self.seconds += 1.0
        return self.seconds


class RecordingReporter:
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def report(self, event: Event) -> None:
        self.events.append(event)


def conforms() -> None:
    """Hold every fake to its port; mypy checks the assignments."""
    _processes: ports.ProcessRunner = FakeProcesses()
    _engine: ports.Engine = FakeEngine()
    _image: ports.ResolvedImage = FakeResolvedImage(digest=digest_of(1), config_digest=digest_of(2))
    _registry: ports.Registry = FakeRegistry()
    _index: ports.PackageIndex = FakePackageIndex()
    _resolver: ports.Resolver = FakeResolver()
    _archive: ports.DebianArchive = FakeDebianArchive()
    _reader: ports.BaseReader = FakeBaseReader()
    _clock: ports.Clock = FakeClock()
    _reporter: ports.Reporter = RecordingReporter()
