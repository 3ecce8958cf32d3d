"""What a rendered context says, family by family."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.catalog.query import load_catalog
from builder.errors import ImgbuildError, MismatchError, UnsatisfiableError
from builder.model.matrix import BaseKind
from builder.model.oci import ImageReference
from builder.model.plan import Release
from tests.golden.build import LINUX_ARM64, Case, sha256, wheel
from tests.golden.cases import CASES
from tests.unit.render.make import ASSEMBLED, DEBIAN, NGC, TRITON, VLLM, context, instructions, only, with_facts

FRAMEWORKS = load_catalog().framework_names()
STACKS = load_catalog().stack_names()


def locked(case: Case, **changes: object) -> Case:
    return replace(case, locked=replace(case.locked, **changes))  # type: ignore[arg-type]  # any field may change


def stages(case: Case) -> list[str]:
    return [one.rest for one in instructions(case) if one.keyword == "FROM"]


@pytest.mark.parametrize("name", sorted(CASES))
def test_bytes_are_stable_and_plain(name: str) -> None:
    first, second = context(CASES[name]), context(CASES[name])
    assert first == second
    for path, data in first.rendered.items():
        assert data.endswith(b"\n"), path
        assert not data.endswith(b"\n\n"), path
        assert b"\r" not in data, path
        assert not any(line.endswith((b" ", b"\t")) for line in data.split(b"\n")), path
    assert b"\n\n\n" not in first.rendered["Dockerfile"]


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_heredoc_no_syntax_line_no_run_network(name: str) -> None:
    text = context(CASES[name]).rendered["Dockerfile"].decode()
    assert "<<" not in text
    assert "syntax" not in text
    assert "--network" not in text
    assert {one.keyword for one in instructions(CASES[name])} <= {
        "FROM",
        "ADD",
        "COPY",
        "RUN",
        "ENV",
        "LABEL",
        "USER",
        "ENTRYPOINT",
        "CMD",
    }


@pytest.mark.parametrize("name", sorted(CASES))
def test_stages_follow_one_another(name: str) -> None:
    words = [stage.split() for stage in stages(CASES[name])]
    assert [word[2] for word in words][-1] == "final"
    assert [word[0] for word in words[1:]] == [word[2] for word in words[:-1]]


def test_stages_of_a_distribution() -> None:
    assert [stage.split()[2] for stage in stages(DEBIAN)] == ["base", "apt", "python", "packages", "final"]


def test_nothing_to_install_is_two_stages() -> None:
    assert [stage.split()[2] for stage in stages(VLLM)] == ["base", "final"]
    assert set(context(VLLM).rendered) == {"Dockerfile", "constraints.txt"}


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
@pytest.mark.parametrize("stack", sorted(STACKS))
def test_every_pair_renders_with_and_without_a_stack_version(framework: str, stack: str) -> None:
    for version in (None, NGC.variant.stack.version):
        variant = replace(
            DEBIAN.variant, framework=replace(NGC.variant.framework, name=framework), stack=Release(name=stack, version=version)
        )
        assert context(replace(DEBIAN, variant=variant)).rendered["Dockerfile"]


def test_a_framework_without_a_recipe_is_refused() -> None:
    case = replace(NGC, variant=replace(NGC.variant, framework=Release(name="caffe", version=NGC.variant.framework.version)))
    with pytest.raises(UnsatisfiableError, match="no recipe for the framework 'caffe'") as caught:
        context(case)
    assert caught.value.hint is not None
    assert "pytorch" in caught.value.hint
    assert "templates/frameworks/caffe.j2" in caught.value.hint


def test_an_unpinned_base_is_refused() -> None:
    with pytest.raises(MismatchError, match="is not pinned: the lock has no digest"):
        context(replace(NGC, base=replace(NGC.base, digest=None)))
    with pytest.raises(MismatchError, match="is not pinned: the lock has no hash of its root file system"):
        context(replace(ASSEMBLED, base=replace(ASSEMBLED.base, rootfs_sha256=None)))


@pytest.mark.parametrize(
    ("case", "what"),
    [
        (locked(NGC, id="other"), "variant"),
        (locked(NGC, platform=LINUX_ARM64), "platform"),
        (locked(NGC, base="other"), "base"),
        (replace(NGC, base=replace(NGC.base, platform=LINUX_ARM64)), "platform of the base"),
        (replace(NGC, platform=LINUX_ARM64), "platform"),
    ],
)
def test_lock_and_plan_have_to_be_of_one_piece(case: Case, what: str) -> None:
    with pytest.raises(MismatchError, match=f"the lock's {what} for") as caught:
        context(case)
    assert caught.value.hint == "run imgbuild matrix lock on the matrix file with --update"


def test_from_names_the_tag_and_the_platform_manifest() -> None:
    assert stages(NGC)[0] == f"nvcr.io/nvidia/pytorch:25.10-py3@{NGC.base.digest} AS base"


def test_the_context_names_large_files_by_hash() -> None:
    found = context(ASSEMBLED).files
    assert found["rootfs.tar"] == ASSEMBLED.base.rootfs_sha256
    assert {path.removeprefix("wheels/") for path in found} - {"rootfs.tar"} == {
        package.file for package in ASSEMBLED.locked.packages
    }
    assert context(NGC).files[f"wheels/{NGC.locked.packages[0].file}"] == NGC.locked.packages[0].sha256


def test_only_apt_needs_a_network() -> None:
    assert context(NGC).network
    assert not context(ASSEMBLED).network
    assert not context(VLLM).network


def test_the_record_of_what_is_installed_stands_before_the_step_that_installs() -> None:
    """Buildah's cache does not look into bind mounts; the copied file changes the step's parent instead."""
    found = instructions(NGC)
    install = next(number for number, one in enumerate(found) if "wheels" in one.rest and one.keyword == "RUN")
    assert found[install - 1].rest == "--chmod=0644 requirements.txt /etc/imgbuild/requirements.txt"
    assert found[install].command()[-2:] == ["-r", "/etc/imgbuild/requirements.txt"]


def test_labels() -> None:
    found = only(NGC, "LABEL").pairs()
    assert found["imgbuild.framework"] == "pytorch==2.9.0a0+145a3a7bda"
    assert found["imgbuild.stack"] == "cuda==13.0.2"
    assert found["imgbuild.base.digest"] == found["org.opencontainers.image.base.digest"] == str(NGC.base.digest)
    assembled = only(ASSEMBLED, "LABEL").pairs()
    assert assembled["imgbuild.stack"] == "cpu"
    assert assembled["imgbuild.base.rootfs"] == f"sha256:{ASSEMBLED.base.rootfs_sha256}"
    assert not {"imgbuild.base.digest", "org.opencontainers.image.base.digest"} & assembled.keys()


def test_the_base_runs_as_whom_it_ran() -> None:
    intel = CASES["intel-xpu-pytorch"]
    assert [one.rest for one in instructions(intel) if one.keyword == "USER"] == ["0", "ubuntu"]
    assert not [one for one in instructions(NGC) if one.keyword == "USER"]


@pytest.mark.parametrize(("user", "checked"), [("1000", False), ("1000:100", False), ("nobody", True), ("nobody:nogroup", True)])
def test_a_named_user_has_to_exist(user: str, checked: bool) -> None:  # noqa: FBT001 - a column of the table
    found = instructions(replace(VLLM, variant=replace(VLLM.variant, user=user)))
    assert [one.rest for one in found if one.keyword == "USER"] == [user]
    assert [one.rest for one in found if one.keyword == "RUN"] == (["id -u nobody"] if checked else [])


def test_the_entry_point_stays_unless_the_matrix_says_so() -> None:
    assert not [one for one in instructions(NGC) if one.keyword in {"ENTRYPOINT", "CMD"}]
    assert only(TRITON, "ENTRYPOINT").json()[1] == "tritonserver"
    emptied = replace(TRITON, variant=replace(TRITON.variant, entrypoint=()))
    assert only(emptied, "ENTRYPOINT").json() == []


def test_an_assembled_base_has_a_command() -> None:
    assert only(ASSEMBLED, "CMD").json() == ["python"]
    assert only(locked(ASSEMBLED, packages=()), "CMD").json() == ["/usr/bin/python3.11"]


def test_what_was_not_set_up_is_set_up() -> None:
    commands = [one.rest for one in instructions(ASSEMBLED) if one.keyword == "RUN"]
    logs = "/var/log/dpkg.log /var/log/alternatives.log"
    assert commands[0] == f"DEBIAN_FRONTEND=noninteractive dpkg --configure --pending  && rm -f {logs}"
    ready = with_facts(ASSEMBLED, replace(ASSEMBLED.base.facts, unconfigured=()))
    assert not [one for one in instructions(ready) if "dpkg" in one.rest]


def test_the_cache_of_the_loader_is_made_where_the_base_has_none() -> None:
    without = with_facts(ASSEMBLED, replace(ASSEMBLED.base.facts, has_ld_cache=False))
    made = "ldconfig && rm -f /var/cache/ldconfig/aux-cache"
    assert [one.rest for one in instructions(without) if "ldconfig" in one.rest] == [made]
    there = with_facts(ASSEMBLED, replace(ASSEMBLED.base.facts, has_ld_cache=True))
    assert not [one for one in instructions(there) if "ldconfig" in one.rest]


@pytest.mark.parametrize(
    ("kind", "reference", "said"),
    [
        (BaseKind.VENDOR, "nvcr.io/nvidia/pytorch:25.10-py3", "NVIDIA's framework image"),
        (BaseKind.IMAGE, "nvcr.io/nvidia/pytorch:25.10-py3", "NVIDIA's framework image"),
        (BaseKind.STACK, "nvcr.io/nvidia/cuda:13.0.2-base-ubuntu24.04", "NVIDIA's CUDA libraries"),
        (BaseKind.STACK, "rocm/dev-ubuntu-24.04:7.2.4", "AMD's ROCm image"),
        (BaseKind.VENDOR, "vault.habana.ai/gaudi-docker/x:1", "Intel Gaudi's image"),
        (BaseKind.VENDOR, "us-central1-docker.pkg.dev/tpu-pytorch-releases/docker/xla:r2.7.0", "the vendor's image"),
        (BaseKind.IMAGE, "ghcr.io/acme/base:1", "an image of your choice"),
        (BaseKind.IMAGE, "ghcr.io/acme/nvcr.io/nvidia/x:1", "an image of your choice"),
    ],
)
def test_families_of_bases(kind: BaseKind, reference: str, said: str) -> None:
    parsed = ImageReference.parse(reference)
    variant = replace(VLLM.variant, base=replace(VLLM.variant.base, kind=kind, reference=parsed))
    case = replace(VLLM, variant=variant, base=replace(VLLM.base, reference=str(parsed)))
    assert said in context(case).rendered["Dockerfile"].decode()


def test_the_note_about_the_entry_point_follows_the_matrix() -> None:
    assert "and its entry point, which decides" in context(NGC).rendered["Dockerfile"].decode()
    assert "is replaced below" in context(TRITON).rendered["Dockerfile"].decode()


def test_every_error_has_a_hint() -> None:
    broken: list[Case] = [
        replace(NGC, base=replace(NGC.base, reference="not a reference")),
        with_facts(NGC, replace(NGC.base.facts, python_version="3.10.1")),
        locked(NGC, packages=(replace(wheel("a", "1.0"), sha256=sha256("x")[:-1]),)),
        locked(NGC, apt=()),
    ]
    for case in broken:
        with pytest.raises(ImgbuildError) as caught:
            context(case)
        assert caught.value.hint
        assert not caught.value.message.endswith(".")
