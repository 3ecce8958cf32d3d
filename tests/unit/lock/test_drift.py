"""Where a lock and a plan differ, field by field and in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.lock.drift import describe, drift, stale_hint, variant_drift
from builder.lock.inputs import base_key, inputs_of, wanted
from builder.model.lock import Difference, Lock, LockedVariant
from builder.model.matrix import BaseKind
from builder.model.oci import LINUX_AMD64, ImageReference
from builder.model.plan import Base, Index, Variant
from tests.unit.lock.samples import ARM64, DEBIAN, NGC, assembled, image, plan_of, variant

HUB = "docker.io/library/debian:12"
FROM_REGISTRY = f"the matrix asks for {HUB} from its registry"


def lock_of(*variants: Variant) -> Lock:
    """A lock that is just what these variants ask for."""
    entries = []
    bases = {}
    for one in variants:
        for platform in one.platforms:
            entry = inputs_of(one, platform)
            made = assembled() if one.base.may_assemble else image(one.base)
            bases[entry.base, platform] = replace(made, key=entry.base, platform=platform)
            entries.append(entry)
    return Lock(name="quickstart", date="2026-12-01", tool="imgbuild 0.1.0", bases=tuple(bases.values()), variants=tuple(entries))


def words(lock: Lock, *variants: Variant, partial: bool = False) -> list[str]:
    return describe(drift(lock, plan_of(*variants), partial=partial))


def test_the_inputs_of_a_variant_are_names_and_requirements_never_urls() -> None:
    one = variant(apt=("git",), indexes=(Index(name="cu126", url="https://me:pw@host.example/whl"),))
    assert inputs_of(one, LINUX_AMD64) == LockedVariant(
        id="onnxruntime1.22.1-cpu-py3.11",
        platform=LINUX_AMD64,
        framework="onnxruntime==1.22.1",
        stack="cpu",
        python="3.11",
        base="debian12+git",
        pip=("onnxruntime==1.22.1",),
        apt=("git",),
        indexes=("cu126",),
    )


@pytest.mark.parametrize(
    ("base", "apt", "key"),
    [
        (DEBIAN, (), "debian12"),
        (DEBIAN, ("git", "curl", "git"), "debian12+curl+git"),
        (replace(DEBIAN, may_assemble=False), ("git",), "debian12"),
        (NGC, ("git",), "nvcr.io/nvidia/pytorch:25.10-py3"),
        (replace(NGC, distribution=DEBIAN.distribution), (), "nvcr.io/nvidia/pytorch:25.10-py3"),
        (Base(kind=BaseKind.STACK, reference=ImageReference.parse("rocm/pytorch:7.0")), (), "rocm/pytorch:7.0"),
        (Base(kind=BaseKind.IMAGE, reference=ImageReference.parse("python:3.12")), (), "python:3.12"),
    ],
)
def test_base_keys_are_readable(base: Base, apt: tuple[str, ...], key: str) -> None:
    assert base_key(base, apt) == key


def test_many_packages_make_a_short_key_of_their_own() -> None:
    many = tuple(f"package-number-{number}" for number in range(20))
    key = base_key(DEBIAN, many)
    assert key == base_key(DEBIAN, tuple(reversed(many)))
    assert key != base_key(DEBIAN, many[1:])
    assert len(key) < 25


def test_every_variant_is_wanted_on_each_platform_in_order() -> None:
    plan = plan_of(variant("a", platforms=(LINUX_AMD64, ARM64)), variant("b"))
    assert [(one.id, str(platform)) for one, platform in wanted(plan)] == [
        ("a", "linux/amd64"),
        ("a", "linux/arm64"),
        ("b", "linux/amd64"),
    ]


def test_a_lock_of_the_plan_has_no_drift() -> None:
    variants = (variant("a", apt=("git",)), variant("b", base=NGC, platforms=(LINUX_AMD64, ARM64)))
    assert drift(lock_of(*variants), plan_of(*variants)) == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"python": "3.12"}, "python: the lock has 3.11, the matrix asks for 3.12"),
        ({"pip": ("onnxruntime==1.22.1", "numpy>=2,<3")}, "pip: the matrix asks for numpy>=2,<3 as well"),
        ({"pip": ()}, "pip: the matrix no longer asks for onnxruntime==1.22.1"),
        ({"pip": ("onnxruntime==1.23",)}, "pip: the lock has onnxruntime==1.22.1, the matrix asks for onnxruntime==1.23"),
        ({"apt": ("git", "curl")}, "apt: the matrix asks for git; curl as well"),
        (
            {"indexes": (Index(name="cu126", url="https://a.example"),)},
            "indexes: the matrix asks for cu126 as well",
        ),
        ({"base": NGC}, "base: the lock has docker.io/library/debian:12, the matrix asks for nvcr.io/nvidia/pytorch:25.10-py3"),
        ({"base": replace(DEBIAN, may_assemble=False)}, f"base: the lock has {HUB} assembled here, {FROM_REGISTRY}"),
    ],
)
def test_each_field_that_differs_is_named(changed: dict[str, object], said: str) -> None:
    one = variant()
    now = replace(one, **changed)  # type: ignore[arg-type]  # any field may change
    assert words(lock_of(one), now) == [f"{one.id} on linux/amd64: {said}"]


def test_all_fields_come_at_once() -> None:
    found = drift(lock_of(variant()), plan_of(variant(python="3.13", pip=("a",), apt=("b",))))
    assert [difference.field for difference in found] == ["python", "pip", "apt"]


def test_a_base_from_the_registry_still_holds_where_one_might_be_assembled() -> None:
    one = variant()
    lock = lock_of(one)
    lock = replace(lock, bases=(replace(image(DEBIAN), key="debian12"),))
    assert drift(lock, plan_of(one)) == ()


def test_variants_and_platforms_that_come_and_go_are_named() -> None:
    lock = lock_of(variant("a"), variant("gone"))
    assert words(lock, variant("a", platforms=(LINUX_AMD64, ARM64)), variant("new")) == [
        "a on linux/arm64: it is not in the lock",
        "new on linux/amd64: it is not in the lock",
        "gone on linux/amd64: it is in the lock, but no longer in the matrix",
    ]
    assert words(lock, variant("a"), partial=True) == []


def test_an_entry_without_its_base_does_not_hold() -> None:
    one = variant()
    lock = replace(lock_of(one), bases=())
    assert [difference.field for difference in variant_drift(lock, one, LINUX_AMD64)] == ["base"]


@pytest.mark.parametrize(
    ("locked", "asked"), [("numpy >=2,<3", "NumPy<3,>=2"), ("a; python_version>'3.8'", 'a ; python_version > "3.8"')]
)
def test_two_ways_to_write_a_requirement_are_no_difference(locked: str, asked: str) -> None:
    assert words(lock_of(variant(pip=(locked, "b"))), variant(pip=("b", asked))) == []


@given(st.lists(st.sampled_from(["a", "b>=1", "c==2", "d[x]"]), unique=True), st.randoms(use_true_random=False))
def test_the_order_of_requirements_is_no_difference(requirements: list[str], shuffle: object) -> None:
    shuffled = sorted(requirements, key=lambda _: getattr(shuffle, "random")())  # noqa: B009 - hypothesis's own source of order
    assert words(lock_of(variant(pip=tuple(requirements))), variant(pip=tuple(shuffled))) == []


def test_what_the_registry_says_is_told_as_the_registrys_word() -> None:
    moved = Difference(where="base debian12 on linux/amd64", field="digest", locked="sha256:aa", expected="sha256:bb")
    gone = replace(moved, expected="absent")
    assert describe([moved, gone]) == [
        "base debian12 on linux/amd64: the registry has sha256:bb now, the lock sha256:aa",
        "base debian12 on linux/amd64: the registry no longer has it (the lock says sha256:aa)",
    ]


def test_the_hint_is_the_command_that_mends_it() -> None:
    stale = Difference(where="a", field="pip", locked="x", expected="y")
    moved = Difference(where="b", field="digest", locked="x", expected="y")
    assert stale_hint([stale], "m.yaml") == "bring it up to date: imgbuild matrix lock m.yaml"
    assert stale_hint([stale, moved], "m.yaml") == "bring it up to date: imgbuild matrix lock m.yaml --update"
