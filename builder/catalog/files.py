"""Reading the catalog's YAML files: every scalar is text, an overlay folder adds and replaces records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from builder.errors import Complaint, DocumentError, Where

if TYPE_CHECKING:
    from yaml import SafeLoader as _Base
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DATA = Path(__file__).resolve().parent / "data"
KINDS = ("stacks", "frameworks", "accelerators", "bases", "drivers", "vendors", "distributions", "indexes")
"""The folders of a catalog, one per kind of record."""

_KEPT = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")
_IDENTITIES = ("version", "name", "model", "reference", "release", "package")


class _TextLoader(_Base):
    """Leaves numbers and dates as text, so that ``12.10`` is a version and not a float."""


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}


@cache
def _read(path: Path) -> dict[str, Any]:
    try:
        loaded = yaml.load(path.read_bytes(), Loader=_TextLoader)  # noqa: S506  # a SafeLoader with fewer resolvers
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = Where(file=str(path), line=mark.line + 1 if mark else 1, column=mark.column + 1 if mark else 1)
        raise DocumentError((Complaint(where=where, message=f"this is not YAML: {error}"),), hint="mend the file") from error
    if not isinstance(loaded, dict):
        where = Where(file=str(path), line=1, column=1)
        raise DocumentError((Complaint(where=where, message="a catalog file is a mapping of keys"),), hint="mend the file")
    return loaded


def _identity(record: object) -> tuple[str, str] | None:
    if not isinstance(record, Mapping):
        return None
    key = next((name for name in _IDENTITIES if name in record), None)
    return None if key is None else (key, str(record[key]))


def merged(lower: Any, upper: Any) -> Any:  # noqa: ANN401  # raw YAML, typed by the records right after
    """Return ``lower`` with ``upper`` laid over it: mappings merge, records of a list replace by name or version."""
    if isinstance(lower, dict) and isinstance(upper, dict):
        return {**lower, **{key: merged(lower[key], value) if key in lower else value for key, value in upper.items()}}
    if isinstance(lower, list) and isinstance(upper, list):
        replaced = {identity: record for record in upper if (identity := _identity(record)) is not None}
        kept = [record if (identity := _identity(record)) is None else replaced.pop(identity, record) for record in lower]
        return [*kept, *(record for record in upper if (i := _identity(record)) is None or i in replaced)]
    return upper


class Folder:
    """The catalog's own data folder with an optional overlay, read file by file on demand."""

    def __init__(self, overlay: Path | None = None) -> None:
        self._roots = (DATA,) if overlay is None else (DATA, overlay)
        self.read: list[str] = []

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of the records of a kind, sorted, without reading any."""
        return tuple(sorted({path.stem for root in self._roots for path in (root / kind).glob("*.yaml")}))

    def load(self, kind: str, name: str) -> tuple[dict[str, Any], str] | None:
        """Return the raw content of one file and its path for messages; ``None`` when there is none."""
        found = [path for root in self._roots if (path := root / kind / f"{name}.yaml").is_file()]
        if not found:
            return None
        self.read.append(f"{kind}/{name}")
        raw: dict[str, Any] = {}
        for path in found:
            raw = merged(raw, _read(path)) if raw else _read(path)
        return raw, str(found[-1])

    def heads(self, kind: str, stop: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each file's keys above the top-level key ``stop``, so that aliases cost little to look up."""
        for name in self.names(kind):
            head: dict[str, Any] = {}
            for root in self._roots:
                path = root / kind / f"{name}.yaml"
                if path.is_file():
                    text = path.read_text(encoding="utf-8").partition(f"\n{stop}:")[0]
                    head |= yaml.load(text, Loader=_TextLoader) or {}  # noqa: S506  # see _read
            yield name, head
