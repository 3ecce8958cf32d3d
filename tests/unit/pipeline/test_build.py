"""The main job over fakes: every variant ends, nothing is done twice, one failure harms no other."""

from __future__ import annotations

import errno
import threading
from dataclasses import replace
from pathlib import Path

from builder.errors import InterruptedRunError, MismatchError
from builder.model.event import VariantFinished
from builder.model.evidence import Status
from builder.model.matrix import Limits, Tier
from builder.model.oci import Platform
from builder.pipeline.build import run_all
from builder.pipeline.endings import exit_code
from tests.fakes import Answer
from tests.unit.pipeline.conftest import World, failing, passing, piece, target


def test_a_variant_is_built_tested_and_recorded(world: World) -> None:
    (outcome,) = run_all(world.job(piece("v1")), world.tools)
    assert (outcome.variant, outcome.status, outcome.tier, outcome.exit_code) == ("v1", Status.PASSED, Tier.DEVICE, 0)
    image = world.engine.images[piece("v1").tag]
    assert outcome.digest == image.digest
    assert outcome.digests == {"linux/amd64": image.digest}
    (evidence,) = world.state.evidence()
    assert (evidence.variant, evidence.target, evidence.image_id, evidence.content) == (
        "v1",
        "here",
        image.image_id,
        piece("v1").content,
    )
    assert evidence.tier is Tier.DEVICE
    assert {"import", "declared", "pip-check", "device", "model"} <= {result.name for result in evidence.results}


def test_an_unchanged_variant_is_neither_built_nor_tested_again(world: World) -> None:
    run_all(world.job(piece("v1")), world.tools)
    built, ran = len(world.engine.builds), len(world.engine.runs)
    (outcome,) = run_all(world.job(piece("v1")), world.tools)
    assert (outcome.status, outcome.tier, outcome.fresh) == (Status.PASSED, Tier.DEVICE, False)
    assert (len(world.engine.builds), len(world.engine.runs)) == (built, ran)


def test_again_does_all_of_it_once_more(world: World) -> None:
    run_all(world.job(piece("v1")), world.tools)
    (outcome,) = run_all(world.job(piece("v1"), again=True), world.tools)
    assert outcome.fresh
    assert len(world.engine.builds) == 2


def test_an_image_that_is_gone_is_built_and_tested_again(world: World) -> None:
    run_all(world.job(piece("v1")), world.tools)
    world.engine.remove(piece("v1").tag)
    (outcome,) = run_all(world.job(piece("v1")), world.tools)
    assert outcome.fresh
    assert len(world.engine.builds) == 2


def test_records_that_are_gone_are_made_again_without_a_build(world: World) -> None:
    run_all(world.job(piece("v1")), world.tools)
    for path in (world.state.root / "evidence").glob("*.json"):
        path.unlink()
    ran = len(world.engine.runs)
    (outcome,) = run_all(world.job(piece("v1")), world.tools)
    assert outcome.fresh
    assert len(world.engine.builds) == 1
    assert len(world.engine.runs) == 2 * ran


def test_a_record_of_another_image_does_not_count(world: World) -> None:
    run_all(world.job(piece("v1")), world.tools)
    tag = piece("v1").tag
    other = piece("other")
    run_all(world.job(other), world.tools)
    world.engine.images[tag] = world.engine.images[other.tag]
    ran = len(world.engine.runs)
    run_all(world.job(piece("v1")), world.tools)
    assert len(world.engine.runs) > ran


def test_one_failing_build_harms_no_other(world: World) -> None:
    world.engine.steps["false"] = Answer(code=1, stderr="no such thing")
    pieces = [piece("good1"), piece("bad", "FROM scratch\nRUN false\n"), piece("good2")]
    outcomes = run_all(world.job(*pieces), world.tools)
    assert [(one.variant, one.status) for one in outcomes] == [
        ("good1", Status.PASSED),
        ("bad", Status.FAILED),
        ("good2", Status.PASSED),
    ]
    assert exit_code(outcomes) == 6
    log = world.state.log("bad").read_text()
    assert "no such thing" in log
    finished = [event.outcome.variant for event in world.reporter.events if isinstance(event, VariantFinished)]
    assert sorted(finished) == ["bad", "good1", "good2"]


