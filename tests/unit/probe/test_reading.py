from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.model.build import Completed
from builder.model.evidence import ProbeResult, ProbeScript, ProbeStatus
from builder.model.matrix import Tier
from builder.probe import read_result

SCRIPT = ProbeScript(name="matmul", tier=Tier.DEVICE, text="", sha256="a" * 64, stack="cuda")
PASSED = '{"values": {"device": "cuda", "checked": 3}, "reason": null}\n'


def read(code: int = 0, stdout: str = PASSED, stderr: str = "", *, late: bool = False, limit: float | None = None) -> ProbeResult:
    completed = Completed(argv=("python", "-"), code=code, stdout=stdout, stderr=stderr, seconds=1.23456, timed_out=late)
    return read_result(SCRIPT, completed, limit=limit)


def test_exit_0_with_a_report_is_passed() -> None:
    result = read()
    assert (result.status, result.reason, result.seconds) == (ProbeStatus.PASSED, None, 1.235)
    assert result.values == {"device": "cuda", "checked": 3}
    assert (result.name, result.script_sha256, result.tier) == ("matmul", "a" * 64, Tier.DEVICE)


def test_only_the_last_line_counts_and_trailing_blank_lines_do_not() -> None:
    assert read(stdout=f"noise\n{{}}\n{PASSED}\n \n").status is ProbeStatus.PASSED
    assert read(stdout=f"{PASSED}bye\n").status is ProbeStatus.FAILED


def test_exit_77_is_skipped_with_its_reason() -> None:
    result = read(77, '{"values": {}, "reason": "no cuda device is in this container"}')
    assert (result.status, result.reason) == (ProbeStatus.SKIPPED, "no cuda device is in this container")


def test_a_failed_probe_gives_its_own_reason_before_all_else() -> None:
    result = read(1, '{"values": {}, "reason": "product[3] is 1.0, expected 2"}', "Traceback")
    assert (result.status, result.reason) == (ProbeStatus.FAILED, "product[3] is 1.0, expected 2")


def test_without_a_report_the_last_line_of_stderr_is_the_reason() -> None:
    assert read(1, "", "Traceback …\nModuleNotFoundError: No module named 'jax'\n").reason == (
        "ModuleNotFoundError: No module named 'jax'"
    )
    assert read(3, "", "").reason == "it ended with 3 and said nothing"


@pytest.mark.parametrize(
    ("stdout", "why"),
    [
        ("", "it printed nothing"),
        ("done", "its last line is not a probe's report: 'done'"),
        ("[1]", "its last line is not a probe's report: '[1]'"),
        ('{"values": 3}', "its last line is not a probe's report: '{\"values\": 3}'"),
        ('{"values": {"x": NaN}}', 'its last line is not a probe\'s report: \'{"values": {"x": NaN}}\''),
        ('{"values": {"x": 1e999}}', 'its last line is not a probe\'s report: \'{"values": {"x": 1e999}}\''),
        ("x" * 70_000, "its last line is 70000 characters long, at most 65536 are read"),
    ],
)
def test_exit_0_without_a_report_is_failed(stdout: str, why: str) -> None:
    result = read(0, stdout)
    assert (result.status, result.reason) == (ProbeStatus.FAILED, f"it ended with 0, but {why}")


def test_deep_nesting_and_half_characters_are_no_report() -> None:
    assert read(0, '{"values": ' + "[" * 20_000 + "}").status is ProbeStatus.FAILED
    assert read(0, '{"values": {"x": "\\ud800"}}').status is ProbeStatus.FAILED


def test_a_skip_without_a_report_is_failed() -> None:
    assert read(77, "", "it broke").status is ProbeStatus.FAILED


def test_a_time_out_names_the_limit() -> None:
    result = read(-9, "", late=True, limit=60.0)
    assert (result.status, result.reason) == (ProbeStatus.FAILED, "it did not end within 60 s")
    assert read(0, late=True).status is ProbeStatus.FAILED


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (137, "memory limit"),
        (-9, "memory limit"),
        (139, "segmentation fault"),
        (132, "instruction that this CPU does not have"),
        (134, "aborted"),
        (127, "Python was not found"),
        (125, "could not start the container"),
        (-30, "ended by signal 30"),
    ],
)
def test_the_way_it_ended_is_said_in_words(code: int, words: str) -> None:
    result = read(code, "")
    assert result.status is ProbeStatus.FAILED
    assert words in (result.reason or "")


def test_computing_elsewhere_shows_host_cpu() -> None:
    assert read(stdout='{"values": {"device": "cpu", "checked": 3}, "reason": null}').tier is Tier.HOST_CPU
    assert read(stdout='{"values": {"device": "cuda", "checked": 3}, "reason": null}').tier is Tier.DEVICE


def test_a_reason_is_one_line_without_control_characters() -> None:
    reason = read(1, json.dumps({"values": {}, "reason": "a\x1b[31m\nb\u202ec" + "x" * 900})).reason or ""
    assert reason.startswith("a [31m b c")
    assert len(reason) == 500
    assert reason.isprintable()


@given(code=st.integers(-64, 255), stdout=st.text(max_size=300), stderr=st.text(max_size=300), late=st.booleans())
def test_whatever_a_container_prints_is_read(code: int, stdout: str, stderr: str, *, late: bool) -> None:
    result = read(code, stdout, stderr, late=late)
    assert (result.status is ProbeStatus.PASSED) <= (code == 0 and not late)
    assert (result.reason is None) == (result.status is ProbeStatus.PASSED)
    assert "\n" not in (result.reason or "")
