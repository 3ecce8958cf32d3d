"""Run a small network with ONNX Runtime and check its answer: convolution, ReLU, dense layer, softmax."""

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


# --- block: network (the same in every script that has it; a test holds them together)
IMAGE = [[[(5 * c + 3 * y + 2 * x) % 7 - 3 for x in range(6)] for y in range(6)] for c in range(2)]
FILTERS = [[[[(4 * o + 3 * c + 2 * y + x) % 5 - 2 for x in range(3)] for y in range(3)] for c in range(2)] for o in range(3)]
FILTER_BIAS = [1, -1, 0]
DENSE = [[((7 * o + 2 * i) % 5 - 2) / 64 for i in range(48)] for o in range(4)]
DENSE_BIAS = [0.5, 0.0, -0.5, 0.25]


def answer():
    """Return what the network gives, step by step in plain Python: 3x3 convolution, ReLU, dense layer, softmax."""
    import math

    hidden = []
    for kernel, bias in zip(FILTERS, FILTER_BIAS):
        for y in range(4):
            for x in range(4):
                total = bias
                for c in range(2):
                    for dy in range(3):
                        for dx in range(3):
                            total += kernel[c][dy][dx] * IMAGE[c][y + dy][x + dx]
                hidden.append(max(total, 0))
    logits = [sum(w * h for w, h in zip(row, hidden)) + bias for row, bias in zip(DENSE, DENSE_BIAS)]
    powers = [math.exp(logit - max(logits)) for logit in logits]
    return [power / sum(powers) for power in powers]


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


def flat(value):
    return [number for part in value for number in flat(part)] if isinstance(value, list) else [float(value)]


def main():
    import numpy

    graph = [
        node("Conv", ["image", "filters", "filter_bias"], "found"),
        node("Relu", ["found"], "hidden"),
        node("Flatten", ["hidden"], "line"),
        node("Gemm", ["line", "dense", "dense_bias"], "logits", message(5, message(1, "transB"), whole(3, 1), whole(20, 2))),
        node("Softmax", ["logits"], "answer"),
        weights("filters", [3, 2, 3, 3], flat(FILTERS)),
        weights("filter_bias", [3], flat(FILTER_BIAS)),
        weights("dense", [4, 48], flat(DENSE)),
        weights("dense_bias", [4], DENSE_BIAS),
        port(11, "image", [1, 2, 6, 6]),
        port(12, "answer", [1, 4]),
    ]
    session, device = open_session(*graph)
    got = session.run(None, {"image": numpy.array([IMAGE], "float32")})[0]
    finish(0, device=device, checked=compare("answer", got.ravel().tolist(), answer(), 1e-4))


if __name__ == "__main__":
    main()
