"""One variant of every vendor on the lab's stand-ins: locked, rendered, built and tested by the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uv

from tests.engine.command import Ended, Imgbuild, ask
from tests.engine.places import Matrix, Place
from tests.engine.registries import amd64_digest
from tests.engine.wheels import sha256
from tests.lab.fixtures import Lab

pytestmark = pytest.mark.lab

NGC = "pytorch2.9.0a0_145a3a7bda-cuda13.0.2-py3.12"
ROCM = "pytorch2.9.1-rocm7.2.4-py3.12"
GAUDI = "pytorch2.10.0-gaudi1.24.0-py3.12"
INTEL = "pytorch2.8.0-oneapi2025.1.3-py3.10"
NEURON = "pytorch2.9.0-neuron2.31.1-py3.12"
VLLM = "vllm0.20.1-cuda13.2.1-py3.12-serve"
TRITON = "triton-server2.62.0-cuda13.0.2-py3.12-serve"
STACK = "pytorch2.9.1-cuda13.0-py3.12-stack"

BASES = {
    NGC: "nvcr.io/nvidia/pytorch:25.10-py3",
    ROCM: "docker.io/rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.9.1",
    GAUDI: "vault.habana.ai/gaudi-docker/1.24.0/ubuntu24.04/habanalabs/pytorch-installer-2.10.0:1.24.0-1007",
    INTEL: "docker.io/intel/intel-extension-for-pytorch:2.8.10-xpu",
    NEURON: "public.ecr.aws/neuron/pytorch-inference-neuronx:2.9.0-neuronx-py312-sdk2.31.1-ubuntu24.04",
    VLLM: "nvcr.io/nvidia/vllm:26.05-py3",
    TRITON: "nvcr.io/nvidia/tritonserver:25.10-py3",
    STACK: "docker.io/nvidia/cuda:13.0.2-cudnn-runtime-ubuntu24.04",
}
KEPT = {
    NGC: {"torch==2.9.0a0+145a3a7bda.nv25.10"},
    ROCM: {"torch==2.9.1+rocm7.2.4.git00000001"},
    GAUDI: {"torch==2.10.0+hpu.git0000006", "habana-torch-plugin==1.24.0.1007"},
    INTEL: {"torch==2.8.0+xpu", "intel-extension-for-pytorch==2.8.10+xpu"},
    NEURON: {"torch==2.9.0", "torch-neuronx==2.9.0"},
    VLLM: {"torch==2.12.0a0+000000000a.nv26.5", "vllm==0.20.1+000000000b.nv26.5.cu132"},
    TRITON: {"tritonserver==2.62.0"},
    STACK: {"torch==2.9.1+cu130"},
}
"""What has to stand in the constraint file of each image: the vendor's versions with their local labels."""
WORK = {"build", "buildx", "create", "pull", "run"}
"""Words of the engines' programs that make or run something; ``buildx version`` alone does not."""
TARGETS = {NGC: "h100", ROCM: "mi300x", GAUDI: "gaudi3", VLLM: "h100", TRITON: "h100", STACK: "h100"}
INSTALLED = {**{variant: ["imgbuild-greeter", "imgbuild-plain"] for variant in BASES}, TRITON: ["imgbuild-plain"]}
INSTALLED[STACK] = [*INSTALLED[STACK], "torch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A matrix of vendors, built on one engine; ``first`` is what that run said."""

    engine: str
    matrix: Matrix
    only: tuple[str, ...]
    variants: tuple[str, ...]
    first: Ended
    imgbuild: Imgbuild
    registry: str
    wheelhouse: Path

    def tag(self, variant: str) -> str:
        """Return the image of a variant."""
        record = next(one for one in self.matrix.evidence if one["variant"] == variant)
        return f"localhost/imgbuild/{self.matrix.name}:{record['content']}"

    def image(self, variant: str) -> dict[str, Any]:
        """Return what the engine says of a variant's image."""
        found = json.loads(ask(self.imgbuild.environ, self.engine, "image", "inspect", self.tag(variant)))
        return dict(found[0])

    def inside(self, variant: str, *argv: str, options: tuple[str, ...] = ()) -> str:
        """Run a program in a container of a variant, as a user would, and return what it printed."""
        words = ["run", "--rm", "--network", "none", "--volume", f"{self.wheelhouse}:/wheels:ro", *options, self.tag(variant)]
        return ask(self.imgbuild.environ, self.engine, *words, "sh", "-c", f"exec 2>&1; {' '.join(argv)}")


def sections(wheelhouse: Path) -> dict[str, Any]:
    remote = {"kind": "ssh", "host": "nowhere.example"}
    vendors = [
        {"framework": "pytorch==2.10.*", "stack": "gaudi", "python": "3.12"},
        {"framework": "pytorch==2.8.*", "stack": "oneapi", "python": "3.10"},
        {"framework": "pytorch==2.9.*", "stack": "neuron", "python": "3.12"},
        {"framework": "vllm==0.20.*", "stack": "cuda", "python": "3.12", "kind": "serve"},
        {"framework": "triton-server==2.62.*", "stack": "cuda==13.*", "python": "3.12", "kind": "serve"},
        {"framework": "pytorch==2.9.1", "stack": "cuda==13.0.*", "python": "3.12", "kind": "stack"},
    ]
    return {
        "targets": {
            "h100": {"accelerator": "nvidia/h100", "driver": "595.58.03", "runner": remote},
            "mi300x": {"accelerator": "amd/mi300x", "driver": "30.30.0", "runner": remote},
            "gaudi3": {"accelerator": "intel/gaudi3", "driver": "1.24.0", "runner": remote},
        },
        "matrix": {"framework": ["pytorch==2.9.*"], "stack": ["cuda", "rocm"], "python": ["3.12"], "include": vendors},
        "base": [{"base": ["vendor"]}, {"when": {"kind": "stack"}, "base": ["stack"]}],
        "packages": [
            {"pip": ["imgbuild-plain"]},
            {"when": {"framework": ["pytorch", "vllm"]}, "pip": ["imgbuild-greeter<2"]},
        ],
        "env": {"GREETING": "it's $HOME"},
        "probes": ["import", "declared", "pip-check"],
        "indexes": {"pytorch-cu130": (wheelhouse / "torch").as_uri()},
    }


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("docker", tuple(BASES)), id="docker", marks=pytest.mark.engine("docker")),
        pytest.param(("podman", (NGC, TRITON, STACK)), id="podman", marks=pytest.mark.engine("podman")),
    ],
)
def built(
    request: pytest.FixtureRequest, place: Place, imgbuild: Imgbuild, wheelhouse: Path, lab_session: tuple[Lab, dict[str, str]]
) -> Built:
    engine, variants = request.param
    for variant in variants:
        lab_session[0].base(BASES[variant])
    matrix = place.matrix(f"vendors-{engine}", **sections(wheelhouse))
    only = () if len(variants) == len(BASES) else tuple(word for one in variants for word in ("--only", one))
    first = imgbuild("matrix", "build", matrix.path, "--json", "--engine", engine, *only)
    return Built(
        engine=engine,
        matrix=matrix,
        only=only,
        variants=variants,
        first=first,
        imgbuild=imgbuild,
        registry=lab_session[0].registry,
        wheelhouse=wheelhouse,
    )


