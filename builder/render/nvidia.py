"""Where NVIDIA's wheels put their shared libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable

from builder.model.lock import LockedPackage

# nvidia-cublas-cu12 and nvidia-cudnn-cu13 have a folder each; CUDA 13's own parts lost the suffix and share one.
_OWN_FOLDER = re.compile(r"nvidia-(?P<part>.+)-cu(?:11|12|13)")
_SHARED_FOLDER = re.compile(r"nvidia-(?:cublas|cuda-[a-z]+|cufft|cufile|curand|cusolver|cusparse|nvjitlink|nvtx)")


def library_folders(packages: Iterable[LockedPackage], site_packages: str) -> list[str]:
    """Return the folders of shared libraries that these packages bring, sorted, below ``site_packages``."""
    folders = set()
    for package in packages:
        own = _OWN_FOLDER.fullmatch(package.name)
        if own is not None:
            folders.add(f"{site_packages}/nvidia/{own['part'].replace('-', '_')}/lib")
        elif _SHARED_FOLDER.fullmatch(package.name):
            folders.add(f"{site_packages}/nvidia/cu13/lib")
    return sorted(folders)
