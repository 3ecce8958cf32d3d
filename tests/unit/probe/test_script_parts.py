"""The parts of probe scripts that can be held against something else that knows the answer."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.unit.probe.running import load

CHECK = load("common/pip-check")
DECLARED = load("common/declared")
CPU = load("cpu/device")
TRAIN = load("pytorch/train")
MODEL = load("pytorch/model")
MATMUL = load("pytorch/matmul")
LITERT = load("litert/model")

release = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
versions = st.builds(
    "{}{}{}{}{}".format,
    release,
    st.sampled_from(["", "a0", "b1", "rc2", "-alpha", ".c1"]),
    st.sampled_from(["", ".post1", "-2", ".post", ".r3"]),
    st.sampled_from(["", ".dev0", "dev1", ".dev"]),
    st.sampled_from(["", "+cu128", "+145a3a7bda.nv25.10", "+cpu", "+1.a"]),
)


@given(versions, versions)
def test_versions_are_ordered_as_pep_440_orders_them(one: str, other: str) -> None:
    mine = (CHECK.version_key(one), CHECK.version_key(other))
    known = (Version(one), Version(other))
    assert (mine[0] < mine[1], mine[0] == mine[1]) == (known[0] < known[1], known[0] == known[1])


def test_text_that_is_no_version_has_no_key() -> None:
    assert CHECK.version_key("2025.3.0-19807-44526285f24-releases/2025/3") is None
    assert CHECK.version_key("") is None


@given(versions, st.sampled_from([">=", "<=", "==", "!=", ">", "<"]), versions)
def test_specifiers_hold_where_packaging_says_so(version: str, sign: str, wanted: str) -> None:
    if sign not in {"==", "!="}:
        wanted = wanted.partition("+")[0]
    assert CHECK.holds(version, sign + wanted) == SpecifierSet(sign + wanted).contains(version, prereleases=True)


@given(versions, st.sampled_from(["==", "!="]), release)
def test_series_hold_where_packaging_says_so(version: str, sign: str, wanted: str) -> None:
    text = f"{sign}{wanted}.*"
    assert CHECK.holds(version, text) == SpecifierSet(text).contains(version, prereleases=True)


@given(versions, st.lists(st.integers(0, 3), min_size=2, max_size=3).map(lambda parts: ".".join(map(str, parts))))
def test_compatible_releases_hold_where_packaging_says_so(version: str, wanted: str) -> None:
    assert CHECK.holds(version, f"~={wanted}") == SpecifierSet(f"~={wanted}").contains(version, prereleases=True)


@pytest.mark.parametrize(
    "marker",
    [
        'python_version >= "3.8"',
        'python_version < "3.10"',
        'python_full_version >= "3.11.0rc1"',
        '"3.8" <= python_version',
        'sys_platform == "win32" or platform_system == "Linux"',
        'sys_platform != "win32" and (python_version < "3" or os_name == "posix")',
        'platform_machine in "x86_64 aarch64"',
        'platform_machine not in "x86_64 aarch64"',
        'extra == "dev"',
        'python_version == "3.*"',
        'implementation_name == "cpython"',
    ],
)
def test_markers_apply_where_packaging_says_so(marker: str) -> None:
    assert CHECK.applies(marker) == Marker(marker).evaluate({"extra": ""})


@pytest.mark.parametrize("marker", ["", "python_version >=", "nonsense == '1'", "__import__('os')", "python_version[0] == '3'"])
def test_a_marker_that_cannot_be_read_does_not_apply(marker: str) -> None:
    assert CHECK.applies(marker) is False


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("torch 2.9.1 requires triton, which is not installed.", ("torch", "triton")),
        ("My_Pkg 1.0 has requirement Foo.Bar>=2, but you have foo-bar 1.0.", ("my-pkg", "foo-bar")),
        ("odd 1.0 is not supported on this platform", ("odd", "")),
    ],
)
def test_pips_complaints_are_read(line: str, problem: tuple[str, str]) -> None:
    assert CHECK.problem_of(line) == problem


@pytest.mark.parametrize(
    ("said", "declared", "fits"),
    [
        ("2.13.0+cu130", "2.13.0", True),
        ("2026.4.1-22982-e213a147257-releases/2026/4", "2026.4.1", True),
        ("1.20.10", "1.20.1", False),
        ("1.20.1.post1", "1.20.1", False),
        ("1.20.1rc1", "1.20.1", False),
        ("2.9.1+cpu", "2.9.1+cu128", False),
        ("2.9.1+cu128", "2.9.1+cu128", True),
    ],
)
def test_a_modules_version_may_add_a_label_and_no_more(said: str, declared: str, *, fits: bool) -> None:
    assert DECLARED.starts_with(said, declared) is fits


def test_debian_packages_are_read_from_the_status_file(tmp_path: Any) -> None:
    status = tmp_path / "status"
    text = (
        "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
        "Package: bash\nStatus: install ok triggers-pending\nArchitecture: amd64\nVersion: 5.2\n"
    )
    status.write_text(text, encoding="utf-8")
    assert DECLARED.deb_versions(str(status)) == {"libc6": "2.36-9", "bash": "5.2"}
    assert DECLARED.deb_versions(str(tmp_path / "none")) is None


V2 = "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"
V3 = f"{V2} abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"
V4 = f"{V3} avx512bw avx512cd avx512dq avx512f avx512vl"


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("fpu sse2", "x86-64-v1"),
        (V2, "x86-64-v2"),
        (V3, "x86-64-v3"),
        (V4, "x86-64-v4"),
        (V4.replace("avx2 ", ""), "x86-64-v2"),
        (V3 + " avx512f", "x86-64-v3"),
    ],
)
def test_the_level_of_an_x86_cpu_is_the_highest_whose_features_are_all_there(flags: str, level: str) -> None:
    text = f"processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: {flags}\n\nprocessor\t: 1\nmodel name\t: Other\n"
    assert CPU.describe("x86_64", text) == ("Some CPU", level, False)


def test_an_arm_cpu_is_named_by_its_parts_and_features() -> None:
    features = "fp asimd evtstrm aes atomics asimdrdm crc32 dcpop lrcpc asimddp flagm uscat"
    text = f"processor : 0\nFeatures : {features}\nCPU implementer : 0x41\nCPU variant : 0x1\nCPU part : 0xd4f\n"
    assert CPU.describe("aarch64", text) == ("Arm implementer 0x41 part 0xd4f variant 0x1", "armv8.4-a", False)
    assert CPU.describe("aarch64", "Features : fp asimd\nCPU implementer : 0x41\n")[1] == "armv8-a"


def test_another_cpus_text_means_emulation() -> None:
    assert CPU.describe("x86_64", "CPU implementer : 0x41\nFeatures : fp\n") == (None, None, True)
    assert CPU.describe("aarch64", "model name : Xeon\nflags : fpu\n")[2] is True
    assert CPU.describe("x86_64", "") == (None, None, False)


def test_the_known_losses_are_those_of_steps_along_the_measured_slope() -> None:
    """The derivatives worked out by hand give the step that measuring each weight's slope gives."""

    def loss(first: list[list[float]], second: list[list[float]]) -> float:
        hidden = [[math.tanh(sum(p[i] * first[i][j] for i in range(3))) for j in range(4)] for p in TRAIN.POINTS]
        errors: list[float] = [
            sum(h[j] * second[j][0] for j in range(4)) - w[0] for h, w in zip(hidden, TRAIN.WANTED, strict=True)
        ]
        return sum(error * error for error in errors) / len(errors)

    weights = [[row[:] for row in TRAIN.FIRST], [row[:] for row in TRAIN.SECOND]]
    slopes = []
    for layer, i, j in [
        (layer, i, j) for layer, rows in enumerate(weights) for i, row in enumerate(rows) for j in range(len(row))
    ]:
        kept = weights[layer][i][j]
        ends = []
        for moved in (kept + 1e-6, kept - 1e-6):
            weights[layer][i][j] = moved
            ends.append(loss(*weights))
        weights[layer][i][j] = kept
        slopes.append((layer, i, j, (ends[0] - ends[1]) / 2e-6))
    known = TRAIN.losses()
    assert known[0] == pytest.approx(loss(*weights))
    for layer, i, j, slope in slopes:
        weights[layer][i][j] -= TRAIN.RATE * slope
    assert known[1] == pytest.approx(loss(*weights), rel=1e-6)
    assert len(known) == TRAIN.STEPS + 1
    assert known[-1] < known[0] / 4