def test_every_variant_passes_and_says_what_was_not_tested(built: Built) -> None:
    assert built.first.code == 0, built.first.stderr
    assert tuple(built.first.outcomes) == built.variants
    for variant, outcome in built.first.outcomes.items():
        target = TARGETS.get(variant)
        reason = f"tested here without the device; not tested on {target}" if target else None
        assert (outcome["status"], outcome["tier"], outcome["fresh"]) == ("passed", "imported", True)
        assert outcome["reason"] == reason


def test_digests_are_the_engines_own(built: Built) -> None:
    for variant, outcome in built.first.outcomes.items():
        image = built.image(variant)
        digest = image["Digest"] if built.engine == "podman" else image["Id"]
        assert outcome["digests"] == {"linux/amd64": digest}
        assert outcome["digest"] == digest


def test_the_lock_pins_the_registrys_bases_and_leaves_the_vendors_framework_out(built: Built) -> None:
    lock = built.matrix.lock
    bases = {base["key"]: base for base in lock["bases"]}
    entries = {entry["id"]: entry for entry in lock["variants"]}
    assert tuple(entries) == built.variants
    assert len(bases) == len(built.variants)
    for variant, entry in entries.items():
        base = bases[entry["base"]]
        assert base["reference"] == BASES[variant]
        assert base["digest"] == amd64_digest(built.registry, BASES[variant])
        assert [package["name"] for package in entry["packages"]] == INSTALLED[variant]
        for package in entry["packages"]:
            (wheel,) = built.wheelhouse.glob(f"*/*/{package['file']}")
            assert package["sha256"] == sha256(wheel)
    assert built.wheelhouse.as_uri() not in built.matrix.lock_path.read_text()


