"""Name the CPU: its model, its level (x86-64-v1 to v4, or the Arm architecture) and the cores to be used."""

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

# The levels of the x86-64 psABI, https://gitlab.com/x86-psABIs/x86-64-ABI, by the names Linux gives the features.
LEVELS = [
    ("x86-64-v2", "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"),
    ("x86-64-v3", "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"),
    ("x86-64-v4", "avx512bw avx512cd avx512dq avx512f avx512vl"),
]


def fields(text):
    """Return the lines of the first processor in /proc/cpuinfo, by name."""
    found = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return found


def x86_level(flags):
    level = "x86-64-v1"
    for name, needed in LEVELS:
        if not set(needed.split()) <= set(flags):
            break
        level = name
    return level


def arm_level(known):
    """Return the architecture by the features that a version of it made mandatory, as far as Linux tells."""
    have = set(known.get("features", "").split())
    if {"atomics", "asimdrdm", "crc32"} <= have:
        if {"dcpop", "lrcpc"} <= have:
            return "armv8.4-a" if {"asimddp", "flagm", "uscat"} <= have else "armv8.2-a"
        return "armv8.1-a"
    return "armv8-a"


def cores():
    """Return how many cores this process may use: affinity, and a CPU quota of the container where it is less."""
    count = len(os.sched_getaffinity(0))
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        return count if quota == "max" else min(count, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):
        return count


def describe(machine, text):
    """Return (model, level, whether another CPU than the host's is being emulated); level None when not known."""
    known = fields(text)
    if machine in ("x86_64", "amd64"):
        if "flags" not in known:
            return known.get("model name"), None, "cpu implementer" in known
        return known.get("model name"), x86_level(known["flags"].split()), False
    if machine in ("aarch64", "arm64"):
        parts = [known.get(name, "?") for name in ("cpu implementer", "cpu part", "cpu variant")]
        model = known.get("model name") or "Arm implementer %s part %s variant %s" % tuple(parts)
        return model, arm_level(known), "flags" in known
    return known.get("model name") or known.get("cpu"), machine, False


def main():
    import platform

    machine = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        model, level, emulated = describe(machine, file.read())
    values = {"device": "cpu", "model": model, "level": level, "arch": level, "cores": cores(), "machine": machine}
    values["kernel_release"] = platform.release()
    if emulated:
        finish(0, emulated=True, **dict(values, level=level or machine))
    if not model or not level:
        finish(1, "the CPU's model and level cannot be read from /proc/cpuinfo", **values)
    finish(0, **values)


if __name__ == "__main__":
    main()
