"""Check that PyTorch sees the device of the stack and computes there."""

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


# --- block: nodes (the same in every script that has it; a test holds them together)
# Where the kernel shows the device of a stack to a container; none there, and there is nothing to test.
NODES = {
    "cuda": ["/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/dxg"],
    "rocm": ["/dev/kfd", "/dev/dxg"],
    "gaudi": ["/dev/accel/accel*", "/dev/hl[0-9]*"],
    "oneapi": ["/dev/dri/renderD*", "/dev/dxg"],
    "neuron": ["/dev/neuron*"],
    "tpu": ["/dev/accel*", "/dev/vfio/[0-9]*"],
}


def absent(seen_by, **values):
    """End where the framework sees no device: skipped when none is here, failed when the kernel shows one."""
    import glob

    there = sorted(path for pattern in NODES.get(STACK, ()) for path in glob.glob(pattern))
    if there:
        finish(1, "%s is here, but %s sees no %s device" % (there[0], seen_by, STACK), **values)
    finish(77, "no %s device is in this container" % STACK, **values)


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


def driver_version(text):
    """Return the driver in /proc/driver/nvidia/version: 570.124.06 in either kind of kernel module's words."""
    import re

    found = re.search(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b", text)
    return found.group(1) if found else None


def driver():
    """Return the host's driver where its kernel shows it to a container."""
    try:
        if STACK == "cuda":
            with open("/proc/driver/nvidia/version") as file:
                return driver_version(file.read())
        with open("/sys/module/amdgpu/version") as file:
            return "module:" + file.read().strip()
    except OSError:
        return None


def described(torch, name):
    """Return what PyTorch says of the device."""
    if name != "cuda":
        return {}
    about = torch.cuda.get_device_properties(0)
    arch = getattr(about, "gcnArchName", "").split(":")[0] if torch.version.hip else "sm_%d%d" % (about.major, about.minor)
    uuid = getattr(about, "uuid", None)
    return {
        "name": about.name,
        "arch": arch,
        "memory": about.total_memory,
        "uuid": str(uuid) if uuid else None,
        "driver": driver(),
    }


def main():
    import torch

    name = torch_device(torch)
    known = {"version": torch.__version__, "cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None)}
    if name is None:
        absent("PyTorch", **known)
    there = torch.ones(2, device=name) + 1
    if there.device.type != name:
        finish(1, "PyTorch computed on %s, not on %s" % (there.device, name), **known)
    if there.cpu().tolist() != [2.0, 2.0]:
        finish(1, "1 + 1 is %r on %s" % (there.cpu().tolist(), name), **known)
    finish(0, device=STACK, **dict(known, **described(torch, name)))


if __name__ == "__main__":
    main()
