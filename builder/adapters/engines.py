"""Which engine builds and runs here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from builder.adapters.docker_engine import DockerEngine
from builder.adapters.podman import PodmanEngine
from builder.errors import HostBlockedError, ImgbuildError, InterruptedRunError, UsageError
from builder.model.matrix import EngineName
from builder.ports import Engine, ProcessRunner

_GET = (
    "start Docker (with buildx), or install podman: 'apt-get install podman' on Debian and Ubuntu, 'dnf install podman' on"
    " Fedora and RHEL"
)


def find_engine(wanted: EngineName, processes: ProcessRunner, environ: Mapping[str, str]) -> Engine:
    """Return the engine that was asked for, once it has answered.

    ``AUTO`` is Docker with buildx when it answers, else podman. ``HostBlockedError`` says what each
    candidate said; ``UsageError`` for an engine that is not built yet.
    """
    candidates: tuple[Engine, ...]
    match wanted:
        case EngineName.DOCKER:
            candidates = (DockerEngine(processes, environ=environ),)
        case EngineName.PODMAN:
            candidates = (PodmanEngine(processes, environ=environ),)
        case EngineName.AUTO:
            candidates = (DockerEngine(processes, environ=environ), PodmanEngine(processes, environ=environ))
        case EngineName.GRAFT:
            msg = "the engine 'graft' is not built yet"
            raise UsageError(msg, hint="use --engine docker, podman or auto")
        case _:
            assert_never(wanted)
    return _first_that_answers(candidates)


def _first_that_answers(candidates: tuple[Engine, ...]) -> Engine:
    """Return the first engine that answers; the error of the only one, or one error that tells what each said."""
    errors: list[ImgbuildError] = []
    for candidate in candidates:
        try:
            candidate.version()
        except InterruptedRunError:
            raise
        except ImgbuildError as error:
            errors.append(error)
        else:
            return candidate
    if len(errors) == 1:
        raise errors[0]
    podman = errors[-1]
    hint = podman.hint if isinstance(podman, HostBlockedError) else _GET  # what is there is mended, not installed
    msg = "no container engine answers here, and images are built and run by one"
    raise HostBlockedError(msg, hint=hint, details=tuple(error.message for error in errors))
