"""Check that vLLM runs on the device of the stack, which it chooses once, when it is imported."""

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


def main():
    import vllm

    from vllm.platforms import current_platform

    kinds = {"cpu": "cpu", "cuda": "cuda", "rocm": "cuda", "oneapi": "xpu", "gaudi": "hpu", "tpu": "tpu", "neuron": "neuron"}
    known = {"version": vllm.__version__, "platform": type(current_platform).__name__}
    if current_platform.device_type != kinds.get(STACK):
        absent("vLLM", **known)
    if STACK in ("cuda", "rocm") and current_platform.is_rocm() != (STACK == "rocm"):
        finish(1, "vLLM is for %s, not for %s" % (known["platform"], STACK), **known)
    finish(0, device=STACK, name=current_platform.get_device_name() if STACK != "cpu" else "cpu", **known)


if __name__ == "__main__":
    main()
