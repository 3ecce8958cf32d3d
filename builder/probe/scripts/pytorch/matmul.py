"""Multiply two matrices with PyTorch and check every number; on an accelerator name a kernel that ran there."""

# --- block: protocol (the same in every script that has it; a test holds them together)
import json
import os
import sys

REPORT = sys.stdout
if __name__ == "__main__":
    REPORT = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the framework prints is no part of the report
EXPECT = json.loads(os.environ.get("IMGBUILD_EXPECT") or "{}")
STACK = (EXPECT.get("stack") or {}).get("name") or "cpu"


def finish(code, reason=None, **values):
    """End with the report as the last line: 0 passed, 77 skipped, anything else failed."""
    REPORT.write(json.dumps({"values": values, "reason": reason}) + "\n")
    REPORT.flush()
    sys.exit(code)


# --- end of block


# --- block: compare (the same in every script that has it; a test holds them together)
def compare(name, got, known, tolerance=0.0):
    """Fail unless every number is the known one; return how many were compared."""
    if len(got) != len(known):
        finish(1, "%s has %d values, expected %d" % (name, len(got), len(known)))
    for place, (one, right) in enumerate(zip(got, known)):
        if not abs(one - right) <= tolerance * max(1.0, abs(right)):  # so that NaN fails too
            finish(1, "%s[%d] is %r, expected %r" % (name, place, one, right), computed_on=STACK)
    return len(known)


# --- end of block


# --- block: matrices (the same in every script that has it; a test holds them together)
SIZE = 48
LEFT = [[(7 * i + 3 * k) % 11 - 5 for k in range(SIZE)] for i in range(SIZE)]
RIGHT = [[(5 * k + 2 * j) % 13 - 6 for j in range(SIZE)] for k in range(SIZE)]


def product():
    """Return LEFT times RIGHT, row by row, in whole numbers: exact in every float format a device may use."""
    columns = list(zip(*RIGHT))
    return [sum(one * other for one, other in zip(row, column)) for row in LEFT for column in columns]


# --- end of block


# --- block: torch_device (the same in every script that has it; a test holds them together)
def torch_device(torch):
    """Return the device of the stack as PyTorch names it, or None where PyTorch sees none."""
    import importlib

    plugins = {"gaudi": ("habana_frameworks.torch.core", "hpu"), "neuron": ("torch_xla", "xla"), "tpu": ("torch_xla", "xla")}
    if STACK in ("cuda", "rocm"):
        right = bool(torch.version.hip) == (STACK == "rocm")
        return "cuda" if right and torch.cuda.is_available() else None
    if STACK == "oneapi":
        return "xpu" if hasattr(torch, "xpu") and torch.xpu.is_available() else None
    if STACK in plugins:
        module, name = plugins[STACK]
        try:
            importlib.import_module(module)
            torch.zeros(1).to(name)
        except (ImportError, RuntimeError, AssertionError):
            return None
        return name
    return "cpu"


# --- end of block


def kernel_of(torch, work):
    """Return the name of a kernel that the profiler saw on the device, or None where it saw none."""
    kinds = torch.profiler.ProfilerActivity
    device = getattr(kinds, "XPU", None) if STACK == "oneapi" else kinds.CUDA
    with torch.profiler.profile(activities=[kind for kind in (kinds.CPU, device) if kind is not None]) as seen:
        work()
    names = [one.name for one in seen.events() if "CPU" not in str(one.device_type) and "mem" not in one.name.lower()]
    return names[0] if names else None


def main():
    import torch

    name = torch_device(torch)
    torch.set_float32_matmul_precision("highest")
    left = torch.tensor(LEFT, dtype=torch.float32, device=name or "cpu")
    right = torch.tensor(RIGHT, dtype=torch.float32, device=name or "cpu")
    checked = compare("product", (left @ right).cpu().flatten().tolist(), product())
    kernel = kernel_of(torch, lambda: (left @ right).cpu()) if name in ("cuda", "xpu") else None
    finish(0, device=STACK if name else "cpu", checked=checked, kernel=kernel)


if __name__ == "__main__":
    main()
