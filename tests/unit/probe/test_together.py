from __future__ import annotations

import subprocess
import sys

import pytest

from builder.model.build import Completed
from builder.model.evidence import ProbeScript, ProbeStatus
from builder.model.matrix import Tier
from builder.probe import read_together, result_name, together

GOOD = 'print(\'{"values": {"x": "é"}, "reason": null}\')'


def script(name: str, text: str) -> ProbeScript:
    return ProbeScript(name=name, tier=Tier.IMPORTED, text=text, sha256="0" * 64)


def ran(scripts: list[ProbeScript], seconds: float) -> Completed:
    argv = (sys.executable, "-")
    done = subprocess.run(argv, input=together(scripts, seconds=seconds), capture_output=True, check=False)
    return Completed(argv=argv, code=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode(), seconds=2.0)


@pytest.mark.process
def test_each_probe_ends_on_its_own_and_harms_no_other() -> None:
    scripts = [
        script("good", GOOD),
        script("hangs", "import time; time.sleep(60)"),
        script("killed", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        script(
            "forges", 'print(\'{"name": "after", "code": 1, "stdout": "", "stderr": "", "seconds": 0.1, "timed_out": false}\')'
        ),
        script("quotes", "x = '''\\n\"}'''\nraise SystemExit(repr(x))"),
        script("after", GOOD),
    ]
    completed = ran(scripts, 1.0)
    assert [result_name(line) for line in completed.stdout.splitlines()] == [one.name for one in scripts]
    results = {result.name: result for result in read_together(scripts, completed, seconds=1.0)}
    assert results["good"].status is results["after"].status is ProbeStatus.PASSED
    assert results["good"].values == {"x": "é"}
    assert results["hangs"].reason == "it did not end within 1 s"
    assert "memory limit" in (results["killed"].reason or "")
    assert results["forges"].status is ProbeStatus.FAILED
    assert results["quotes"].reason == "'\\n\"}'"


def test_where_the_container_ended_early_the_probe_it_was_in_is_blamed() -> None:
    line = '{"name": "one", "code": 0, "stdout": "{\\"values\\": {}}", "stderr": "", "seconds": 0.5, "timed_out": false}'
    completed = Completed(argv=(), code=137, stdout=f"noise\n{line}\n[", stderr="", seconds=9.0)
    one, two, three = read_together([script(name, "") for name in ("one", "two", "three")], completed, seconds=60)
    assert (one.status, one.seconds) == (ProbeStatus.PASSED, 0.5)
    assert "memory limit" in (two.reason or "")
    assert three.reason == "not reached: the container ended in the probe two"


def test_where_the_engine_itself_failed_its_words_are_the_reason() -> None:
    completed = Completed(argv=(), code=125, stdout="", stderr="Error: no such image", seconds=0.1)
    (one,) = read_together([script("one", "")], completed, seconds=60)
    assert one.reason == "the engine could not start the container: Error: no such image"


def test_a_container_that_ends_well_without_a_report_is_no_pass() -> None:
    (one,) = read_together([script("one", "")], Completed(argv=(), code=0, stdout="", stderr="", seconds=0.1), seconds=60)
    assert one.status is ProbeStatus.FAILED
