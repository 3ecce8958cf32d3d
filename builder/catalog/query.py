"""Questions to the catalog, and the names people write for what is in it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from builder.catalog.files import KINDS
from builder.catalog.load import Records
from builder.errors import UsageError
from builder.model.facts import (
    Accelerator,
    Arch,
    Distribution,
    Drivers,
    Framework,
    Image,
    IndexFacts,
    Stack,
    StackRelease,
    Vendor,
)
from builder.model.oci import ImageReference

_SIZE = re.compile(r"\d+\s*g(?:i?b)?\b")
_NOISE = re.compile(r"gpu|accelerator|card|graphics|adapter|hbm\d?e?|gddr\d\w?|pcie?|sxm\d?|oam|nvl|smc")
_SEPARATORS = re.compile(r"[^a-z0-9+]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a written name may mean: one canonical name in ``found``, or several; else ``close`` ones."""

    found: tuple[str, ...] = ()
    close: tuple[str, ...] = ()

    @property
    def only(self) -> str | None:
        """The one meaning, ``None`` when there is none or several."""
        return self.found[0] if len(self.found) == 1 else None


def _close(text: str, known: Iterable[str]) -> tuple[str, ...]:
    return tuple(difflib.get_close_matches(text, list(known), n=3, cutoff=0.6))


