"""A stand-in for a vendor's build of PyTorch: it says what that build says of itself, and computes nothing."""

from . import _C, cuda, version, xpu
from ._said import SAID

__version__ = SAID["version"]
__simulated__ = "imgbuild lab stand-in"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"torch.{name}: this torch is a stand-in of imgbuild's lab and computes nothing")
