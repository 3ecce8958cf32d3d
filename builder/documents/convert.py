"""A valid document to the model, each part with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from builder.documents.nodes import Items, Table, Value
from builder.documents.sections import MatrixFile, TargetSection
from builder.documents.settings import Conditional, PackagesEntry, Section
from builder.errors import Where
from builder.model.axis import AxisValue
from builder.model.matrix import (
    Axis,
    BaseChoice,
    BasePolicy,
    Bound,
    EngineName,
    Exclude,
    Include,
    Limits,
    Matrix,
    Packages,
    Runner,
    Target,
    When,
)
from builder.model.oci import LINUX_AMD64

T = TypeVar("T")


def to_matrix(document: MatrixFile, data: Table, file: str) -> Matrix:
    """Return the matrix of a document; ``data`` is the value that the document was read from."""
    axes = table_at(data, "matrix")
    limits, bases = document.limits, document.bases
    settings = _Settings(data, file)
    return Matrix(
        path=file,
        name=document.name,
        repository=document.repository,
        targets=_targets(document, table_at(data, "targets"), file),
        axes=_axes(document, axes, file),
        axes_where=data.place_of("matrix").where(file),
        exclude=_exclude(document, axes, file),
        include=_include(document, axes, file),
        base=settings.read("base", document.base, _bases),
        packages=settings.entries("packages", document.packages, _packages),
        env=settings.read("env", document.env, _env),
        probes=settings.read("probes", document.probes, _words),
        user=settings.read("user", document.user, str),
        entrypoint=settings.read("entrypoint", document.entrypoint, _words),
        tags=tuple(document.tags),
        tags_where=data.get("tags", data).at.where(file),
        platforms=tuple(document.platforms or (LINUX_AMD64,)),
        publish_tier=document.publish.tier if document.publish else None,
        licence=dict(document.licence),
        engine=document.engine or EngineName.AUTO,
        builders=tuple(document.builders),
        mirrors=dict(document.mirrors),
        limits=Limits(size=limits.size, seconds=limits.seconds) if limits else Limits(),
        bases=BasePolicy(mode=bases.mode, distribution=bases.distribution) if bases else BasePolicy(),
        indexes=dict(document.indexes),
        bounds=tuple(Bound(name=name, minimum=bound.minimum, maximum=bound.maximum) for name, bound in document.bounds.items()),
    )


def table_at(data: Table, key: str) -> Table:
    """Return the mapping under a key, an empty one at the same place when there is none."""
    found = data.get(key)
    if isinstance(found, Table):
        return found
    empty = Table()
    empty.at = data.at
    return empty


def items_at(data: Table, key: str) -> list[Value]:
    """Return the items of the list under a key, none when there is no list."""
    found = data.get(key)
    return list(found) if isinstance(found, Items) else []


def axis_lists(document: MatrixFile) -> dict[str, list[AxisValue]]:
    """Return the axes of a document, in the order written."""
    return dict(document.matrix.__pydantic_extra__)


def _axes(document: MatrixFile, axes: Table, file: str) -> tuple[Axis, ...]:
    return tuple(
        Axis(
            name=name,
            values=tuple(values),
            where=axes.place_of(name).where(file),
            value_where=tuple(item.at.where(file) for item in items_at(axes, name)),
        )
        for name, values in axis_lists(document).items()
    )


def _exclude(document: MatrixFile, axes: Table, file: str) -> tuple[Exclude, ...]:
    places = items_at(axes, "exclude")
    return tuple(
        Exclude(
            pattern=dict(entry.__pydantic_extra__),
            reason=entry.reason,
            where=place.at.where(file),
            value_where=_by_key(place, file),
        )
        for entry, place in zip(document.matrix.exclude, places, strict=True)
    )


def _include(document: MatrixFile, axes: Table, file: str) -> tuple[Include, ...]:
    places = items_at(axes, "include")
    return tuple(
        Include(values=dict(entry), where=place.at.where(file), value_where=_by_key(place, file))
        for entry, place in zip(document.matrix.include, places, strict=True)
    )


def _by_key(value: Value, file: str) -> dict[str, Where]:
    """Return the place of every value of a mapping, by key."""
    return {key: item.at.where(file) for key, item in value.items()} if isinstance(value, Table) else {}


def _targets(document: MatrixFile, places: Table, file: str) -> tuple[Target, ...]:
    return tuple(
        Target(
            name=name,
            accelerator=target.accelerator,
            driver=target.driver,
            platform=target.platform or LINUX_AMD64,
            runner=_runner(target),
            labels=tuple(target.labels),
            engine=target.engine,
            container_path=target.container_path,
            toolkit=target.toolkit,
            nodes=target.nodes,
            fabric=dict(target.fabric),
            where=places.place_of(name).where(file),
            value_where=_by_key(places[name], file),
        )
        for name, target in document.targets.items()
    )


def _runner(target: TargetSection) -> Runner:
    runner = target.runner
    if not isinstance(runner, Section):
        return Runner(kind=runner)
    options = {str(key): str(value) for key, value in runner.model_dump(exclude_none=True).items()}
    return Runner(kind=options.pop("kind"), options=options)


def _many(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _bases(value: object) -> tuple[BaseChoice, ...]:
    return tuple(item for item in _many(value) if isinstance(item, BaseChoice))


def _words(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in _many(value))


def _env(value: object) -> Mapping[str, str]:
    return {str(name): str(text) for name, text in value.items()} if isinstance(value, dict) else {}


def _packages(value: object) -> Packages:
    return Packages(pip=tuple(value.pip), apt=tuple(value.apt)) if isinstance(value, PackagesEntry) else Packages()


class _Settings:
    """Reads settings that may be for some cells only."""

    def __init__(self, data: Table, file: str) -> None:
        self._data = data
        self._file = file

    def read(self, key: str, value: object, make: Callable[[object], T]) -> tuple[When[T], ...]:
        """Return a setting as entries: one for every cell where the plain value was written."""
        if value is None:
            return ()
        if isinstance(value, list) and any(isinstance(item, Conditional) for item in value):
            return self.entries(key, value, make)
        return (When(value=make(value), where=self._data[key].at.where(self._file)),)

    def entries(self, key: str, value: Sequence[object], make: Callable[[object], T]) -> tuple[When[T], ...]:
        """Return the entries of a setting that is always a list of them."""
        pairs = zip(value, items_at(self._data, key), strict=True)
        return tuple(self._entry(key, entry, place, make) for entry, place in pairs if isinstance(entry, Conditional))

    def _entry(self, key: str, entry: Conditional, place: Value, make: Callable[[object], T]) -> When[T]:
        when = table_at(place, "when") if isinstance(place, Table) else Table()
        inner: object = entry if isinstance(entry, PackagesEntry) else getattr(entry, key)
        return When(
            value=make(inner),
            when={
                axis: tuple(patterns) if isinstance(patterns, list) else (patterns,)
                for axis, patterns in (entry.when or {}).items()
            },
            where=place.at.where(self._file),
            value_where=_by_key(when, self._file),
        )
