"""What podman writes when it fails, as it wrote it, and the error a user gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builder.adapters.podman import PodmanEngine
from builder.errors import BuildFailedError, HostBlockedError, ImgbuildError, MismatchError, ProgramError, UnreachableError
from builder.model.build import BuildRequest, RunRequest
from builder.model.oci import LINUX_AMD64, ImageReference
from tests.fakes import Answer, FakeProcesses

INFO = Answer(
    stdout=json.dumps(
        {"version": {"Version": "4.3.1"}, "store": {"graphRoot": "/store"}, "host": {"ociRuntime": {"path": "/usr/bin/runc"}}}
    )
)


def engine(tmp_path: Path, *, tool: str, answer: Answer) -> tuple[PodmanEngine, FakeProcesses]:
    processes = FakeProcesses({("podman", "info"): INFO, ("podman", "ps"): Answer(), ("podman", *tool.split()): answer})
    return PodmanEngine(processes, cleanup=processes, environ={"TMPDIR": str(tmp_path)}), processes


def failed(tmp_path: Path, stderr: str, *, code: int = 125) -> ImgbuildError:
    podman, _ = engine(tmp_path, tool="build", answer=Answer(stderr=stderr, code=code))
    request = BuildRequest(variant="v", context=tmp_path, tag="t", platform=LINUX_AMD64, seconds=9)
    with pytest.raises(ImgbuildError) as caught:
        podman.build(request, on_line=lambda _: None)
    return caught.value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            'Error: building at STEP "RUN echo two &&  false": while running runtime: exit status 1',
            "it ended with code 1, and its last line was 'two' (step RUN echo two && false)",
        ),
        (
            'Error: error building at STEP "RUN x": error while running runtime: exit status 2',
            "it ended with code 2, and its last line was 'two' (step RUN x)",
        ),
        (
            'Error: building at STEP "COPY a b": no items matching glob "a" copied',
            'no items matching glob "a" copied (step COPY a b)',
        ),
    ],
)
def test_a_failed_step_is_named(tmp_path: Path, text: str, why: str) -> None:
    error = failed(tmp_path, f"STEP 1/2: FROM scratch\nls: cannot access 'x'\nSTEP 2/2: RUN x\ntwo\n{text}\n")
    assert isinstance(error, BuildFailedError)
    assert error.message == f"v did not build: {why}"
    assert error.details[-2:] == ("two", text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("initializing source docker://r/x:1: reading manifest 1 in r/x: manifest unknown: manifest unknown", MismatchError),
        ("initializing source docker://r/x:1: reading manifest 1 in r/x: name unknown: repository name not known", MismatchError),
        (
            "choosing an image from manifest list docker://r/x:1: no image found in manifest list for architecture arm64",
            MismatchError,
        ),
        (
            "initializing source docker://r/x:1: reading manifest 1 in r/x: unauthorized: authentication required",
            UnreachableError,
        ),
        ('pinging container registry r: Get "https://r/v2/": dial tcp: lookup r: no such host', UnreachableError),
        (
            "initializing source docker://r/x:1: reading manifest: received unexpected HTTP status: 503 Service Unavailable",
            UnreachableError,
        ),
    ],
)
def test_a_base_that_cannot_be_had_says_why(tmp_path: Path, text: str, kind: type[ImgbuildError]) -> None:
    error = failed(tmp_path, f"STEP 1/2: FROM r/x:1\nError: creating build container: {text}\n")
    assert type(error) is kind
    assert "the base of v" in error.message
    assert error.hint


@pytest.mark.parametrize("what", ["connection refused", "manifest unknown", "401"])
def test_what_a_step_prints_is_not_taken_for_podmans_words(tmp_path: Path, what: str) -> None:
    text = f'pip: {what}\nError: building at STEP "RUN pip": while running runtime: exit status 1\n'
    assert type(failed(tmp_path, text, code=1)) is BuildFailedError


@pytest.mark.parametrize(
    "text",
    [
        "netavark: No such file or directory (os error 2)",
        "while running runtime: exit status 1",
    ],
)
def test_a_host_that_cannot_run_containers_is_blocked(tmp_path: Path, text: str) -> None:
    said = (
        "error running container: from /usr/bin/runc creating container for [/bin/sh -c true]: runc create failed: "
        "error setting rlimit type 7: operation not permitted\n"
    )
    error = failed(tmp_path, f'{said}Error: building at STEP "RUN true": {text}\n')
    assert isinstance(error, HostBlockedError)
    assert "podman cannot run containers on this host" in error.message


def test_a_full_disk_names_podmans_folder(tmp_path: Path) -> None:
    error = failed(tmp_path, "Error: committing container: writing blob: write /store/x: no space left on device\n")
    assert isinstance(error, HostBlockedError)
    assert error.message.startswith("the disk that podman keeps its images on ('/store') is full")


COMMIT = (
    "Error: committing container for step {Env:[PATH=/usr/bin:/bin] Command:add Args:[rootfs.tar /] Flags:[] Attrs:map[] "
    "Message:ADD rootfs.tar / Original:ADD rootfs.tar /}: "
)


def test_a_layer_that_finds_no_room_in_the_temporary_folder(tmp_path: Path) -> None:
    ended = 'copying layers and metadata for container "3e43": storing layer "c98d" to file: io: read/write on closed pipe'
    error = failed(tmp_path, f"{COMMIT}{ended}\n")
    assert isinstance(error, HostBlockedError)
    assert "temporary files: 'io: read/write on closed pipe'" in error.message
    assert "make room in TMPDIR" in (error.hint or "")


def test_a_step_that_cannot_be_committed_is_named(tmp_path: Path) -> None:
    error = failed(tmp_path, f"{COMMIT}mounting new container: no such thing\n")
    assert isinstance(error, BuildFailedError)
    assert error.message == "v did not build: mounting new container: no such thing (step ADD rootfs.tar /)"


def test_a_build_is_offline_marked_and_tidied_up(tmp_path: Path) -> None:
    podman, processes = engine(tmp_path, tool="build", answer=Answer(code=1, stderr="Error: nothing known\n"))
    request = BuildRequest(variant="v", context=tmp_path, tag="t", platform=LINUX_AMD64, labels={"b": "2", "a": "1"})
    with pytest.raises(BuildFailedError):
        podman.build(request, on_line=lambda _: None)
    argv = next(call for call in processes.calls if call[:2] == ("podman", "build"))
    assert argv[2:8] == ("--rm", "--force-rm", "--platform", "linux/amd64", "--network", "none")
    assert argv[argv.index("--label") :][:4] == ("--label", "a=1", "--label", "b=2")
    secret = argv[argv.index("--secret") + 1]
    assert secret.startswith("id=imgbuild-")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("imgbuild-")] == []


def test_a_build_may_use_the_network_when_asked(tmp_path: Path) -> None:
    podman, processes = engine(tmp_path, tool="build", answer=Answer(code=1))
    request = BuildRequest(variant="v", context=tmp_path, tag="t", platform=LINUX_AMD64, network=True)
    with pytest.raises(BuildFailedError):
        podman.build(request, on_line=lambda _: None)
    assert all("--network" not in call for call in processes.calls)


def test_working_containers_of_an_ended_build_are_removed_and_no_others(tmp_path: Path) -> None:
    store = tmp_path / "store"
    processes = FakeProcesses({("podman", "ps"): Answer(), ("podman", "rm"): Answer(), ("/run/runc",): Answer()})
    processes.programs["podman", "info"] = Answer(
        stdout=json.dumps(
            {"version": {"Version": "4.3.1"}, "store": {"graphRoot": str(store)}, "host": {"ociRuntime": {"path": "/run/runc"}}}
        )
    )

    def build(argv: object, _stdin: bytes) -> Answer:
        assert isinstance(argv, list)
        name = argv[argv.index("--secret") + 1].partition(",")[0].removeprefix("id=")
        for container, secret in (("mine", name), ("other", f"{name}9")):
            record = store / "overlay-containers" / container / "userdata" / "buildah.json"
            record.parent.mkdir(parents=True)
            record.write_text(json.dumps({"CommonBuildOpts": {"Secrets": [f"id={secret},src=/x"]}}))
        (tmp_path / name / "buildah123").mkdir()
        return Answer(hangs=True)

    processes.programs["podman", "build"] = build
    podman = PodmanEngine(processes, cleanup=processes, environ={"TMPDIR": str(tmp_path)})
    request = BuildRequest(variant="v", context=tmp_path, tag="t", platform=LINUX_AMD64, seconds=1)
    with pytest.raises(BuildFailedError, match="v did not build within 1 seconds"):
        podman.build(request, on_line=lambda _: None)
    assert ("/run/runc", "delete", "--force", "buildah-buildah123") in processes.calls
    removed = [call[-1] for call in processes.calls if call[:2] == ("podman", "rm")]
    assert removed == ["mine"]


def test_inspect_reads_what_podman_says(tmp_path: Path) -> None:
    found = {
        "Id": "b" * 64,
        "Digest": "sha256:" + "d" * 64,
        "Architecture": "arm64",
        "Os": "linux",
        "Size": 12,
        "Config": {"Env": ["A=b=c", "EMPTY="], "Labels": None, "User": "1000"},
    }
    podman, _ = engine(tmp_path, tool="image inspect", answer=Answer(stdout=json.dumps([found])))
    image = podman.inspect("x")
    assert image is not None
    assert (image.image_id.encoded, str(image.digest), image.size) == ("b" * 64, "sha256:" + "d" * 64, 12)
    assert (str(image.platform), image.env, image.labels, image.user) == ("linux/arm64", {"A": "b=c", "EMPTY": ""}, {}, "1000")


def test_absent_is_an_answer_and_unreadable_an_error(tmp_path: Path) -> None:
    podman, _ = engine(
        tmp_path, tool="image inspect", answer=Answer(code=125, stderr="Error: inspecting object: x: image not known\n")
    )
    assert podman.inspect("x") is None
    podman, _ = engine(
        tmp_path, tool="image inspect", answer=Answer(code=125, stderr="Error: open /store/x: permission denied\n")
    )
    with pytest.raises(ProgramError, match="podman could not look at 'x': open /store/x: permission denied"):
        podman.inspect("x")


def test_pull_drops_the_tag_beside_a_digest(tmp_path: Path) -> None:
    digest = "sha256:" + "e" * 64
    refused = Answer(code=125, stderr="Error: reading manifest: manifest unknown\n")
    podman, processes = engine(tmp_path, tool="pull", answer=refused)
    with pytest.raises(MismatchError):
        podman.pull(ImageReference.parse(f"r.example/a:1@{digest}"), LINUX_AMD64, on_line=lambda _: None)
    assert processes.calls[-1] == ("podman", "pull", "--platform", "linux/amd64", f"r.example/a@{digest}")


def test_a_program_may_end_with_podmans_own_code(tmp_path: Path) -> None:
    podman, _ = engine(tmp_path, tool="run", answer=Answer(code=125, stderr="my own words\n"))
    assert podman.run(RunRequest(image="x", argv=("false",))).code == 125


def test_a_container_that_cannot_start_is_a_program_error(tmp_path: Path) -> None:
    podman, _ = engine(tmp_path, tool="run", answer=Answer(code=125, stderr="Error: unknown flag: --frobnicate\n"))
    with pytest.raises(ProgramError, match="podman could not start a container of 'x': unknown flag: --frobnicate"):
        podman.run(RunRequest(image="x", argv=("true",), options=("--frobnicate",)))
