"""One engine on the bench: the fake or a real one, with what a test needs around it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from builder.adapters.docker_engine import DockerEngine
from builder.adapters.podman import PodmanEngine
from builder.adapters.process import LocalProcesses
from builder.model.build import BuildRequest, ImageInfo, RunRequest
from builder.model.oci import LINUX_AMD64, Digest
from builder.ports import Engine
from tests.fakes import Answer, FakeEngine, FakeProcesses, digest_of

FROM_ROOTFS = "FROM scratch\nADD rootfs.tar /\nENV PATH=/bin\n"
HANG = "echo hanging && sleep 987654"
REPOSITORY = "localhost/imgbuild-contract"


class Bench:
    """An engine, its process runner, and helpers that work for the fake and the real ones alike."""

    keeps_manifests = True

    def __init__(self, engine: Engine, processes: LocalProcesses | FakeProcesses, folder: Path, rootfs: Path) -> None:
        self.engine = engine
        self.processes = processes
        self.rootfs = rootfs
        self._folder = folder
        self.tags: list[str] = []
        self.before: set[str] = set()

    def request(self, dockerfile: str, name: str = "image", **more: object) -> BuildRequest:
        """Return a build of this Dockerfile."""
        context = self._folder / name
        context.mkdir(exist_ok=True)
        (context / "Dockerfile").write_text(dockerfile)
        if not (context / "rootfs.tar").exists():
            os.link(self.rootfs, context / "rootfs.tar")
        tag = f"{REPOSITORY}/{self._folder.name.lower()}:{name}"
        self.tags.append(tag)
        return BuildRequest(variant=name, context=context, tag=tag, platform=LINUX_AMD64, **more)  # type: ignore[arg-type]  # passed on

    def built(self, dockerfile: str = FROM_ROOTFS, name: str = "image") -> str:
        """Build an image and return its tag."""
        request = self.request(dockerfile, name)
        self.engine.build(request, on_line=lambda _: None)
        return request.tag

    def left(self) -> set[str]:
        """Return what was not there before the test: containers, working ones included, and steps that hang."""
        return self.present() - self.before

    def present(self) -> set[str]:
        """Return every container the engine has, working ones included, and every hanging step's process."""
        return set()

    def images(self) -> set[str]:
        """Return every image the engine lists, unnamed ones included."""
        return set()

    def clear(self) -> None:
        """Remove what the test built."""

    def put_image(self, name: str) -> tuple[str, Digest, Digest]:
        """Put an image into a registry, by tag ``all`` for two platforms; return its name and two digests.

        The digests are those of its manifest and config for linux/amd64.
        """
        raise NotImplementedError

    def absent(self) -> str:
        """Return a name, by digest, that a registry which answers does not have."""
        raise NotImplementedError


class FakeBench(Bench):
    """The fake, scripted for the programs of the suite."""

    def __init__(self, folder: Path, rootfs: Path) -> None:
        processes = FakeProcesses()
        engine = FakeEngine(processes)
        super().__init__(engine, processes, folder, rootfs)
        self._fake = engine
        engine.unreachable.add("127.0.0.1:1")
        engine.steps = {
            "echo to-the-log && exit 3": Answer(stdout="to-the-log\n", code=3),
            HANG: Answer(stdout="hanging\n", hangs=True),
        }
        engine.programs = {
            ("sh", "-c", "cat; echo err >&2; exit 7"): lambda run: Answer(stdout=run.stdin.decode(), stderr="err\n", code=7),
            ("sh", "-c", HANG): Answer(stdout="hanging\n", hangs=True),
            ("sh", "-c", 'printf "%s" "$GIVEN"'): lambda run: Answer(stdout=run.env["GIVEN"]),
            ("sh", "-c", 'echo "$FROM_REGISTRY"'): lambda run: Answer(
                stdout=engine.images[run.image].env["FROM_REGISTRY"] + "\n"
            ),
            ("sh", "-c", "head -c 20000000 /dev/zero; echo; echo last"): Answer(stdout="\0" * 20_000_000 + "\nlast\n"),
            ("cat", "/proc/net/dev"): lambda run: Answer(stdout="h\nh\n lo: 0\n" + (" eth0: 0\n" if run.network else "")),
            ("id", "-u"): lambda run: Answer(stdout={"app": "1000\n", None: "0\n"}[run.user]),
        }

    def put_image(self, name: str) -> tuple[str, Digest, Digest]:
        manifest, config = digest_of("manifest", name), digest_of("config", name)
        image = ImageInfo(image_id=config, digest=manifest, size=1, platform=LINUX_AMD64, env={"FROM_REGISTRY": "yes"})
        for end in (f"@{manifest}", f":1@{manifest}", ":all"):
            self._fake.registry[f"registry.example/{name}{end}"] = image
        return f"registry.example/{name}", manifest, config

    def absent(self) -> str:
        return f"registry.example/nobody/nothing@{digest_of('nothing')}"


class RealBench(Bench):
    """docker or podman, in the environment that a test gives."""

    def __init__(self, kind: str, environ: Mapping[str, str], folder: Path, rootfs: Path) -> None:
        processes = LocalProcesses(environ=environ)
        made: Mapping[str, type[DockerEngine | PodmanEngine]] = {"podman": PodmanEngine}
        engine = made.get(kind, DockerEngine)(processes, environ=environ)
        super().__init__(engine, processes, folder, rootfs)
        self.environ = dict(environ)
        self.keeps_manifests = kind != "docker-classic"

    def ask(self, *argv: str) -> list[str]:
        """Return the words that the engine's own program prints."""
        command = [self.engine.name, *argv]
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout.split()

    def present(self) -> set[str]:
        external = ("--external",) if self.engine.name == "podman" else ()
        containers = self.ask("ps", "--all", *external, "--format", "{{.Names}}")
        hanging = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _reads(path) == b"sleep\x00987654\x00"]
        return {*containers, *(path.parent.name for path in hanging)}

    def images(self) -> set[str]:
        return set(self.ask("images", "--all", "--quiet"))

    def clear(self) -> None:
        LocalProcesses(environ=self.environ).run([self.engine.name, "image", "rm", "--force", *self.tags], seconds=60)

    def put_image(self, name: str) -> tuple[str, Digest, Digest]:
        from tests.contract.registry import put_image

        address = self.environ["IMGBUILD_LAB_REGISTRY"]
        manifest, config = map(Digest.parse, put_image(address, f"contract/{name}", self.rootfs))
        self.tags += [f"{address}/contract/{name}@{manifest}", f"{address}/contract/{name}:all"]
        return f"{address}/contract/{name}", manifest, config

    def absent(self) -> str:
        return f"{self.environ['IMGBUILD_LAB_REGISTRY']}/nobody/nothing@{digest_of('nothing')}"


def _reads(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def shell(image: str, script: str, **more: object) -> RunRequest:
    """Return a run of a shell script."""
    return RunRequest(image=image, argv=("sh", "-c", script), **more)  # type: ignore[arg-type]  # passed on
