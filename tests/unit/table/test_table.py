from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import Where
from builder.model.evidence import Evidence, ProbeResult, ProbeStatus
from builder.model.lock import Lock
from builder.model.matrix import ExcludedCell, Target, Tier
from builder.model.oci import LINUX_AMD64, Digest, Platform
from builder.model.plan import Plan, PlannedCell, Variant
from builder.model.table import LeftOut, LeftOutKind, Table, TableRow
from builder.model.verdict import Decision, Effect, Reason, Verdict
from builder.table import table
from tests.unit.probe.samples import (
    CONTENT,
    DIGEST,
    IMAGE_ID,
    assembled_base,
    cell,
    cpu_results,
    evidence,
    locked_variant,
    result,
    variant,
    vendor_base,
    vendor_variant,
)

WHERE = Where(file="m.yaml", line=1, column=1)
CPU = Target(name="cpu", accelerator="cpu/x86-64-v3", where=WHERE)
H100 = Target(name="h100", accelerator="nvidia/h100", driver="580.95.05", where=WHERE)
ONE = variant()


def decision(verdict: Verdict, effect: Effect = Effect.SUPPORTS, text: str = "because") -> Decision:
    return Decision(verdict=verdict, reasons=(Reason(rule="R1", effect=effect, text=text),))


def plan(*cells: PlannedCell, excluded: tuple[ExcludedCell, ...] = ()) -> Plan:
    return Plan(name="things", cells=cells, excluded=excluded)


def planned(made: Variant = ONE, **verdicts: Verdict) -> PlannedCell:
    return PlannedCell(cell=made.cell, variant=made, verdicts={name: decision(one) for name, one in verdicts.items()})


def lock(*made: Variant) -> Lock:
    variants = tuple(locked_variant(one, onnxruntime="1.20.1", numpy="2.4.6") for one in made)
    return Lock(name="things", date="2026-11-30", tool="imgbuild", bases=(assembled_base(),), variants=variants)


def tabulated(
    records: Sequence[Evidence], verdict: Verdict | None = Verdict.SUPPORTED, content: str | None = CONTENT
) -> TableRow:
    """The one row of a table of one variant on the target ``cpu``, or on none."""
    cells = planned(ONE, **({"cpu": verdict} if verdict else {}))
    contents = {(ONE.id, LINUX_AMD64): content} if content else {}
    (row,) = table(plan(cells), lock(ONE), records, contents, [CPU]).rows
    return row


def failed() -> tuple[ProbeResult, ...]:
    return (*cpu_results(), result("model", Tier.DEVICE, ProbeStatus.FAILED, reason="answer[0] is 1, expected 2"))


def test_a_row_says_what_was_shown_where_and_when() -> None:
    row = tabulated([evidence()])
    assert (row.variant, row.target, row.verdict, row.tier, row.signed) == (ONE.id, "cpu", Verdict.SUPPORTED, Tier.DEVICE, False)
    assert (row.digest, row.image_id, row.recorded) == (DIGEST, IMAGE_ID, "2026-12-01T10:00:00Z")
    assert (row.accelerator, row.driver, row.platform, row.tags) == ("cpu/x86-64-v3", None, LINUX_AMD64, ("onnxruntime-cpu",))
    assert row.base == f"debian:12 (assembled, sha256:{'5' * 64})"
    assert (row.notes, row.disagreement) == ((), None)
    assert row.declared == {
        "framework": "onnxruntime",
        "framework_version": "1.20.1",
        "stack": "cpu",
        "stack_version": None,
        "python": "3.11",
        "base": "distribution",
        "os": "debian 12",
        "packages": 2,
    }
    assert row.actual == {"python": "3.11.2", "framework_version": "1.20.1"}


def test_a_base_from_a_registry_is_named_by_digest() -> None:
    made = vendor_variant()
    locked = replace(locked_variant(made), base="ngc")
    held = Lock(name="things", date="2026-11-30", tool="imgbuild", bases=(vendor_base(),), variants=(locked,))
    (row,) = table(plan(planned(made)), held, [], {}).rows
    assert row.base == f"nvcr.io/nvidia/pytorch:25.11-py3@{DIGEST}"
    (row,) = table(plan(planned(made)), None, [], {}).rows
    assert row.base == "nvcr.io/nvidia/pytorch:25.11-py3"


def test_without_evidence_a_variant_is_rendered_or_nothing_yet() -> None:
    assert tabulated([]).tier is Tier.RENDERED
    assert tabulated([], content=None).tier is None
    assert tabulated([]).digest is None


