"""Run a small network with PyTorch and check its answer: convolution, ReLU, dense layer, softmax."""

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


# --- block: torch_device (the same in every script that has it; a test holds them together)
def torch_device(torch):
    """Return the device of the stack as PyTorch names it, or None where PyTorch sees none."""
    import importlib

    plugins = {"gaudi": ("habana_frameworks.torch.core", "hpu"), "neuron": ("torch_xla", "xla"), "tpu": ("torch_xla", "xla")}
    if STACK in ("cuda", "rocm"):
        right = bool(torch.version.hip) == (STACK == "rocm")
        return "cuda" if right and torch.cuda.is_available() else None
    if STACK == "oneapi":
        return "xpu" if hasattr(torch, "xpu") and torch.xpu.is_available() else None
    if STACK in plugins:
        module, name = plugins[STACK]
        try:
            importlib.import_module(module)
            torch.zeros(1).to(name)
        except (ImportError, RuntimeError, AssertionError):
            return None
        return name
    return "cpu"


# --- end of block


def main():
    import torch

    network = torch.nn.Sequential(
        torch.nn.Conv2d(2, 3, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48, 4), torch.nn.Softmax(dim=1)
    )
    known = [(0, "weight", FILTERS), (0, "bias", FILTER_BIAS), (3, "weight", DENSE), (3, "bias", DENSE_BIAS)]
    network.load_state_dict({"%d.%s" % (layer, part): torch.tensor(one, dtype=torch.float32) for layer, part, one in known})
    name = torch_device(torch)
    network = network.to(name or "cpu").eval()
    with torch.no_grad():
        got = network(torch.tensor([IMAGE], dtype=torch.float32, device=name or "cpu"))
    checked = compare("answer", got.cpu().flatten().tolist(), answer(), 1e-3 if name != "cpu" else 1e-4)
    finish(0, device=STACK if name else "cpu", checked=checked)


if __name__ == "__main__":
    main()
