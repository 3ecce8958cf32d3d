"""What runs leave beside a matrix file: the run lock, logs, evidence, and the last outcomes.

Everything lives in ``.imgbuild/<matrix stem>/`` beside the matrix file. Evidence is one JSON file
per variant, platform and target, written atomically, so that a run that dies leaves whole files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from builder.adapters.files import disk_errors, write_atomically
from builder.documents.evidence import evidence_text, read_evidence
from builder.errors import DocumentError, HostBlockedError
from builder.model.evidence import Evidence
from builder.model.oci import Platform

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def _file_name(*parts: str) -> str:
    """Return a file name for any strings: readable, and never the same for different ones."""
    readable = "@".join(_UNSAFE.sub("_", part) for part in parts)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
    return f"{readable[:180]}-{digest}"


class StateFolder:
    """The state of one matrix file."""

    def __init__(self, matrix: Path) -> None:
        resolved = matrix.resolve()
        self.root = resolved.parent / ".imgbuild" / resolved.name.removesuffix(".yaml").removesuffix(".yml")
        self.key = hashlib.sha256(str(resolved).encode()).hexdigest()[:16]

    def log(self, variant: str, platform: Platform | None = None) -> Path:
        """Return the path of a variant's log; the folder exists afterwards, ``HostBlockedError`` where it cannot."""
        folder = self.root / "logs"
        with disk_errors(f"making {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
        suffix = f"@{str(platform).replace('/', '-')}" if platform else ""
        return folder / f"{_UNSAFE.sub('_', variant)}{suffix}.log"

    def save(self, evidence: Evidence) -> Path:
        """Write one record and return its path; it replaces the record of the same variant, platform and target."""
        name = _file_name(evidence.variant, str(evidence.platform), evidence.target)
        path = self.root / "evidence" / f"{name}.json"
        write_atomically(path, evidence_text(evidence).encode())
        return path

    def evidence(self, *, on_damaged: Callable[[DocumentError], None] | None = None) -> tuple[Evidence, ...]:
        """Return every record here, sorted by file name; a damaged file is told to ``on_damaged`` and left out."""
        records = []
        for path in sorted((self.root / "evidence").glob("*.json")):
            try:
                records.append(read_evidence(path))
            except DocumentError as error:
                if on_damaged is None:
                    raise
                on_damaged(error)
        return tuple(records)

    @contextmanager
    def running(self, *, started: str, wait: bool, on_wait: Callable[[str], None] | None = None) -> Iterator[None]:
        """Hold this matrix for one run; ``HostBlockedError`` says who holds it.

        With ``wait`` it waits, and ``on_wait`` is told for whom. The lock is the kernel's and ends
        with its process, however that ends.
        """
        with disk_errors(f"preparing {self.root}"):
            self.root.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.root / "run.lock")
            self._acquire(lock, wait=wait, on_wait=on_wait)
        try:
            write_atomically(self._holder, json.dumps({"pid": os.getpid(), "started": started}).encode())
            yield
        finally:
            with suppress(OSError):
                self._holder.unlink()
            lock.release()

    @property
    def _holder(self) -> Path:
        return self.root / "run.json"

    def _acquire(self, lock: FileLock, *, wait: bool, on_wait: Callable[[str], None] | None) -> None:
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            held = f"another run holds this matrix: {_told(self._holder)}"
            if not wait:
                raise HostBlockedError(held, hint="wait for it to end, or add --wait to queue behind it") from error
            if on_wait is not None:
                on_wait(held)
            lock.acquire(timeout=-1)


def _told(path: Path) -> str:
    """Return who holds a run lock, in words."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return f"process {int(told['pid'])}, since {told['started']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "a process that has only just started"
