"""Run a small network with OpenVINO and check its answer: convolution, ReLU, dense layer, softmax."""

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


# --- block: openvino_device (the same in every script that has it; a test holds them together)
def openvino_device(core):
    """Return the stack's device as OpenVINO names it, or None where it sees none."""
    kind = {"cpu": "CPU", "oneapi": "GPU"}.get(STACK)
    return next((name for name in core.available_devices if kind and name.split(".")[0] == kind), None)


# --- end of block


def main():
    import numpy
    import openvino

    from openvino import opset8 as ops

    def constant(values, shape):
        return ops.constant(numpy.array(values, "float32").reshape(shape))

    image = ops.parameter([1, 2, 6, 6], numpy.float32)
    found = ops.convolution(image, constant(FILTERS, [3, 2, 3, 3]), [1, 1], [0, 0], [0, 0], [1, 1])
    hidden = ops.relu(ops.add(found, constant(FILTER_BIAS, [1, 3, 1, 1])))
    line = ops.reshape(hidden, ops.constant(numpy.array([1, 48], "int64")), False)
    logits = ops.add(ops.matmul(line, constant(DENSE, [4, 48]), False, True), constant(DENSE_BIAS, [1, 4]))
    core = openvino.Core()
    name = openvino_device(core)
    model = openvino.Model([ops.softmax(logits, 1)], [image], "network")
    ready = core.compile_model(model, name or "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    got = ready([numpy.array([IMAGE], "float32")])[0]
    finish(0, device=STACK if name else "cpu", checked=compare("answer", got.ravel().tolist(), answer(), 1e-4))


if __name__ == "__main__":
    main()
