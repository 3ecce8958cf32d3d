"""Files of the catalog into facts, each parsed once, on demand, with every complaint about a file at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from builder.catalog.builds import FrameworkFile, ImageFile
from builder.catalog.files import Folder
from builder.catalog.records import AcceleratorFile, DistributionFile, DriverFile, File, IndexFile, StackFile, VendorFile
from builder.errors import Complaint, DocumentError, Where
from builder.model.facts import Devices, Distribution, Drivers, Framework, Image, IndexFacts, Stack, Vendor

F = TypeVar("F", bound=File)
T = TypeVar("T")

_HINT = "mend the file; the shape of each kind of record is in builder/catalog/records.py and builds.py"


def _checked(raw: dict[str, Any], path: str, shape: type[F], convert: Callable[[F], T]) -> T:
    """Return the facts of one file; ``DocumentError`` with all that is wrong in it."""
    try:
        return convert(shape.model_validate(raw))
    except ValidationError as error:
        found = [
            (".".join(str(part) for part in item["loc"]), item["msg"].removeprefix("Value error, ")) for item in error.errors()
        ]
    except ValueError as error:
        found = [("", str(error))]
    complaints = tuple(
        Complaint(where=Where(file=path, line=1, column=1, field=field), message=message[:1].lower() + message[1:], hint=_HINT)
        for field, message in found
    )
    raise DocumentError(complaints, hint=_HINT)


class Records:
    """Typed records by kind and name. Each file is parsed at most once in the life of this object."""

    def __init__(self, overlay: Path | None = None) -> None:
        self.folder = Folder(overlay)
        self._kept: dict[tuple[str, str], object] = {}

    def _get(self, kind: str, name: str, shape: type[F], convert: Callable[[F], T]) -> T | None:
        key = (kind, name)
        if key not in self._kept:
            found = self.folder.load(kind, name)
            self._kept[key] = None if found is None else _checked(found[0], found[1], shape, convert)
        return self._kept[key]  # type: ignore[return-value]  # a key's kind decides the type that was put there

    def stack(self, name: str) -> Stack | None:
        """Return a stack by its canonical name."""
        return self._get("stacks", name, StackFile, StackFile.facts)

    def framework(self, name: str) -> Framework | None:
        """Return a framework by its canonical name."""
        return self._get("frameworks", name, FrameworkFile, FrameworkFile.facts)

    def images(self, name: str) -> tuple[Image, ...]:
        """Return the images of ``bases/<name>.yaml``; none when there is no such file."""
        return self._get("bases", name, ImageFile, ImageFile.facts) or ()

    def devices(self, vendor: str) -> Devices | None:
        """Return a vendor's archs and accelerators."""
        return self._get("accelerators", vendor, AcceleratorFile, AcceleratorFile.facts)

    def drivers(self, name: str) -> Drivers | None:
        """Return what is known about a vendor's driver numbers."""
        return self._get("drivers", name, DriverFile, DriverFile.facts)

    def vendor(self, name: str) -> Vendor | None:
        """Return a vendor."""
        return self._get("vendors", name, VendorFile, VendorFile.facts)

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """All distribution releases, oldest first."""
        names = self.folder.names("distributions")
        found = [self._get("distributions", name, DistributionFile, DistributionFile.facts) or () for name in names]
        return tuple(sorted((release for group in found for release in group), key=lambda release: release.date))

    @cached_property
    def indexes(self) -> dict[str, IndexFacts]:
        """All package indexes, by name."""
        names = self.folder.names("indexes")
        found = [self._get("indexes", name, IndexFile, IndexFile.facts) or {} for name in names]
        return {name: index for group in found for name, index in group.items()}
