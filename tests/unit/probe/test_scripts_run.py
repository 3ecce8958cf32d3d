"""Probe scripts as containers run them; each is seen to fail where it must."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from builder.model.evidence import ProbeStatus
from tests.unit.probe.running import distribution, run

pytestmark = pytest.mark.process

PASSED, SKIPPED, FAILED = ProbeStatus.PASSED, ProbeStatus.SKIPPED, ProbeStatus.FAILED
PYTHON = "{}.{}".format(*sys.version_info)

NUMPY = """
class array:
    def __init__(self, values, kind=None): self.values = values
    def ravel(self): return self
    def tolist(self):
        return [one for row in self.values for one in row]
"""
ONNXRUNTIME = """
import sys
import numpy
__version__ = "1.20.1"
print("the framework talks")
def get_available_providers(): return {providers!r}
class InferenceSession:
    def __init__(self, model, providers=None): self.providers = providers
    def get_providers(self): return [one for one in self.providers if one in {working!r}]
    def run(self, names, inputs):
        a, b = inputs["a"].values, inputs["b"].values
        rows = [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
        rows[{wrong}][0] {change}
        return [numpy.array(rows)]
"""


def stand_in(folder: Path, *, wrong: int = 0, change: str = "+= 0", **providers: list[str]) -> Path:
    """An onnxruntime that multiplies matrices in plain Python, and puts one number wrong where it is told to."""
    known = {"providers": ["CPUExecutionProvider"], "working": ["CPUExecutionProvider"], **providers}
    (folder / "numpy.py").write_text(NUMPY, encoding="utf-8")
    (folder / "onnxruntime.py").write_text(ONNXRUNTIME.format(wrong=wrong, change=change, **known), encoding="utf-8")
    return folder


def test_matmul_passes_with_the_right_numbers_whatever_the_framework_prints(tmp_path: Path) -> None:
    result = run("onnxruntime/matmul", stand_in(tmp_path))
    assert (result.status, result.values) == (PASSED, {"device": "cpu", "checked": 2304})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("+= 1", "product[240] is 0, expected -1"),
        ("= float('nan')", "product[240] is nan, expected -1"),
        ("+= 1e-3", "product[240] is -0.999, expected -1"),
    ],
)
def test_matmul_fails_where_one_number_is_wrong(tmp_path: Path, change: str, why: str) -> None:
    result = run("onnxruntime/matmul", stand_in(tmp_path, wrong=5, change=change))
    assert (result.status, result.reason) == (FAILED, why)


def test_matmul_fails_where_numbers_are_missing(tmp_path: Path) -> None:
    result = run("onnxruntime/matmul", stand_in(tmp_path, change="= 0; rows.pop()"))
    assert (result.status, result.reason) == (FAILED, "product has 2256 values, expected 2304")


def test_a_missing_framework_is_failed_with_its_name(tmp_path: Path) -> None:
    result = run("onnxruntime/matmul", tmp_path, options=["-S"])
    assert (result.status, result.reason) == (FAILED, "ModuleNotFoundError: No module named 'numpy'")


def test_computing_without_the_device_says_where_it_computed(tmp_path: Path) -> None:
    both = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    result = run("onnxruntime/matmul", stand_in(tmp_path, providers=both), expect={"stack": {"name": "cuda"}})
    assert (result.status, result.values["device"], result.tier.value) == (PASSED, "cpu", "host-cpu")


def test_a_build_without_the_stacks_provider_is_failed_device_or_not(tmp_path: Path) -> None:
    result = run("onnxruntime/device", stand_in(tmp_path), expect={"stack": {"name": "cuda"}})
    assert (result.status, result.reason) == (FAILED, "this build has no execution provider for cuda")


def test_a_device_that_is_not_there_is_skipped_with_the_reason(tmp_path: Path) -> None:
    folder = stand_in(tmp_path, providers=["MIGraphXExecutionProvider", "CPUExecutionProvider"])
    with (folder / "onnxruntime.py").open("a", encoding="utf-8") as module:
        module.write("InferenceSession.get_providers = lambda self: ['CPUExecutionProvider']\n")
    result = run("onnxruntime/device", folder, expect={"stack": {"name": "rocm"}})
    assert (result.status, result.reason) == (SKIPPED, "no rocm device is in this container")


def test_import_reports_versions_and_fails_with_the_modules_own_words(tmp_path: Path) -> None:
    distribution(tmp_path, "quiet-one", "3.1", files={"quiet/__init__.py": "", "quiet/inner.py": ""})
    (tmp_path / "loud.py").write_text("__version__ = '1.2'\nprint('hello')\n", encoding="utf-8")
    result = run("common/import", tmp_path, expect={"imports": ["loud", "quiet.inner"]})
    assert (result.status, result.values["modules"]) == (PASSED, {"loud": "1.2", "quiet.inner": "3.1"})
    (tmp_path / "broken.py").write_text("raise SystemExit('no licence')\n", encoding="utf-8")
    result = run("common/import", tmp_path, expect={"imports": ["loud", "broken"]})
    assert (result.status, result.reason) == (FAILED, "cannot import broken: SystemExit: no licence")
    result = run("common/import", tmp_path, expect={"imports": ["absent_module"]})
    assert result.reason == "cannot import absent_module: ModuleNotFoundError: No module named 'absent_module'"
    assert run("common/import", tmp_path).status is SKIPPED


def declared(**changes: Any) -> dict[str, Any]:
    known = {"torch": {"version": "2.9.1+cu128", "module_version": None}}
    return {
        "python": PYTHON,
        "imports": ["torch"],
        "framework": {"name": "pytorch", "distributions": known},
        "packages": {"helper": "1.0"},
        **changes,
    }


def image(folder: Path, *, torch: str = "2.9.1+cu128", module: str | None = None, cuda: str | None = "12.8") -> Path:
    """A folder with a torch and a helper installed."""
    text = f"__version__ = {module or torch!r}\nclass version: cuda = {cuda!r}\n"
    distribution(folder, "torch", torch, files={"torch/__init__.py": text})
    return distribution(folder, "Helper", "1.0.0")


def test_declared_passes_where_all_is_as_declared_and_reports_what_is(tmp_path: Path) -> None:
    result = run("common/declared", image(tmp_path), expect=declared(stack={"name": "cuda", "version": "12.8"}))
    assert (result.status, result.reason) == (PASSED, None)
    assert result.values["framework_version"] == result.values["module_version"] == "2.9.1+cu128"
    assert result.values["framework_stack"] == "cuda 12.8"
    assert str(result.values["python"]).startswith(PYTHON)


@pytest.mark.parametrize(
    ("made", "changes", "why"),
    [
        ({"torch": "2.9.1"}, {}, "torch: declared 2.9.1+cu128 (framework), actual 2.9.1"),
        ({"torch": "2.9.1+cpu"}, {}, "torch: declared 2.9.1+cu128 (framework), actual 2.9.1+cpu"),
        ({"module": "2.9.0"}, {}, "torch.__version__: declared 2.9.1+cu128, actual 2.9.0"),
        ({}, {"packages": {"helper": "1.1"}}, "Helper: declared 1.1 (lock), actual 1.0.0"),
        ({}, {"packages": {"gone": "1"}}, "gone: declared 1 (lock), but it is not there"),
        ({}, {"kept": {"helper": "0.9"}}, "helper: declared 0.9 (base), actual 1.0.0"),
        ({}, {"python": "3.8"}, "Python: declared 3.8, actual "),
        ({}, {"env": {"A": "1"}}, "environment: declared A='1', actual None"),
        (
            {},
            {"stack": {"name": "cuda", "version": "13.0"}},
            "stack: declared cuda 13.0, but the framework is built for cuda 12.8",
        ),
        (
            {"cuda": None},
            {"stack": {"name": "cuda", "version": "12.8"}},
            "stack: declared cuda, but the framework is built for cpu",
        ),
        ({}, {"constraints": {"path": "/no/file", "versions": {"torch": "1"}}}, "constraints: /no/file cannot be read"),
    ],
)
def test_declared_names_both_values_of_what_differs(
    tmp_path: Path, made: dict[str, Any], changes: dict[str, Any], why: str
) -> None:
    result = run("common/declared", image(tmp_path, **made), expect=declared(**changes))
    assert result.status is FAILED
    assert why.lower() in (result.reason or "").lower()


def test_declared_compares_a_vendors_module_version_where_the_base_was_read(tmp_path: Path) -> None:
    folder = image(tmp_path, torch="2.10.0a0+b558c98.nv25.11", module="2.10.0a0+b558c98")
    known = {"torch": {"version": "2.10.0a0+b558c98.nv25.11", "module_version": "2.10.0a0+b558c98"}}
    expect = declared(framework={"distributions": known})
    assert run("common/declared", folder, expect=expect).status is PASSED
    known["torch"]["module_version"] = "2.10.0a0+other"
    result = run("common/declared", folder, expect=expect)
    assert result.reason == "torch.__version__: declared 2.10.0a0+other, actual 2.10.0a0+b558c98"


def test_declared_reads_the_constraints_that_keep_the_framework(tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text("# kept\ntorch==2.9.1+cu128\n", encoding="utf-8")
    constraints = {"path": str(file), "variables": ["PIP_CONSTRAINT"], "versions": {"torch": "2.9.1+cu128"}}
    folder, expect = image(tmp_path), declared(constraints=constraints)
    assert run("common/declared", folder, expect=expect, env={"PIP_CONSTRAINT": f"/other {file}"}).status is PASSED
    result = run("common/declared", folder, expect=expect, env={"PIP_CONSTRAINT": "/other"})
    assert result.reason == f"environment: PIP_CONSTRAINT does not name {file}"
    file.write_text("torch==2.9.1\n", encoding="utf-8")
    result = run("common/declared", folder, expect=expect, env={"PIP_CONSTRAINT": str(file)})
    assert result.reason == f"constraints: {file} does not hold torch==2.9.1+cu128"


def test_many_differences_are_counted(tmp_path: Path) -> None:
    result = run("common/declared", image(tmp_path), expect=declared(packages={f"p{number}": "1" for number in range(9)}))
    assert (result.reason or "").endswith("; and 4 more")
    assert len(result.values["problems"]) == 9  # type: ignore[arg-type]  # a list, or len() fails the test


def test_declared_by_hand_has_nothing_to_compare(tmp_path: Path) -> None:
    assert run("common/declared", tmp_path).status is SKIPPED


@pytest.mark.parametrize(("options", "by"), [((), "pip"), (("-S",), "metadata")])
def test_pip_check_finds_what_is_missing_and_what_does_not_fit(tmp_path: Path, options: tuple[str, ...], by: str) -> None:
    pip = Path(sys.prefix) / "lib" / f"python{PYTHON}" / "site-packages" / "pip"
    if by == "pip" and not pip.exists():
        distribution(tmp_path, "pip", "1.0", files={"pip/__init__.py": "", "pip/__main__.py": PIP})
    requires = ["helper>=2", "absent", "never; python_version < '3'", "helper[fast]>=1; extra == 'dev'"]
    distribution(tmp_path, "needy", "1.0", requires=requires)
    distribution(tmp_path, "helper", "1.5")
    result = run("common/pip-check", tmp_path, options=options)
    assert (result.status, result.values["by"]) == (FAILED, by)
    assert "needy 1.0 requires absent, which is not installed" in (result.reason or "")
    assert "needy 1.0 has requirement helper>=2, but you have helper 1.5" in (result.reason or "")
    known = {"broken": [["needy", "absent"], ["needy", "helper"]]}
    result = run("common/pip-check", tmp_path, options=options, expect=known)
    assert (result.status, result.values["known_from_base"]) == (PASSED, 2)


PIP = """
import sys
print("needy 1.0 requires absent, which is not installed.")
print("needy 1.0 has requirement helper>=2, but you have helper 1.5.")
sys.exit(1)
"""


def test_pip_that_breaks_is_a_failure(tmp_path: Path) -> None:
    files = {"pip/__init__.py": "", "pip/__main__.py": "raise SystemExit('pip is broken')"}
    distribution(tmp_path, "pip", "1.0", files=files)
    result = run("common/pip-check", tmp_path, options=["-S"])
    assert (result.status, result.reason) == (FAILED, "pip check failed: pip is broken")


def test_the_cpu_of_this_host_is_named() -> None:
    result = run("cpu/device")
    assert result.status is PASSED
    assert result.values["device"] == "cpu"
    assert str(result.values["level"]).startswith(("x86-64-v", "armv"))
    assert result.values["cores"] in range(1, 4096)
