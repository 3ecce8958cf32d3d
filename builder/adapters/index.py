"""Package files from indexes into the shared cache, each verified by its hash and kept under it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from builder.adapters.downloads import Downloads
from builder.adapters.files import disk_errors, locked, require_space, sha256_of
from builder.adapters.index_pages import IndexPages, OfferedFile
from builder.adapters.pip_config import PipConfig, local_path
from builder.errors import ImgbuildError, MismatchError, UnreachableError
from builder.model.lock import LockedPackage
from builder.model.plan import Index

_UPDATE = "imgbuild matrix lock --update on the matrix file pins what the indexes have now"


class SimpleIndex:
    """Downloads by name, file and hash; ``cache`` is the folder all runs share.

    A file is looked for on the index the lock names, and then on every other index of the variant
    and of pip's configuration: its hash says that it is the same file, wherever it came from.
    """

    def __init__(self, *, cache: Path, config: PipConfig, downloads: Downloads | None = None) -> None:
        self._wheels = cache / "wheels"
        self._config = config
        self._downloads = downloads or Downloads(config)
        self._pages = IndexPages(self._downloads, links=frozenset(link.name for link in config.find_links))
        self._verified: set[str] = set()
        self._lock = threading.Lock()

    def path(self, package: LockedPackage) -> Path:
        """Return where the cache keeps a file, whether it is there or not."""
        return self._wheels / package.sha256[:2] / package.sha256 / package.file

    def fetch(
        self, package: LockedPackage, indexes: Sequence[Index], *, on_progress: Callable[[int], None] | None = None
    ) -> Path:
        """Return the path of the file in the cache, downloaded and verified, as ``ports.PackageIndex`` says.

        Callers who want one file at once, in this process or another, download it once.
        ``HostBlockedError`` when the disk cannot take it.
        """
        progress = on_progress or _silent
        progress(0)
        place = self.path(package)
        with locked(place.parent.parent / f"{package.sha256}.lock"):
            if not self._holds(place, package):
                self._get(package, place, indexes, progress)
            with self._lock:
                self._verified.add(package.sha256)
        return place

    def _holds(self, place: Path, package: LockedPackage) -> bool:
        """Whether the cache has the whole file; one that was changed since is removed."""
        if not place.is_file():
            return False
        if package.sha256 in self._verified or sha256_of(place) == package.sha256:
            return True
        with disk_errors(f"removing the changed file {place}"):
            place.unlink()
        return False

    def _get(self, package: LockedPackage, place: Path, indexes: Sequence[Index], progress: Callable[[int], None]) -> None:
        failures: list[ImgbuildError] = []
        for index in self._candidates(package, indexes):
            try:
                offered = self._offer(index, package)
                if offered is not None and self._take(offered, index, package, place, progress):
                    return
            except (UnreachableError, MismatchError) as error:
                failures.append(error)
        raise _worst(failures) or self._gone(package, indexes)

    def _candidates(self, package: LockedPackage, indexes: Sequence[Index]) -> Iterator[Index]:
        """Yield the index the lock names, then all others, each place once."""
        everywhere: dict[str, Index] = {}
        for index in (*indexes, *self._config.indexes, *self._config.find_links):
            everywhere.setdefault(index.url, index)
        named = [index for index in everywhere.values() if index.name == package.index]
        yield from named
        yield from (index for index in everywhere.values() if index not in named)

    def _offer(self, index: Index, package: LockedPackage) -> OfferedFile | None:
        """Return the locked file as an index offers it, ``None`` when it has none of that name."""
        others: list[str] = []
        for offered in self._pages.files(index, package.name):
            if offered.file != package.file:
                continue
            if offered.sha256 in {None, package.sha256}:
                return offered
            others.append(str(offered.sha256))
        if others:
            raise _changed(package, index.name, others[0])
        return None

    def _take(
        self, offered: OfferedFile, index: Index, package: LockedPackage, place: Path, progress: Callable[[int], None]
    ) -> bool:
        """Bring one offered file into the cache; false when the index does not have it after all."""
        size = package.size if package.size is not None else offered.size
        part = place.parent / f".{place.name[:200]}.part"
        with disk_errors(f"downloading {package.file}", needed=size):
            part.parent.mkdir(parents=True, exist_ok=True)
        resumed = part.exists()
        if size is not None:
            missing = size - (part.stat().st_size if resumed else 0)
            require_space(part.parent, missing, f"downloading {package.file}")
        if not self._fill(part, offered, index, size, progress):
            return False
        found = sha256_of(part)
        if found != package.sha256:
            part.unlink()
            if resumed:  # what an earlier run left may have been another file's beginning
                return self._take(offered, index, package, place, progress)
            raise _changed(package, index.name, found, announced=offered.sha256 == package.sha256)
        with disk_errors(f"keeping {place}"):
            part.chmod(0o444)
            part.replace(place)
        return True

    def _fill(self, part: Path, offered: OfferedFile, index: Index, size: int | None, progress: Callable[[int], None]) -> bool:
        source = local_path(offered.url)
        if source is None:
            return self._downloads.file(offered.url, part, owner=index.url, size=size, on_progress=progress)
        if not source.is_file():
            return False
        with disk_errors(f"copying {source}", needed=size):
            shutil.copyfile(source, part)
        progress(part.stat().st_size)
        return True

    def _gone(self, package: LockedPackage, indexes: Sequence[Index]) -> MismatchError:
        asked = ", ".join(index.name for index in self._candidates(package, indexes)) or "no index at all"
        msg = f"{package.file}, which the lock has from the index {package.index!r}, is on none of: {asked}"
        hint = f"its publisher may have removed it; {_UPDATE}, or name the index that has it in pip's configuration"
        return MismatchError(msg, hint=hint)


def _silent(_received: int) -> None:
    """Tell nobody."""


def _changed(package: LockedPackage, index: str, found: str, *, announced: bool = False) -> MismatchError:
    """Return the error for a file of another hash; ``announced`` is whether the index itself says that it has the lock's."""
    msg = f"{package.file} from the index {index!r} has the sha256 {found}, the lock says {package.sha256}"
    if announced:
        hint = (
            "the index itself announces the lock's, so the file was damaged there or on its way: ask its operator, or a proxy's"
        )
        return MismatchError(msg, hint=hint)
    return MismatchError(msg, hint=f"find out why it changed before you trust it; {_UPDATE}")


def _worst(failures: Sequence[ImgbuildError]) -> ImgbuildError | None:
    """Return the failure to show: a file that changed before an index that could not be asked."""
    return next((one for one in failures if isinstance(one, MismatchError)), failures[0] if failures else None)
