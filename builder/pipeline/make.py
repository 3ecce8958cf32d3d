"""From a piece to an image: fetch, lay out, build."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from builder.errors import BuildFailedError, MismatchError
from builder.model.build import BuildRequest, ImageInfo
from builder.model.event import LogLine, Progress, Stage
from builder.model.matrix import Matrix
from builder.pipeline.pieces import Piece
from builder.pipeline.tools import Fetching, Tools

_MIB = 1 << 20


def sources(piece: Piece, tools: Fetching) -> dict[str, Path]:
    """Return where each large file of the context is cached, fetched and verified where it was not."""
    found: dict[str, Path] = {}
    for number, package in enumerate(piece.locked.packages, 1):
        tools.check_stopped()
        text = f"{package.file} ({number} of {len(piece.locked.packages)})"
        tools.reporter.report(Progress(stage=Stage.FETCH, subject=piece.variant.id, text=text))
        path = tools.index.fetch(package, piece.variant.indexes, on_progress=tools.check_stopped)
        found[f"wheels/{package.file}"] = path
    if piece.base.assembled and piece.variant.base.distribution is not None:
        tools.reporter.report(Progress(stage=Stage.FETCH, subject=piece.variant.id, text=f"base {piece.base.key}"))
        path, sha256 = tools.archive.assemble(piece.variant.base.distribution, piece.base.debs)
        if sha256 != piece.base.rootfs_sha256:
            msg = f"the base {piece.base.key} came out as {sha256}, the lock says {piece.base.rootfs_sha256}"
            raise MismatchError(msg, hint="run imgbuild matrix lock --update on the matrix file")
        found["rootfs.tar"] = path
    return found


def make(piece: Piece, matrix: Matrix, tools: Tools, log: Path) -> ImageInfo:
    """Build one piece and return its image; the context folder is gone afterwards, the log stays."""
    large = sources(piece, tools)
    missing = sorted(set(piece.context.files) - set(large))
    if missing:
        msg = f"{piece.variant.id}: nothing provides {', '.join(missing)}"
        raise MismatchError(msg, hint="run imgbuild matrix lock --update on the matrix file")
    try:
        folder = tools.contexts.materialise(piece.context.rendered, large, piece.content)
        tools.reporter.report(Progress(stage=Stage.BUILD, subject=piece.variant.id, text=f"building with {tools.engine.name}"))
        with log.open("w", buffering=1, encoding="utf-8") as file:
            image = _build(piece, matrix, tools, folder, file)
    finally:
        tools.contexts.discard(piece.content)
    limit = matrix.limits.size
    if limit is not None and image.size > limit:
        msg = f"{piece.variant.id} is {image.size / _MIB:.0f} MiB, the matrix allows {limit / _MIB:.0f} MiB"
        raise BuildFailedError(msg, hint="take packages out, choose a smaller base, or raise limits.size")
    return image


def _build(piece: Piece, matrix: Matrix, tools: Tools, folder: Path, log: TextIO) -> ImageInfo:
    def on_line(line: str) -> None:
        log.write(f"{line}\n")
        tools.reporter.report(LogLine(stage=Stage.BUILD, subject=piece.variant.id, text=line))

    request = BuildRequest(
        variant=piece.variant.id,
        context=folder,
        tag=piece.tag,
        platform=piece.platform,
        seconds=matrix.limits.seconds,
        network=piece.context.network,
        log=Path(log.name),
    )
    return tools.engine.build(request, on_line=on_line)
