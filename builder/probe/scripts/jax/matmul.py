"""Multiply two matrices with JAX, compiled, and check every number."""

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

    device = jax_device(jax)
    with jax.default_device(device or jax.devices("cpu")[0]), jax.default_matmul_precision("highest"):
        got = jax.jit(jnp.matmul)(jnp.array(LEFT, "float32"), jnp.array(RIGHT, "float32"))
    checked = compare("product", [float(one) for one in got.ravel().tolist()], product())
    finish(0, device=STACK if device else "cpu", checked=checked)


if __name__ == "__main__":
    main()
