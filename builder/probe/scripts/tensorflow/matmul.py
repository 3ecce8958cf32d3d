"""Multiply two matrices with TensorFlow, as a graph, and check every number."""

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


# --- block: tensorflow_device (the same in every script that has it; a test holds them together)
def tensorflow_device(tensorflow):
    """Return the stack's device as TensorFlow names it, or None where it sees none."""
    import importlib

    kinds = {"cpu": "CPU", "cuda": "GPU", "rocm": "GPU", "gaudi": "HPU", "oneapi": "XPU", "tpu": "TPU", "neuron": "NEURON"}
    if STACK == "gaudi":
        importlib.import_module("habana_frameworks.tensorflow").load_habana_module()
    kind = kinds.get(STACK, STACK.upper())
    return "/device:%s:0" % kind if tensorflow.config.list_logical_devices(kind) else None


# --- end of block


def main():
    import tensorflow

    name = tensorflow_device(tensorflow)
    tensorflow.config.experimental.enable_tensor_float_32_execution(False)
    with tensorflow.device(name or "/device:CPU:0"):
        left, right = tensorflow.constant(LEFT, "float32"), tensorflow.constant(RIGHT, "float32")
        got = tensorflow.function(tensorflow.matmul)(left, right)
    checked = compare("product", got.numpy().ravel().tolist(), product())
    finish(0, device=STACK if name else "cpu", checked=checked)


if __name__ == "__main__":
    main()