def test_the_image_keeps_the_vendors_framework_by_a_constraint(built: Built) -> None:
    for variant in built.variants:
        text = built.inside(variant, "cat", "/etc/imgbuild/constraints.txt")
        assert {line for line in text.splitlines() if not line.startswith("#")} == KEPT[variant]
        environment = dict(line.split("=", 1) for line in image_env(built, variant))
        for name in ("PIP_CONSTRAINT", "UV_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "UV_BUILD_CONSTRAINT"):
            assert environment[name].split()[-1] == "/etc/imgbuild/constraints.txt"
        assert environment["GREETING"] == "it's $HOME"
    own = dict(line.split("=", 1) for line in image_env(built, NGC))
    assert own["PIP_CONSTRAINT"] == "/etc/pip/constraint.txt /etc/imgbuild/constraints.txt"


def image_env(built: Built, variant: str) -> list[str]:
    return list(built.image(variant)["Config"]["Env"])


def test_labels_say_what_the_image_is(built: Built) -> None:
    keys = {entry["id"]: entry["base"] for entry in built.matrix.lock["variants"]}
    digests = {base["key"]: base["digest"] for base in built.matrix.lock["bases"]}
    for variant in built.variants:
        labels = built.image(variant)["Config"]["Labels"]
        assert labels["imgbuild.variant"] == labels["org.opencontainers.image.title"] == variant
        assert labels["imgbuild.base.digest"] == labels["org.opencontainers.image.base.digest"] == digests[keys[variant]]
        assert labels["org.opencontainers.image.base.name"] == BASES[variant]
        assert labels["imgbuild.base"] == ("stack" if variant == STACK else "vendor")
    labels = built.image(NGC)["Config"]["Labels"]
    assert labels["imgbuild.framework"] == "pytorch==2.9.0a0+145a3a7bda"
    assert (labels["imgbuild.stack"], labels["imgbuild.python"]) == ("cuda==13.0.2", "3.12")


def test_evidence_says_what_each_probe_read(built: Built) -> None:
    records = {record["variant"]: record for record in built.matrix.evidence}
    assert records.keys() == set(built.variants)
    for variant, record in records.items():
        outcome = built.first.outcomes[variant]
        assert (record["target"], record["tier"], record["digest"]) == (None, "imported", outcome["digest"])
        assert [(one["name"], one["status"]) for one in record["results"]] == [
            ("import", "passed"),
            ("declared", "passed"),
            ("pip-check", "passed"),
        ]
        assert record["engine"].startswith(built.engine)
    assert records[NGC]["actual"]["framework_version"] == "2.9.0a0+145a3a7bda.nv25.10"
    assert records[NGC]["actual"]["framework_stack"] == "cuda 13.0"


def test_the_table_says_what_was_shown_and_no_more(built: Built) -> None:
    done = built.imgbuild("matrix", "table", built.matrix.path, "--format", "json", *built.only)
    assert done.code == 0, done.stderr
    rows = {row["variant"]: row for row in done.document["rows"]}
    assert rows.keys() == set(built.variants)
    for variant, row in rows.items():
        assert row["target"] == TARGETS.get(variant)
        assert (row["tier"], row["signed"]) == ("imported", False)
        assert row["digest"] == built.first.outcomes[variant]["digest"]
        assert row["declared"]["python"] == row["actual"]["python"][:4]
    assert rows[NGC]["actual"]["arch_list"] == ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]