def test_a_failing_probe_fails_the_variant_names_itself_and_is_recorded(world: World) -> None:
    world.probes = lambda script: failing("4 is not 5") if "MatMul" in script else passing()
    (outcome,) = run_all(world.job(piece("v1")), world.tools)
    assert (outcome.status, outcome.exit_code) == (Status.FAILED, 7)
    assert "4 is not 5" in (outcome.reason or "")
    (evidence,) = world.state.evidence()
    assert evidence.tier.rank < Tier.DEVICE.rank
    world.probes = lambda _script: passing()
    (mended,) = run_all(world.job(piece("v1")), world.tools)
    assert (mended.status, len(world.engine.builds)) == (Status.PASSED, 1)


def test_a_probe_that_hangs_fails_with_the_limit_named(world: World) -> None:
    world.probes = lambda _script: Answer(hangs=True)
    (outcome,) = run_all(world.job(piece("v1"), limits=Limits(seconds=1)), world.tools)
    assert outcome.exit_code == 7
    assert "1 s" in (outcome.reason or "")


def test_an_image_above_the_size_limit_fails(world: World) -> None:
    big = piece("big", "FROM scratch\nADD Dockerfile /\n")
    (outcome,) = run_all(world.job(big, limits=Limits(size=3)), world.tools)
    assert outcome.exit_code == 6
    assert "limits.size" in (outcome.hint or "")


def test_a_file_that_nothing_provides_is_a_mismatch(world: World) -> None:
    needs = piece("v1")
    needs = replace(needs, context=replace(needs.context, files={"wheels/a.whl": "0" * 64}))
    (outcome,) = run_all(world.job(needs), world.tools)
    assert outcome.exit_code == MismatchError.exit_code
    assert "wheels/a.whl" in (outcome.reason or "")


def test_a_full_disk_is_the_host_and_the_context_is_gone(world: World) -> None:
    def full(_script: str) -> Answer:
        raise OSError(errno.ENOSPC, "No space left on device", "/x")

    world.probes = full
    (outcome,) = run_all(world.job(piece("v1")), world.tools)
    assert outcome.exit_code == 8
    assert not list((world.state.root.parent.parent.parent / "contexts").glob("*"))


def test_a_variant_whose_log_has_no_place_fails_and_harms_no_run(world: World) -> None:
    class Records:
        save = world.tools.records.save

        def log(self, variant: str, platform: Platform | None = None) -> Path:
            raise OSError(errno.ENOSPC, "No space left on device", variant)

    (outcome,) = run_all(world.job(piece("a")), replace(world.tools, records=Records()))
    assert (outcome.status, outcome.exit_code, outcome.log) == (Status.FAILED, 8, None)
    assert outcome.reason == "a: No space left on device"


def test_targets_elsewhere_are_said_and_cap_the_tier(world: World) -> None:
    world.targets = (target("far", kind="ssh"),)
    (outcome,) = run_all(world.job(piece("v1")), world.tools)
    assert (outcome.status, outcome.tier) == (Status.PASSED, Tier.HOST_CPU)
    assert "far" in (outcome.reason or "")
    (evidence,) = world.state.evidence()
    assert evidence.target == ""


def test_test_alone_refuses_what_is_not_built(world: World) -> None:
    (outcome,) = run_all(world.job(piece("v1"), build=False), world.tools)
    assert outcome.exit_code == 7
    assert "matrix build" in (outcome.hint or "")


def test_an_interruption_ends_every_variant_and_says_so(world: World) -> None:
    started = threading.Event()

    def hang(_script: str) -> Answer:
        started.set()
        world.tools.stopped.wait(20)
        message = "the run was interrupted"
        raise InterruptedRunError(message)

    world.probes = hang

    def stop() -> None:
        started.wait(20)
        world.tools.stopped.set()

    stopper = threading.Thread(target=stop)
    stopper.start()
    outcomes = run_all(world.job(*(piece(f"v{number}") for number in range(6))), world.tools)
    stopper.join()
    assert {one.status for one in outcomes} == {Status.ABORTED}
    assert len(outcomes) == 6
    assert exit_code(outcomes) == 130


def test_a_local_target_gets_the_devices_of_the_stack_and_this_host_as_it_is_does_not(world: World) -> None:
    options = ("--device", "/dev/thing")
    run_all(replace(world.job(piece("v1")), device_options={"cpu": options}), world.tools)
    assert {request.options for request in world.engine.runs} == {options}
    world.engine.runs.clear()
    world.targets = (target("far", kind="ssh"),)
    run_all(replace(world.job(piece("v2")), device_options={"cpu": options}), world.tools)
    assert {request.options for request in world.engine.runs} == {()}
