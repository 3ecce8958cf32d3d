"""A Docker daemon of a test's own, to be killed or to run out of disk, beside the lab's."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ANSWER_SECONDS = 30.0


class OwnDocker:
    """dockerd with the lab's settings and programs, and folders and a socket of its own.

    It has a network namespace of its own, where nothing can be reached, or with ``online`` this
    host's, for pulling; its containers never have a network.
    """

    def __init__(self, lab: Path, data: Path | None = None, *, online: bool = False) -> None:
        self._command = [] if online else ["unshare", "--net"]
        self._folder = Path(tempfile.mkdtemp(prefix="ib"))  # short, for the sockets below it
        self._data = data if data is not None else self._folder / "data"
        self._socket = self._folder / "d.sock"
        self._log = self._folder / "log"
        settings = json.loads((lab / "run" / "docker.json").read_text())
        for name in ("fixed-cidr", "mtu"):
            settings.pop(name, None)
        settings |= {
            "hosts": [f"unix://{self._socket}"],
            "data-root": str(self._data),
            "exec-root": str(self._folder / "exec"),
            "pidfile": str(self._folder / "pid"),
            "bridge": "none",
        }
        self._config = self._folder / "daemon.json"
        self._config.write_text(json.dumps(settings))
        self.environ = {**os.environ, "DOCKER_HOST": f"unix://{self._socket}", "XDG_CACHE_HOME": str(self._folder / "cache")}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the daemon and wait until it answers."""
        self._end_containerd()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, "dockerd", "--config-file", str(self._config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + ANSWER_SECONDS
        asked = ["docker", "version", "--format", "{{.Server.Version}}"]
        while subprocess.run(asked, env=self.environ, capture_output=True, check=False).returncode != 0:
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError(self._log.read_text(errors="replace")[-2000:])
            time.sleep(0.1)

    def end(self, number: signal.Signals) -> None:
        """Send the daemon a signal and wait until it is gone."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(ANSWER_SECONDS)
            self._process = None
            (self._folder / "pid").unlink(missing_ok=True)

    def clear(self) -> None:
        """End everything and remove the folder."""
        self.end(signal.SIGTERM)
        self._end_containerd()
        _kill_all(str(self._folder).encode())
        for folder in (self._folder, self._data):
            _unmount_below(folder)
            shutil.rmtree(folder, ignore_errors=True)

    def _end_containerd(self) -> None:
        """End what a killed daemon leaves: its containerd, which the next daemon would wait for."""
        kept = self._folder / "exec" / "containerd" / "containerd.pid"
        if kept.exists():
            pid = int(kept.read_text())
            if b"containerd" in _read(Path(f"/proc/{pid}/cmdline")):
                os.kill(pid, signal.SIGTERM)
                until = time.monotonic() + ANSWER_SECONDS
                while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
                    time.sleep(0.05)
            kept.unlink(missing_ok=True)


def end_steps(command: bytes) -> None:
    """End every process with exactly this command line: steps that a killed daemon left running."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if _read(path) == command:
            os.kill(int(path.parent.name), signal.SIGKILL)


def mounts_below(folder: Path) -> list[str]:
    """Return what is mounted below a folder, innermost first."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((point for point in points if point.startswith(f"{folder}/")), reverse=True)


def _unmount_below(folder: Path) -> None:
    for point in mounts_below(folder):
        subprocess.run(["umount", "--lazy", point], check=True)


def _kill_all(part: bytes) -> None:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if part in _read(path) and int(path.parent.name) != os.getpid():
            os.kill(int(path.parent.name), signal.SIGKILL)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
