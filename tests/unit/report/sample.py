"""A table with something of everything, and strings that try to leave their place."""

from __future__ import annotations

from builder.model.matrix import Tier
from builder.model.oci import LINUX_AMD64
from builder.model.table import LeftOut, LeftOutKind, Table, TableRow
from builder.model.verdict import Effect, Reason, Source, Verdict
from tests.unit.probe.samples import DIGEST, IMAGE_ID

SOURCE = Source(title="Release notes", url="https://example.org/notes", checked="2026-11-01")
CONDITION = Reason(rule="DRV2", effect=Effect.CONDITIONS, text="driver 580.65.06 or newer", source=SOURCE)

HOSTILE = (
    "a|b|c",
    "\\|x\\",
    "line\nbreak\r\nand | more",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></tr></table><h1>",
    "`code` **bold** _under_ [link](https://evil.example) ![p](x)",
    "`` ` ``",
    "{{ 7 * 7 }} {% raw %}",
    '=HYPERLINK("https://evil.example")',
    "+1+1",
    "-2",
    "@SUM(A1)",
    "\uff1d1",
    "\t=1",
    "\x1b[31mred\x1b[0m\x07",
    "\u202egnp.exe",
    "&lt;b&gt; &amp; &#124;",
    "| --- | --- |",
    "# heading",
    "https://evil.example www.evil.example @everyone",
    "'quoted', \"twice\"; and,comma",
    "\u2028\u0085\x0b\x0c\x00",
    "漢字のラベル",
)


def row(**changes: object) -> TableRow:
    """A full row, changed."""
    known: dict[str, object] = {
        "variant": "pytorch2.9.1-cuda12.8-py3.12",
        "target": "h100",
        "platform": LINUX_AMD64,
        "accelerator": "nvidia/h100",
        "driver": "580.95.05",
        "verdict": Verdict.CONDITIONAL,
        "reasons": (CONDITION,),
        "tier": Tier.DEVICE,
        "signed": False,
        "digest": DIGEST,
        "image_id": IMAGE_ID,
        "base": f"nvcr.io/nvidia/pytorch:25.11-py3@{DIGEST}",
        "recorded": "2026-12-01T10:00:00Z",
        "tags": ("pytorch-cuda", "latest-but-one"),
        "declared": {"framework": "pytorch", "framework_version": "2.9.1", "python": "3.12"},
        "actual": {"framework_version": "2.9.1+cu128", "python": "3.12.3", "arch_list": ["sm_90"]},
        "notes": ("train was skipped: no data",),
        "disagreement": None,
    }
    return TableRow(**{**known, **changes})  # type: ignore[arg-type]  # the fields of the tests' own making


def full_table() -> Table:
    """A table with a row of each kind and everything that is left out."""
    return Table(
        name="pytorch",
        rows=(
            row(),
            row(target="a100", verdict=Verdict.SUPPORTED, tier=Tier.IMPORTED, disagreement="model failed there", notes=()),
            row(
                variant="pytorch2.9.1-cpu-py3.12", target=None, verdict=None, tier=None, digest=None, image_id=None, recorded=None
            ),
        ),
        left_out=(
            LeftOut(kind=LeftOutKind.EXCLUDED, subject="stack=cuda, python=3.10", reasons=("we are on 3.12",)),
            LeftOut(kind=LeftOutKind.REFUSED, subject="pytorch2.9.0-gaudi1.23", target="gaudi3", reasons=("driver 1.24", "old")),
        ),
        fleet=("pytorch2.9.1-cuda12.8-py3.12",),
        locked="2026-11-30",
    )


def hostile_table(text: str) -> Table:
    """A table with one text wherever a matrix, a lock or a probe can put one."""
    reason = Reason(rule=text, effect=Effect.REFUSES, text=text)
    made = row(
        variant=text,
        target=text,
        accelerator=text,
        driver=text,
        verdict=Verdict.UNSUPPORTED,
        reasons=(reason,),
        base=text,
        tags=(text,),
        declared={"framework": text, text: text},
        actual={text: [text]},
        notes=(text,),
        disagreement=text,
    )
    left = LeftOut(kind=LeftOutKind.REFUSED, subject=text, target="t", reasons=(text,))
    return Table(name=text, rows=(made, row()), left_out=(left,), fleet=(text,), locked="2026-11-30")