def test_evidence_of_another_content_does_not_count_and_is_said() -> None:
    row = tabulated([replace(evidence(), content="c-" + "0" * 32)])
    assert (row.tier, row.digest, row.recorded) == (Tier.RENDERED, None, None)
    assert row.notes == ("evidence of 2026-12-01 is for an earlier build and does not count",)
    assert tabulated([evidence()], content=None).tier is None


def test_evidence_of_another_target_platform_or_variant_does_not_count() -> None:
    others = [
        replace(evidence(), target="elsewhere"),
        replace(evidence(), platform=Platform("linux", "arm64")),
        replace(evidence(), variant="another"),
    ]
    row = tabulated(others)
    assert (row.tier, row.notes) == (Tier.RENDERED, ())


def test_the_newest_record_counts_even_where_it_shows_less() -> None:
    newer = replace(evidence(results=failed()), recorded="2026-12-02T10:00:00Z", tier=Tier.IMPORTED)
    row = tabulated([newer, evidence()])
    assert (row.tier, row.recorded) == (Tier.IMPORTED, "2026-12-02T10:00:00Z")
    assert row.notes == ("model failed: answer[0] is 1, expected 2",)


def test_a_claimed_tier_is_not_believed() -> None:
    assert tabulated([evidence(results=cpu_results()[:1])]).tier is Tier.IMPORTED


def test_the_building_host_shows_host_cpu_at_most_for_a_target() -> None:
    record = replace(evidence(), target="", accelerator="", tier=Tier.HOST_CPU)
    row = tabulated([record])
    assert row.tier is Tier.HOST_CPU
    assert row.notes == ("tested on the host that built it, not on this target",)
    assert tabulated([record, evidence()]).tier is Tier.DEVICE


def test_a_variant_without_targets_has_one_row_without_target_and_verdict() -> None:
    record = replace(evidence(), target="", accelerator="", tier=Tier.HOST_CPU)
    row = tabulated([record], verdict=None)
    assert (row.target, row.verdict, row.accelerator, row.tier, row.notes) == (None, None, None, Tier.HOST_CPU, ())


def test_skips_are_said() -> None:
    skipped = (*cpu_results(), result("train", Tier.DEVICE, ProbeStatus.SKIPPED, reason="no data"))
    assert tabulated([evidence(results=skipped)]).notes == ("train was skipped: no data",)


@pytest.mark.parametrize(
    ("verdict", "results", "said"),
    [
        (Verdict.SUPPORTED, cpu_results(), None),
        (Verdict.SUPPORTED, failed(), "the verdict is supported, and model failed there"),
        (Verdict.CONDITIONAL, failed(), "the verdict is conditional, and model failed there: its condition may not be met"),
        (Verdict.CONDITIONAL, cpu_results(), None),
        (Verdict.UNKNOWN, failed(), None),
        (Verdict.UNKNOWN, cpu_results(), None),
        (Verdict.UNSUPPORTED, failed(), None),
        (Verdict.UNSUPPORTED, cpu_results(), "the verdict is unsupported, and every probe passed there on the device"),
    ],
)
def test_where_verdict_and_evidence_disagree_both_stay(
    verdict: Verdict, results: tuple[ProbeResult, ...], said: str | None
) -> None:
    row = tabulated([evidence(results=results)], verdict)
    assert (row.verdict, row.disagreement) == (verdict, said)
    assert row.tier is (Tier.DEVICE if results == cpu_results() else Tier.IMPORTED)


def test_evidence_of_the_building_host_never_disagrees_with_a_verdict_on_a_target() -> None:
    record = replace(evidence(results=failed()), target="", accelerator="")
    assert tabulated([record]).disagreement is None


def test_the_driver_that_was_measured_stands_before_the_one_that_was_named() -> None:
    made = variant("jax", "cuda")
    record = replace(evidence(made), target="h100", accelerator="nvidia/h100", host={"driver": "590.44.01"})
    cells = plan(planned(made, h100=Verdict.SUPPORTED))
    contents = {(made.id, LINUX_AMD64): CONTENT}
    assert table(cells, None, [], contents, [H100]).rows[0].driver == "580.95.05"
    assert table(cells, None, [record], contents, [H100]).rows[0].driver == "590.44.01"


