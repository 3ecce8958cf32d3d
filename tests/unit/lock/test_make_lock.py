"""From a plan to a lock: what is asked, once; what is kept, byte for byte; what failed, beside what did not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from builder.documents.lock import lock_text
from builder.errors import InterruptedRunError, UnreachableError, UnsatisfiableError
from builder.model.event import Note, Progress, StageFinished, StageStarted
from builder.model.lock import Installed, Lock, LockedBase, LockedDeb, LockedPackage
from builder.model.matrix import BaseKind
from builder.model.oci import LINUX_AMD64, Digest, ImageReference, Platform
from builder.model.plan import Base, Index, Plan
from builder.pipeline.lock import LockResult, LockTools, Relock, check_lock, make_lock
from builder.ports import BaseReader, Resolver
from tests.fakes import FakeClock, FakeRegistry, FakeResolvedImage, RecordingReporter
from tests.unit.lock.samples import ARM64, DEBIAN, NGC, assembled, deb, facts, image, package, plan_of, variant

TOOL = "imgbuild 0.1.0"


@dataclass
class Bases:
    """A reader that answers by reference, and keeps what it was asked."""

    answers: dict[str, Callable[[tuple[str, ...]], LockedBase]]
    debs: dict[str, tuple[LockedDeb, ...]] = field(default_factory=dict)
    reads: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    apt: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def read(self, base: Base, platform: Platform, *, apt: tuple[str, ...]) -> LockedBase:
        self.reads.append((str(base.reference), str(platform), apt))
        answer = self.answers.get(str(base.reference))
        if answer is None:
            msg = f"there is no image {base.reference} for {platform}"
            raise UnsatisfiableError(msg)
        return replace(answer(apt), platform=platform)

    def resolve_apt(self, base: LockedBase, packages: tuple[str, ...]) -> tuple[LockedDeb, ...]:
        self.apt.append((base.key, packages))
        return tuple(one for name in packages for one in self.debs.get(name, (deb(name),)))


@dataclass
class Question:
    requirements: tuple[str, ...]
    python: str
    platform: str
    glibc: str | None
    indexes: tuple[str, ...]
    installed: tuple[str, ...]


@dataclass
class Packages:
    """A resolver that answers with one package per requirement, as ``answer`` says."""

    answer: Callable[[str], LockedPackage] = lambda requirement: package(requirement.partition("=")[0].partition("<")[0])
    asked: list[Question] = field(default_factory=list)

    def resolve(
        self,
        requirements: Sequence[str],
        *,
        python: str,
        platform: Platform,
        glibc: str | None,
        indexes: Sequence[Index],
        installed: Sequence[Installed],
    ) -> tuple[LockedPackage, ...]:
        names = tuple(index.name for index in indexes)
        self.asked.append(
            Question(tuple(requirements), python, str(platform), glibc, names, tuple(one.name for one in installed))
        )
        return tuple({one.name: one for one in map(self.answer, requirements)}.values())


@dataclass
class World:
    bases: Bases = field(
        default_factory=lambda: Bases({str(DEBIAN.reference): lambda apt: assembled(*apt), str(NGC.reference): lambda _: image()})
    )
    packages: Packages = field(default_factory=Packages)
    reporter: RecordingReporter = field(default_factory=RecordingReporter)
    clock: FakeClock = field(default_factory=FakeClock)

    def lock(self, plan: Plan, previous: Lock | None = None, *, update: bool = False, partial: bool = False) -> LockResult:
        bases: BaseReader = self.bases
        resolver: Resolver = self.packages
        tools = LockTools(bases=bases, resolver=resolver, clock=self.clock, reporter=self.reporter)
        return make_lock(plan, tools=tools, tool=TOOL, relock=Relock(previous=previous, update=update, partial=partial))


@pytest.fixture
def world() -> World:
    return World()


def test_a_first_lock_pins_bases_and_packages_in_the_plans_order(world: World) -> None:
    result = world.lock(plan_of(variant("b", apt=("git",)), variant("a", base=NGC, pip=("numpy", "app"))))
    lock = result.lock
    assert (lock.name, lock.date, lock.tool) == ("quickstart", "2026-12-01", TOOL)
    assert [base.key for base in lock.bases] == ["debian12+git", "nvcr.io/nvidia/pytorch:25.10-py3"]
    assert [(one.id, one.base, [package.name for package in one.packages]) for one in lock.variants] == [
        ("b", "debian12+git", ["onnxruntime"]),
        ("a", "nvcr.io/nvidia/pytorch:25.10-py3", ["numpy", "app"]),
    ]
    assert (result.failures, result.kept, result.resolved, result.changed) == ((), 0, 2, True)
    kinds = [type(event) for event in world.reporter.events]
    assert (kinds[0], kinds[-1]) == (StageStarted, StageFinished)
    assert Progress in kinds
    assert world.reporter.events[0].total == 2  # type: ignore[union-attr]  # the first is a StageStarted, as asserted


def test_the_distributions_python_is_resolved_for_and_nothing_of_it_is_seen(world: World) -> None:
    installed = (Installed(name="torch", version="2.9.0a0"),)
    world.bases.answers[str(NGC.reference)] = lambda _: image(read=facts(python="3.12.3", distributions=installed, glibc="2.39"))
    index = Index(name="cu126", url="https://host.example/cu126")
    world.lock(plan_of(variant("a"), variant("b", base=NGC, python="3.12", indexes=(index,))))
    assert sorted(world.packages.asked, key=lambda one: one.python) == [
        Question(("onnxruntime==1.22.1",), "3.11.2", "linux/amd64", "2.36", (), ()),
        Question(("onnxruntime==1.22.1",), "3.12.3", "linux/amd64", "2.39", ("cu126",), ("torch",)),
    ]


def test_one_question_is_asked_once(world: World) -> None:
    world.lock(plan_of(variant("a"), variant("b"), variant("c", base=NGC), variant("d", base=NGC)))
    assert len(world.packages.asked) == 2
    assert sorted(world.bases.reads) == [
        ("docker.io/library/debian:12", "linux/amd64", ()),
        ("nvcr.io/nvidia/pytorch:25.10-py3", "linux/amd64", ()),
    ]


def test_each_platform_is_an_entry_with_its_own_base(world: World) -> None:
    result = world.lock(plan_of(variant("a", platforms=(LINUX_AMD64, ARM64))))
    assert [(one.id, str(one.platform)) for one in result.lock.variants] == [("a", "linux/amd64"), ("a", "linux/arm64")]
    assert [str(base.platform) for base in result.lock.bases] == ["linux/amd64", "linux/arm64"]


def test_a_base_assembled_here_holds_the_debian_packages_and_one_from_a_registry_gets_them_added(world: World) -> None:
    assert world.lock(plan_of(variant("a", apt=("git",)))).lock.variants[0].debs == ()
    assert world.bases.reads == [("docker.io/library/debian:12", "linux/amd64", ("git",))]
    other = World()
    other.bases.answers[str(DEBIAN.reference)] = lambda _: image(DEBIAN)
    lock = other.lock(plan_of(variant("a", apt=("git",)), variant("b", apt=("curl",)), variant("c"))).lock
    assert len(other.bases.reads) == 1
    assert [base.key for base in lock.bases] == ["debian12"]
    assert [[one.name for one in entry.debs] for entry in lock.variants] == [["git"], ["curl"], []]
    assert sorted(other.bases.apt) == [("debian12", ("curl",)), ("debian12", ("git",))]


def test_each_set_of_debian_packages_is_a_base_of_its_own_when_assembled(world: World) -> None:
    lock = world.lock(plan_of(variant("a"), variant("b", apt=("git",)), variant("c", apt=("git",)))).lock
    assert [entry.base for entry in lock.variants] == ["debian12", "debian12+git", "debian12+git"]
    assert [apt for _, _, apt in world.bases.reads] == [(), ("git",)]


def test_a_base_without_a_python_gets_the_distributions(world: World) -> None:
    stack = Base(kind=BaseKind.STACK, reference=ImageReference.parse("nvidia/cuda:12.6.3-runtime-ubuntu24.04"))
    world.bases.answers[str(stack.reference)] = lambda _: image(stack, read=facts(python=None))
    world.bases.debs["python3-venv"] = (deb("python3-venv"), deb("python3.12"), deb("python3.12-venv"))
    result = world.lock(plan_of(variant("fits", base=stack, python="3.12", apt=("git",)), variant("not", base=stack)))
    fits = result.lock.variant("fits", LINUX_AMD64)
    assert fits is not None
    assert [one.name for one in fits.debs] == ["git", "python3-venv", "python3.12", "python3.12-venv"]
    assert fits.apt == ("git",)
    assert result.failed["not"].message == (
        "docker.io/nvidia/cuda:12.6.3-runtime-ubuntu24.04 has no Python, and its release brings Python 3.12, not 3.11"
    )


def test_a_python_without_pip_gets_pip(world: World) -> None:
    world.bases.answers[str(NGC.reference)] = lambda _: image(read=facts(pip_version=None))
    entry = world.lock(plan_of(variant("a", base=NGC))).lock.variants[0]
    assert [one.name for one in entry.packages] == ["onnxruntime", "pip"]
    assert entry.pip == ("onnxruntime==1.22.1",)


def test_a_bases_other_python_is_refused_with_the_one_it_has(world: World) -> None:
    result = world.lock(plan_of(variant("a", base=NGC, python="3.12"), variant("b", base=NGC)))
    assert [entry.id for entry in result.lock.variants] == ["b"]
    error = result.failed["a"]
    assert error.message == "the Python of nvcr.io/nvidia/pytorch:25.10-py3 is 3.11.2, a is for Python 3.12"
    assert error.hint == "ask for python 3.11 where this base is used, or for another base"


def test_a_bases_own_constraints_are_kept(world: World) -> None:
    world.bases.answers[str(NGC.reference)] = lambda _: image(read=facts(constraints={"/etc/pip/constraint.txt": "numpy<2.5\n"}))
    world.packages.answer = lambda text: package(text.partition("<")[0], "2.4" if "<2.5" in text else "2.5.1")
    entry = world.lock(plan_of(variant("a", base=NGC, pip=("numpy",)))).lock.variants[0]
    assert [(one.name, one.version) for one in entry.packages] == [("numpy", "2.4")]
    assert [one.requirements for one in world.packages.asked] == [("numpy",), ("numpy", "numpy<2.5")]


def test_constraints_that_no_version_keeps_are_said(world: World) -> None:
    world.bases.answers[str(NGC.reference)] = lambda _: image(read=facts(constraints={"/etc/pip/constraint.txt": "numpy<2.5\n"}))
    world.packages.answer = lambda text: package(text.partition("<")[0], "2.5.1")
    result = world.lock(plan_of(variant("a", base=NGC, pip=("numpy",))))
    assert result.lock.variants == ()
    assert result.failed["a"].message == (
        "no versions keep the constraints that nvcr.io/nvidia/pytorch:25.10-py3 sets (/etc/pip/constraint.txt)"
    )
    assert result.failed["a"].details == ("numpy<2.5",)


def test_one_failure_hides_no_other_and_stops_nothing(world: World) -> None:
    missing = Base(kind=BaseKind.IMAGE, reference=ImageReference.parse("host.example/none:1"))

    def answer(requirement: str) -> LockedPackage:
        if requirement == "broken":
            msg = "no versions fit"
            raise UnsatisfiableError(msg)
        if requirement == "bug":
            raise ZeroDivisionError
        return package(requirement)

    world.packages.answer = answer
    plan = plan_of(
        variant("a", pip=("broken",)),
        variant("b", base=missing),
        variant("c", pip=("fine",)),
        variant("d", pip=("bug",)),
        variant("e", pip=()),
    )
    result = world.lock(plan)
    assert [entry.id for entry in result.lock.variants] == ["c", "e"]
    assert {name: (error.exit_code, error.message) for name, error in result.failed.items()} == {
        "a": (4, "no versions fit"),
        "b": (4, "there is no image host.example/none:1 for linux/amd64"),
        "d": (1, "this is a bug in imgbuild: ZeroDivisionError: "),
    }
    assert [base.key for base in result.lock.bases] == ["debian12"]


def test_an_interrupted_run_ends(world: World) -> None:
    def answer(_: str) -> LockedPackage:
        msg = "the run was interrupted"
        raise InterruptedRunError(msg)

    world.packages.answer = answer
    with pytest.raises(InterruptedRunError):
        world.lock(plan_of(variant("a")))


def newer() -> World:
    """The same world on a later day: every package and the registry's image are newer."""
    later = World(clock=FakeClock("2027-01-02T00:00:00Z"))
    later.packages.answer = lambda requirement: package(requirement.partition("=")[0], "9.0")
    later.bases.answers[str(NGC.reference)] = lambda _: image(encoded="aa")
    later.bases.answers[str(DEBIAN.reference)] = lambda apt: assembled(*apt, version="2")
    return later


