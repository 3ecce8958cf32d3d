"""Which Python gets the packages, and what pip is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.errors import MismatchError, UnsatisfiableError
from builder.model.lock import BaseFacts, LockedPackage
from tests.golden.build import Case, deb, wheel
from tests.unit.render.make import ASSEMBLED, DEBIAN, NGC, TRITON, context, instructions, with_facts


def install(case: Case) -> list[str]:
    return next(one for one in instructions(case) if one.keyword == "RUN" and "--mount" in one.rest).command()


def maker(case: Case) -> list[str] | None:
    return next((one.command() for one in instructions(case) if one.keyword == "RUN" and "-m venv" in one.rest), None)


def with_packages(case: Case, *packages: LockedPackage) -> Case:
    return replace(case, locked=replace(case.locked, packages=packages))


def facts(case: Case) -> BaseFacts:
    return case.base.facts


def test_a_distribution_gets_a_virtual_environment() -> None:
    assert maker(DEBIAN) == ["/usr/bin/python3.11", "-m", "venv", "/opt/venv"]
    assert maker(ASSEMBLED) == ["/usr/bin/python3.11", "-m", "venv", "/opt/venv"]
    assert install(ASSEMBLED)[:3] == ["/opt/venv/bin/python", "-m", "pip"]


def test_a_vendors_python_is_used_as_it_is() -> None:
    assert maker(NGC) is None
    assert install(NGC)[:4] == ["/usr/bin/python3.12", "-m", "pip", "install"]


def test_pip_is_told_everything() -> None:
    told = install(NGC)[4:]
    assert {"--no-index", "--no-deps", "--require-hashes", "--no-cache-dir"} <= set(told)
    assert told[told.index("--find-links") + 1] == "/mnt/wheels"
    assert told[told.index("--only-binary") + 1] == ":all:"


@pytest.mark.parametrize(
    ("managed", "pip", "flag"),
    [(False, "25.2", False), (True, "25.2", True), (True, "23.0.1", True), (True, "22.0.2", False), (True, "25.2+vendor", True)],
)
def test_the_mark_of_pep_668(managed: bool, pip: str, flag: bool) -> None:  # noqa: FBT001 - columns of the table
    case = with_facts(NGC, replace(facts(NGC), externally_managed=managed, pip_version=pip))
    assert ("--break-system-packages" in install(case)) is flag


def test_pip_comes_out_of_its_wheel_where_the_base_has_none() -> None:
    assert install(TRITON)[:3] == ["/usr/bin/python3.12", "/mnt/wheels/pip-25.3-py3-none-any.whl/pip", "install"]
    without = with_packages(TRITON, wheel("tokenizers", "0.22.1"))
    with pytest.raises(UnsatisfiableError, match="has no pip") as caught:
        context(without)
    assert caught.value.hint is not None
    assert "add pip to packages" in caught.value.hint


def test_a_base_without_python_needs_one_from_the_lock() -> None:
    case = replace(DEBIAN, locked=replace(DEBIAN.locked, debs=(deb("git", "1:2.39.5-0"),)))
    with pytest.raises(MismatchError, match=r"has no Python for .* adds no python3-venv or python3.11-venv"):
        context(case)


def test_an_assembled_base_without_venv_is_refused() -> None:
    case = replace(ASSEMBLED, base=replace(ASSEMBLED.base, debs=(deb("base-files", "12"), deb("ca-certificates", "1"))))
    with pytest.raises(MismatchError, match="python3-venv"):
        context(case)


def test_a_base_of_another_python_is_refused() -> None:
    case = with_facts(NGC, replace(facts(NGC), python_version="3.10.12"))
    with pytest.raises(MismatchError, match=r"is 3\.10\.12, .* is for Python 3\.12"):
        context(case)


def test_requirements_are_sorted_and_hashed() -> None:
    shuffled = with_packages(NGC, wheel("zope", "1.0"), wheel("a-b", "2.0"))
    lines = context(shuffled).rendered["requirements.txt"].decode().splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["a-b==2.0", "zope==1.0"]
    assert lines[1].split()[1] == f"--hash=sha256:{wheel('a-b', '2.0').sha256}"


def test_a_local_label_stays_in_the_requirement() -> None:
    case = with_packages(ASSEMBLED, wheel("torch", "2.9.1+cpu"))
    assert b"torch==2.9.1+cpu --hash" in context(case).rendered["requirements.txt"]


@pytest.mark.parametrize(
    ("package", "said"),
    [
        (replace(wheel("numpy", "2.0"), file="numpy-2.0.tar.gz"), "is not a wheel's file name"),
        (replace(wheel("numpy", "2.0"), file="../numpy-2.0-py3-none-any.whl"), "is not a wheel's file name|another package"),
        (replace(wheel("numpy", "2.0"), file="a/numpy-2.0-py3-none-any.whl"), "is not a wheel's file name|another package"),
        (replace(wheel("numpy", "2.0"), name="pandas"), "another package or version"),
        (replace(wheel("numpy", "2.0"), version="2.1"), "another package or version"),
        (replace(wheel("numpy", "2.0"), version="two"), "is not a wheel's file name"),
        (replace(wheel("numpy", "2.0"), sha256="abc"), "is not a sha256"),
        (replace(wheel("numpy", "2.0"), sha256="A" * 64), "is not a sha256"),
    ],
)
def test_a_damaged_lock_is_refused(package: LockedPackage, said: str) -> None:
    with pytest.raises(MismatchError, match=said):
        context(with_packages(NGC, package))


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(MismatchError, match="names 'numpy' twice"):
        context(with_packages(NGC, wheel("numpy", "2.0"), wheel("numpy", "2.1")))


def test_no_packages_no_file_and_no_python() -> None:
    case = with_packages(TRITON)
    assert set(context(case).rendered) == {"Dockerfile"}
    assert not [one for one in instructions(case) if "--mount" in one.rest]