def test_the_known_answer_is_a_distribution_that_depends_on_every_layer() -> None:
    known = MODEL.answer()
    assert sum(known) == pytest.approx(1)
    assert min(known) > 0.001
    for layer, place in [("FILTER_BIAS", 1), ("DENSE_BIAS", 2)]:
        values = getattr(MODEL, layer)
        values[place] += 1
        assert MODEL.answer() != pytest.approx(known, rel=1e-2)
        values[place] -= 1
    assert MODEL.answer() == known


def test_the_known_product_is_exact_in_a_float_of_eight_bits() -> None:
    known = MATMUL.product()
    assert len(known) == MATMUL.SIZE**2
    assert known[MATMUL.SIZE + 1] == sum(MATMUL.LEFT[1][k] * MATMUL.RIGHT[k][1] for k in range(MATMUL.SIZE))
    assert len(set(known)) > 20
    assert max(abs(one) for rows in (MATMUL.LEFT, MATMUL.RIGHT) for row in rows for one in row) < 2**7


class Reader:
    """Reads a FlatBuffer as its format says, to hold the writer against."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def at(self, form: str, place: int) -> Any:
        return struct.unpack_from("<" + form, self.data, place)[0]

    def follow(self, place: int) -> int:
        return place + int(self.at("I", place))

    def slot(self, table: int, number: int) -> int | None:
        vtable = table - self.at("i", table)
        if 4 + 2 * number >= self.at("H", vtable):
            return None
        offset = self.at("H", vtable + 4 + 2 * number)
        return table + offset if offset else None

    def items(self, place: int, form: str) -> list[Any]:
        start = self.follow(place)
        return [self.at(form, start + 4 + 4 * index) for index in range(self.at("I", start))]


def test_a_model_is_a_flatbuffer_whose_numbers_are_where_its_format_says() -> None:
    tensors = [LITERT.tensor("a", [2, 3]), LITERT.tensor("b", [3], 1)]
    data = LITERT.tflite([9], tensors, [LITERT.operator(0, [0, 1, -1], [0], 8, {})], [0], [0], [[1.5, -2.0, 3.0]])
    read = Reader(data)
    assert data[4:8] == b"TFL3"
    root = read.follow(0)
    graphs = read.slot(root, 2)
    assert graphs is not None
    graph = read.follow(read.follow(graphs) + 4)
    operators = read.slot(graph, 3)
    assert operators is not None
    operator = read.follow(read.follow(operators) + 4)
    inputs = read.slot(operator, 1)
    assert inputs is not None
    assert read.items(inputs, "i") == [0, 1, -1]
    buffers = read.slot(root, 4)
    assert buffers is not None
    weights = read.slot(read.follow(read.follow(buffers) + 8), 0)
    assert weights is not None
    start = read.follow(weights)
    assert (start + 4) % 16 == 0
    assert struct.unpack_from("<3f", data, start + 4) == (1.5, -2.0, 3.0)


def test_the_tiny_llama_writes_one_more_than_the_token_with_the_most_weight() -> None:
    assert load("vllm/model").tokens() == [10, 10, 10, 11, 10, 11]


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Wed Feb 26 01:53:36 UTC 2025\nGCC version: 12.3.0\n",
            "570.124.06",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@host)\n", "580.95.05"),
        ("NVRM version: something else\n", None),
    ],
)
def test_the_driver_is_read_from_the_words_of_either_kernel_module(text: str, driver: str | None) -> None:
    assert load("pytorch/device").driver_version(text) == driver
