"""Targets of a matrix as places the rules can judge."""

from __future__ import annotations

from dataclasses import dataclass

from builder.catalog.query import Catalog
from builder.model.matrix import Target
from builder.model.verdict import Reason
from builder.solve.driver import DriverError, read_driver
from builder.solve.rules.reason import unknown
from builder.solve.subject import Driver, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A place, and what could not be read of it."""

    place: Place
    problems: tuple[Reason, ...] = ()


class Places:
    """Targets, looked up in the catalog once each per stack."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._kept: dict[tuple[str, str], Read] = {}

    def drives(self, stack: str, target: Target) -> bool:
        """Return whether a stack drives the target's accelerator; an accelerator the catalog lacks may be driven."""
        accelerator = self._catalog.accelerator(target.accelerator)
        return accelerator is None or stack in accelerator.stacks

    def of(self, target: Target, stack_name: str) -> Read:
        """Return a target as a place for builds of a stack."""
        key = (target.name, stack_name)
        if key not in self._kept:
            self._kept[key] = self._read(target, stack_name)
        return self._kept[key]

    def _read(self, target: Target, stack_name: str) -> Read:
        stack = self._catalog.stack(stack_name)
        drivers = self._catalog.drivers(stack.numbering) if stack and stack.numbering else None
        problems: list[Reason] = []
        driver: Driver | None = None
        if target.driver is not None and stack is not None:
            try:
                driver = read_driver(target.driver, stack, drivers)
            except DriverError as error:
                problems.append(unknown("DRV007", str(error)))
        accelerator = self._catalog.accelerator(target.accelerator)
        if accelerator is None:
            problems.append(unknown("DEV017", f"the accelerator {target.accelerator!r} is not in the catalog"))
        place = Place(
            name=target.name,
            platform=target.platform,
            accelerator=accelerator,
            driver=driver,
            drivers=drivers,
            archs=self._catalog.archs(target.accelerator.partition("/")[0]),
            container_path=target.container_path,
        )
        return Read(place=place, problems=tuple(problems))
