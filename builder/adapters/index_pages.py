"""The files that a package index, or a folder or page of links, offers for one name."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests
from packaging.utils import canonicalize_name
from pypi_simple import ACCEPT_JSON_PREFERRED, DistributionPackage, ProjectPage, UnsupportedContentTypeError
from pypi_simple.errors import UnsupportedRepoVersionError

from builder.adapters.downloads import Downloads
from builder.adapters.pip_config import local_path
from builder.errors import UnreachableError
from builder.model.plan import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedFile:
    """One file an index offers. ``url`` may be ``file:``; the rest is ``None`` where the index does not say.

    ``metadata`` is whether the index has the file's metadata beside it (PEP 658).
    """

    file: str
    url: str
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    metadata: bool = False


class IndexPages:
    """Asks indexes what they offer, each page once per run.

    An index is a simple repository (PEP 691 JSON, PEP 503 HTML, or a local folder of such pages);
    ``links`` names those that are folders or pages of files instead (pip's find-links).
    """

    def __init__(self, downloads: Downloads, *, links: frozenset[str]) -> None:
        self._downloads = downloads
        self._links = links
        self._known: dict[_Page, Future[tuple[OfferedFile, ...]]] = {}
        self._lock = threading.Lock()

    def files(self, index: Index, name: str, *, forbidden_is_absent: bool = False) -> tuple[OfferedFile, ...]:
        """Return what an index offers under a name, nothing when it does not have it; ``UnreachableError`` when not asked.

        ``forbidden_is_absent`` says that an index which answers 403 does not have it.
        """
        project = canonicalize_name(name)
        url = index.url if index.name in self._links else f"{index.url.rstrip('/')}/{project}/"
        page = _Page(url=url, project=project, forbidden_is_absent=forbidden_is_absent)
        with self._lock:
            first = page not in self._known
            answer = self._known.setdefault(page, Future())
        if first:
            self._answer(answer, index, page)
        return answer.result()

    def _answer(self, answer: Future[tuple[OfferedFile, ...]], index: Index, page: _Page) -> None:
        """Ask, for all who wait for this page; a failure is theirs too, and the next who wants it asks again."""
        try:
            answer.set_result(self._ask(index, page))
        except BaseException as error:
            with self._lock:
                del self._known[page]
            answer.set_exception(error)
            raise

    def _ask(self, index: Index, page: _Page) -> tuple[OfferedFile, ...]:
        path = local_path(page.url)
        if path is not None:
            return _local(path, page.project, flat=index.name in self._links)
        response = self._downloads.page(page.url, accept=ACCEPT_JSON_PREFERRED, forbidden_is_absent=page.forbidden_is_absent)
        if response is None:
            return ()
        try:
            return _offered(_parsed(response, page.project).packages)
        except (ValueError, TypeError, UnsupportedContentTypeError, UnsupportedRepoVersionError) as error:
            msg = f"the index {index.name!r} answered something that is not a page of a package index for {page.project}"
            raise UnreachableError(msg, hint="look at its URL in the matrix or in pip's configuration") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """What is asked for."""

    url: str
    project: str
    forbidden_is_absent: bool


def page_of(files: Sequence[OfferedFile]) -> str:
    """Return a page of a simple index (PEP 503) that offers these files where they are."""
    return "<!DOCTYPE html>\n<html><body>\n" + "".join(f"{_anchor(one)}\n" for one in files) + "</body></html>\n"


def _anchor(one: OfferedFile) -> str:
    attributes = [("href", f"{one.url}#sha256={one.sha256}" if one.sha256 else one.url)]
    if one.requires_python:
        attributes.append(("data-requires-python", one.requires_python))
    if one.metadata:
        attributes.append(("data-core-metadata", "true"))
    shown = " ".join(f'{name}="{escape(value)}"' for name, value in attributes)
    return f"<a {shown}>{escape(one.file)}</a>"


def _parsed(response: requests.Response, project: str) -> ProjectPage:
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return ProjectPage.from_json_data(json.loads(response.content), response.url)
    return ProjectPage.from_response(response, project)


def _local(path: Path, project: str, *, flat: bool) -> tuple[OfferedFile, ...]:
    """Read a folder of files, or a page in a local folder; a place that is not there offers nothing."""
    if flat and path.is_dir():
        return tuple(OfferedFile(file=entry.name, url=entry.as_uri()) for entry in sorted(path.iterdir()) if entry.is_file())
    if flat and path.suffix == ".whl" and path.is_file():
        return (OfferedFile(file=path.name, url=path.as_uri()),)
    page = path / "index.html" if path.is_dir() else path
    if not page.is_file():
        return ()
    return _offered(ProjectPage.from_html(project, page.read_bytes(), base_url=page.as_uri()).packages)


def _offered(packages: Sequence[DistributionPackage]) -> tuple[OfferedFile, ...]:
    return tuple(
        OfferedFile(
            file=unquote(urlsplit(package.url).path).rpartition("/")[2],
            url=package.url,
            sha256=package.digests.get("sha256"),
            size=package.size,
            requires_python=package.requires_python,
            metadata=bool(package.has_metadata),
        )
        for package in packages
    )
