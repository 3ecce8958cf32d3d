"""Run a small network with LiteRT and check its answer: convolution, ReLU, dense layer, softmax."""

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


# --- block: flat (the same in every script that has it; a test holds them together)
# A .tflite file is one FlatBuffer; these few lines write it, so that the image needs no converter.
# Slots are those of https://github.com/tensorflow/tensorflow/blob/v2.16.1/tensorflow/compiler/mlir/lite/schema/schema.fbs
# A table is {slot: (struct format, number)} or {slot: inner}; inner is a table, a list of tables, a list of
# whole numbers, text, or bytes. Everything is written after what points to it.
def flatbuffer(root):
    import struct

    out, waiting = bytearray(b"\0\0\0\0TFL3"), [(0, root)]
    while waiting:
        where, value = waiting.pop(0)
        while len(out) % 16 != (12 if isinstance(value, bytes) else 0):
            out.append(0)  # the data of tensors starts at a multiple of 16, after their length
        if isinstance(value, dict):
            slots = sorted(value)
            count = slots[-1] + 1 if slots else 0
            table = len(out) + (4 + 2 * count + 3) // 4 * 4
            vtable = [4 + 4 * slots.index(slot) if slot in value else 0 for slot in range(count)]
            start = len(out)
            out += struct.pack("<HH%dH" % count, 4 + 2 * count, 4 + 4 * len(slots), *vtable)
            out += b"\0" * (table - len(out)) + struct.pack("<i", table - start)
            for slot in slots:
                if isinstance(value[slot], tuple):
                    out += struct.pack("<" + value[slot][0], value[slot][1]).ljust(4, b"\0")
                else:
                    waiting.append((len(out), value[slot]))
                    out += b"\0\0\0\0"
            here = table
        else:
            here = len(out)
            out += struct.pack("<I", len(value))
            if isinstance(value, (bytes, str)):
                out += (value.encode() + b"\0") if isinstance(value, str) else value
            elif value and isinstance(value[0], dict):
                for item in value:
                    waiting.append((len(out), item))
                    out += b"\0\0\0\0"
            else:
                out += struct.pack("<%di" % len(value), *value)
        struct.pack_into("<I", out, where, here - where)
    return bytes(out)


def tensor(name, shape, buffer=0):
    return {0: list(shape), 1: ("b", 0), 2: ("I", buffer), 3: name}


def operator(code, inputs, outputs, kind, options):
    return {0: ("I", code), 1: list(inputs), 2: list(outputs), 3: ("B", kind), 4: options}


def tflite(codes, tensors, operators, inputs, outputs, constants):
    """Return a model: builtin operator codes, tensors, operators, and the floats of buffers 1, 2, …"""
    import struct

    buffers = [{}] + [{0: struct.pack("<%df" % len(values), *values)} for values in constants]
    graph = {0: tensors, 1: list(inputs), 2: list(outputs), 3: operators}
    kinds = [{0: ("b", code), 2: ("i", 1), 3: ("i", code)} for code in codes]
    return flatbuffer({0: ("I", 3), 1: kinds, 2: [graph], 4: buffers})


# --- end of block


# --- block: litert_run (the same in every script that has it; a test holds them together)
def litert_run(model, inputs, delegate=None):
    """Run a model once and return its first output as a list."""
    import numpy

    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=model, num_threads=1)
    interpreter.allocate_tensors()
    for detail, values in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(detail["index"], numpy.array(values, "float32").reshape(detail["shape"]))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).ravel().tolist()


# --- end of block


def main():
    # LiteRT wants channels last: image y x c, filters o y x c, and the dense layer's inputs in the order y x c.
    image = [IMAGE[c][y][x] for y in range(6) for x in range(6) for c in range(2)]
    filters = [float(FILTERS[o][c][y][x]) for o in range(3) for y in range(3) for x in range(3) for c in range(2)]
    dense = [row[16 * c + 4 * y + x] for row in DENSE for y in range(4) for x in range(4) for c in range(3)]
    tensors = [
        tensor("image", [1, 6, 6, 2]),
        tensor("filters", [3, 3, 3, 2], 1),
        tensor("filter_bias", [3], 2),
        tensor("hidden", [1, 4, 4, 3]),
        tensor("dense", [4, 48], 3),
        tensor("dense_bias", [4], 4),
        tensor("line", [1, 48]),
        tensor("logits", [1, 4]),
        tensor("answer", [1, 4]),
    ]
    operators = [
        operator(0, [0, 1, 2], [3], 1, {0: ("b", 1), 1: ("i", 1), 2: ("i", 1), 3: ("b", 1)}),  # VALID, RELU
        operator(1, [3], [6], 17, {0: [1, 48]}),
        operator(2, [6, 4, 5], [7], 8, {}),
        operator(3, [7], [8], 9, {0: ("f", 1.0)}),
    ]
    constants = [filters, [float(one) for one in FILTER_BIAS], dense, DENSE_BIAS]
    model = tflite([3, 22, 9, 25], tensors, operators, [0], [8], constants)
    finish(0, device="cpu", checked=compare("answer", litert_run(model, [image]), answer(), 1e-4))


if __name__ == "__main__":
    main()
