"""What the vendor's build says it was compiled for."""

from ._said import SAID


def _cuda_getArchFlags():
    return " ".join(SAID.get("arch_list", [])) or None
