"""What a matrix turns into: variants, and a verdict per target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from builder.model.matrix import BaseKind, Cell, ExcludedCell
from builder.model.oci import ImageReference, Platform
from builder.model.verdict import Decision, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release of a framework or stack. ``version`` is the catalog's; ``None`` for a stack without one (``cpu``)."""

    name: str
    version: Version | None = None

    @property
    def label(self) -> str:
        """``pytorch2.9.1``: name and version as ids and tags write it, ``+`` as ``_``.

        The local label is written of a pre-release only: a vendor builds several of one version.
        """
        version = self.version
        written = "" if version is None else str(version) if version.is_prerelease else version.public
        return f"{self.name}{written}".replace("+", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionRelease:
    """One release of a Linux distribution: ``debian``, ``12``, ``bookworm``; ``glibc`` is its C library's version."""

    name: str
    release: str
    codename: str | None = None
    glibc: str | None = None
    python: str | None = None

    @property
    def label(self) -> str:
        """``debian12``."""
        return f"{self.name}{self.release}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The base of one variant, not pinned yet (the lock pins it).

    ``reference`` is the image by tag. ``may_assemble`` is true for a distribution base that can
    also be assembled here from the distribution's own packages. ``frameworks`` are the Python
    distributions (canonical names) that the vendor put there and that must survive. ``licence``
    is the key under ``licence:`` whose terms apply.
    """

    kind: BaseKind
    reference: ImageReference
    distribution: DistributionRelease | None = None
    may_assemble: bool = False
    frameworks: tuple[str, ...] = ()
    vendor_release: str | None = None
    licence: str | None = None

    @property
    def label(self) -> str:
        """The word ``{base}`` stands for in tags: the kind."""
        return self.kind.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A package index: a name that locks may carry, and where it is (never locked, nor shown: it may hold credentials).

    ``only`` are the canonical names that are taken from it, every name it has when empty. An index
    for one framework often has old copies of common packages too, which nobody means.
    """

    name: str
    url: str = field(repr=False)
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A cell, decided. ``id`` is output and never parsed back.

    ``pip`` are PEP 508 requirements, the framework's own first when it comes from an index;
    ``indexes`` those to ask before the default one, in order. ``imports`` are the modules that
    prove the framework is there.
    """

    id: str
    cell: Cell
    framework: Release
    stack: Release
    python: str
    platforms: tuple[Platform, ...]
    base: Base
    pip: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    entrypoint: tuple[str, ...] | None = None
    probes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    own: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """A cell and what became of it.

    ``variant`` is ``None`` when no candidate may be built; then ``candidate`` names the closest
    one, to which ``verdicts`` belong, and ``reasons`` say why. ``reasons`` are free of targets.
    """

    cell: Cell
    variant: Variant | None
    candidate: str | None = None
    reasons: tuple[Reason, ...] = ()
    verdicts: Mapping[str, Decision] = field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every cell of a matrix, in the order of the matrix, and what was excluded."""

    name: str
    cells: tuple[PlannedCell, ...]
    excluded: tuple[ExcludedCell, ...]

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants to build."""
        return tuple(planned.variant for planned in self.cells if planned.variant is not None)
