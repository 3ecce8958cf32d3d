"""Multiply two matrices with ONNX Runtime and check every number."""

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


# --- block: providers (the same in every script that has it; a test holds them together)
PROVIDERS = {
    "cpu": ["CPUExecutionProvider"],
    "cuda": ["CUDAExecutionProvider"],
    "rocm": ["MIGraphXExecutionProvider", "ROCMExecutionProvider"],
    "oneapi": ["OpenVINOExecutionProvider"],
}
# --- end of block


# --- block: session (the same in every script that has it; a test holds them together)
def open_session(*graph):
    """Return a session on the stack's provider, or on the CPU where it gets none, and the name of its device."""
    import onnxruntime

    available = onnxruntime.get_available_providers()
    wanted = [name for name in PROVIDERS.get(STACK, []) if name in available]
    session = onnxruntime.InferenceSession(model_bytes(*graph), providers=wanted + ["CPUExecutionProvider"])
    return session, STACK if session.get_providers()[0] in wanted else "cpu"


# --- end of block


def main():
    import numpy

    graph = [node("MatMul", ["a", "b"], "y")]
    graph += [port(11, "a", [SIZE, SIZE]), port(11, "b", [SIZE, SIZE]), port(12, "y", [SIZE, SIZE])]
    session, device = open_session(*graph)
    got = session.run(None, {"a": numpy.array(LEFT, "float32"), "b": numpy.array(RIGHT, "float32")})[0]
    finish(0, device=device, checked=compare("product", got.ravel().tolist(), product()))


if __name__ == "__main__":
    main()
