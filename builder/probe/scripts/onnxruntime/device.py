"""Check that ONNX Runtime has the execution provider of the stack, and that a session really gets it."""

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


# --- block: providers (the same in every script that has it; a test holds them together)
PROVIDERS = {
    "cpu": ["CPUExecutionProvider"],
    "cuda": ["CUDAExecutionProvider"],
    "rocm": ["MIGraphXExecutionProvider", "ROCMExecutionProvider"],
    "oneapi": ["OpenVINOExecutionProvider"],
}
# --- end of block


# --- block: onnx (the same in every script that has it; a test holds them together)
# An ONNX model is one protobuf message; these few lines write it, so that the image needs no onnx package.
# Field numbers are those of https://github.com/onnx/onnx/blob/v1.17.0/onnx/onnx.proto
def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def whole(field, number):
    return varint(field << 3) + varint(number)


def message(field, *parts):
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def port(field, name, shape):
    dims = [message(1, whole(1, size)) for size in shape]
    return message(field, message(1, name), message(2, message(1, whole(1, 1), message(2, *dims))))


def weights(name, shape, values):
    import struct

    dims = [whole(1, size) for size in shape]
    return message(5, *dims, whole(2, 1), message(8, name), message(9, struct.pack("<%df" % len(values), *values)))


def node(operator, inputs, output, *attributes):
    return message(1, *[message(1, name) for name in inputs], message(2, output), message(4, operator), *attributes)


def model_bytes(*graph):
    """Return a model of IR version 8 and operator set 13, which every runtime since 2021 reads."""
    return whole(1, 8) + message(7, *graph, message(2, "probe")) + message(8, message(1, ""), whole(2, 13))


# --- end of block


def main():
    import onnxruntime

    wanted = [name for name in PROVIDERS.get(STACK, []) if name in onnxruntime.get_available_providers()]
    known = {"version": onnxruntime.__version__, "providers": onnxruntime.get_available_providers()}
    if not wanted:
        finish(1, "this build has no execution provider for %s" % STACK, **known)
    graph = [node("Add", ["x", "x"], "y"), port(11, "x", [2]), port(12, "y", [2])]
    session = onnxruntime.InferenceSession(model_bytes(*graph), providers=wanted)
    if session.get_providers()[0] not in wanted:
        absent("ONNX Runtime", **known)
    finish(0, device=STACK, provider=session.get_providers()[0], **known)


if __name__ == "__main__":
    main()
