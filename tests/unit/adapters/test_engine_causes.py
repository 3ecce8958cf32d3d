"""Why a build failed, from what both engines really wrote (``tests/data/builds``: Docker 26.1 with buildx 0.13, podman 4.3)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters import buildx
from builder.adapters.build_causes import Remedy, brief_step, find_cause
from builder.adapters.engine_failures import Log
from builder.adapters.podman import PodmanEngine
from builder.errors import BuildFailedError, ImgbuildError
from builder.model.build import BuildRequest, Completed
from builder.model.oci import LINUX_AMD64
from tests.fakes import Answer, FakeProcesses

DATA = Path(__file__).parents[2] / "data" / "builds"
LOG = "the whole log is in 'logs/v.log'"
PIP = " (step RUN python3 -m pip install --no-index --find-links …)"
SCRIPT = "dpkg: installed broken package post-installation script subprocess returned error exit status 7"
NO_SHELL = 'exec: "/bin/sh": stat /bin/sh: no such file or directory (step RUN echo one)'
TOLD = {
    "pip-python": (f"pip: Package 'backports-strenum' requires a different Python: 3.12.1 not in '<3.9,>=3.8.6'{PIP}", LOG),
    "pip-hash": (f"pip: idna-3.20-py3-none-any.whl does not have the hash that the lock names{PIP}", Remedy.LOCK),
    "pip-none": (f"pip: No matching distribution found for nosuchthing==1.0{PIP}", LOG),
    "apt-network": (
        "no network: Temporary failure resolving 'mirror.example' (step RUN apt-get update && apt-get install -y …)",
        Remedy.OFFLINE,
    ),
    "apt-version": ("apt: Version '9.9' for 'dpkg' was not found (step RUN apt-get download dpkg=9.9)", Remedy.LOCK),
    "dpkg-postinst": (f"{SCRIPT} (step RUN DEBIAN_FRONTEND=noninteractive dpkg -i /bad.deb && rm …)", LOG),
    "dpkg-depends": ("dpkg: needy depends on no-such-package, which is not there (step RUN dpkg -i /needy.deb)", LOG),
    "sha256sum": ("a.deb does not have the hash that the lock names (step RUN echo hello > /a.deb && echo …)", Remedy.LOCK),
    "traceback": ("ModuleNotFoundError: No module named 'no_such_module' (step RUN python3 -c 'import no_such_module')", LOG),
    "not-found-path": ("/opt/venv/bin/python: not found (step RUN /opt/venv/bin/python -m pip install x)", LOG),
    "exec-format": ("exec /bin/sh: exec format error (step RUN echo one)", Remedy.PLATFORM),
    "no-shell": (NO_SHELL, LOG),
    "silent": ("it ended with code 1, and it wrote nothing (step RUN false)", LOG),
    "said": ("it ended with code 3, and its last line was 'to-the-log' (step RUN echo to-the-log && exit 3)", LOG),
    "killed": (
        "it was killed, most likely because memory ran out (step RUN echo working; sh -c 'kill -9 $$')",
        Remedy.MEMORY,
    ),
    "cp": ("cp: cannot stat '/no/such/file': No such file or directory (step RUN cp /no/such/file /x)", LOG),
}
OWN = {
    "docker": {
        "copy": '"/nothere": not found (step COPY nothere /x)',
        "stages": "ls: cannot access '/nothing/here': No such file or directory"
        " (step RUN set -eu; echo two words; ls /nothing/here)",
    },
    "podman": {
        "copy": 'checking on sources under "/context": copier: stat: "/nothere": no such file or directory'
        " (step COPY nothere /x)",
        "stages": "RUN only supports the --mount flag (step RUN set -eu; echo two words; ls /nothing/here)",
    },
}


def written(engine: str, name: str) -> str:
    """Return what an engine wrote in one build."""
    texts = re.split(r"^=== (\S+)\n", (DATA / f"{engine}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(texts[1::2], texts[2::2], strict=True))[name]


def failed(engine: str, text: str, *, network: bool = False) -> ImgbuildError:
    """Return the error of a build that wrote this."""
    request = BuildRequest(
        variant="v", context=Path("/context"), tag="t", platform=LINUX_AMD64, log=Path("logs/v.log"), network=network
    )
    if engine == "docker":
        log = Log(None)
        for line in text.splitlines():
            log(line)
        done = Completed(argv=("docker",), code=1, stdout="", stderr=text, seconds=1.0)
        return buildx.build_error(request, done, log, root="/var/lib/docker", gone=None)
    info = Answer(stdout='{"version": {"Version": "4.3.1"}}')
    processes = FakeProcesses({("podman", "info"): info, ("podman", "ps"): Answer()})
    processes.programs["podman", "build"] = Answer(stderr=text, code=1)
    with pytest.raises(ImgbuildError) as caught:
        PodmanEngine(processes, cleanup=processes, environ={}).build(request, on_line=lambda _: None)
    return caught.value


@pytest.mark.parametrize("engine", ["docker", "podman"])
@pytest.mark.parametrize("name", TOLD)
def test_the_cause_and_the_next_step_are_told_alike_for_both_engines(engine: str, name: str) -> None:
    error = failed(engine, written(engine, name))
    why, hint = TOLD[name]
    assert isinstance(error, BuildFailedError)
    assert (error.message, error.hint) == (f"v did not build: {why}", hint)
    assert len(error.details) <= 20


@pytest.mark.parametrize(("engine", "name"), [(engine, name) for engine, told in OWN.items() for name in told])
def test_what_an_engine_itself_refuses_is_told_in_its_words(engine: str, name: str) -> None:
    error = failed(engine, written(engine, name))
    assert (error.message, error.hint) == (f"v did not build: {OWN[engine][name]}", LOG)


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_build_that_has_a_network_is_told_to_check_it(engine: str) -> None:
    assert failed(engine, written(engine, "apt-network"), network=True).hint == Remedy.NETWORK


FOUND = "exit status 1"


@pytest.mark.parametrize(
    ("step", "lines", "text", "remedy"),
    [
        (
            "RUN apt-get install x",
            [
                "E: Failed to fetch http://d.example/x_1.deb  404  Not Found [IP: 10.0.0.1 80]",
                "E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?",
            ],
            "apt: Failed to fetch http://d.example/x_1.deb 404 Not Found [IP: 10.0.0.1 80]",
            Remedy.LOCK,
        ),
        (
            "RUN pip install x",
            [
                "WARNING: Retrying after 'NewConnectionError('Failed to establish a new connection: [Errno 111] refused')': /x/",
                "ERROR: No matching distribution found for x",
            ],
            "no network: Failed to establish a new connection: [Errno 111] refused",
            Remedy.NETWORK,
        ),
        ("RUN pip check", ["ERROR: Exception:", "Traceback", "OSError: [Errno 5] it broke"], "OSError: [Errno 5] it broke", None),
        ("RUN make", ["x.c:1:2: error: expected ';'", "make: *** [x.o] Error 1"], "x.c:1:2: error: expected ';'", None),
        ("RUN make", ["ERROR: it is not pip that says this"], "ERROR: it is not pip that says this", None),
        ("RUN dpkg --configure --pending", ["dpkg: error: parsing file '/var/lib/dpkg/status'"], None, None),
        ("RUN pip install x", ["\x1b[31;1mERROR: in\x07 red\x1b[0m"], "pip: in red", None),
        ("RUN x", ["bash: line 1: frobnicate: command not found"], "frobnicate: command not found", None),
    ],
)
def test_other_programs_words(step: str, lines: list[str], text: str | None, remedy: Remedy | None) -> None:
    cause = find_cause(step, lines, FOUND)
    assert (cause.text, cause.remedy) == (text or lines[-1], remedy)


def test_a_killed_step_needs_no_words() -> None:
    cause = find_cause("RUN x", [], "exit code: 137: context canceled")
    assert (cause.text, cause.remedy) == ("it was killed, most likely because memory ran out", Remedy.MEMORY)


@pytest.mark.parametrize(
    ("step", "brief"),
    [
        ("RUN true", "RUN true"),
        ("RUN  --mount=type=bind,source=w,target=/w   --network=none  a   b \t c", "RUN a b c"),
        ("COPY --chmod=0644 requirements.txt /etc/x", "COPY requirements.txt /etc/x"),
        (f"RUN {'x' * 100}", f"RUN {'x' * 55}…"),
        (f"RUN env {'x' * 100} y", "RUN env …"),
        ("RUN python -m pip install --no-index --find-links /mnt/wheels", "RUN python -m pip install --no-index --find-links …"),
    ],
)
def test_a_step_is_named_in_few_words(step: str, brief: str) -> None:
    assert brief_step(step) == brief


@given(st.text(max_size=200), st.lists(st.text(max_size=120), max_size=6), st.text(max_size=80))
def test_whatever_programs_write_makes_one_short_line(step: str, lines: list[str], ended: str) -> None:
    cause = find_cause(step, lines, ended)
    assert cause.text == " ".join(cause.text.split())
    assert len(cause.text) <= 300
    assert not any(character < " " or character == "\x7f" for character in cause.text)
    assert len(brief_step(step)) <= 60


def test_a_line_without_end_does_not_hold_us_up() -> None:
    lines = [character * 16_384 for character in "aA.: E-/'"] * 40
    assert find_cause("RUN pip", lines, FOUND).text.startswith("it ended with code 1")
