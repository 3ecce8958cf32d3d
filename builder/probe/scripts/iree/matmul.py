"""Compile a matrix product with IREE, run it, and check every number."""

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
func.func @product(%a: tensor<NxNxf32>, %b: tensor<NxNxf32>) -> tensor<NxNxf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<NxNxf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<NxNxf32>) -> tensor<NxNxf32>
  %y = linalg.matmul ins(%a, %b : tensor<NxNxf32>, tensor<NxNxf32>) outs(%start : tensor<NxNxf32>) -> tensor<NxNxf32>
  return %y : tensor<NxNxf32>
}
"""


def main():
    import numpy

    source = SOURCE.replace("<NxN", "<%dx%d" % (SIZE, SIZE))
    got, device = iree_run(source, "product", numpy.array(LEFT, "float32"), numpy.array(RIGHT, "float32"))
    finish(0, device=device, checked=compare("product", got, product()))


if __name__ == "__main__":
    main()
