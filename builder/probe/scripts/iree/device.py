"""Check that IREE's runtime has the driver of the stack, and a device behind it."""

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


# --- block: nodes (the same in every script that has it; a test holds them together)
# Where the kernel shows the device of a stack to a container; none there, and there is nothing to test.
NODES = {
    "cuda": ["/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/dxg"],
    "rocm": ["/dev/kfd", "/dev/dxg"],
    "gaudi": ["/dev/accel/accel*", "/dev/hl[0-9]*"],
    "oneapi": ["/dev/dri/renderD*", "/dev/dxg"],
    "neuron": ["/dev/neuron*"],
    "tpu": ["/dev/accel*", "/dev/vfio/[0-9]*"],
}


def absent(seen_by, **values):
    """End where the framework sees no device: skipped when none is here, failed when the kernel shows one."""
    import glob

    there = sorted(path for pattern in NODES.get(STACK, ()) for path in glob.glob(pattern))
    if there:
        finish(1, "%s is here, but %s sees no %s device" % (there[0], seen_by, STACK), **values)
    finish(77, "no %s device is in this container" % STACK, **values)


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


def main():
    from iree import runtime

    known = {"drivers": list(runtime.query_available_drivers())}
    target, driver, device = iree_target()
    if device != STACK:
        absent("IREE", **known)
    devices = runtime.get_driver(driver).query_available_devices()
    finish(0, device=STACK, driver_name=driver, name=devices[0].get("name") or devices[0].get("path"), **known)


if __name__ == "__main__":
    main()
