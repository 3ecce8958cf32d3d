"""apt's source files, and which of their archives are the distribution's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters.debian_sources import Source, own_archives, parse_deb822, parse_one_line, read_sources, write_deb822

KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
CLOUD = """\
# a comment
Types: deb deb-src
URIs: http://mirror.example/debian
# inside
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb-src
URIs: http://sources.example/debian
Suites: bookworm
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""


def own(text: str, wanted: str = "bookworm", *, one_line: bool = True, host: str = "bookworm") -> tuple[Source, ...]:
    sources = parse_one_line(text) if one_line else parse_deb822(text)
    return own_archives(sources, distribution="debian", host=host, wanted=wanted)


def test_deb822() -> None:
    first, second = parse_deb822(CLOUD)
    assert first == Source(
        uri="http://mirror.example/debian",
        suites=("bookworm", "bookworm-updates"),
        components=("main", "contrib"),
        signed_by=KEY,
    )
    assert (second.uri, second.suites) == ("http://mirror.example/debian-security", ("bookworm-security",))


def test_a_whole_key_in_a_source_is_kept_as_it_is() -> None:
    text = (
        "Types: deb\nURIs: http://m.example/debian/\nSuites: trixie\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINB\n -----END PGP PUBLIC KEY BLOCK-----\n"
    )
    (source,) = parse_deb822(text)
    again = write_deb822([source], keyring="/other.gpg", architecture="amd64")
    assert "Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINB\n" in again
    assert parse_deb822(again)[0].signed_by == source.signed_by


def test_one_line() -> None:
    text = """
    # deb http://no.example/debian bookworm main
    deb-src http://src.example/debian bookworm main
    deb [arch=amd64 signed-by=/k.gpg trusted=yes] https://m.example/debian bookworm main contrib # end
    deb http://m.example/flat ./
    """
    assert parse_one_line(text) == (
        Source(
            uri="https://m.example/debian", suites=("bookworm",), components=("main", "contrib"), signed_by="/k.gpg", trusted=True
        ),
        Source(uri="http://m.example/flat", suites=("./",), components=()),
    )  # fmt: skip


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_one_line(text)
    parse_deb822(text)


def test_files_are_read_in_order_and_others_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "apt" / "sources.list.d"
    folder.mkdir(parents=True)
    (tmp_path / "apt" / "sources.list").write_text("deb http://one/debian bookworm main\n")
    (folder / "b.list").write_text("deb http://three/debian bookworm main\n")
    (folder / "a.sources").write_text("Types: deb\nURIs: http://two/debian\nSuites: bookworm\nComponents: main\n")
    (folder / "c.list.save").write_text("deb http://never/debian bookworm main\n")
    assert [source.uri for source in read_sources(tmp_path)] == ["http://one/debian", "http://two/debian", "http://three/debian"]
    assert read_sources(tmp_path / "nowhere") == ()


def test_the_release_is_turned() -> None:
    turned = own(CLOUD, "trixie", one_line=False)
    assert [(one.root, one.suites, one.components) for one in turned] == [
        ("http://mirror.example/debian", ("trixie", "trixie-updates"), ("main", "contrib")),
        ("http://mirror.example/debian-security", ("trixie-security",), ("main",)),
    ]
    assert [one.suites for one in own(CLOUD, "sid", one_line=False)] == [("sid",)]


@pytest.mark.parametrize("suite", ["bookworm", "stable", "bookworm/"])
def test_a_release_goes_by_codename_or_alias(suite: str) -> None:
    assert own(f"deb http://m.example/debian {suite} main")[0].suites == ("bookworm",)


def test_another_release_and_another_distributions_component_are_none() -> None:
    lines = [
        "deb http://m.example/debian trixie main",
        "deb http://m.example/x bookworm stable",
        "deb http://m.example/y bookworm-x main",
    ]
    assert own("\n".join(lines)) == ()


def test_a_stranger_with_the_same_suite_name_loses() -> None:
    text = "deb http://packages.example/prod bookworm main\ndeb http://m.example/debian bookworm main"
    assert [one.root for one in own(text)] == ["http://m.example/debian"]
    signed = f"deb http://m.example/debian bookworm main\ndeb [signed-by={KEY}] http://mirror.example/d bookworm main"
    assert [one.root for one in own(signed)] == ["http://mirror.example/d"]


def test_a_stranger_that_only_says_stable_is_none() -> None:
    assert own("deb http://tools.example/apt stable main") == ()


def test_a_companys_mirror_without_any_sign_is_taken() -> None:
    text = "deb http://apt.corp.example/d12 bookworm main\ndeb http://apt.corp.example/sec bookworm-security main"
    assert [(one.root, one.suites) for one in own(text)] == [
        ("http://apt.corp.example/d12", ("bookworm",)),
        ("http://apt.corp.example/sec", ("bookworm-security",)),
    ]


def test_a_strangers_security_suite_is_not_taken() -> None:
    text = "deb http://m.example/debian bookworm main\ndeb http://evil.example/x bookworm-security main"
    assert [one.root for one in own(text)] == ["http://m.example/debian"]


def test_everything_on_one_mirror_is_one_source() -> None:
    text = "".join(f"deb http://m.example/ubuntu noble{pocket} main universe\n" for pocket in ("", "-updates", "-security"))
    (source,) = own_archives(parse_one_line(text), distribution="ubuntu", host="noble", wanted="jammy")
    assert source.suites == ("jammy", "jammy-updates", "jammy-security")


def test_what_apt_is_told() -> None:
    text = write_deb822(own(CLOUD, "trixie", one_line=False), keyring="/k.gpg", architecture="arm64")
    assert text.splitlines()[:6] == [
        "Types: deb", "URIs: http://mirror.example/debian", "Suites: trixie trixie-updates", "Components: main contrib",
        "Architectures: arm64", f"Signed-By: {KEY}",
    ]  # fmt: skip
    assert "Trusted" not in text
    plain = own("deb http://m.example/debian bookworm main")
    assert "Signed-By: /k.gpg" in write_deb822(plain, keyring="/k.gpg", architecture="amd64")
    trusted = own("deb [trusted=yes] http://m.example/debian bookworm main")
    assert "Trusted: yes" in write_deb822(trusted, keyring="/k.gpg", architecture="amd64")


def test_a_password_in_an_address_is_not_shown() -> None:
    source = Source(uri="https://ann:s3cret@m.example/debian/", suites=("x",), components=("main",))
    assert source.shown == "https://m.example/debian"
    assert source.root == "https://ann:s3cret@m.example/debian"
