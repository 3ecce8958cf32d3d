"""Run several probes one after another, each a process of its own, and report each as it ends: one JSON line.

Not a probe: ``builder.probe.together`` puts the probes behind it and feeds both to one container's Python,
because starting a container takes longer than most probes do.
"""

import json
import os
import signal
import subprocess
import sys
import time

KEPT = 128 * 1024


def ended(script, seconds):
    """Run one script and return how it ended; its whole process group is ended at the limit."""
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    late = False
    try:
        out, err = child.communicate(script.encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
    return {
        "code": child.returncode,
        "stdout": out[-KEPT:].decode(errors="replace"),
        "stderr": err[-KEPT:].decode(errors="replace"),
        "seconds": round(time.monotonic() - began, 3),
        "timed_out": late,
    }


def main(probes, seconds):
    for name, script in probes:
        print(json.dumps(dict(ended(script, seconds), name=name)), flush=True)
