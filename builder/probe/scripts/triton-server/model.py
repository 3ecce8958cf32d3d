"""Serve a small network with Triton's ONNX Runtime backend, ask it over HTTP, and check its answer."""

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


# --- block: onnx (the same in every script that has it; a test holds them together)
# An ONNX model is one protobuf message; these few lines write it, so that the image needs no onnx package.
# Field numbers are those of https://github.com/onnx/onnx/blob/v1.17.0/onnx/onnx.proto
def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def whole(field, number):
    return varint(field << 3) + varint(number)


def message(field, *parts):
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def port(field, name, shape):
    dims = [message(1, whole(1, size)) for size in shape]
    return message(field, message(1, name), message(2, message(1, whole(1, 1), message(2, *dims))))


def weights(name, shape, values):
    import struct

    dims = [whole(1, size) for size in shape]
    return message(5, *dims, whole(2, 1), message(8, name), message(9, struct.pack("<%df" % len(values), *values)))


def node(operator, inputs, output, *attributes):
    return message(1, *[message(1, name) for name in inputs], message(2, output), message(4, operator), *attributes)


def model_bytes(*graph):
    """Return a model of IR version 8 and operator set 13, which every runtime since 2021 reads."""
    return whole(1, 8) + message(7, *graph, message(2, "probe")) + message(8, message(1, ""), whole(2, 13))


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

SECONDS = 90
CONFIG = """
backend: "onnxruntime"
max_batch_size: 0
input [{ name: "image", data_type: TYPE_FP32, dims: [1, 2, 6, 6] }]
output [{ name: "answer", data_type: TYPE_FP32, dims: [1, 4] }]
instance_group [{ count: 1, kind: %s }]
"""


def flat(value):
    return [number for part in value for number in flat(part)] if isinstance(value, list) else [float(value)]


def write_repository(folder, kind):
    graph = [
        node("Conv", ["image", "filters", "filter_bias"], "found"),
        node("Relu", ["found"], "hidden"),
        node("Flatten", ["hidden"], "line"),
        node("Gemm", ["line", "dense", "dense_bias"], "logits", message(5, message(1, "transB"), whole(3, 1), whole(20, 2))),
        node("Softmax", ["logits"], "answer"),
        weights("filters", [3, 2, 3, 3], flat(FILTERS)),
        weights("filter_bias", [3], flat(FILTER_BIAS)),
        weights("dense", [4, 48], flat(DENSE)),
        weights("dense_bias", [4], DENSE_BIAS),
        port(11, "image", [1, 2, 6, 6]),
        port(12, "answer", [1, 4]),
    ]
    os.makedirs(os.path.join(folder, "probe", "1"))
    with open(os.path.join(folder, "probe", "1", "model.onnx"), "wb") as file:
        file.write(model_bytes(*graph))
    with open(os.path.join(folder, "probe", "config.pbtxt"), "w") as file:
        file.write(CONFIG % kind)


def asked(url, body=None):
    import urllib.request

    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the server is on this host
    with opener.open(urllib.request.Request(url, data), timeout=10) as answered:
        return answered.read()


def wait(server, url, log):
    """Return once the server is ready; the probe fails when it ends before, or takes too long."""
    import time
    import urllib.error

    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if server.poll() is not None:
            log.seek(0)
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
            finish(1, "tritonserver ended with %d: %s" % (server.returncode, (lines or [""])[-1]))
        try:
            asked(url + "/v2/health/ready")
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    finish(1, "tritonserver was not ready within %d s" % SECONDS)


def main():
    import glob
    import socket
    import subprocess
    import tempfile

    program = server_path()
    root = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    if not os.path.isdir(os.path.join(root, "backends", "onnxruntime")):
        finish(77, "this server has no onnxruntime backend")
    there = STACK == "cuda" and bool(glob.glob("/dev/nvidia[0-9]*"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        write_repository(folder, "KIND_GPU" if there else "KIND_CPU")
        options = ["--http-address=127.0.0.1", "--http-port=%d" % number, "--allow-grpc=false", "--allow-metrics=false"]
        server = subprocess.Popen([program, "--model-repository=" + folder] + options, stdout=log, stderr=log)
        try:
            url = "http://127.0.0.1:%d" % number
            wait(server, url, log)
            image = {"name": "image", "shape": [1, 2, 6, 6], "datatype": "FP32", "data": flat(IMAGE)}
            answered = json.loads(asked(url + "/v2/models/probe/infer", {"inputs": [image]}).decode())
        finally:
            server.kill()
            server.wait()
    checked = compare("answer", answered["outputs"][0]["data"], answer(), 1e-3)
    finish(0, device="cuda" if there else "cpu", checked=checked)


if __name__ == "__main__":
    main()
