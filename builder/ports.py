"""What the product needs of the outside world; adapters satisfy these, tests use fakes.

Errors are those of ``builder.errors``. *Not there* is an answer (``None``); *could not ask* is
``UnreachableError``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from builder.model.build import BuildRequest, Completed, ImageInfo, RunRequest
from builder.model.event import Event
from builder.model.lock import Installed, LockedBase, LockedDeb, LockedPackage
from builder.model.oci import Digest, ImageReference, Platform
from builder.model.plan import Base, DistributionRelease, Index


class ProcessRunner(Protocol):
    """Runs programs; each child is a process group of its own and is ended as one."""

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
        """Run to the end and return how it ended; ``ProgramError`` when the program is missing.

        ``env`` is added to the environment. ``on_line`` gets every line of both streams as it
        comes. Ends the whole group after ``seconds``, and when ``stop`` is called elsewhere
        (then ``InterruptedRunError``).
        """
        ...

    def stop(self) -> None:
        """End every child now, and refuse new ones."""
        ...

    @property
    def stopping(self) -> bool:
        """Whether ``stop`` was called: for what waits without a program."""
        ...


class Engine(Protocol):
    """Builds, keeps and runs images."""

    @property
    def name(self) -> str:
        """``docker`` or ``podman``."""
        ...

    def version(self) -> str:
        """Return the engine's version in words; ``HostBlockedError`` when it does not answer."""
        ...

    def build(self, request: BuildRequest, *, on_line: Callable[[str], None]) -> ImageInfo:
        """Build one image and tag it; ``BuildFailedError`` with the end of the log when it fails."""
        ...

    def inspect(self, reference: str) -> ImageInfo | None:
        """Return an image the engine holds, ``None`` when it holds none of that name."""
        ...

    def pull(self, reference: ImageReference, platform: Platform, *, on_line: Callable[[str], None]) -> ImageInfo:
        """Pull by digest or tag; ``MismatchError`` when it is not there, ``UnreachableError`` when not asked."""
        ...

    def import_rootfs(self, tar: Path, tag: str, platform: Platform) -> ImageInfo:
        """Make a one-layer image of a root file system tar and tag it."""
        ...

    def run(self, request: RunRequest, *, on_line: Callable[[str], None] | None = None) -> Completed:
        """Run one container to its end. A time-out removes the container too."""
        ...

    def remove(self, reference: str) -> None:
        """Remove a tag or image; no error when it is not there."""
        ...


class ResolvedImage(Protocol):
    """A reference as the registry answers it, for one platform."""

    @property
    def digest(self) -> Digest:
        """The platform manifest's digest."""
        ...

    @property
    def index_digest(self) -> Digest | None:
        """The index's digest, where the reference is an index."""
        ...

    @property
    def config_digest(self) -> Digest:
        """The config's digest (image id)."""
        ...

    @property
    def config(self) -> Mapping[str, object]:
        """The image config, parsed JSON."""
        ...

    @property
    def size(self) -> int:
        """Compressed bytes of all layers."""
        ...


class Registry(Protocol):
    """Answers questions about images in registries."""

    def resolve(self, reference: ImageReference, platform: Platform) -> ResolvedImage | None:
        """Return what the reference is now, ``None`` when there is no such image or platform."""
        ...


class PackageIndex(Protocol):
    """Finds and downloads files of Python package indexes; keeps them by hash."""

    def fetch(
        self, package: LockedPackage, indexes: Sequence[Index], *, on_progress: Callable[[int], None] | None = None
    ) -> Path:
        """Return the path of the file in the cache, downloaded and verified.

        ``MismatchError`` when the index no longer has it or its hash differs; ``UnreachableError``
        when the index could not be asked. ``on_progress`` gets the bytes received so far.
        """
        ...


class Resolver(Protocol):
    """Resolves Python requirements for another Python and platform than this one."""

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
        """Return every file to install, sorted by name; those already ``installed`` are left out.

        ``UnsatisfiableError`` with the resolver's own explanation; ``UnreachableError`` when an
        index could not be asked.
        """
        ...


class DebianArchive(Protocol):
    """Resolves and fetches Debian packages for a root file system that is assembled here."""

    def available(self, distribution: DistributionRelease, platform: Platform) -> str | None:
        """Return ``None`` when this host can assemble that distribution, else why it cannot."""
        ...

    def resolve(self, distribution: DistributionRelease, platform: Platform, packages: Sequence[str]) -> tuple[LockedDeb, ...]:
        """Return every package to unpack, dependencies included, sorted by name."""
        ...

    def assemble(self, distribution: DistributionRelease, debs: Sequence[LockedDeb]) -> tuple[Path, str]:
        """Return the root file system tar (kept by the hashes of its packages) and its sha256.

        The same packages always make the same bytes. ``MismatchError`` when a package is gone
        from the archive or its hash differs; ``UnreachableError`` when the archive could not be asked.
        """
        ...


class BaseReader(Protocol):
    """Pins a base and reads the facts inside it."""

    def read(self, base: Base, platform: Platform, *, apt: tuple[str, ...]) -> LockedBase:
        """Return the base as it is now: digests and facts, or for one assembled here its packages with ``apt`` among them.

        On a base from a registry ``apt`` is not used (see ``resolve_apt``). ``UnsatisfiableError``
        when there is no such image, platform or package; ``UnreachableError`` when a registry or
        archive could not be asked.
        """
        ...

    def resolve_apt(self, base: LockedBase, packages: tuple[str, ...]) -> tuple[LockedDeb, ...]:
        """Return every Debian package to add to a registry base, dependencies that it lacks included, sorted by name.

        ``UnsatisfiableError`` when the base's release has no such package, or is not one whose
        archive we can ask; ``UnreachableError`` when the archive could not be asked.
        """
        ...


class Clock(Protocol):
    """The time."""

    def now(self) -> str:
        """Return the time, UTC, ISO 8601 to the second, ending in ``Z``."""
        ...

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        ...


class Reporter(Protocol):
    """Shows what happens; never raises, and may be called from any thread."""

    def report(self, event: Event) -> None:
        """Take one event."""
        ...
