"""Multiply two matrices with OpenVINO and check every number."""

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

    left = ops.parameter([SIZE, SIZE], numpy.float32)
    right = ops.parameter([SIZE, SIZE], numpy.float32)
    core = openvino.Core()
    name = openvino_device(core)
    model = openvino.Model([ops.matmul(left, right, False, False)], [left, right], "matmul")
    ready = core.compile_model(model, name or "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    got = ready([numpy.array(LEFT, "float32"), numpy.array(RIGHT, "float32")])[0]
    finish(0, device=STACK if name else "cpu", checked=compare("product", got.ravel().tolist(), product()))


if __name__ == "__main__":
    main()
