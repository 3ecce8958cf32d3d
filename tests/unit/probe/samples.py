"""Plans, locks and results that the tests of probes, evidence, table and reports share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from builder.model.axis import AxisValue
from builder.model.evidence import Evidence, JsonValue, ProbeResult, ProbeStatus
from builder.model.lock import BaseFacts, Installed, LockedBase, LockedDeb, LockedPackage, LockedVariant
from builder.model.matrix import BaseKind, Cell, Tier
from builder.model.oci import LINUX_AMD64, Digest, ImageReference
from builder.model.plan import Base, Release, Variant

SCRIPTS = Path(__file__).resolve().parents[3] / "builder" / "probe" / "scripts"
DIGEST = Digest("sha256", "1f" * 32)
IMAGE_ID = Digest("sha256", "2e" * 32)
CONTENT = "c-" + "3d" * 16


def cell(index: int = 0, **axes: str) -> Cell:
    """A cell with these axis values."""
    return Cell(index=index, axes=tuple((name, AxisValue.parse(value)) for name, value in axes.items()))


def variant(framework: str = "onnxruntime", stack: str = "cpu", *, probes: tuple[str, ...] = ()) -> Variant:
    """A variant of a framework at 1.20.1 on a distribution base."""
    return Variant(
        id=f"{framework}1.20.1-{stack}-py3.11",
        cell=cell(framework=f"{framework}==1.20.*", stack=stack),
        framework=Release(name=framework, version=Version("1.20.1")),
        stack=Release(name=stack, version=None if stack == "cpu" else Version("12.8")),
        python="3.11",
        platforms=(LINUX_AMD64,),
        base=Base(kind=BaseKind.DISTRIBUTION, reference=ImageReference.parse("debian:12"), may_assemble=True),
        pip=(f"{framework}==1.20.1", "numpy<3"),
        env={"OMP_NUM_THREADS": "1"},
        probes=probes,
        tags=(f"{framework}-{stack}",),
        imports=(framework,),
    )


def vendor_variant() -> Variant:
    """A variant of PyTorch on NVIDIA's own image."""
    reference = ImageReference.parse("nvcr.io/nvidia/pytorch:25.11-py3")
    base = Base(kind=BaseKind.VENDOR, reference=reference, frameworks=("torch",), vendor_release="25.11")
    return replace(variant("pytorch", "cuda"), base=base, pip=("transformers~=4.57",), imports=("torch",))


def locked_variant(of: Variant, **packages: str) -> LockedVariant:
    """The lock's entry of a variant with these packages."""
    return LockedVariant(
        id=of.id,
        platform=LINUX_AMD64,
        framework=of.framework.label,
        stack=of.stack.label,
        python=of.python,
        base="debian-12",
        pip=of.pip,
        apt=(),
        packages=tuple(
            LockedPackage(name=name.replace("_", "-"), version=version, index="pypi", file=f"{name}.whl", sha256="0" * 64)
            for name, version in packages.items()
        ),
    )


def assembled_base() -> LockedBase:
    """A Debian base that is assembled here."""
    deb = LockedDeb(name="libc6", version="2.36-9", architecture="amd64", sha256="4" * 64, path="pool/libc6.deb")
    facts = BaseFacts(os="debian", os_version="12", glibc="2.36", python="/usr/bin/python3", python_version="3.11.2")
    return LockedBase(
        key="debian-12", reference="debian:12", platform=LINUX_AMD64, debs=(deb,), rootfs_sha256="5" * 64, facts=facts
    )


def vendor_base(*distributions: Installed) -> LockedBase:
    """NVIDIA's base with these Python distributions."""
    facts = BaseFacts(
        os="ubuntu",
        os_version="24.04",
        glibc="2.39",
        python="/usr/bin/python3",
        python_version="3.12.3",
        distributions=distributions,
        arch_list=("sm_90", "sm_100"),
    )
    reference = "nvcr.io/nvidia/pytorch:25.11-py3"
    return LockedBase(key="ngc", reference=reference, platform=LINUX_AMD64, digest=DIGEST, facts=facts)


def result(
    name: str, tier: Tier, status: ProbeStatus = ProbeStatus.PASSED, *, reason: str | None = None, **values: JsonValue
) -> ProbeResult:
    """What one probe reported."""
    if status is not ProbeStatus.PASSED and reason is None:
        reason = f"{name} says why"
    return ProbeResult(name=name, tier=tier, status=status, seconds=0.5, reason=reason, values=values, script_sha256="6" * 64)


def cpu_results() -> tuple[ProbeResult, ...]:
    """Everything passed on a CPU of level 3."""
    return (
        result("import", Tier.IMPORTED),
        result("declared", Tier.IMPORTED, python="3.11.2", framework_version="1.20.1"),
        result("cpu/device", Tier.DEVICE, device="cpu", model="Some CPU", level="x86-64-v3", arch="x86-64-v3"),
        result("matmul", Tier.DEVICE, device="cpu", checked=2304),
    )


def evidence(of: Variant | None = None, *, results: tuple[ProbeResult, ...] | None = None) -> Evidence:
    """A record of a variant on the target ``cpu``, at the tier ``device`` unless other results are given."""
    of = of or variant()
    return Evidence(
        variant=of.id,
        target="cpu",
        accelerator="cpu/x86-64-v3",
        platform=LINUX_AMD64,
        digest=DIGEST,
        image_id=IMAGE_ID,
        content=CONTENT,
        recorded="2026-12-01T10:00:00Z",
        engine="podman 4.3.1",
        tier=Tier.DEVICE,
        results=cpu_results() if results is None else results,
        host={"kernel": "6.1.0"},
        actual={"python": "3.11.2", "framework_version": "1.20.1"},
        stack=of.stack.name,
    )
