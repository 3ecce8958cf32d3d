"""Challenges, login files and proxies, without a registry."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters.registry_auth import Login, Logins, login_files, parse_challenges
from builder.adapters.registry_http import Transport, host_of, is_loopback
from builder.errors import UnreachableError


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", []),
        ("Negotiate", [("negotiate", {})]),
        ('Basic realm="a, b"', [("basic", {"realm": "a, b"})]),
        (
            'Bearer realm="https://auth/token",service="r.io",scope="repository:a/b:pull,push"',
            [("bearer", {"realm": "https://auth/token", "service": "r.io", "scope": "repository:a/b:pull,push"})],
        ),
        ('bearer  scope = x ,  Realm="https://a?b=\\"c\\""', [("bearer", {"scope": "x", "realm": 'https://a?b="c"'})]),
        ('Basic realm="x", Bearer realm="https://a"', [("basic", {"realm": "x"}), ("bearer", {"realm": "https://a"})]),
        ('realm="no scheme"', []),
        ('Bearer realm="never ends', [("bearer", {}), ("realm", {})]),
    ],
)
def test_challenges(header: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    assert [(one.scheme, dict(one.parameters)) for one in parse_challenges(header)] == expected


_NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
_VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)


@given(st.dictionaries(_NAMES, _VALUES, max_size=5), st.randoms(use_true_random=False))
def test_parameters_come_back_in_any_order(parameters: dict[str, str], random: object) -> None:
    names = list(parameters)
    random.shuffle(names)  # type: ignore[attr-defined]  # hypothesis gives random.Random
    quoted = [f'{name}="' + parameters[name].replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names]
    challenges = parse_challenges("Bearer " + ",".join(quoted))
    assert [dict(one.parameters) for one in challenges] == [parameters]


@given(st.text(max_size=200))
def test_any_header_is_read_without_an_error(header: str) -> None:
    parse_challenges(header)


def test_where_logins_are_kept() -> None:
    environ = {"HOME": "/home/ann", "XDG_RUNTIME_DIR": "/run/user/7", "REGISTRY_AUTH_FILE": "/a.json"}
    assert [str(file) for file in login_files(environ)] == [
        "/a.json",
        "/home/ann/.docker/config.json",
        "/run/user/7/containers/auth.json",
        "/home/ann/.config/containers/auth.json",
    ]
    assert login_files({"DOCKER_CONFIG": "/d"}) == (Path("/d/config.json"),)


def write(folder: Path, document: Mapping[str, object], name: str = "config.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(document))
    return file


def auth(text: str) -> dict[str, str]:
    return {"auth": base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize("key", ["https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io"])
def test_docker_hub_goes_by_many_names(tmp_path: Path, key: str) -> None:
    logins = Logins([write(tmp_path, {"auths": {key: auth("ann:pw")}})])
    assert logins.find("docker.io", "library/debian") == Login(user="ann", password="pw")  # noqa: S106 - a test's own


def test_the_narrowest_key_wins(tmp_path: Path) -> None:
    auths = {"r.io": auth("all:1"), "r.io/team": auth("team:2"), "r.io/team/app": auth("app:3:x")}
    logins = Logins([write(tmp_path, {"auths": auths})])
    found = [logins.find("r.io", repository) for repository in ("other", "team/lib", "team/app", "teams/app")]
    assert [(one.user, one.password) for one in found if one] == [("all", "1"), ("team", "2"), ("app", "3:x"), ("all", "1")]


def test_the_first_file_that_has_one_wins(tmp_path: Path) -> None:
    first = write(tmp_path, {"credsStore": "pass", "auths": {"r.io": {}}}, "first")
    second = write(tmp_path, {"auths": {"r.io": auth("ann:pw")}}, "second")
    found = Logins([tmp_path / "nope", first, second]).find("r.io", "a")
    assert found is not None
    assert found.user == "ann"
    assert Logins([first]).find("r.io", "a") == Login(helper="pass")
    assert Logins([write(tmp_path, {"credHelpers": {"gcr.io": "gcloud"}})]).find("gcr.io", "a") == Login(helper="gcloud")


@pytest.mark.parametrize("document", [{}, {"auths": []}, {"auths": {"r.io": 7}}, {"auths": {"r.io": {"auth": "%%"}}}])
def test_a_file_without_a_login(tmp_path: Path, document: dict[str, object]) -> None:
    assert Logins([write(tmp_path, document)]).find("r.io", "a") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "\xff"])
def test_a_file_that_is_not_one(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(UnreachableError, match=r"config\.json") as caught:
        Logins([file]).find("r.io", "a")
    assert caught.value.hint


def test_a_login_does_not_show_its_secret() -> None:
    assert "pw" not in repr(Login(user="ann", password="pw", identity="pw"))  # noqa: S106 - a test's own


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("localhost:5000", True), ("127.9.9.9:1", True), ("[::1]:5000", True), ("::1", False),
     ("10.0.0.1", False), ("localhost.example", False), ("127.0.0.1.example:5000", False), ("", False)],
)  # fmt: skip
def test_loopback(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_host_is_shown_without_its_password() -> None:
    assert host_of("http://ann:pw@proxy:3128/x?y") == "proxy:3128"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {}),
        ({"HTTPS_PROXY": "http://p:1"}, {"https": "http://p:1"}),
        ({"https_proxy": "p:1"}, {"https": "http://p:1"}),
        ({"ALL_PROXY": "http://p:1"}, {"https": "http://p:1"}),
        ({"HTTP_PROXY": "http://p:1"}, {}),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other,.nvcr.io"}, {"https": "http://p:1"}),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x, r.example"}, {}),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": ".example"}, {}),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, {}),
    ],
)
def test_proxies(environ: dict[str, str], expected: dict[str, str]) -> None:
    assert dict(Transport(environ)._proxies("https://r.example/v2/")) == expected
