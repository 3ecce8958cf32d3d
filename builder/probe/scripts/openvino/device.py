"""Check that OpenVINO sees the device of the stack, and name it."""

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


# --- block: openvino_device (the same in every script that has it; a test holds them together)
def openvino_device(core):
    """Return the stack's device as OpenVINO names it, or None where it sees none."""
    kind = {"cpu": "CPU", "oneapi": "GPU"}.get(STACK)
    return next((name for name in core.available_devices if kind and name.split(".")[0] == kind), None)


# --- end of block


def main():
    import openvino

    core = openvino.Core()
    known = {"version": openvino.__version__, "devices": list(core.available_devices)}
    name = openvino_device(core)
    if name is None:
        absent("OpenVINO", **known)
    finish(0, device=STACK, name=core.get_property(name, "FULL_DEVICE_NAME"), **known)


if __name__ == "__main__":
    main()
