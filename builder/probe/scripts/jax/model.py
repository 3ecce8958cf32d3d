"""Run a small network with JAX, compiled, and check its answer: convolution, ReLU, dense layer, softmax."""

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


# --- block: jax_device (the same in every script that has it; a test holds them together)
def jax_device(jax):
    """Return the first device of the stack, or None where JAX sees none."""
    import importlib

    platforms = {"cpu": "cpu", "cuda": "cuda", "rocm": "rocm", "tpu": "tpu", "oneapi": "xpu", "neuron": "neuron"}
    if STACK == "gaudi":
        return None
    if STACK == "neuron":
        importlib.import_module("jax_neuronx")
    try:
        return jax.devices(platforms.get(STACK, STACK))[0]
    except RuntimeError:
        return None


# --- end of block


def main():
    import jax
    import jax.numpy as jnp

    filters, bias = jnp.array(FILTERS, "float32"), jnp.array(FILTER_BIAS, "float32")
    dense, dense_bias = jnp.array(DENSE, "float32"), jnp.array(DENSE_BIAS, "float32")

    @jax.jit
    def network(image):
        found = jax.lax.conv(image, filters, (1, 1), "VALID") + bias[None, :, None, None]
        return jax.nn.softmax(jax.nn.relu(found).reshape(1, 48) @ dense.T + dense_bias)

    device = jax_device(jax)
    with jax.default_device(device or jax.devices("cpu")[0]), jax.default_matmul_precision("highest"):
        got = network(jnp.array([IMAGE], "float32"))
    checked = compare("answer", got.ravel().tolist(), answer(), 1e-4)
    finish(0, device=STACK if device else "cpu", checked=checked)


if __name__ == "__main__":
    main()
