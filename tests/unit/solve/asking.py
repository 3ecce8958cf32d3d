"""Short ways to ask the rules and the solver, on the catalog that ships."""

from __future__ import annotations

from functools import cache

from packaging.version import Version

from builder.catalog.query import Catalog, load_catalog
from builder.catalog.records import code_list
from builder.documents.matrix import read_matrix_text
from builder.errors import Where
from builder.expand.complaints import examine
from builder.model.matrix import Matrix, Target
from builder.model.oci import LINUX_AMD64, Platform
from builder.model.plan import Plan, PlannedCell
from builder.model.verdict import Decision, Effect
from builder.solve.places import Places
from builder.solve.rules import judge
from builder.solve.solver import plan
from builder.solve.subject import Place, Subject

HERE = Where(file="test.yaml", line=1, column=1)


@cache
def catalog() -> Catalog:
    """Return the catalog, once for all tests."""
    return load_catalog()


def subject(
    stack: str, version: str | None = None, *, codes: str | None = None, build: str | None = None, compat: str | None = None
) -> Subject:
    """Return a stack, bare or with a build; ``codes`` is its code list in the vendor's spelling."""
    found = catalog().stack(stack)
    assert found is not None
    number = None if version is None else Version(version)
    drivers = catalog().drivers(found.numbering) if found.numbering else None
    series = None if number is None else f"{number.major}.{number.minor}"
    return Subject(
        stack=found,
        version=number,
        release=None if number is None else catalog().stack_release(stack, number),
        build=build,
        code=None if codes is None else code_list(codes),
        compat=compat,
        packages=() if drivers is None else tuple(item for item in drivers.compat if item.stack == series),
    )


def target(accelerator: str, driver: str | None = None, platform: Platform = LINUX_AMD64) -> Target:
    return Target(name="there", accelerator=accelerator, driver=driver, platform=platform, where=HERE)


def place(accelerator: str, driver: str | None, stack: str, platform: Platform = LINUX_AMD64) -> Place:
    return Places(catalog()).of(target(accelerator, driver, platform), stack).place


def ask(  # noqa: PLR0913  # a question has this many parts
    accelerator: str,
    driver: str | None,
    stack: str,
    version: str | None = None,
    *,
    codes: str | None = None,
    build: str | None = None,
    compat: str | None = None,
) -> Decision:
    """Return the verdict on a stack or build on a device with a driver."""
    asked = subject(stack, version, codes=codes, build=build, compat=compat)
    return judge(asked, place(accelerator, driver, stack))


def rules(decision: Decision, effect: Effect | None = None) -> set[str]:
    return {reason.rule for reason in decision.reasons if effect is None or reason.effect is effect}


def matrix(text: str) -> Matrix:
    return read_matrix_text(text, "test.yaml")


def planned(text: str, knowing: Catalog | None = None) -> Plan:
    read = matrix(text)
    expansion, complaints = examine(read)
    assert complaints == ()
    return plan(read, expansion, knowing or catalog())


def only(text: str, knowing: Catalog | None = None) -> PlannedCell:
    """Return the one cell of a matrix."""
    cells = planned(text, knowing).cells
    assert len(cells) == 1
    return cells[0]


def one(framework: str, stack: str, python: str, *, knowing: Catalog | None = None, **more: str) -> PlannedCell:
    """Return the plan of a single cell; further keys of the matrix by name."""
    lines = [f"{key}: {value}" for key, value in more.items()]
    text = f'imgbuild: 1\nname: one\nmatrix:\n  framework: ["{framework}"]\n  stack: ["{stack}"]\n  python: ["{python}"]\n'
    return only(text + "\n".join(lines) + "\n", knowing)
