"""The probes of Triton Inference Server against a small server that answers as its protocol says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from builder.model.evidence import ProbeStatus
from tests.unit.probe.running import run

pytestmark = pytest.mark.process

SERVER = """#!{python}
import http.server, json, pathlib, sys
options = dict(word.lstrip("-").split("=") for word in sys.argv[1:] if "=" in word)
if "--help" in sys.argv:
    print("  --model-repository <string>")
    sys.exit(0)
repository = pathlib.Path(options["model-repository"])
assert (repository / "probe" / "1" / "model.onnx").read_bytes()[:2] == b"\\x08\\x08"
assert "KIND_CPU" in (repository / "probe" / "config.pbtxt").read_text()
{fault}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.reply({{}})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"][0]
        assert (asked["shape"], len(asked["data"])) == ([1, 2, 6, 6], 72)
        self.reply({{"outputs": [{{"name": "answer", "data": {answer}}}]}})
    def reply(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *words): pass
http.server.HTTPServer(("127.0.0.1", int(options["http-port"])), Handler).serve_forever()
"""
RIGHT = [0.2529834524, 0.1232942878, 0.0072896029, 0.6164326566]


def server(folder: Path, *, answer: list[float], fault: str = "", backend: str = "onnxruntime") -> dict[str, str]:
    """Install the server as its image does, and return the environment that finds it."""
    program = folder / "bin" / "tritonserver"
    program.parent.mkdir()
    program.write_text(SERVER.format(python=sys.executable, answer=answer, fault=fault), encoding="utf-8")
    program.chmod(0o755)
    (folder / "backends" / backend).mkdir(parents=True)
    return {"PATH": f"{program.parent}:/usr/bin:/bin", "TRITON_SERVER_VERSION": "2.63.0"}


def test_a_served_model_with_the_right_answer_passes(tmp_path: Path) -> None:
    result = run("triton-server/model", env=server(tmp_path, answer=RIGHT))
    assert (result.status, result.reason, result.values) == (ProbeStatus.PASSED, None, {"device": "cpu", "checked": 4})


def test_a_wrong_answer_fails(tmp_path: Path) -> None:
    result = run("triton-server/model", env=server(tmp_path, answer=[*RIGHT[:3], 0.63]))
    assert result.status is ProbeStatus.FAILED
    assert (result.reason or "").startswith("answer[3] is 0.63, expected 0.616")


def test_a_server_that_ends_is_said_with_its_last_words(tmp_path: Path) -> None:
    env = server(tmp_path, answer=RIGHT, fault="sys.exit('failed to load all models')")
    assert run("triton-server/model", env=env).reason == "tritonserver ended with 1: failed to load all models"


def test_without_the_backend_there_is_nothing_to_serve(tmp_path: Path) -> None:
    result = run("triton-server/model", env=server(tmp_path, answer=RIGHT, backend="python"))
    assert (result.status, result.reason) == (ProbeStatus.SKIPPED, "this server has no onnxruntime backend")


def test_import_loads_the_program_and_names_its_version_and_backends(tmp_path: Path) -> None:
    result = run("triton-server/import", env=server(tmp_path, answer=RIGHT))
    assert result.values == {"version": "2.63.0", "release": None, "backends": ["onnxruntime"]}
    missing = run("triton-server/import", env={"PATH": "/usr/bin:/bin"})
    assert missing.reason == "tritonserver is neither on the path nor in /opt/tritonserver/bin"
