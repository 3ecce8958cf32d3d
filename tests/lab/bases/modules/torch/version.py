"""Versions that the vendor's build was made with."""

from ._said import SAID

__version__ = SAID["version"]
cuda = SAID.get("cuda")
hip = SAID.get("hip")
xpu = SAID.get("xpu")
git_version = SAID.get("git_version")
debug = False