def test_a_target_of_another_platform_asks_for_that_platforms_image() -> None:
    arm = Platform("linux", "arm64")
    made = replace(ONE, platforms=(LINUX_AMD64, arm))
    target = replace(CPU, name="arm", accelerator="cpu/arm64", platform=arm)
    (row,) = table(plan(planned(made, arm=Verdict.SUPPORTED)), None, [], {(made.id, arm): CONTENT}, [target]).rows
    assert (row.platform, row.tier) == (arm, Tier.RENDERED)
    two = table(plan(planned(made)), None, [], {(made.id, arm): CONTENT})
    assert [(row.platform, row.tier) for row in two.rows] == [(LINUX_AMD64, None), (arm, Tier.RENDERED)]


def test_fleet_needs_the_device_of_every_applicable_target() -> None:
    two = plan(planned(ONE, cpu=Verdict.SUPPORTED, other=Verdict.SUPPORTED))
    contents = {(ONE.id, LINUX_AMD64): CONTENT}
    both = [evidence(), replace(evidence(), target="other")]
    assert table(two, None, both, contents).fleet == (ONE.id,)
    assert table(two, None, both[:1], contents).fleet == ()
    assert table(plan(planned(ONE)), None, both, contents).fleet == ()


def test_what_is_left_out_is_listed_with_the_reasons() -> None:
    refused = PlannedCell(
        cell=cell(framework="pytorch==2.9.*", stack="gaudi"),
        variant=None,
        candidate="pytorch2.9.0-gaudi1.23.0-py3.12",
        reasons=(Reason(rule="R0", effect=Effect.SUPPORTS, text="there is an image"),),
        verdicts={
            "gaudi3": Decision(
                verdict=Verdict.UNSUPPORTED,
                reasons=(
                    Reason(rule="R2", effect=Effect.REFUSES, text="1.23 wants a driver 1.23"),
                    Reason(rule="R3", effect=Effect.SUPPORTS, text="the device fits"),
                ),
            )
        },
    )
    nothing = PlannedCell(
        cell=cell(framework="jax", stack="gaudi"),
        variant=None,
        reasons=(
            Reason(rule="R4", effect=Effect.SUPPORTS, text="python fits"),
            Reason(rule="R5", effect=Effect.REFUSES, text="no image is known"),
        ),
    )
    built = replace(planned(ONE, cpu=Verdict.SUPPORTED), not_applicable=("h100",))
    excluded = (
        ExcludedCell(axes=cell(stack="cuda", python="3.10").axes, reason="we are on 3.12"),
        ExcludedCell(axes=cell(stack="rocm").axes, reason=None),
    )
    assert table(plan(built, refused, nothing, excluded=excluded), None, [], {}).left_out == (
        LeftOut(kind=LeftOutKind.EXCLUDED, subject="stack=cuda, python=3.10", reasons=("we are on 3.12",)),
        LeftOut(kind=LeftOutKind.EXCLUDED, subject="stack=rocm", reasons=("excluded by the matrix, which gives no reason",)),
        LeftOut(
            kind=LeftOutKind.REFUSED,
            subject="pytorch2.9.0-gaudi1.23.0-py3.12 (framework=pytorch==2.9.*, stack=gaudi)",
            target="gaudi3",
            reasons=("1.23 wants a driver 1.23",),
        ),
        LeftOut(kind=LeftOutKind.NO_VARIANT, subject="framework=jax, stack=gaudi", reasons=("no image is known",)),
        LeftOut(
            kind=LeftOutKind.NOT_APPLICABLE,
            subject="h100",
            target="h100",
            reasons=(f"the stack or platform of {ONE.id} is not for this target",),
        ),
    )


records = st.builds(
    lambda day, target, results, content, image: replace(
        evidence(results=results),
        recorded=f"2026-12-0{day}T10:00:00Z",
        target=target,
        accelerator="cpu/x86-64-v3" if target else "",
        content=content,
        image_id=Digest("sha256", image * 64),
    ),
    st.integers(1, 3),
    st.sampled_from(["cpu", "", "other"]),
    st.sampled_from([cpu_results(), failed(), ()]),
    st.sampled_from([CONTENT, "c-" + "0" * 32]),
    st.sampled_from("ab"),
)


@given(st.lists(records, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_the_evidence_never_matters(found: list[Evidence], order: random.Random) -> None:
    turned = found[:]
    order.shuffle(turned)
    assert tabulated(found) == tabulated(turned)
    assert table_of(found) == table_of(turned)


def table_of(found: Sequence[Evidence]) -> Table:
    return table(plan(planned(ONE, cpu=Verdict.SUPPORTED, other=Verdict.UNKNOWN)), None, found, {(ONE.id, LINUX_AMD64): CONTENT})
