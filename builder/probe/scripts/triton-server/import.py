"""Start Triton Inference Server's program far enough to load its libraries, and name its version."""

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


# --- block: tritonserver (the same in every script that has it; a test holds them together)
def server_path():
    """Return the path of the server's program; the probe fails where it is missing."""
    import shutil

    path = shutil.which("tritonserver") or shutil.which("/opt/tritonserver/bin/tritonserver")
    if path is None:
        finish(1, "tritonserver is neither on the path nor in /opt/tritonserver/bin")
    return path


# --- end of block


def main():
    import subprocess

    command = [server_path(), "--help"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    said = done.stdout.decode(errors="replace")
    if "model-repository" not in said:
        finish(1, "tritonserver --help ended with %d: %s" % (done.returncode, (said.strip().splitlines() or [""])[-1]))
    root = os.path.dirname(os.path.dirname(os.path.realpath(command[0])))
    backends = os.path.join(root, "backends")
    finish(
        0,
        version=os.environ.get("TRITON_SERVER_VERSION"),
        release=os.environ.get("NVIDIA_TRITON_SERVER_VERSION"),
        backends=sorted(os.listdir(backends)) if os.path.isdir(backends) else [],
    )


if __name__ == "__main__":
    main()
