"""What uv prints, read: files by the best tag, origins by annotation."""

from __future__ import annotations

import pytest

from builder.adapters.uv_output import ChosenFile, Origin, chosen_files, origins, wheel_tags
from builder.errors import ProgramError

PYLOCK = """
lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.12"

[[packages]]
name = "numpy"
version = "1.26.4"
archive = { path = "/x/numpy-1.26.4-py3-none-any.whl", hashes = { sha256 = "aa" } }

[[packages]]
name = "charset-normalizer"
version = "3.5.3"
wheels = [
    { url = "https://f.example/c/charset_normalizer-3.5.3-py3-none-any.whl", size = 3, hashes = { sha256 = "c3" } },
    { url = "https://f.example/b/charset_normalizer-3.5.3-cp37-abi3-manylinux_2_28_x86_64.whl", hashes = { sha256 = "c2" } },
    { url = "https://f.example/charset_normalizer-3.5.3-cp312-cp312-manylinux1_x86_64.whl", size=1, hashes = { sha256 = "c1" } },
    { url = "https://f.example/d/not-a-wheel.txt", hashes = { sha256 = "c4" } },
]

[[packages]]
name = "torch"
version = "2.9.1+cu126"
wheels = [{ url = "https://f.example/torch-2.9.1%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl", hashes = { sha256 = "d1" } }]

[[packages]]
name = "twice"
version = "1"
wheels = [
    { name = "twice-1-1-py3-none-any.whl", url = "https://f.example/p", hashes = { sha256 = "e1" } },
    { name = "twice-1-2-py3-none-any.whl", url = "https://f.example/q", hashes = { sha256 = "e2" } },
]
"""


def test_the_file_with_the_best_tag_is_chosen() -> None:
    assert chosen_files(PYLOCK, wheel_tags("3.12.3", "x86_64", 36)) == (
        ChosenFile(name="numpy", version="1.26.4", file=None),
        ChosenFile(
            name="charset-normalizer",
            version="3.5.3",
            file="charset_normalizer-3.5.3-cp312-cp312-manylinux1_x86_64.whl",
            sha256="c1",
            size=1,
        ),
        ChosenFile(
            name="torch", version="2.9.1+cu126", file="torch-2.9.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl", sha256="d1"
        ),
        ChosenFile(name="twice", version="1", file="twice-1-2-py3-none-any.whl", sha256="e2"),
    )


def test_an_older_glibc_does_not_take_a_newer_wheel() -> None:
    with pytest.raises(ProgramError, match=r"uv chose torch 2\.9\.1\+cu126, which has no wheel that would install"):
        chosen_files(PYLOCK, wheel_tags("3.12", "x86_64", 17))


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        "packages = [{version = '1'}]",
        "packages = [1]",
        "[[packages]]\nname='a'\nwheels=[{name='a-1-py3-none-any.whl'}]",
    ],
)
def test_anything_else_is_uvs_fault(text: str) -> None:
    with pytest.raises(ProgramError, match=r"uv printed something that is not a pylock\.toml"):
        chosen_files(text, wheel_tags("3.12", "x86_64", 36))


@pytest.mark.parametrize(
    ("machine", "glibc", "expected"),
    [
        (
            "x86_64",
            36,
            {
                "cp311-cp311-manylinux_2_36_x86_64",
                "cp311-abi3-manylinux2014_x86_64",
                "cp38-abi3-manylinux1_x86_64",
                "py3-none-any",
            },
        ),
        (
            "aarch64",
            28,
            {
                "cp311-cp311-manylinux_2_28_aarch64",
                "cp311-cp311-manylinux2014_aarch64",
                "py3-none-linux_aarch64",
                "py2.py3-none-any",
            },
        ),
    ],
)
def test_tags_are_those_of_the_place(machine: str, glibc: int, expected: set[str]) -> None:
    tags = [str(tag) for tag in wheel_tags("3.11", machine, glibc)]
    assert {tag.replace("py2.py3", "py3") for tag in expected} <= set(tags)
    assert tags[0] == f"cp311-cp311-manylinux_2_{glibc}_{machine}"
    assert f"cp311-cp311-manylinux_2_{glibc + 1}_{machine}" not in tags


def test_origins_are_read_in_both_forms() -> None:
    printed = (
        "accelerate==1.15.0\n"
        "    # via -r requirements.in\n"
        "    # from https://pypi.org/simple\n"
        "filelock==4.3.1\n"
        "    # via\n"
        "    #   -c pins.txt\n"
        "    #   -r requirements.in\n"
        "    #   Huggingface_Hub\n"
        "    #   viaduct\n"
        "    # from file:///srv/wheels\n"
        "numpy @ file:///x/stubs/numpy-1.26.4-py3-none-any.whl\n"
        "    # via\n"
        "    #   -c constraints.txt\n"
        "    #   accelerate\n"
    )
    assert origins(printed) == {
        "accelerate": Origin(index="https://pypi.org/simple", requested_by=("matrix",)),
        "filelock": Origin(index="file:///srv/wheels", requested_by=("huggingface-hub", "matrix", "viaduct")),
        "numpy": Origin(index=None, requested_by=("accelerate",)),
    }
