"""Debian packages on a base from a registry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builder.errors import MismatchError, UnsatisfiableError
from builder.render.debs import DOWNLOADS, file_name
from tests.golden.build import deb
from tests.unit.render.make import ASSEMBLED, NGC, context, instructions, with_facts


def test_versions_are_exact_and_hashes_are_compared_before_anything_is_installed() -> None:
    command = next(one for one in instructions(NGC) if "apt-get" in one.rest).command()
    assert command[command.index("download") + 1 : command.index("sha256sum") - 1] == [
        "git=1:2.43.0-1ubuntu7.3",
        "git-man=1:2.43.0-1ubuntu7.3",
        "liberror-perl=0.17029-2",
    ]
    assert command.index("sha256sum") < command.index("/var/lib/apt/lists/*") < command.index("install")
    assert command[-3:] == ["rm", "-rf", DOWNLOADS]


def test_the_checksum_file_names_files_as_apt_does() -> None:
    git = NGC.locked.debs[0]
    assert file_name(git) == "git_1%3a2.43.0-1ubuntu7.3_amd64.deb"
    lines = context(NGC).rendered["debs.sha256"].decode().splitlines()
    assert lines[0] == f"{git.sha256}  /tmp/debs/git_1%3a2.43.0-1ubuntu7.3_amd64.deb"
    assert len(lines) == len(NGC.locked.debs)


def test_a_tilde_is_no_home_folder() -> None:
    case = replace(NGC, locked=replace(NGC.locked, debs=(*NGC.locked.debs, deb("zlib1g", "1:1.3~rc1"))))
    command = next(one for one in instructions(case) if "apt-get" in one.rest)
    assert "'zlib1g=1:1.3~rc1'" in command.rest
    assert "zlib1g=1:1.3~rc1" in command.command()


def test_a_lock_for_other_packages_is_refused() -> None:
    case = replace(NGC, variant=replace(NGC.variant, apt=("git", "curl")))
    with pytest.raises(MismatchError, match="git instead of curl, git"):
        context(case)
    with pytest.raises(MismatchError, match="ca-certificates instead of none"):
        context(replace(ASSEMBLED, variant=replace(ASSEMBLED.variant, apt=())))


def test_what_the_base_has_needs_no_step() -> None:
    case = replace(NGC, locked=replace(NGC.locked, debs=()))
    assert not [one for one in instructions(case) if "apt-get" in one.rest]
    assert not context(case).network


def test_a_base_without_apt_is_refused() -> None:
    case = with_facts(NGC, replace(NGC.base.facts, has_apt=False, os="rhel", os_version="9.4"))
    with pytest.raises(UnsatisfiableError, match=r"\(rhel 9\.4\) has no apt-get, so git, git-man, liberror-perl"):
        context(case)


def test_on_an_assembled_base_they_are_in_the_root_already() -> None:
    assert ASSEMBLED.variant.apt == ("ca-certificates",)
    assert not [one for one in instructions(ASSEMBLED) if "apt-get" in one.rest]
    assert "debs.sha256" not in context(ASSEMBLED).rendered