def test_nothing_changed_asks_nothing_and_changes_nothing(world: World) -> None:
    plan = plan_of(variant("a"), variant("b", base=NGC))
    first = world.lock(plan).lock
    later = newer()
    result = later.lock(plan, first)
    assert result.lock == first
    assert lock_text(result.lock) == lock_text(first)
    assert (result.changed, result.kept, result.resolved) == (False, 2, 0)
    assert (later.bases.reads, later.packages.asked) == ([], [])


def test_what_did_not_change_stays_and_a_new_variant_stands_on_the_locked_base(world: World) -> None:
    first = world.lock(plan_of(variant("a"), variant("b"))).lock
    later = newer()
    result = later.lock(
        plan_of(variant("a"), variant("b", pip=("onnxruntime==1.22.1", "numpy")), variant("new", pip=("x",))), first
    )
    assert later.bases.reads == []
    assert result.lock.bases == first.bases
    assert result.lock.variants[0] == first.variants[0]
    assert [[one.version for one in entry.packages] for entry in result.lock.variants] == [["1.0"], ["9.0", "9.0"], ["9.0"]]
    assert (result.lock.date, result.changed, result.kept, result.resolved) == ("2027-01-02", True, 1, 2)


def test_what_the_plan_no_longer_has_goes_with_its_base(world: World) -> None:
    first = world.lock(plan_of(variant("a"), variant("b", base=NGC))).lock
    result = world.lock(plan_of(variant("a")), first)
    assert ([one.id for one in result.lock.variants], [base.key for base in result.lock.bases]) == (["a"], ["debian12"])
    assert result.changed


