"""Complaints about a matrix that only the catalog can make: names nobody has, drivers that mean nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from builder.catalog.query import Catalog, Named
from builder.errors import Complaint, Where
from builder.model.axis import AxisValue
from builder.model.facts import DriverModel, Stack
from builder.model.matrix import Matrix, Target
from builder.solve.driver import DriverError, read_driver

_SHOWN = 8


def lint(matrix: Matrix, catalog: Catalog) -> tuple[Complaint, ...]:
    """Return every complaint, in the order of the document; nothing when the catalog knows every name."""
    found = [*_values(matrix, catalog), *(complaint for target in matrix.targets for complaint in _target(target, catalog))]
    return tuple(sorted(found, key=lambda complaint: (complaint.where.line, complaint.where.column)))


def _values(matrix: Matrix, catalog: Catalog) -> Iterator[Complaint]:
    for where, axis, value in _written(matrix):
        if axis == "framework":
            yield from _name("framework", value, where, catalog.canonical_framework, catalog.framework_names)
        elif axis == "stack":
            yield from _name("stack", value, where, catalog.canonical_stack, catalog.stack_names)
            yield from _unversioned(value, where, catalog)


def _written(matrix: Matrix) -> Iterator[tuple[Where, str, AxisValue]]:
    """Yield every axis value of the axes and of ``include``, with its place."""
    for axis in matrix.axes:
        for position, value in enumerate(axis.values):
            yield axis.value_where[position] if position < len(axis.value_where) else axis.where, axis.name, value
    for include in matrix.include:
        for name, value in include.values.items():
            yield include.value_where.get(name, include.where), name, value


def _name(
    kind: str, value: AxisValue, where: Where, ask: Callable[[str], Named], known: Callable[[], tuple[str, ...]]
) -> Iterator[Complaint]:
    written = value.name or value.text
    named = ask(written)
    if named.only is None:
        hint = f"did you mean {named.close[0]}?" if named.close else f"known are: {', '.join(known())}"
        yield Complaint(where=where, message=f"the catalog has no {kind} {written!r}", hint=hint)


def _unversioned(value: AxisValue, where: Where, catalog: Catalog) -> Iterator[Complaint]:
    name = catalog.canonical_stack(value.name or value.text).only
    stack = catalog.stack(name) if name else None
    if stack is not None and not stack.versioned and value.specifiers is not None:
        yield Complaint(where=where, message=f"{value.text!r} asks for a version, and {name} has none", hint=f"write {name}")


def _target(target: Target, catalog: Catalog) -> Iterator[Complaint]:
    accelerator = catalog.accelerator(target.accelerator)
    if accelerator is None:
        yield _no_accelerator(target, catalog)
        return
    if accelerator.platforms and target.platform not in accelerator.platforms:
        hosts = ", ".join(str(platform) for platform in accelerator.platforms)
        yield Complaint(
            where=_place(target, "platform"),
            message=f"{target.accelerator} sits in {hosts} hosts, and the target {target.name!r} is {target.platform}",
            hint=f"write platform: {accelerator.platforms[0]}",
        )
    yield from _driver(target, tuple(accelerator.stacks), catalog)


def _no_accelerator(target: Target, catalog: Catalog) -> Complaint:
    named = catalog.canonical_accelerator(target.accelerator)
    candidates = named.found or named.close
    if candidates:
        hint = f"did you mean {' or '.join(candidates[:3])}?"
    else:
        vendor = target.accelerator.partition("/")[0]
        models = [item.name for item in catalog.accelerators(vendor)]
        known = models or list(catalog.vendor_names())
        more = ", …" if len(known) > _SHOWN else ""
        hint = f"known {'are' if models else 'vendors are'}: {', '.join(known[:_SHOWN])}{more}"
    where = _place(target, "accelerator")
    return Complaint(where=where, message=f"the catalog has no accelerator {target.accelerator!r}", hint=hint)


def _driver(target: Target, stacks: tuple[str, ...], catalog: Catalog) -> Iterator[Complaint]:
    where = _place(target, "driver")
    for stack in (catalog.stack(name) for name in stacks):
        if stack is None or target.driver is None:
            continue
        if _driverless(stack):
            message = f"{target.accelerator} has no driver, and {target.driver!r} is given"
            yield Complaint(where=where, message=message, hint="leave driver out")
            continue
        try:
            read_driver(target.driver, stack, catalog.drivers(stack.numbering) if stack.numbering else None)
        except DriverError as error:
            yield Complaint(where=where, message=str(error), hint=error.hint)


def _driverless(stack: Stack) -> bool:
    """Return whether a stack has no driver: the CPU, and TPUs, of whose drivers there is no numbering either."""
    return stack.model is DriverModel.NONE or (stack.model is DriverModel.UNRECORDED and stack.numbering is None)


def _place(target: Target, key: str) -> Where:
    return target.value_where.get(key, target.where)
