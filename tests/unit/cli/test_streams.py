"""The command line with standard streams that are closed, full, without a reader, or not UTF-8."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import GOOD

pytestmark = pytest.mark.process

FULL = [("--version", ""), ("--help", ""), ("--help", "1"), ("matrix schema", ""), ("matrix plan small.yaml", "")]


def shell(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script in which ``$I`` is imgbuild, in a folder with ``small.yaml``."""
    (folder / "small.yaml").write_text(GOOD)
    program = f"I='{sys.executable} -m builder'; {script}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run(["bash", "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("argv", "unbuffered"), FULL)
def test_a_full_stdout_is_said_and_is_no_bug_of_ours(tmp_path: Path, argv: str, unbuffered: str) -> None:
    done = shell(tmp_path, f"$I {argv} >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 8
    assert done.stderr.splitlines()[0] == "error: the result could not be written to stdout: No space left on device"


def test_a_closed_stdout_is_said(tmp_path: Path) -> None:
    done = shell(tmp_path, "$I matrix plan small.yaml >&-")
    assert (done.returncode, done.stderr.splitlines()[0]) == (8, "error: the result could not be written to stdout: it is closed")


def test_a_reader_that_goes_early_is_no_failure_and_hides_none(tmp_path: Path) -> None:
    done = shell(tmp_path, "$I matrix table small.yaml --format html | true; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("0\n", "")
    done = shell(tmp_path, "sed -i s/acc/ac/ small.yaml; $I matrix lint small.yaml --json | true; echo ${PIPESTATUS[0]}")
    assert done.stdout == "3\n"


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", "<&- 2>&-"])
def test_a_stderr_that_takes_nothing_changes_no_exit_code(tmp_path: Path, where: str) -> None:
    assert shell(tmp_path, f"$I matrix plan small.yaml {where}").returncode == 0
    assert shell(tmp_path, f"$I matrix plan absent.yaml {where}").returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_without_the_letters_of_the_table(tmp_path: Path, encoding: str) -> None:
    script = (
        "$I matrix table small.yaml --format md; sed -i 's/small/s/; s/here/hier-€/' small.yaml; $I matrix plan small.yaml --json"
    )
    done = shell(tmp_path, script, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert r"hier-\u20ac" in done.stderr


def test_a_path_that_is_not_utf8_can_be_named(tmp_path: Path) -> None:
    name = b"m\xff.yaml".decode("utf-8", "surrogateescape")
    done = shell(tmp_path, f"cp small.yaml {name}; $I matrix lint {name}; $I matrix plan {name} --json")
    assert (done.returncode, done.stderr) == (0, "")
    head, _, document = done.stdout.partition("\n")
    assert head == r"m\udcff.yaml: nothing to complain about (2 cells)"
    assert json.loads(document)["schema"] == "imgbuild/plan/1"


def test_ctrl_c_while_it_is_loaded_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(60)\n")
    done = shell(tmp_path, f"PYTHONPATH={tmp_path}:$PYTHONPATH $I --version; echo $?")
    assert (done.stdout, "Traceback" in done.stderr) == ("130\n", False)
