"""A matrix file, read and checked: what the user asks for, in types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from builder.errors import Where
from builder.model.axis import AxisValue, PatternError, any_matches
from builder.model.oci import LINUX_AMD64, ImageReference, Platform

T = TypeVar("T")

Pattern = Mapping[str, AxisValue]
"""Axis name to the value or pattern it must match."""


class Tier(StrEnum):
    """How far a variant is shown to work on a target, lowest first."""

    RENDERED = "rendered"
    BUILT = "built"
    IMPORTED = "imported"
    HOST_CPU = "host-cpu"
    DEVICE = "device"
    FLEET = "fleet"

    @property
    def rank(self) -> int:
        """Position in the order ``rendered`` < … < ``fleet``."""
        return list(Tier).index(self)


class EngineName(StrEnum):
    """What builds and runs containers."""

    AUTO = "auto"
    DOCKER = "docker"
    PODMAN = "podman"
    GRAFT = "graft"


class BaseKind(StrEnum):
    """Where a build starts from."""

    VENDOR = "vendor"
    STACK = "stack"
    DISTRIBUTION = "distribution"
    IMAGE = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseChoice:
    """One entry of ``base:``; ``reference`` only for ``IMAGE``."""

    kind: BaseKind
    reference: ImageReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """How a target is reached: ``local``, ``ssh``, ``slurm``, ``kubernetes``, with its options as written."""

    kind: str = "local"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A named place where images must run. ``accelerator`` is canonical, ``vendor/model``.

    ``value_where`` is the place of each key that was written.
    """

    name: str
    accelerator: str
    driver: str | None = None
    platform: Platform = LINUX_AMD64
    runner: Runner = field(default_factory=Runner)
    labels: tuple[str, ...] = ()
    engine: EngineName | None = None
    container_path: str | None = None
    toolkit: str | None = None
    nodes: int = 1
    fabric: Mapping[str, str] = field(default_factory=dict)
    where: Where = field(compare=False)
    value_where: Mapping[str, Where] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis of the matrix, values in the order written; ``value_where`` is the place of each value."""

    name: str
    values: tuple[AxisValue, ...]
    where: Where = field(compare=False)
    value_where: tuple[Where, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude:
    """Cells to leave out, and why. ``value_where`` is the place of each pattern, by axis."""

    pattern: Pattern
    reason: str | None = None
    where: Where = field(compare=False)
    value_where: Mapping[str, Where] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """Values that extend cells, or a cell of its own. ``value_where`` is the place of each value, by axis."""

    values: Pattern
    where: Where = field(compare=False)
    value_where: Mapping[str, Where] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class When(Generic[T]):
    """A setting and the cells it is for. ``when`` empty means every cell; a list of values means any of them.

    ``value_where`` is the place of each axis of ``when``.
    """

    value: T
    when: Mapping[str, tuple[AxisValue, ...]] = field(default_factory=dict)
    where: Where = field(compare=False)
    value_where: Mapping[str, Where] = field(default_factory=dict, compare=False)

    def applies(self, cell: Cell) -> bool:
        """Return whether every axis of ``when`` has one of its values in the cell; ``PatternError`` rather than a guess.

        A cell that does not have the axis is not meant. Where one axis rules the cell out, what
        cannot be compared on another does not matter.
        """
        guess: PatternError | None = None
        for axis, patterns in self.when.items():
            value = cell.get(axis)
            try:
                if value is None or not any_matches(patterns, value):
                    return False
            except PatternError as error:
                guess = guess or error
        if guess is not None:
            raise guess
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """Python requirements (PEP 508) and Debian package names to add."""

    pip: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper bounds: image size in bytes, seconds for one build and for one probe."""

    size: int | None = None
    seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePolicy:
    """How bases are had: ``mode`` ``mirror|reference``; ``distribution`` ``auto|assembled|registry``."""

    mode: str = "reference"
    distribution: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound on one measured value: ``minimum`` and ``maximum`` in the value's own unit."""

    name: str
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One matrix file. Settings that may differ per cell are tuples of ``When``, in the order written.

    Of the entries that apply to a cell the last wins, except that ``env`` merges by name (the last
    wins per name) and ``packages`` add up. ``axes_where`` is the place of ``matrix:`` itself.
    """

    path: str
    name: str
    repository: ImageReference | None = None
    targets: tuple[Target, ...] = ()
    axes: tuple[Axis, ...] = ()
    axes_where: Where | None = field(default=None, compare=False)
    exclude: tuple[Exclude, ...] = ()
    include: tuple[Include, ...] = ()
    base: tuple[When[tuple[BaseChoice, ...]], ...] = ()
    packages: tuple[When[Packages], ...] = ()
    env: tuple[When[Mapping[str, str]], ...] = ()
    probes: tuple[When[tuple[str, ...]], ...] = ()
    user: tuple[When[str], ...] = ()
    entrypoint: tuple[When[tuple[str, ...]], ...] = ()
    tags: tuple[str, ...] = ("{id}",)
    tags_where: Where = field(compare=False)
    platforms: tuple[Platform, ...] = (LINUX_AMD64,)
    publish_tier: Tier | None = None
    licence: Mapping[str, str] = field(default_factory=dict)
    engine: EngineName = EngineName.AUTO
    builders: tuple[str, ...] = ()
    mirrors: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    bases: BasePolicy = field(default_factory=BasePolicy)
    indexes: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of the axes, as asked for; ``axes`` keeps the order written, added keys last."""

    index: int
    axes: tuple[tuple[str, AxisValue], ...]

    def get(self, name: str) -> AxisValue | None:
        """Return the value of one axis, or ``None`` when the cell has no such axis."""
        return next((value for axis, value in self.axes if axis == name), None)

    def __str__(self) -> str:
        """Return ``axis=value`` pairs, for messages."""
        return ", ".join(f"{name}={value}" for name, value in self.axes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedCell:
    """A combination the matrix leaves out, and the reason the matrix gives."""

    axes: tuple[tuple[str, AxisValue], ...]
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """All cells of a matrix, in a stable order, and all that was excluded."""

    cells: tuple[Cell, ...]
    excluded: tuple[ExcludedCell, ...]
