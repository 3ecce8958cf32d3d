"""Train a small network with JAX's derivatives and check the loss of every step."""

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


# --- block: training (the same in every script that has it; a test holds them together)
STEPS = 12
RATE = 0.5
POINTS = [[((5 * i + 3 * j) % 7 - 3) / 4 for j in range(3)] for i in range(8)]
WANTED = [[(p[0] - 2 * p[1] + p[2]) / 4] for p in POINTS]
FIRST = [[((3 * i + 5 * j) % 7 - 3) / 4 for j in range(4)] for i in range(3)]
SECOND = [[(2 * i % 5 - 2) / 4] for i in range(4)]


def losses():
    """Return the loss before each step of gradient descent and after the last, with derivatives worked out by hand.

    The network is POINTS -> tanh(POINTS x FIRST) -> x SECOND, its loss the mean squared error.
    """
    import math

    first, second, found = [row[:] for row in FIRST], [row[:] for row in SECOND], []
    for _ in range(STEPS + 1):
        hidden = [[math.tanh(sum(p[i] * first[i][j] for i in range(3))) for j in range(4)] for p in POINTS]
        errors = [sum(h[j] * second[j][0] for j in range(4)) - w[0] for h, w in zip(hidden, WANTED)]
        found.append(sum(error * error for error in errors) / len(errors))
        slopes = [2 * error / len(errors) for error in errors]
        back = [[s * second[j][0] * (1 - h[j] ** 2) for j in range(4)] for s, h in zip(slopes, hidden)]
        for j in range(4):
            second[j][0] -= RATE * sum(s * h[j] for s, h in zip(slopes, hidden))
            for i in range(3):
                first[i][j] -= RATE * sum(b[j] * p[i] for b, p in zip(back, POINTS))
    return found


def check_losses(found, device):
    """Fail unless the framework's losses are those worked out by hand, and end below a quarter of the first."""
    known = losses()
    checked = compare("loss", found, known, 1e-3)
    if not found[-1] < found[0] / 4:
        finish(1, "training took the loss from %r to %r only" % (found[0], found[-1]), device=device)
    finish(0, device=device, checked=checked, first_loss=found[0], last_loss=found[-1])


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

    points, wanted = jnp.array(POINTS, "float32"), jnp.array(WANTED, "float32")

    def loss(weights):
        return jnp.mean((jnp.tanh(points @ weights[0]) @ weights[1] - wanted) ** 2)

    @jax.jit
    def step(weights):
        value, slopes = jax.value_and_grad(loss)(weights)
        return value, [one - RATE * slope for one, slope in zip(weights, slopes)]

    device = jax_device(jax)
    with jax.default_device(device or jax.devices("cpu")[0]), jax.default_matmul_precision("highest"):
        weights, found = [jnp.array(FIRST, "float32"), jnp.array(SECOND, "float32")], []
        for _ in range(STEPS + 1):
            value, weights = step(weights)
            found.append(float(value))
    check_losses(found, STACK if device else "cpu")


if __name__ == "__main__":
    main()
