"""What is wrong with tags once it is decided which releases stand in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from builder.errors import Complaint, Where
from builder.model.matrix import Matrix
from builder.model.plan import Plan, Variant

_LONGEST = 128
_DATE = "{date}"
_DAY = "20261201"


def complaints(matrix: Matrix, plan: Plan) -> tuple[Complaint, ...]:
    """Return at most one complaint per template: a tag that two variants would share, or that no registry takes.

    Cells that ask for different things may come to the same releases, so this is only known from a plan.
    """
    found = (_of(matrix, plan, number) for number in range(len(matrix.tags)))
    return tuple(complaint for group in found for complaint in group)


def _of(matrix: Matrix, plan: Plan, number: int) -> Iterator[Complaint]:
    where = replace(matrix.tags_where, field=f"tags[{number}]")
    seen: dict[str, Variant] = {tag: variant for variant in plan.variants for tag in variant.tags[:number]}
    for variant in plan.variants:
        tag = variant.tags[number]
        other = seen.setdefault(tag, variant)
        if other is not variant:
            yield _shared(matrix.tags[number], tag, other, variant, where)
            return
        length = len(tag.replace(_DATE, _DAY))
        if length > _LONGEST:
            message = (
                f"{matrix.tags[number]!r} makes a tag of {length} characters for {variant.id}, and registries take {_LONGEST}"
            )
            yield Complaint(where=where, message=message, hint="write a shorter template, or shorter values")
            return


def _shared(template: str, tag: str, first: Variant, second: Variant, where: Where) -> Complaint:
    message = f"{template!r} gives two variants one tag, {tag}: {first.cell}; and {second.cell}"
    if _comes_to(first) == _comes_to(second):
        hint = "both come to the same releases: remove one of the two cells, or add {id}"
    else:
        hint = "add {id}, or what the two differ in"
    return Complaint(where=where, message=message, hint=hint)


def _comes_to(variant: Variant) -> tuple[object, ...]:
    return variant.framework, variant.stack, variant.python, variant.own
