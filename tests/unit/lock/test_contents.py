"""Everything a lock names, once; and a base's own constraints."""

from __future__ import annotations

import json
from dataclasses import replace

from builder.lock.constraints import broken, constraints_of
from builder.lock.contents import debs, lock_json, wheels
from builder.lock.inputs import inputs_of
from builder.model.lock import Installed, Lock
from builder.model.oci import LINUX_AMD64
from tests.unit.lock.samples import NGC, assembled, deb, facts, image, package, variant

NUMPY = package("numpy", "2.4.6")
LOCK = Lock(
    name="quickstart",
    date="2026-12-01",
    tool="imgbuild 0.1.0",
    bases=(replace(assembled("git"), key="debian12+git"), replace(image(), key="ngc")),
    variants=(
        replace(inputs_of(variant("a", apt=("git",)), LINUX_AMD64), packages=(package("b"), NUMPY)),
        replace(inputs_of(variant("c", base=NGC), LINUX_AMD64), base="ngc", packages=(NUMPY,), debs=(deb("git"), deb("less"))),
    ),
)


def test_files_are_named_once() -> None:
    assert [one.file for one in wheels(LOCK)] == ["b-1.0-py3-none-any.whl", "numpy-2.4.6-py3-none-any.whl"]
    assert [one.name for one in debs(LOCK)] == ["base-files", "git", "less"]


def test_the_json_names_every_image_and_file() -> None:
    document = json.loads(json.dumps(lock_json(LOCK)))
    assert document["schema"] == "imgbuild/lock/1"
    assert [(one["base"], one["assembled"], one["digest"]) for one in document["images"]] == [
        ("debian12+git", True, None),
        ("ngc", False, "sha256:" + "9b" * 32),
    ]
    assert [(one["kind"], one["file"]) for one in document["files"]] == [
        ("wheel", "b-1.0-py3-none-any.whl"),
        ("wheel", "numpy-2.4.6-py3-none-any.whl"),
        ("deb", "pool/base-files_1_amd64.deb"),
        ("deb", "pool/git_1_amd64.deb"),
        ("deb", "pool/less_1_amd64.deb"),
    ]
    assert document["variants"][1]["packages"] == [
        {
            "kind": "wheel",
            "name": "numpy",
            "version": "2.4.6",
            "index": "pypi",
            "file": "numpy-2.4.6-py3-none-any.whl",
            "sha256": "ab" * 32,
            "size": None,
            "requested_by": ["matrix"],
        }
    ]


def test_a_bases_constraints_count_for_what_it_has_not() -> None:
    text = (
        "# by the vendor\ntorch==2.9.0a0+x\nnumpy<2.5 # abi\nprotobuf==4.25.*\n-c other.txt\nx @ https://h.example/x.whl\nbare\n"
    )
    base = facts(constraints={"/etc/pip/constraint.txt": text}, distributions=(Installed(name="Torch", version="2.9.0a0+x"),))
    constraints = constraints_of(base)
    assert [str(one) for one in constraints] == ["numpy<2.5", "protobuf==4.25.*"]
    assert broken((package("numpy", "2.5.1"), package("other", "9")), constraints) == ("numpy<2.5",)
    assert broken((NUMPY, package("protobuf", "4.25.3")), constraints) == ()
