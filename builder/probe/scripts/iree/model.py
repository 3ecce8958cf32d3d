"""Compile a small network with IREE, run it, and check its answer: convolution, ReLU, dense layer, softmax."""

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


# --- block: iree_run (the same in every script that has it; a test holds them together)
def iree_target():
    """Return (compiler target, driver, device name): the stack's where it has a driver and a device, else the CPU's."""
    from iree import runtime

    target, driver = {"cuda": ("cuda", "cuda"), "rocm": ("rocm", "hip"), "cpu": ("llvm-cpu", "local-task")}.get(STACK, ("", ""))
    if driver in runtime.query_available_drivers():
        try:
            if runtime.get_driver(driver).query_available_devices():
                return target, driver, STACK
        except (RuntimeError, ValueError):
            pass
    return "llvm-cpu", "local-task", "cpu"


def iree_run(source, function, *inputs):
    """Compile MLIR text, run one function of it, and return its first result as a list and the name of the device."""
    from iree import compiler, runtime

    target, driver, device = iree_target()
    options = ["--iree-llvmcpu-target-cpu=host"] if target == "llvm-cpu" else []
    program = compiler.compile_str(source, target_backends=[target], extra_args=options)
    config = runtime.Config(driver)
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, program), config)
    return module[function](*inputs).to_host().ravel().tolist(), device


# --- end of block


SOURCE = """
#line = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d1)>
func.func @network(%image: tensor<1x2x6x6xf32>, %filters: tensor<3x2x3x3xf32>, %bias: tensor<3xf32>,
                   %dense: tensor<48x4xf32>, %start: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x3x4x4xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %found = linalg.conv_2d_nchw_fchw ins(%image, %filters : tensor<1x2x6x6xf32>, tensor<3x2x3x3xf32>)
                                    outs(%filled : tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %hidden = linalg.generic {indexing_maps = [#line, #channel, #line],
                            iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
            ins(%found, %bias : tensor<1x3x4x4xf32>, tensor<3xf32>) outs(%empty : tensor<1x3x4x4xf32>) {
    ^bb0(%value: f32, %add: f32, %out: f32):
      %sum = arith.addf %value, %add : f32
      %kept = arith.maximumf %sum, %zero : f32
      linalg.yield %kept : f32
  } -> tensor<1x3x4x4xf32>
  %flat = tensor.collapse_shape %hidden [[0], [1, 2, 3]] : tensor<1x3x4x4xf32> into tensor<1x48xf32>
  %logits = linalg.matmul ins(%flat, %dense : tensor<1x48xf32>, tensor<48x4xf32>)
                          outs(%start : tensor<1x4xf32>) -> tensor<1x4xf32>
  %place = tensor.empty() : tensor<1x4xf32>
  %answer = linalg.softmax dimension(1) ins(%logits : tensor<1x4xf32>) outs(%place : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %answer : tensor<1x4xf32>
}
"""


def main():
    import numpy

    inputs = [[IMAGE], FILTERS, FILTER_BIAS, [list(column) for column in zip(*DENSE)], [DENSE_BIAS]]
    got, device = iree_run(SOURCE, "network", *[numpy.array(one, "float32") for one in inputs])
    finish(0, device=device, checked=compare("answer", got, answer(), 1e-4))


if __name__ == "__main__":
    main()