def test_update_asks_everything_anew(world: World) -> None:
    plan = plan_of(variant("a"), variant("b", base=NGC))
    first = world.lock(plan).lock
    result = newer().lock(plan, first, update=True)
    assert [one.packages[0].version for one in result.lock.variants] == ["9.0", "9.0"]
    assert result.lock.bases[1].digest == Digest("sha256", "aa" * 32)
    assert (result.kept, result.resolved) == (0, 2)


def test_an_update_that_finds_the_same_changes_nothing(world: World) -> None:
    plan = plan_of(variant("a"), variant("b", base=NGC))
    first = world.lock(plan).lock
    same = World(clock=FakeClock("2027-01-02T00:00:00Z"))
    result = same.lock(plan, first, update=True)
    assert (result.lock, result.changed) == (first, False)


def test_an_update_that_fails_loses_nothing_that_still_holds(world: World) -> None:
    plan = plan_of(variant("a"), variant("b", base=NGC))
    first = world.lock(plan).lock
    later = newer()

    def down(_: str) -> LockedPackage:
        msg = "the package index could not be asked"
        raise UnreachableError(msg)

    later.packages.answer = down
    result = later.lock(plan, first, update=True)
    assert sorted(result.failed) == ["a", "b"]
    assert (result.lock, result.changed) == (first, False)


