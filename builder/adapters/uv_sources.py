"""Where packages come from, as uv is to see it: which indexes it asks, and of which names."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.utils import canonicalize_name

from builder.adapters.index_pages import IndexPages, OfferedFile, page_of
from builder.adapters.pip_config import PipConfig, local_path, plain_url
from builder.model.plan import Index

_PAGES = 4
"""Pages asked for at once by one resolution; several resolutions run at once."""


def indexes_to_ask(config: PipConfig, own: Sequence[Index]) -> tuple[Index, ...]:
    """Return the indexes to ask, in order; none when pip is told ``no-index``.

    Each place and each name counts once, the variant's own before pip's: a matrix that says where
    ``pypi`` is means that place, and no other.
    """
    if config.no_index:
        return ()
    found: dict[str, Index] = {}
    names: set[str] = set()
    for index in (*own, *config.indexes):
        if index.name not in names and plain_url(index.url) not in found:
            found[plain_url(index.url)] = index
            names.add(index.name)
    return tuple(found.values())


def links_to_ask(config: PipConfig) -> tuple[Index, ...]:
    """Return pip's find-links; a folder that is not there is passed over, as pip does."""
    links = [(link, local_path(link.url)) for link in config.find_links]
    return tuple(link for link, path in links if path is None or path.exists())


def index_for_uv(index: Index, pages: IndexPages, folder: Path) -> Index:
    """Return an index as uv is to see it: one that counts for some names only becomes a folder with just their pages.

    ``UnreachableError`` when it could not be asked.
    """
    if not index.only:
        return index
    folder.mkdir(parents=True)
    for project, files in _offered(index, pages).items():
        page = folder / canonicalize_name(project) / "index.html"
        page.parent.mkdir()
        page.write_text(page_of(files), encoding="utf-8")
    return Index(name=index.name, url=folder.as_uri())


def link_for_uv(link: Index, folder: Path) -> Index:
    """Return a find-link as uv is to see it: a wheel by itself, which only pip takes, becomes a page that names it."""
    path = local_path(link.url)
    if path is None or path.suffix != ".whl" or not path.is_file():
        return link
    folder.mkdir(parents=True)
    page = folder / "index.html"
    page.write_text(page_of((OfferedFile(file=path.name, url=path.as_uri()),)), encoding="utf-8")
    return Index(name=link.name, url=page.as_uri())


def _offered(index: Index, pages: IndexPages) -> dict[str, tuple[OfferedFile, ...]]:
    """Return what an index has of its names.

    An index on a plain file store forbids what it does not have (download.pytorch.org answers 403),
    and so does one that wants credentials; the first has something, the second nothing.
    """
    with ThreadPoolExecutor(max_workers=_PAGES, thread_name_prefix="pages") as pool:
        answers = list(pool.map(lambda name: pages.files(index, name, forbidden_is_absent=True), index.only))
    if not any(answers):
        pages.files(index, index.only[0])
    return {name: files for name, files in zip(index.only, answers, strict=True) if files}
