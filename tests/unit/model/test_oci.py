"""Digests, platforms and image references."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.model.oci import LINUX_AMD64, Digest, ImageReference, Platform

SHA = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("ubuntu", "docker.io", "library/ubuntu", None, None),
        ("ubuntu:24.04", "docker.io", "library/ubuntu", "24.04", None),
        ("docker.io/ubuntu", "docker.io", "library/ubuntu", None, None),
        ("index.docker.io/library/ubuntu", "docker.io", "library/ubuntu", None, None),
        ("rocm/pytorch:7.2", "docker.io", "rocm/pytorch", "7.2", None),
        ("nvcr.io/nvidia/pytorch:25.11-py3", "nvcr.io", "nvidia/pytorch", "25.11-py3", None),
        ("localhost/a", "localhost", "a", None, None),
        ("localhost:5000/a/b:c", "localhost:5000", "a/b", "c", None),
        ("[::1]:5000/a", "[::1]:5000", "a", None, None),
        (f"h.io/a@{SHA}", "h.io", "a", None, SHA),
        (f"h.io/a:t@{SHA}", "h.io", "a", "t", SHA),
        ("h.io/a__b/c.d-e--f", "h.io", "a__b/c.d-e--f", None, None),
    ],
)
def test_a_reference_is_read_as_docker_does(
    text: str, registry: str, repository: str, tag: str | None, digest: str | None
) -> None:
    read = ImageReference.parse(text)
    assert (read.registry, read.repository, read.tag) == (registry, repository, tag)
    assert (str(read.digest) if read.digest else None) == digest
    assert ImageReference.parse(str(read)) == read


@pytest.mark.parametrize(
    "text",
    ["", ":", "a:", "a:b:c", "A", "a/B", "a//b", "/a", "a/", "a b", "a\n", "h.io/", "h.io:/a", "h.io:99999/a", "h.io:0/a",
     "a___b", "a..b", "-a", "a:-t", "a:" + "t" * 129, "a@", "a@sha256:ab", f"a@{SHA.upper()}", "https://h.io/a", "x" * 300,
     "a:t\n"],
)  # fmt: skip
def test_what_is_no_reference_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not (an image reference|a tag|a content digest)"):
        ImageReference.parse(text)


def test_a_tag_and_a_digest_can_be_put_on_a_name() -> None:
    name = ImageReference.parse("h.io/a")
    pinned = name.with_tag("t").with_digest(Digest.parse(SHA))
    assert str(pinned) == f"h.io/a:t@{SHA}"
    assert str(pinned.with_tag("u")) == "h.io/a:u"
    assert pinned.name == "h.io/a"
    with pytest.raises(ValueError, match="is not a tag"):
        name.with_tag("a b")


@pytest.mark.parametrize(
    "text", ["sha256:", "sha256:" + "a" * 63, "sha256:" + "g" * 64, "md5:" + "a" * 32, SHA + "\n", "SHA256:" + "a" * 64]
)
def test_what_is_no_digest_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a content digest"):
        Digest.parse(text)


def test_a_digest_of_either_algorithm_comes_back() -> None:
    for text in (SHA, "sha512:" + "0" * 128):
        assert str(Digest.parse(text)) == text


@pytest.mark.parametrize(("text", "parts"), [("linux/amd64", ("linux", "amd64", "")), ("linux/arm/v7", ("linux", "arm", "v7"))])
def test_a_platform_comes_back(text: str, parts: tuple[str, str, str]) -> None:
    read = Platform.parse(text)
    assert (read.os, read.architecture, read.variant) == parts
    assert str(read) == text


@pytest.mark.parametrize(
    "text", ["", "linux", "linux/", "/amd64", "Linux/amd64", "linux/amd64/v1/x", "linux amd64", "linux/amd64\n"]
)
def test_what_is_no_platform_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a platform"):
        Platform.parse(text)


def test_platforms_have_an_order() -> None:
    assert sorted([Platform("linux", "arm64"), LINUX_AMD64]) == [LINUX_AMD64, Platform("linux", "arm64")]


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_reference_that_comes_back_or_is_refused(text: str) -> None:
    try:
        read = ImageReference.parse(text)
    except ValueError:
        return
    assert ImageReference.parse(str(read)) == read
