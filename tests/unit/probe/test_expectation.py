from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from builder.model.lock import Installed
from builder.probe import expectation
from builder.probe.expectation import broken
from builder.render import guard
from tests.unit.probe.samples import assembled_base, locked_variant, variant, vendor_base, vendor_variant


def read(data: bytes) -> dict[str, Any]:
    return dict(json.loads(data))


def test_on_a_distribution_the_framework_is_what_the_lock_installs() -> None:
    made = variant()
    expected = read(expectation(made, locked_variant(made, onnxruntime="1.20.1", numpy="2.4.6"), assembled_base()))
    assert expected["framework"] == {
        "name": "onnxruntime",
        "version": "1.20.1",
        "distributions": {"onnxruntime": {"version": "1.20.1", "module_version": None}},
    }
    assert expected["packages"] == {"onnxruntime": "1.20.1", "numpy": "2.4.6"}
    assert expected["kept"] == {}
    assert expected["broken"] == []
    assert expected["debs"] == {"libc6": "2.36-9"}
    assert (expected["python"], expected["platform"], expected["imports"]) == ("3.11", "linux/amd64", ["onnxruntime"])
    assert expected["stack"] == {"name": "cpu", "version": None}
    assert expected["env"] == {"OMP_NUM_THREADS": "1"}
    assert expected["constraints"]["versions"] == {"onnxruntime": "1.20.1"}


def test_constraints_are_where_the_renderer_puts_them() -> None:
    made = variant()
    expected = read(expectation(made, locked_variant(made, onnxruntime="1.20.1"), assembled_base()))["constraints"]
    assert expected["path"] == guard.CONSTRAINTS
    assert sorted(expected["variables"]) == sorted(guard.VARIABLES)


def test_on_a_vendor_base_the_framework_is_the_vendors_with_its_label_and_module_version() -> None:
    made = vendor_variant()
    base = vendor_base(
        Installed(name="torch", version="2.10.0a0+b558c98.nv25.11", module_version="2.10.0a0+b558c98"),
        Installed(name="NumPy", version="1.26.4"),
    )
    expected = read(expectation(made, locked_variant(made, transformers="4.57.1", numpy="2.1.0"), base))
    assert expected["framework"]["distributions"] == {
        "torch": {"version": "2.10.0a0+b558c98.nv25.11", "module_version": "2.10.0a0+b558c98"}
    }
    assert expected["kept"] == {"torch": "2.10.0a0+b558c98.nv25.11"}
    assert expected["arch_list"] == ["sm_90", "sm_100"]
    assert expected["constraints"]["versions"] == {"torch": "2.10.0a0+b558c98.nv25.11"}


def test_extra_packages_on_a_vendor_base_are_never_taken_for_the_framework() -> None:
    made = vendor_variant()
    made = replace(made, base=replace(made.base, frameworks=()))
    expected = read(expectation(made, locked_variant(made, transformers="4.57.1"), vendor_base()))
    assert expected["framework"]["distributions"] == {}


def test_what_was_broken_in_the_base_is_named() -> None:
    base = vendor_base(
        Installed(name="torch", version="2.10.0a0+nv", requires=("triton==3.5", "sympy>=1.13", "no-such; python_version<'3'")),
        Installed(name="sympy", version="1.14.0"),
        Installed(
            name="Old_Thing", version="1", requires=("sympy<1.14", "absent", "mypkg; extra == 'dev'", "not a requirement !")
        ),
    )
    assert broken(base) == (("old-thing", "absent"), ("old-thing", "sympy"), ("torch", "triton"))


def test_a_vendors_pre_release_satisfies_what_the_base_requires() -> None:
    base = vendor_base(
        Installed(name="torch", version="2.10.0a0+nv"), Installed(name="torchvision", version="0.25", requires=("torch>=2.9",))
    )
    assert broken(base) == ()


def test_the_same_input_gives_the_same_bytes() -> None:
    made = variant()
    locked = locked_variant(made, onnxruntime="1.20.1", numpy="2.4.6")
    turned = replace(locked, packages=tuple(reversed(locked.packages)))
    assert expectation(made, locked, assembled_base()) == expectation(made, turned, assembled_base())