def test_a_changed_variant_that_nobody_could_be_asked_about_keeps_its_old_entry(world: World) -> None:
    first = world.lock(plan_of(variant("a"), variant("b"))).lock
    changed = plan_of(variant("a", pip=("changed",)), variant("b"))
    down, refused = newer(), newer()

    def unreachable(_: str) -> LockedPackage:
        msg = "the package index could not be asked"
        raise UnreachableError(msg)

    def unsatisfiable(_: str) -> LockedPackage:
        msg = "no versions fit"
        raise UnsatisfiableError(msg)

    down.packages.answer, refused.packages.answer = unreachable, unsatisfiable
    result = down.lock(changed, first)
    assert (result.lock, sorted(result.failed), result.changed) == (first, ["a"], False)
    result = refused.lock(changed, first)
    assert ([one.id for one in result.lock.variants], sorted(result.failed), result.changed) == (["b"], ["a"], True)


def test_an_entry_of_a_failed_variant_does_not_stay_on_a_base_that_moved(world: World) -> None:
    plan = plan_of(variant("a", base=NGC), variant("b", base=NGC, pip=("broken",)))
    world.packages.answer = lambda text: package(text.partition("=")[0])
    first = world.lock(plan).lock
    later = newer()

    def answer(text: str) -> LockedPackage:
        if text == "broken":
            msg = "no versions fit"
            raise UnsatisfiableError(msg)
        return package(text.partition("=")[0], "9.0")

    later.packages.answer = answer
    result = later.lock(plan, first, update=True)
    assert [one.id for one in result.lock.variants] == ["a"]
    assert result.lock.bases[0].digest == Digest("sha256", "aa" * 32)


