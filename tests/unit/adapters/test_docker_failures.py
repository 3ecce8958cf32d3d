"""What docker writes when a build fails, as it wrote it, and the error a user gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.adapters import buildx
from builder.adapters.docker_daemon import error_text
from builder.adapters.engine_failures import Log
from builder.errors import BuildFailedError, HostBlockedError, ImgbuildError, MismatchError, UnreachableError
from builder.model.build import BuildRequest, Completed
from builder.model.oci import LINUX_AMD64, Digest

REQUEST = BuildRequest(
    variant="v",
    context=Path("/context"),
    tag="t",
    platform=LINUX_AMD64,
    seconds=9,
    log=Path("logs/v.log"),
    labels={"b": "2", "a": "1"},
)
FAILED_STEP = """\
#5 [2/2] RUN echo one &&   false
#5 0.067 one
#5 ERROR: process "/bin/sh -c echo one &&   false" did not complete successfully: exit code: 1
------
 > [2/2] RUN echo one &&   false:
0.067 one
------
Dockerfile:3
--------------------
   2 |     ADD rootfs.tar /
   3 | >>> RUN echo one && \\
   4 | >>>   false
--------------------
ERROR: failed to solve: process "/bin/sh -c echo one &&   false" did not complete successfully: exit code: 1
"""
STAGED = FAILED_STEP.replace("[2/2]", "[python 3/7]")
SOLVE = "ERROR: failed to solve: {0}: failed to resolve source metadata for {0}: {1}\n"
NO_SPACE = "ERROR: failed to solve: failed to copy: failed to send write: write /var/lib/x: no space left on device\n"


def failed(stderr: str, *, gone: HostBlockedError | None = None, timed_out: bool = False) -> ImgbuildError:
    log = Log(None)
    for line in stderr.splitlines():
        log(line)
    done = Completed(argv=("docker",), code=1, stdout="", stderr=stderr, seconds=1.0, timed_out=timed_out)
    return buildx.build_error(REQUEST, done, log, root="/var/lib/docker", gone=gone)


@pytest.mark.parametrize("text", [FAILED_STEP, STAGED])
def test_a_failed_step_is_named_with_its_exit_code_and_the_log(text: str) -> None:
    error = failed(text)
    assert isinstance(error, BuildFailedError)
    assert error.message == "v did not build: it ended with code 1, and its last line was 'one' (step RUN echo one && false)"
    assert error.hint == "the whole log is in 'logs/v.log'"
    assert "#5 0.067 one" in error.details
    assert "" not in error.details


@pytest.mark.parametrize(
    ("base", "why", "kind", "message"),
    [
        ("127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b:1: not found", MismatchError, "the base of v is not in its registry"),
        (
            "a/b:1",
            "pull access denied, repository does not exist or may require authorization",
            MismatchError,
            "is not in its registry",
        ),
        ("nvcr.io/a:1", "no match for platform in manifest: not found", MismatchError, "is not in its registry"),
        (
            "nvcr.io/a:1",
            "unexpected status from HEAD request to https://nvcr.io/v2/a: 401 Unauthorized",
            UnreachableError,
            "does not let us read",
        ),
        (
            "nosuch.example/a:1",
            'failed to do request: Head "https://nosuch.example/v2/": no such host',
            UnreachableError,
            "could not be asked",
        ),
        ("r.example/a:1", "unexpected status from HEAD request: 503 Service Unavailable", UnreachableError, "could not be asked"),
        ("r.example/a:1", 'failed to do request: Head "https://r.example/v2/": EOF', UnreachableError, "could not be asked"),
        ("r.example/a:1", "something nobody has seen before", UnreachableError, "could not be asked"),
    ],
)
def test_a_base_that_cannot_be_had_says_why(base: str, why: str, kind: type[ImgbuildError], message: str) -> None:
    error = failed(SOLVE.format(base, why))
    assert type(error) is kind
    assert message in error.message
    assert error.hint


def test_a_full_disk_blocks_the_host_and_names_the_folder() -> None:
    error = failed(NO_SPACE)
    assert isinstance(error, HostBlockedError)
    assert error.message.startswith("the disk that docker keeps its images on ('/var/lib/docker') is full")
    inside = FAILED_STEP.replace("#5 0.067 one", "#5 0.067 tar: write error: No space left on device")
    assert isinstance(failed(inside), HostBlockedError)


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: failed to receive status: rpc error: code = Unavailable desc = error reading from server: EOF\n",
        "ERROR: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n",
        "ERROR: failed to build: failed to receive status: rpc error: code = Unavailable desc = closing transport\n",
    ],
)
def test_a_daemon_that_goes_away_blocks_the_host(text: str) -> None:
    error = failed(text)
    assert isinstance(error, HostBlockedError)
    assert error.message.startswith("docker stopped answering while it built v")


def test_a_daemon_that_does_not_answer_afterwards_explains_any_failure() -> None:
    error = failed(FAILED_STEP, gone=HostBlockedError("docker does not answer: 'nothing within a minute'"))
    assert isinstance(error, HostBlockedError)
    assert "docker does not answer" in error.message


def test_a_host_that_cannot_run_containers_is_blocked() -> None:
    text = (
        'ERROR: failed to solve: process "/bin/sh -c true" did not complete successfully: runc create failed: '
        "unable to start container process: error setting rlimit type 7: operation not permitted\n"
    )
    error = failed(text)
    assert isinstance(error, HostBlockedError)
    assert error.message.startswith("docker cannot run containers on this host: 'runc create failed")


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: failed to solve: dockerfile parse error on line 3: unknown instruction: BADCMD\n",
        "ERROR: failed to solve: no build stage in current context\n",
    ],
)
def test_other_failures_are_said_as_docker_said_them(text: str) -> None:
    error = failed(text)
    assert isinstance(error, BuildFailedError)
    assert error.message == "v did not build: " + text.strip().removeprefix("ERROR: failed to solve: ")
    assert error.hint == "the whole log is in 'logs/v.log'"


def test_a_time_limit_names_the_setting() -> None:
    error = failed("#5 CANCELED\n", timed_out=True)
    assert error.message == "v did not build within 9 seconds and was ended"
    assert "'seconds' under 'limits'" in (error.hint or "")


@pytest.mark.parametrize(
    ("stderr", "text"),
    [
        ("docker: Error response from daemon: No such image: x:1.\nSee 'docker run --help'.\n", "No such image: x:1."),
        ("noise\nError response from daemon: manifest unknown\n", "manifest unknown"),
        ("the program's own words\n", ""),
        ("", ""),
    ],
)
def test_dockers_own_message_is_found(stderr: str, text: str) -> None:
    assert error_text(stderr) == text


def test_one_call_builds_one_image_without_network_and_attestations() -> None:
    argv = buildx.arguments(REQUEST, Path("/m.json"))
    assert argv == [
        *("docker", "buildx", "build", "--progress", "plain", "--platform", "linux/amd64"),
        *("--provenance=false", "--sbom=false", "--load", "--network", "none"),
        *("--metadata-file", "/m.json", "--tag", "t", "--label", "a=1", "--label", "b=2"),
        *("--file", "/context/Dockerfile", "/context"),
    ]


def test_the_metadata_of_a_build_names_manifest_and_config(tmp_path: Path) -> None:
    manifest, config = Digest("sha256", "a" * 64), Digest("sha256", "b" * 64)
    path = tmp_path / "m.json"
    path.write_text(f'{{"containerimage.digest": "{manifest}", "containerimage.config.digest": "{config}"}}')
    assert buildx.built_digests(path) == (manifest, config)
    path.write_text(f'{{"containerimage.digest": "{config}", "containerimage.config.digest": "{config}"}}')
    assert buildx.built_digests(path) is None
    path.write_text("{}")
    assert buildx.built_digests(path) is None
    assert buildx.built_digests(tmp_path / "absent") is None
