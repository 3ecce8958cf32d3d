"""What an engine is asked to build and run, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from builder.model.oci import Digest, Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedContext:
    """Everything a build reads except large files: path to bytes, ``Dockerfile`` among them.

    ``files`` are the large files it needs beside them (wheels, a root file system), path to sha256.
    ``network`` is whether a step of the build needs one: apt does, nothing else.
    """

    rendered: Mapping[str, bytes]
    files: Mapping[str, str] = field(default_factory=dict)
    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """One image to build: a complete context folder, and the tag the image gets locally.

    ``network`` is whether its ``RUN`` steps may reach a network (podman 4.3 has no ``RUN --network``).
    ``log`` is where the caller keeps what ``on_line`` gets, to be named when the build fails.
    """

    variant: str
    context: Path
    tag: str
    platform: Platform
    labels: Mapping[str, str] = field(default_factory=dict)
    seconds: int | None = None
    mirrors: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    log: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageInfo:
    """An image an engine holds. ``digest`` is the manifest's as the engine has it, ``None`` when it has none."""

    image_id: Digest
    digest: Digest | None
    size: int
    platform: Platform
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    workdir: str = ""
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One container to run to its end: no network unless asked, removed afterwards, entry point replaced.

    ``stdin`` is fed to the process; ``options`` are further engine options (device flags).
    """

    image: str
    argv: tuple[str, ...]
    stdin: bytes = b""
    seconds: float = 300.0
    network: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a process ended. ``code`` is the exit status, negative for a signal; ``timed_out`` when we ended it."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False
