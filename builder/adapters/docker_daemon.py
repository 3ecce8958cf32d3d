"""What the Docker daemon is asked about itself and about images, and the ``docker`` program as one way to ask it.

The other way is the SDK (``docker_sdk``), several times faster; the program is asked where only
that reaches the daemon (``docker_endpoint``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from builder.adapters.image_json import first_object, parsed
from builder.errors import HostBlockedError
from builder.model.build import Completed
from builder.ports import ProcessRunner

ENV: Mapping[str, str] = MappingProxyType({"BUILDX_NO_DEFAULT_ATTESTATIONS": "1", "DOCKER_CLI_HINTS": "false", "NO_COLOR": "1"})
"""What every docker program of ours runs with."""
SECONDS = 60
"""How long a daemon may take for an answer."""
SILENT = "nothing within a minute"
_RIGHTS = "give yourself the right to use it (membership of its group, mostly 'docker'), or use --engine podman"
_START = "start the Docker daemon, check DOCKER_HOST, or use --engine podman"


class DaemonRefusedError(Exception):
    """The daemon answered and refused: ``said`` is why, ``argv`` the program's command that asks the same."""

    def __init__(self, said: str, argv: Sequence[str]) -> None:
        super().__init__(said)
        self.said = said
        self.argv = tuple(argv)


class Daemon(Protocol):
    """The daemon: ``HostBlockedError`` when it does not answer a question, ``DaemonRefusedError`` when it refuses one."""

    def info(self) -> Mapping[str, Any]:
        """Return what it says about itself, ``ServerVersion`` among it."""
        ...

    def image(self, reference: str) -> Mapping[str, Any] | None:
        """Return what it says about an image, ``None`` when it has none of that name."""
        ...

    def layer_sizes(self, reference: str) -> Sequence[int]:
        """Return the unpacked bytes of each layer."""
        ...

    def remove_image(self, reference: str) -> None:
        """Remove a tag or image; no error when it is not there."""
        ...


class DaemonByProgram:
    """The daemon that the ``docker`` program reaches."""

    def __init__(self, processes: ProcessRunner) -> None:
        self._processes = processes

    def info(self) -> Mapping[str, Any]:
        """Return what it says about itself."""
        done = self._run("info", "--format", "{{json .}}")
        found = parsed(done.stdout, "docker info") if done.stdout.strip().startswith("{") else {}
        errors: Sequence[str] = found.get("ServerErrors") or ()
        if done.timed_out or errors or not found.get("ServerVersion"):
            raise not_answering(SILENT if done.timed_out else "; ".join(errors) or last_line(done.stderr))
        return dict(found)

    def image(self, reference: str) -> Mapping[str, Any] | None:
        """Return what it says about an image."""
        done = self._run("image", "inspect", reference)
        if done.code == 0:
            return first_object(done.stdout, "docker image inspect")
        self._refuse_failure(done)
        return None

    def layer_sizes(self, reference: str) -> Sequence[int]:
        """Return the unpacked bytes of each layer."""
        done = self._run("history", "--human=false", "--format", "{{.Size}}", reference)
        return [int(word) for word in done.stdout.split() if word.isdecimal()]

    def remove_image(self, reference: str) -> None:
        """Remove a tag or image."""
        done = self._run("image", "rm", reference)
        if done.code != 0:
            self._refuse_failure(done)

    def _run(self, *words: str) -> Completed:
        return self._processes.run(["docker", *words], env=ENV, seconds=SECONDS)

    def _refuse_failure(self, done: Completed) -> None:
        """Raise, unless it failed because there is no such image."""
        if not says_absent(done.stderr):
            self.info()
            raise DaemonRefusedError(error_text(done.stderr) or last_line(done.stderr) or f"code {done.code}", done.argv)


def not_answering(said: str, *, hint: str = _START) -> HostBlockedError:
    """Return the error for a daemon that does not answer; ``said`` is what came instead."""
    return HostBlockedError(f"docker does not answer: {said!r}", hint=hint)


def not_reached(host: str, error: OSError) -> HostBlockedError:
    """Return the error for an address that cannot be connected to."""
    why = "nothing in time" if isinstance(error, TimeoutError) else str(error.strerror or error).lower()
    hint = _RIGHTS if isinstance(error, PermissionError) else _START
    return not_answering(f"{host}: {why}", hint=hint)


def says_absent(text: str) -> bool:
    """Return whether a message of docker's says that it has no such image."""
    return "no such image" in text.lower()


def last_line(text: str) -> str:
    """Return the last line of a text, its end when it is long."""
    lines = text.strip().splitlines()
    return lines[-1].strip()[-300:] if lines else ""


def error_text(stderr: str) -> str:
    """Return docker's own message: what follows the last ``ERROR:`` or ``docker:`` at the start of a line."""
    at = max(
        f"\n{stderr}".rfind(f"\n{word}") for word in ("ERROR: ", "docker: ", "Error response from daemon: ", "Cannot connect")
    )
    if at < 0:
        return ""
    text = stderr[at:].strip()
    for word in ("ERROR: ", "docker: ", "Error response from daemon: ", "failed to solve: "):
        text = text.removeprefix(word)
    return text.partition("\nSee 'docker")[0].strip()