class Catalog:
    """The facts, asked by canonical name; files are read when they are first needed."""

    def __init__(self, overlay: Path | None = None) -> None:
        self._records = Records(overlay)
        self._models: dict[str, dict[str, Accelerator]] = {}
        self._aliases: dict[str, dict[str, str]] = {}
        self._spellings: dict[str, dict[str, list[str]]] = {}

    def stack_names(self) -> tuple[str, ...]:
        """Return every stack's canonical name."""
        return self._records.folder.names("stacks")

    def framework_names(self) -> tuple[str, ...]:
        """Return every framework's canonical name."""
        return self._records.folder.names("frameworks")

    def vendor_names(self) -> tuple[str, ...]:
        """Return every vendor that has accelerators."""
        return self._records.folder.names("accelerators")

    def stack(self, name: str) -> Stack | None:
        """Return a stack with its releases."""
        return self._records.stack(name)

    def stack_release(self, name: str, version: Version) -> StackRelease | None:
        """Return a release; of a series, written ``12.8``, its newest, which asks the most of a driver."""
        stack = self.stack(name)
        if stack is None:
            return None
        written = version.release
        matching = [release for release in stack.releases if release.version.release[: len(written)] == written]
        return matching[-1] if matching else None

    def framework(self, name: str) -> Framework | None:
        """Return a framework with its releases and wheels."""
        return self._records.framework(name)

    def images(self, framework: str, stack: str) -> tuple[Image, ...]:
        """Return the vendor images that hold a framework on a stack."""
        return self._records.images(f"{framework}-{stack}")

    def stack_images(self, stack: str) -> tuple[Image, ...]:
        """Return the vendor images that hold a stack and no framework."""
        return self._records.images(f"stack-{stack}")

    def image_files(self) -> tuple[str, ...]:
        """Return the names of all files of images."""
        return self._records.folder.names("bases")

    def images_of(self, file: str) -> tuple[Image, ...]:
        """Return the images of one file of ``image_files``."""
        return self._records.images(file)

    def images_named(self, reference: ImageReference) -> tuple[Image, ...]:
        """Return the images of a name, whatever their tags."""
        images = (image for file in self.image_files() for image in self.images_of(file))
        return tuple(image for image in images if image.reference.name == reference.name)

    def image(self, reference: ImageReference) -> Image | None:
        """Return the image of a name and tag, whatever its digest; ``None`` when the catalog does not know it."""
        return next((image for image in self.images_named(reference) if image.reference.tag == reference.tag), None)

    def accelerators(self, vendor: str) -> tuple[Accelerator, ...]:
        """Return all accelerators of a vendor."""
        devices = self._records.devices(vendor)
        return () if devices is None else devices.models

    def archs(self, vendor: str) -> Mapping[str, Arch]:
        """Return all archs of a vendor, by name."""
        devices = self._records.devices(vendor)
        return {} if devices is None else devices.archs

    def accelerator(self, name: str) -> Accelerator | None:
        """Return an accelerator by its canonical ``vendor/model``."""
        vendor = name.partition("/")[0]
        if vendor not in self._models:
            self._models[vendor] = {accelerator.name: accelerator for accelerator in self.accelerators(vendor)}
        return self._models[vendor].get(name)

    def drivers(self, numbering: str) -> Drivers | None:
        """Return what is known about one way of numbering drivers."""
        return self._records.drivers(numbering)

    def vendor(self, name: str) -> Vendor | None:
        """Return a vendor."""
        return self._records.vendor(name)

    def distributions(self) -> tuple[Distribution, ...]:
        """Return all releases of distributions, oldest first."""
        return self._records.distributions

    def distribution(self, label: str) -> Distribution | None:
        """Return a release by its label, such as ``ubuntu24.04``."""
        return next((item for item in self.distributions() if item.release.label == label), None)

    def distribution_image(self, reference: ImageReference) -> Distribution | None:
        """Return the release whose own image a name and tag mean."""
        wanted = (reference.name, reference.tag)
        return next((item for item in self.distributions() if (item.image.name, item.image.tag) == wanted), None)

    def index(self, name: str) -> IndexFacts | None:
        """Return a package index by name."""
        return self._records.indexes.get(name)

    def indexes(self) -> tuple[IndexFacts, ...]:
        """Return all package indexes."""
        return tuple(self._records.indexes.values())

    def canonical_framework(self, text: str) -> Named:
        """Return the framework a name means: ``torch`` is ``pytorch``, ``ORT`` is ``onnxruntime``."""
        return self._canonical("frameworks", text, "releases")

    def canonical_stack(self, text: str) -> Named:
        """Return the stack a name means: ``xpu`` is ``oneapi``."""
        return self._canonical("stacks", text, "releases")

    def _canonical(self, kind: str, text: str, stop: str) -> Named:
        written = canonicalize_name(text)
        names = self._records.folder.names(kind)
        if written in names:
            return Named(found=(written,))
        if kind not in self._aliases:
            self._aliases[kind] = {
                canonicalize_name(alias): name
                for name, head in self._records.folder.heads(kind, stop)
                for alias in str(head.get("aliases") or "").split()
            }
        aliases = self._aliases[kind]
        if written in aliases:
            return Named(found=(aliases[written],))
        close = _close(written, [*names, *aliases])
        return Named(close=tuple(dict.fromkeys(aliases.get(name, name) for name in close)))

    def canonical_accelerator(self, text: str) -> Named:
        """Return the accelerators a name may mean: ``H100 80GB HBM3`` is ``nvidia/h100``.

        Vendor words, memory sizes and form factors do not count. An arch (``sm_90``) means every
        accelerator of that arch.
        """
        written = text.strip().lower()
        vendor, slash, model = written.partition("/")
        if slash and self.accelerator(written) is not None:
            return Named(found=(written,))
        vendors = (vendor,) if slash and vendor in self.vendor_names() else self.vendor_names()
        wanted = self._reduced(model if slash else written)
        found = [name for vendor in vendors for name in self._spelled(vendor).get(wanted, ())] if wanted else []
        found.extend(item.name for vendor in vendors for item in self.accelerators(vendor) if item.arch == written)
        if found:
            return Named(found=tuple(dict.fromkeys(found)))
        known = {item.name.partition("/")[2]: item.name for vendor in vendors for item in self.accelerators(vendor)}
        return Named(close=tuple(known[name] for name in _close(model if slash else written, known)))

    def _spelled(self, vendor: str) -> Mapping[str, list[str]]:
        """Return a vendor's accelerators by every reduced spelling of their names."""
        if vendor not in self._spellings:
            kept: dict[str, list[str]] = {}
            for item in self.accelerators(vendor):
                for spelling in {self._reduced(text) for text in (item.name.partition("/")[2], item.title, *item.aliases)}:
                    kept.setdefault(spelling, []).append(item.name)
            self._spellings[vendor] = kept
        return self._spellings[vendor]

    def _reduced(self, text: str) -> str:
        """Return a spelling without vendor words, memory and form factor: letters and digits only."""
        words = _SEPARATORS.split(_SIZE.sub(" ", text.lower()))
        return "".join(word for word in words if word and not _NOISE.fullmatch(word) and word not in self._vendor_words)

    @cached_property
    def _vendor_words(self) -> frozenset[str]:
        names = self._records.folder.names("vendors")
        return frozenset(word for name in names if (vendor := self.vendor(name)) for word in vendor.words)


def load_catalog(overlay: Path | None = None) -> Catalog:
    """Return the catalog that ships, with a private folder of the same shape laid over it.

    ``UsageError`` when the folder is not there, or holds nothing that could lie over the catalog.
    """
    if overlay is not None and not any((overlay / kind).is_dir() for kind in KINDS):
        what = "has none of the folders of a catalog" if overlay.is_dir() else "is not a folder"
        msg = f"{str(overlay)!r} {what}"
        raise UsageError(msg, hint=f"name a folder with one or more of: {', '.join(KINDS)}")
    return Catalog(overlay)