def test_a_partial_plan_leaves_the_others_alone(world: World) -> None:
    first = world.lock(plan_of(variant("a"), variant("b"), variant("c", base=NGC))).lock
    later = newer()
    result = later.lock(plan_of(variant("b", pip=("new",)), variant("d")), first, partial=True)
    assert [one.id for one in result.lock.variants] == ["a", "b", "c", "d"]
    assert (result.lock.variants[0], result.lock.variants[2]) == (first.variants[0], first.variants[2])
    assert [one.name for one in result.lock.variants[1].packages] == ["new"]


def test_a_partial_update_keeps_a_base_that_others_stand_on_and_says_so(world: World) -> None:
    first = world.lock(plan_of(variant("a"), variant("b"), variant("c", base=NGC))).lock
    later = newer()
    result = later.lock(plan_of(variant("b"), variant("c", base=NGC)), first, update=True, partial=True)
    assert [one.packages[0].version for one in result.lock.variants] == ["1.0", "9.0", "9.0"]
    assert result.lock.bases[0] == first.bases[0]
    assert result.lock.bases[1].digest == Digest("sha256", "aa" * 32)
    notes = [event.text for event in later.reporter.events if isinstance(event, Note)]
    stays = "the base debian12 stays as it is locked, because variants that were not chosen stand on it"
    assert notes == [f"{stays}; lock without --only to pin it anew"]


def test_a_base_of_the_same_name_and_another_reference_is_read_anew(world: World) -> None:
    first = world.lock(plan_of(variant("a"))).lock
    mirror = replace(DEBIAN, reference=ImageReference.parse("mirror.example/debian:12"))
    world.bases.answers[str(mirror.reference)] = lambda apt: replace(assembled(*apt), reference=str(mirror.reference))
    result = world.lock(plan_of(variant("a", base=mirror)), first)
    assert [base.reference for base in result.lock.bases] == ["mirror.example/debian:12"]


def moved(reference: str, digest: Digest) -> FakeRegistry:
    return FakeRegistry({reference: FakeResolvedImage(digest=digest, config_digest=digest)})


def test_check_finds_nothing_in_a_lock_that_holds(world: World) -> None:
    plan = plan_of(variant("a"), variant("b", base=NGC))
    lock = world.lock(plan).lock
    registry = moved(str(NGC.reference), Digest("sha256", "9b" * 32))
    assert check_lock(lock, plan, registry=registry) == ()
    assert registry.asked == [str(NGC.reference)]


def test_check_says_what_moved_in_the_registry(world: World) -> None:
    plan = plan_of(variant("b", base=NGC))
    lock = world.lock(plan).lock
    found = check_lock(lock, plan, registry=moved(str(NGC.reference), Digest("sha256", "aa" * 32)))
    assert [(one.field, one.locked, one.expected) for one in found] == [("digest", "sha256:" + "9b" * 32, "sha256:" + "aa" * 32)]
    gone = check_lock(lock, plan, registry=FakeRegistry({}))
    assert [(one.where, one.expected) for one in gone] == [("base nvcr.io/nvidia/pytorch:25.10-py3 on linux/amd64", "absent")]


def test_check_of_a_registry_that_does_not_answer_is_no_answer(world: World) -> None:
    plan = plan_of(variant("b", base=NGC))
    lock = world.lock(plan).lock
    with pytest.raises(UnreachableError):
        check_lock(lock, plan, registry=FakeRegistry({}, unreachable=["nvcr.io"]))


def test_check_without_a_lock_names_every_variant() -> None:
    found = check_lock(None, plan_of(variant("a"), variant("b")))
    assert [(one.where, one.locked) for one in found] == [("a on linux/amd64", "absent"), ("b on linux/amd64", "absent")]