def test_a_second_run_does_nothing_and_says_so(built: Built, calls: Path) -> None:
    recorded = built.imgbuild.within(PATH=f"{calls.parent}:{built.imgbuild.environ['PATH']}")
    records = {path: path.read_bytes() for path in (built.matrix.state / "evidence").iterdir()}
    again = recorded("matrix", "build", built.matrix.path, "--json", "--engine", built.engine, *built.only)
    assert again.code == 0, again.stderr
    assert again.says(f"{len(built.variants)} of {len(built.variants)} variants passed, nothing to build or test again")
    asked = calls.read_text().splitlines()
    assert asked
    assert [
        line for line in asked if line.split()[1] in {"build", "buildx", "run", "pull", "create"} and "version" not in line
    ] == []
    for variant, outcome in again.outcomes.items():
        assert not outcome["fresh"]
        assert (outcome["tier"], outcome["digest"]) == ("imported", built.first.outcomes[variant]["digest"])
    assert {path: path.read_bytes() for path in (built.matrix.state / "evidence").iterdir()} == records


@pytest.fixture
def calls(built: Built, tmp_path: Path) -> Path:
    """A file that every call of the engine's program is written to; its folder has to come first on PATH."""
    log = tmp_path / "calls"
    real = ask(built.imgbuild.environ, "sh", "-c", f"command -v {built.engine}").strip()
    program = tmp_path / built.engine
    program.write_text(f'#!/bin/sh\nprintf "{built.engine} %s\\n" "$*" >> "{log}"\nexec "{real}" "$@"\n')
    program.chmod(0o755)
    return log


PIP = (
    "-m",
    "pip",
    "install",
    "--no-index",
    "--find-links",
    "/wheels/own/imgbuild-greeter",
    "--find-links",
    "/wheels/torch/torch",
)


@pytest.mark.parametrize("what", ["torch==99.0", "imgbuild-greeter==2.0"])
def test_pip_in_a_users_hands_keeps_the_vendors_framework(built: Built, what: str) -> None:
    said = built.inside(NGC, "python3", *PIP, f"'{what}'", ";", "python3", "-m", "pip", "freeze")
    assert "The user requested (constraint) torch==2.9.0a0+145a3a7bda.nv25.10" in said
    assert "torch==2.9.0a0+145a3a7bda.nv25.10" in said.splitlines()
    assert "Successfully installed" not in said


@pytest.mark.parametrize("what", ["torch==99.0", "imgbuild-greeter==2.0"])
def test_uv_in_a_users_hands_keeps_the_vendors_framework(built: Built, what: str) -> None:
    program = ("--volume", f"{uv.find_uv_bin()}:/usr/local/bin/uv:ro")
    command = ("uv", "pip", "install", "--system", "--break-system-packages", "--offline", *PIP[3:], f"'{what}'")
    said = built.inside(NGC, *command, ";", "python3", "-m", "pip", "freeze", options=program)
    assert "No solution found when resolving dependencies" in said
    assert "torch==2.9.0a0+145a3a7bda.nv25.10" in said.splitlines()


def test_it_is_the_constraint_that_keeps_it(built: Built) -> None:
    without = ("--env", "PIP_CONSTRAINT=")
    said = built.inside(NGC, "python3", *PIP, "'imgbuild-greeter==2.0'", options=without)
    assert "Successfully installed imgbuild-greeter-2.0 torch-99.0" in said
