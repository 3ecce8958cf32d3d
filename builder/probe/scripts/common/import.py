"""Import what proves that the framework is there; report versions and seconds.

By hand: python import.py MODULE...
"""

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


def version_of(name, module):
    """Return what the module says of itself, else what the distribution that brought its file says."""
    from importlib import metadata

    said = getattr(module, "__version__", None)
    if isinstance(said, str):
        return said
    files = {name.replace(".", "/") + ending for ending in (".py", "/__init__.py")}
    for one in metadata.distributions():
        if any(str(path) in files for path in one.files or []):
            return one.version
    return None


def main():
    import importlib
    import time

    names = sys.argv[1:] or EXPECT.get("imports") or []
    if not names:
        finish(77, "no module is named that would prove the framework")
    modules, seconds = {}, {}
    for name in names:
        began = time.perf_counter()
        try:
            module = importlib.import_module(name)
        except BaseException as error:  # a module may even exit
            finish(1, "cannot import %s: %s: %s" % (name, type(error).__name__, error), modules=modules)
        seconds[name] = round(time.perf_counter() - began, 3)
        modules[name] = version_of(name, module)
    finish(0, modules=modules, seconds=seconds)


if __name__ == "__main__":
    main()
