"""What ``docker buildx build`` is told, and what its failures mean."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from packaging.version import Version

from builder.adapters.docker_daemon import error_text
from builder.adapters.engine_failures import Log, cannot_run, disk_full, registry_failure, step_failure, too_slow
from builder.errors import HostBlockedError, ImgbuildError
from builder.model.build import BuildRequest, Completed
from builder.model.oci import Digest

MINIMUM = Version("0.10")
_VERSION = re.compile(r"\bv?(?P<version>[0-9]+\.[0-9]+(?:\.[0-9]+)?)")
_STEP = re.compile(r"^ > \[[^\]]*?[0-9]+/[0-9]+\] (?P<step>.*?):?\s*$", re.MULTILINE)
_FAILED = re.compile(r"#(?P<number>[0-9]+) ERROR: ")
_EXIT = re.compile(r"did not complete successfully: (?P<why>.*)", re.DOTALL)
_BASE = ("failed to resolve source metadata", "failed to authorize", "pull access denied", "failed to copy: httpReadSeeker")
_GONE = re.compile(
    r"cannot connect to the docker daemon|is the docker daemon running|error reading from server|code = unavailable"
    r"|transport is closing|unexpected EOF|context canceled|closing transport",
    re.IGNORECASE,
)


def version_in(text: str) -> Version | None:
    """Return the version in what ``docker buildx version`` or ``docker version`` prints."""
    match = _VERSION.search(text)
    return Version(match["version"]) if match else None


def arguments(request: BuildRequest, metadata: Path) -> list[str]:
    """Return one call that builds one image, without attestations, and loads it into the engine."""
    labels = [part for name, value in sorted(request.labels.items()) for part in ("--label", f"{name}={value}")]
    return [
        *("docker", "buildx", "build", "--progress", "plain", "--platform", str(request.platform)),
        *("--provenance=false", "--sbom=false", "--load"),
        *(() if request.network else ("--network", "none")),
        *("--metadata-file", str(metadata), "--tag", request.tag),
        *labels,
        *("--file", str(request.context / "Dockerfile"), str(request.context)),
    ]


def built_digests(metadata: Path) -> tuple[Digest, Digest] | None:
    """Return the digests of manifest and config that a build reported, ``None`` when it made no manifest."""
    try:
        found = json.loads(metadata.read_text(encoding="utf-8"))
        manifest, config = Digest.parse(found["containerimage.digest"]), Digest.parse(found["containerimage.config.digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if manifest == config else (manifest, config)


def build_error(request: BuildRequest, done: Completed, log: Log, *, root: str, gone: HostBlockedError | None) -> ImgbuildError:
    """Return why a build failed; ``gone`` is what the daemon said when it was asked afterwards, ``root`` its folder."""
    if done.timed_out:
        return too_slow(request, log)
    if gone is not None:
        return stopped_answering(request, str(gone), log)
    if log.disk_full is not None:
        return disk_full("docker", root, log.disk_full, log.end)
    said = error_text(done.stderr) or f"docker ended with code {done.code}"
    exited = _EXIT.search(said)
    found: ImgbuildError | None = cannot_run(said, "docker", log.end)
    if found is None and any(part in said for part in _BASE):
        found = registry_failure(said, f"the base of {request.variant}", "docker", log.end, default=True)
    elif found is None and exited is None and _GONE.search(said):
        found = stopped_answering(request, said, log)
    steps = _STEP.findall(done.stderr)
    ended = exited["why"] if exited else said
    return found or step_failure(request, steps[-1] if steps else "", ended, _written(log.lines), log)


def _written(lines: Iterable[str]) -> list[str]:
    """Return what the step that failed wrote, without BuildKit's number and time before each line."""
    lines = list(lines)
    failed = [match["number"] for line in lines if (match := _FAILED.match(line))]
    own = re.compile(rf"#{failed[-1]} [0-9]+\.[0-9]+ (?P<text>.*)") if failed else None
    return [match["text"] for line in lines if own and (match := own.fullmatch(line))]


def stopped_answering(request: BuildRequest, said: str, log: Log) -> HostBlockedError:
    """Return the error for a daemon that went away while it built."""
    return HostBlockedError(
        f"docker stopped answering while it built {request.variant}: {said!r}",
        hint="start the Docker daemon again, and run the same command again; images that were finished are kept",
        details=log.end,
    )
