"""``imgbuild matrix render``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from builder.adapters.contexts import write_context
from builder.adapters.files import disk_errors, write_atomically
from builder.cli.loading import Loaded, load
from builder.cli.options import AsJson, CatalogFolder, MatrixFile, Only
from builder.cli.output import emit, emit_json, tell
from builder.cli.reporters import PlainReporter
from builder.cli.services import Services
from builder.documents.lock import read_lock
from builder.errors import MismatchError
from builder.pipeline.make import sources
from builder.pipeline.pieces import Piece, pieces
from builder.render.check import Difference, Kind, differences

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_LARGE = ("wheels", "rootfs.tar")


@app.command()
def render(
    context: typer.Context,
    file: MatrixFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where to write; rendered/NAME beside the matrix by default."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 5 when disk and lock differ.")] = False,
    contexts: Annotated[
        bool,
        typer.Option("--contexts", help="Put wheels and assembled bases beside the Dockerfiles: plain docker build works there."),
    ] = False,
    only: Only = None,
    as_json: AsJson = False,
    catalog: CatalogFolder = None,
) -> None:
    """Write the Dockerfile of every variant, from the lock.

    The same lock gives the same bytes, everywhere. Nothing is asked of any registry or index, except
    that --contexts fetches what is not in the cache.
    """
    loaded = load(file, only=only, catalog_folder=catalog)
    folder = out or file.parent / "rendered" / loaded.matrix.name
    expected = rendered(loaded)
    if check:
        _check(expected, folder, partial=bool(only), as_json=as_json)
        return
    for piece, place in _places(expected, folder):
        if contexts:
            services = context.obj or Services()
            write_context(piece.context.rendered, sources(piece, services.fetching(PlainReporter())), place)
        else:
            _write(piece, place)
        if not as_json:
            emit(f"wrote {place}")
    gone = () if only else _stale(expected, folder)
    for place in gone:
        shutil.rmtree(place)
        tell(f"removed {place}: no variant of the matrix renders it")
    if as_json:
        emit_json(_json(loaded, expected, folder))


def rendered(loaded: Loaded) -> tuple[Piece, ...]:
    """Return every piece of a plan, rendered; an error when there is no lock or one variant cannot be rendered."""
    lock = read_lock(loaded.lock_path)
    if lock is None:
        msg = f"there is no lock {loaded.lock_path}"
        raise MismatchError(msg, hint=f"run imgbuild matrix lock {loaded.path}")
    found, failed = pieces(loaded.plan, lock, loaded.matrix)
    for error in failed.values():
        raise error
    return found


def place_of(piece: Piece, pieces_of_all: tuple[Piece, ...]) -> str:
    """Return a piece's folder: its variant's id, and below it the platform where there are several."""
    several = sum(other.variant.id == piece.variant.id for other in pieces_of_all) > 1
    return f"{piece.variant.id}/{str(piece.platform).replace('/', '-')}" if several else piece.variant.id


def _places(expected: tuple[Piece, ...], folder: Path) -> list[tuple[Piece, Path]]:
    return [(piece, folder / place_of(piece, expected)) for piece in expected]


def _write(piece: Piece, place: Path) -> None:
    for name in set(_on_disk(place)) - set(piece.context.rendered):
        (place / name).unlink()
    for name, data in piece.context.rendered.items():
        write_atomically(place / name, data)


def _on_disk(place: Path) -> dict[str, bytes]:
    """Return what is in a rendered folder, less the large files that ``--contexts`` puts there."""
    with disk_errors(f"reading {place}"):
        paths = [path for path in sorted(place.rglob("*")) if path.is_file()]
        named = {path.relative_to(place).as_posix(): path for path in paths}
        return {name: path.read_bytes() for name, path in named.items() if name.split("/")[0] not in _LARGE}


def _stale(expected: tuple[Piece, ...], folder: Path) -> list[Path]:
    """Return rendered folders of variants that are no more: only such as we wrote, told by their Dockerfile's first line."""
    kept = {folder / piece.variant.id for piece in expected}
    found = []
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        files = [place / "Dockerfile", *place.glob("*/Dockerfile")]
        ours = any(path.is_file() and "rendered by imgbuild" in path.read_text(errors="replace")[:400] for path in files)
        if place not in kept and place.is_dir() and ours:
            found.append(place)
    return found


def _check(expected: tuple[Piece, ...], folder: Path, *, partial: bool, as_json: bool) -> None:
    found: dict[str, tuple[Difference, ...]] = {}
    for piece, place in _places(expected, folder):
        differing = differences(piece.context.rendered, _on_disk(place))
        if differing:
            found[str(place)] = differing
    for gone in () if partial else _stale(expected, folder):
        found[str(gone)] = (Difference(path=".", kind=Kind.UNEXPECTED),)
    if as_json:
        listed = [
            {"folder": place, "path": one.path, "kind": one.kind.value, "diff": list(one.lines)}
            for place, ones in found.items()
            for one in ones
        ]
        emit_json({"schema": "imgbuild/render-check/1", "differences": listed})
    else:
        for shown, ones in found.items():
            for one in ones:
                emit(f"{shown}/{one.path}: {one.kind.value}")
                emit("\n".join(one.lines) if one.lines else "")
    if found:
        msg = f"{len(found)} of {len(expected)} rendered folders are not what the lock says"
        raise MismatchError(msg, hint="run imgbuild matrix render on the matrix file, and commit what it writes")
    tell(f"{folder}: all {len(expected)} rendered folders are what the lock says")


def _json(loaded: Loaded, expected: tuple[Piece, ...], folder: Path) -> dict[str, object]:
    return {
        "schema": "imgbuild/render/1",
        "name": loaded.matrix.name,
        "contexts": [
            {
                "variant": piece.variant.id,
                "platform": str(piece.platform),
                "content": piece.content,
                "folder": str(folder / place_of(piece, expected)),
                "files": sorted(piece.context.rendered),
                "large_files": dict(piece.context.files),
            }
            for piece in expected
        ],
    }
