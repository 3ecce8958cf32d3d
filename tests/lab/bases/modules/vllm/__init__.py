"""A stand-in for a vendor's build of vllm: it says what that build says of itself, and computes nothing."""

from ._said import SAID

__version__ = SAID["version"]
__simulated__ = "imgbuild lab stand-in"
