"""Lock, render, build, test and table through the command line, over fakes."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from builder.adapters.state import StateFolder
from builder.documents.lock import read_lock
from tests.fakes import Answer
from tests.unit.cli.conftest import Call, FakeServices, passing

IDS = ["onnxruntime1.32.0-cpu-py3.11", "onnxruntime1.32.0-cpu-py3.13"]


def test_build_makes_the_lock_builds_tests_and_prints_the_table(call: Call, matrix: Path, services: FakeServices) -> None:
    code, out, err = call("matrix", "build", str(matrix), services=services)
    assert (code, "Traceback" in err) == (0, False), err
    lock = read_lock(matrix.with_name("small.lock.yaml"))
    assert lock is not None
    assert [variant.id for variant in lock.variants] == IDS
    for identifier in IDS:
        assert f"passed  {identifier}  device" in out
    assert "2 of 2 variants passed" in err
    assert "images in podman: localhost/imgbuild/small:c-… (--json names each)" in err


def test_the_second_build_does_nothing_and_says_so(call: Call, matrix: Path, services: FakeServices) -> None:
    call("matrix", "build", str(matrix), services=services)
    engine = services.fake_engine
    before = (len(engine.builds), len(engine.runs))
    code, out, err = call("matrix", "build", str(matrix), services=services)
    assert code == 0
    assert (len(engine.builds), len(engine.runs)) == before
    assert "nothing to build or test again" in err
    assert "unchanged" in out


def test_build_json_is_one_document_of_the_documented_shape(call: Call, matrix: Path, services: FakeServices) -> None:
    code, out, _ = call("matrix", "build", str(matrix), "--json", services=services)
    document = json.loads(out)
    assert (code, document["schema"]) == (0, "imgbuild/build/1")
    first = document["outcomes"][0]
    assert {"variant", "status", "tier", "digest", "digests", "seconds", "reason"} <= set(first)
    assert (first["variant"], first["status"], first["tier"]) == (IDS[0], "passed", "device")
    assert first["digests"] == {"linux/amd64": first["digest"]}
    image = first["images"]["linux/amd64"]
    assert re.fullmatch(r"localhost/imgbuild/small:c-[0-9a-f]{32}", image)
    assert services.fake_engine.inspect(image) is not None


def test_a_failed_probe_is_exit_code_7_and_the_other_variant_passes(call: Call, matrix: Path, services: FakeServices) -> None:
    count = iter(range(1000))

    def probe(_script: str) -> Answer:
        if next(count) == 0:
            return Answer(stdout=json.dumps({"values": {}, "reason": "module x is missing"}), code=1)
        return Answer(stdout=json.dumps({"values": {}, "reason": None}))

    services.probe = probe
    code, out, err = call("matrix", "build", str(matrix), "--jobs", "1", "--json", services=services)
    outcomes = {one["variant"]: one for one in json.loads(out)["outcomes"]}
    assert code == 7
    assert outcomes[IDS[0]]["status"] == "failed"
    assert "module x is missing" in outcomes[IDS[0]]["reason"]
    assert outcomes[IDS[1]]["status"] == "passed"
    assert "Traceback" not in err


def test_a_variant_that_cannot_be_locked_fails_alone(call: Call, matrix: Path, services: FakeServices) -> None:
    del services.bases.bases["docker.io/library/debian:13-slim"]
    code, out, _ = call("matrix", "build", str(matrix), "--json", services=services)
    outcomes = {one["variant"]: one["status"] for one in json.loads(out)["outcomes"]}
    assert outcomes == {IDS[0]: "passed", IDS[1]: "failed"}
    assert code == 4


def test_a_stale_lock_is_refused_with_the_command_that_mends_it(call: Call, matrix: Path, services: FakeServices) -> None:
    call("matrix", "lock", str(matrix), services=services)
    matrix.write_text(matrix.read_text() + "packages:\n  - {pip: [numpy<3]}\n")
    code, out, err = call("matrix", "build", str(matrix), services=services)
    assert (code, out) == (5, "")
    assert "is stale" in err
    assert "numpy" in err
    assert "imgbuild matrix lock" in err
    assert services.fake_engine.builds == []


def test_lock_check(call: Call, matrix: Path, services: FakeServices) -> None:
    assert call("matrix", "lock", str(matrix), "--check", services=services)[0] == 5
    code, out, _ = call("matrix", "lock", str(matrix), services=services)
    assert code == 0
    assert "2 variants, 2 bases, 1 package file; changed" in out
    code, out, _ = call("matrix", "lock", str(matrix), services=services)
    assert "unchanged" in out


def test_a_lock_of_nothing_is_not_written_and_says_so(call: Call, matrix: Path, services: FakeServices) -> None:
    services.fake_resolver.answers.clear()
    code, out, err = call("matrix", "lock", str(matrix), services=services)
    lock = matrix.with_name("small.lock.yaml")
    assert (code, out) == (4, f"{lock}: nothing is locked, and nothing is written\n")
    assert f"error: {IDS[1]}: nothing satisfies onnxruntime==1.32.0" in err
    assert not lock.exists()


def test_lock_json_names_every_image_and_file(call: Call, matrix: Path, services: FakeServices) -> None:
    code, out, _ = call("matrix", "lock", str(matrix), "--json", services=services)
    text = json.dumps(json.loads(out))
    assert code == 0
    assert "docker.io/library/debian:12-slim" in text
    assert "onnxruntime-1.32.0-py3-none-any.whl" in text


def test_render_writes_checks_and_removes_only_its_own(call: Call, matrix: Path, services: FakeServices) -> None:
    call("matrix", "lock", str(matrix), services=services)
    code, out, _ = call("matrix", "render", str(matrix), services=services)
    folder = matrix.parent / "rendered" / "small"
    assert code == 0
    assert f"wrote {folder / IDS[0]}" in out
    assert sorted(path.name for path in (folder / IDS[0]).iterdir()) == ["Dockerfile", "constraints.txt", "requirements.txt"]
    assert call("matrix", "render", str(matrix), "--check", services=services)[0] == 0
    dockerfile = folder / IDS[0] / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text() + "RUN echo mine\n")
    code, out, err = call("matrix", "render", str(matrix), "--check", services=services)
    assert code == 5
    assert "-RUN echo mine" in out
    assert "imgbuild matrix render" in err
    (folder / "notes").mkdir()
    (folder / "notes" / "Dockerfile").write_text("FROM mine\n")
    (folder / "old-variant").mkdir()
    (folder / "old-variant" / "Dockerfile").write_text("# Image of old, rendered by imgbuild: change the matrix\n")
    assert call("matrix", "render", str(matrix), services=services)[0] == 0
    assert call("matrix", "render", str(matrix), "--check", services=services)[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == ["notes", *IDS]


def test_render_contexts_hold_the_large_files(call: Call, matrix: Path, services: FakeServices, tmp_path: Path) -> None:
    call("matrix", "lock", str(matrix), services=services)
    out = tmp_path / "contexts"
    assert call("matrix", "render", str(matrix), "--contexts", "--out", str(out), services=services)[0] == 0
    assert (out / IDS[0] / "wheels" / "onnxruntime-1.32.0-py3-none-any.whl").read_bytes() == b"a wheel"
    assert call("matrix", "render", str(matrix), "--check", "--out", str(out), services=services)[0] == 0


def test_test_alone_needs_images(call: Call, matrix: Path, services: FakeServices) -> None:
    code, out, _ = call("matrix", "test", str(matrix), "--json", services=services)
    assert code == 7
    assert "is not built here" in json.loads(out)["outcomes"][0]["reason"]
    call("matrix", "build", str(matrix), services=services)
    ran = len(services.fake_engine.runs)
    assert call("matrix", "test", str(matrix), "--changed", services=services)[0] == 0
    assert len(services.fake_engine.runs) == ran
    assert call("matrix", "test", str(matrix), services=services)[0] == 0
    assert len(services.fake_engine.runs) == ran + 2


def test_two_runs_at_once_the_second_says_who_holds_it(call: Call, matrix: Path, services: FakeServices) -> None:
    with StateFolder(matrix).running(started="2026-12-01T10:00:00Z", wait=False):
        code, out, err = call("matrix", "build", str(matrix), services=services)
    assert (code, out) == (8, "")
    assert f"process {os.getpid()}, since 2026-12-01T10:00:00Z" in err
    assert "--wait" in err
    assert call("matrix", "build", str(matrix), services=services)[0] == 0


def test_an_engine_that_is_down_is_the_host(call: Call, matrix: Path, services: FakeServices) -> None:
    services.fake_engine.down = True
    code, out, err = call("matrix", "build", str(matrix), services=services)
    assert (code, out) == (8, "")
    assert "the engine does not answer" in err


@pytest.mark.parametrize("name", ["docke", "graft2", ""])
def test_an_engine_that_is_none_is_a_usage_error(call: Call, matrix: Path, services: FakeServices, name: str) -> None:
    code, _, err = call("matrix", "build", str(matrix), "--engine", name, services=services)
    assert code == 2
    assert "engines are auto, docker, podman" in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_ends_the_run_in_order(
    call: Call, matrix: Path, services: FakeServices, number: signal.Signals, code: int
) -> None:
    sent: list[signal.Signals] = []

    def probe(_script: str) -> Answer:
        if not sent:
            sent.append(number)
            os.kill(os.getpid(), number)
        services.stopped.wait(20)
        return Answer(code=1, stderr="ended")

    services.probe = probe
    before = signal.getsignal(number)
    got, out, err = call("matrix", "build", str(matrix), "--jobs", "1", "--json", services=services)
    last = json.loads(out)["outcomes"][-1]
    assert got == code
    assert (last["status"], last["exit_code"]) == ("aborted", code)
    assert "ending what runs; a second time ends it at once" in err
    assert "run the same command again" in err
    assert signal.getsignal(number) is before


def test_the_step_summary_of_github_gets_the_table(
    call: Call, matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    services = FakeServices(tmp_path, {"GITHUB_ACTIONS": "true"})
    assert call("matrix", "build", str(matrix), services=services)[0] == 0
    assert IDS[0] in page.read_text()
    assert page.read_text().startswith("#")


def test_a_closed_terminal_does_not_end_a_run_under_nohup(call: Call, matrix: Path, services: FakeServices) -> None:
    def probe(_script: str) -> Answer:
        os.kill(os.getpid(), signal.SIGHUP)
        return passing()

    services.probe = probe
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert call("matrix", "build", str(matrix), services=services)[0] == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_step_summary_that_cannot_be_written_changes_nothing(
    call: Call, matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "absent" / "summary.md"))
    code, _, err = call("matrix", "build", str(matrix), services=FakeServices(tmp_path, {"GITHUB_ACTIONS": "true"}))
    assert code == 0
    assert "summary.md cannot be written: No such file or directory" in err


def test_strict_asks_for_every_cell(call: Call, matrix: Path, services: FakeServices) -> None:
    text = matrix.read_text().replace("[onnxruntime==1.32.*]", "[onnxruntime==1.32.*, onnxruntime==0.1.*]")
    matrix.write_text(text)
    assert call("matrix", "build", str(matrix), services=services)[0] == 0
    assert call("matrix", "build", str(matrix), "--strict", services=services)[0] == 4


def test_a_damaged_record_is_said_and_made_anew(call: Call, matrix: Path, services: FakeServices) -> None:
    call("matrix", "build", str(matrix), services=services)
    record = next((StateFolder(matrix).root / "evidence").glob("*.json"))
    record.write_text("{")
    code, _, err = call("matrix", "table", str(matrix), services=services)
    assert code == 0
    assert "a damaged record was left out" in err
    code, out, _ = call("matrix", "build", str(matrix), "--json", services=services)
    assert code == 0
    assert {one["tier"] for one in json.loads(out)["outcomes"]} == {"device"}


@pytest.mark.parametrize("command", ["lint", "plan", "build"])
def test_a_probe_that_is_none_is_a_complaint_before_anything_is_built(
    call: Call, matrix: Path, services: FakeServices, command: str
) -> None:
    matrix.write_text(matrix.read_text() + "probes: [import, matmull]\n")
    code, _, err = call("matrix", command, str(matrix), services=services)
    assert code == 3
    assert f"{matrix}:10:" in err
    assert "'matmull' is not a probe" in err
    assert "did you mean 'matmul'?" in err
    assert services.fake_engine.builds == []


def test_a_probe_that_does_not_apply_is_said(call: Call, matrix: Path, services: FakeServices) -> None:
    matrix.write_text(matrix.read_text() + "probes: [import, train]\n")
    code, out, _ = call("matrix", "build", str(matrix), "--json", services=services)
    assert code == 0
    for outcome in json.loads(out)["outcomes"]:
        assert "probe train was left out: it is a probe for" in outcome["reason"]


def test_what_a_build_does_not_do_yet_is_said(call: Call, matrix: Path, services: FakeServices) -> None:
    _, _, err = call("matrix", "build", str(matrix), services=services)
    assert "nothing follows from it yet" not in err
    matrix.write_text(matrix.read_text() + "bounds: {matmul.seconds: {maximum: 1}}\nbuilders: [far]\nbases: {mode: mirror}\n")
    _, _, err = call("matrix", "build", str(matrix), services=services)
    for key in ("bounds", "builders", "bases.mode"):
        assert f"warning {key} is read and checked, and nothing follows from it yet" in err
