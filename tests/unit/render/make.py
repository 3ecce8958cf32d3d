"""A plain case to change in tests."""

from __future__ import annotations

from dataclasses import replace

from builder.model.build import RenderedContext
from builder.model.lock import BaseFacts
from builder.render.render import render
from tests.golden.build import Case
from tests.golden.cases import CASES
from tests.unit.render.dockerfile import Instruction, read

NGC = CASES["ngc-pytorch"]
DEBIAN = CASES["debian-registry-onnxruntime"]
ASSEMBLED = CASES["debian-assembled-openvino"]
TRITON = CASES["triton-server"]
VLLM = CASES["vllm-openai"]


def context(case: Case) -> RenderedContext:
    return render(case.variant, case.platform, case.locked, case.base)


def instructions(case: Case) -> list[Instruction]:
    return read(context(case).rendered["Dockerfile"].decode())


def env(case: Case) -> dict[str, str]:
    """Return what the image's env is in the end: the base's, then every ENV in order."""
    found = dict(case.base.facts.env)
    for instruction in instructions(case):
        if instruction.keyword == "ENV":
            found |= instruction.pairs()
    return found


def added_env(case: Case) -> dict[str, str]:
    """Return what the Dockerfile itself sets."""
    return {name: value for one in instructions(case) if one.keyword == "ENV" for name, value in one.pairs().items()}


def with_facts(case: Case, facts: BaseFacts) -> Case:
    return replace(case, base=replace(case.base, facts=facts))


def only(case: Case, keyword: str) -> Instruction:
    found = [instruction for instruction in instructions(case) if instruction.keyword == keyword]
    assert len(found) == 1, found
    return found[0]
