"""pip's configuration, read as pip reads it; names without URLs or credentials."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.adapters.pip_config import (
    PipConfig,
    config_files,
    index_name,
    local_path,
    named_indexes,
    read_pip_config,
    redacted,
    without_credentials,
)
from builder.errors import DocumentError
from builder.model.plan import Index

PLACE = "expected a path, or a URL that begins with https://, http:// or file://"


class Host:
    """A little file system with the places pip looks in."""

    def __init__(self, root: Path) -> None:
        self.etc = root / "etc"
        self.home = root / "home"
        self.prefix = root / "venv"
        self.root = root

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def read(self, **environment: str) -> PipConfig:
        return read_pip_config({"HOME": str(self.home), **environment}, prefix=self.prefix, etc=self.etc)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_without_any_configuration_there_is_pypi(host: Host) -> None:
    assert host.read() == PipConfig()
    assert host.read().indexes == (Index(name="pypi", url="https://pypi.org/simple"),)


def test_the_files_are_those_of_pip_weakest_first(host: Host) -> None:
    files = config_files({"HOME": str(host.home)}, prefix=host.prefix, etc=host.etc)
    assert [str(path.relative_to(host.root)) for path in files] == [
        "etc/xdg/pip/pip.conf",
        "etc/pip.conf",
        "home/.pip/pip.conf",
        "home/.config/pip/pip.conf",
        "venv/pip.conf",
    ]


def test_a_named_file_comes_last_and_replaces_the_users_own(host: Host) -> None:
    host.write("etc/pip.conf", "[global]\ntimeout = 1\ncert = /a.pem\n")
    host.write("home/.config/pip/pip.conf", "[global]\nproxy = http://user-proxy:3128\n")
    named = host.write("ci.conf", "[global]\ntimeout = 7\n")
    config = host.read(PIP_CONFIG_FILE=str(named))
    assert (config.timeout, config.cert, config.proxy) == (7.0, "/a.pem", None)
    assert config.files == (host.etc / "pip.conf", named)


def test_a_named_file_that_is_not_there_leaves_the_users_own(host: Host) -> None:
    host.write("home/.config/pip/pip.conf", "[global]\nproxy = http://user-proxy:3128\n")
    assert host.read(PIP_CONFIG_FILE="/nowhere/pip.conf").proxy == "http://user-proxy:3128"


def test_dev_null_means_no_file_at_all_but_the_environment_counts(host: Host) -> None:
    host.write("etc/pip.conf", "[global]\ntimeout = 1\n")
    config = host.read(PIP_CONFIG_FILE="/dev/null", PIP_CERT="/b.pem")
    assert (config.timeout, config.cert, config.files) == (15.0, "/b.pem", ())


def test_later_files_win_and_the_environment_wins_over_all(host: Host) -> None:
    host.write("etc/xdg/pip/pip.conf", "[global]\ntimeout = 1\nindex-url = https://a.example/simple\n")
    host.write("venv/pip.conf", "[global]\ntimeout = 2\n")
    assert host.read().timeout == 2.0
    assert host.read(PIP_DEFAULT_TIMEOUT="180").timeout == 180.0
    assert host.read().indexes == (Index(name="index-a.example", url="https://a.example/simple"),)


def test_the_install_section_outweighs_the_global_one_of_a_stronger_file(host: Host) -> None:
    host.write("etc/pip.conf", "[install]\nindex_url = https://install.example/simple\n[download]\ntimeout = 3\n")
    host.write("venv/pip.conf", "[global]\nindex-url = https://global.example/simple\n")
    config = host.read()
    assert [index.url for index in config.indexes] == ["https://install.example/simple"]
    assert config.timeout == 15.0


def test_an_option_replaces_a_list_it_does_not_add_to_it(host: Host) -> None:
    host.write("etc/pip.conf", "[global]\nextra-index-url =\n    https://one.example/simple\n    https://two.example/simple\n")
    assert [index.name for index in host.read().indexes] == ["pypi", "index-one.example", "index-two.example"]
    config = host.read(PIP_EXTRA_INDEX_URL="https://three.example/simple")
    assert [index.name for index in config.indexes] == ["pypi", "index-three.example"]


def test_empty_values_do_not_count(host: Host) -> None:
    host.write("etc/pip.conf", "[global]\ncert = /a.pem\n")
    assert host.read(PIP_CERT="", PIP_NO_INDEX="", PIP_TIMEOUT=" ").cert == "/a.pem"


def test_no_index_leaves_the_links_only(host: Host) -> None:
    config = host.read(PIP_NO_INDEX="1", PIP_FIND_LINKS=f"{host.root}/wheels https://links.example/page.html")
    assert config.indexes == ()
    assert config.no_index
    names = [link.name for link in config.find_links]
    assert names[1] == "find-links-links.example-page.html"
    assert names[0].startswith("find-links-")
    assert local_path(config.find_links[0].url) == host.root / "wheels"


def test_everything_else_pip_is_told(host: Host) -> None:
    host.write(
        "etc/pip.conf",
        "[global]\ncert = /ca.pem\nclient-cert = /me.pem\nproxy = http://proxy:8080\n"
        "trusted-host = a.example\n  b.example:8443\nconstraint = /c.txt https://c.example/more.txt\nno-index = no\n",
    )
    assert host.read() == PipConfig(
        cert="/ca.pem",
        client_cert="/me.pem",
        proxy="http://proxy:8080",
        trusted_hosts=("a.example", "b.example:8443"),
        constraints=("/c.txt", "https://c.example/more.txt"),
        files=(host.etc / "pip.conf",),
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("timeout = 3\n", 1, "pip's configuration cannot be read: File contains no section headers."),
        ("[global]\ncert = /a\ncert = /b\n", 3, "pip's configuration cannot be read"),
    ],
)
def test_a_file_pip_could_not_read_is_a_complaint_with_its_line(host: Host, text: str, line: int, message: str) -> None:
    path = host.write("etc/pip.conf", text)
    with pytest.raises(DocumentError) as caught:
        host.read()
    complaint = caught.value.complaints[0]
    assert (complaint.where.file, complaint.where.line) == (str(path), line)
    assert complaint.message.startswith(message)


def test_paths_are_from_the_folder_of_the_command_not_from_one_we_work_in(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    config = host.read(
        PIP_CONSTRAINT="c.txt file:///d.txt", PIP_CERT="~/ca.pem", PIP_CLIENT_CERT="me.pem", PIP_FIND_LINKS="wheels"
    )
    assert config.constraints == (f"{tmp_path}/c.txt", "file:///d.txt")
    assert (config.cert, config.client_cert) == ("/home/me/ca.pem", f"{tmp_path}/me.pem")
    assert [local_path(link.url) for link in config.find_links] == [tmp_path / "wheels"]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("PIP_NO_INDEX", "maybe", "pip's configuration says 'maybe', expected true or false"),
        ("PIP_TIMEOUT", "soon", "pip's configuration says 'soon', expected a number of seconds"),
        ("PIP_TIMEOUT", "-1", "pip's configuration says '-1', expected a number of seconds"),
        ("PIP_TIMEOUT", "inf", "pip's configuration says 'inf', expected a number of seconds"),
        ("PIP_TIMEOUT", "nan", "pip's configuration says 'nan', expected a number of seconds"),
        ("PIP_INDEX_URL", "ftp://a.example/simple", f"pip's configuration says 'ftp://a.example/simple', {PLACE}"),
        (
            "PIP_EXTRA_INDEX_URL",
            "https://b.example htp://me:pw@x",
            f"pip's configuration says 'https://b.example htp://****@x', {PLACE}",
        ),
        ("PIP_FIND_LINKS", "s3://bucket/wheels", f"pip's configuration says 's3://bucket/wheels', {PLACE}"),
        ("PIP_CONSTRAINT", "git+https://c.example/c.txt", f"pip's configuration says 'git+https://c.example/c.txt', {PLACE}"),
    ],
)
def test_a_value_that_means_nothing_names_its_variable(host: Host, variable: str, value: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        host.read(**{variable: value})
    assert (caught.value.complaints[0].where.file, caught.value.complaints[0].message) == (variable, message)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://pypi.org/simple", "pypi"),
        ("https://pypi.org/simple/", "pypi"),
        ("https://pypi.python.org/simple", "pypi"),
        ("https://me:secret@nexus.acme.example:8443/repository/py_pi/simple/", "index-nexus.acme.example-8443-repository-py-pi"),
        ("https://download.pytorch.org/whl/cu126", "index-download.pytorch.org-whl-cu126"),
        ("https://pypi.fury.example/a1B2c3D4e5F6g7H8/me/", "index-pypi.fury.example-me"),
        ("file:///srv/pypi/simple", "index-srv-pypi"),
        ("https://host.example/simple?token=abc", "index-host.example"),
    ],
)
def test_names_are_readable_and_hold_no_credentials(url: str, name: str) -> None:
    assert index_name(url) == name


def test_one_place_has_one_name_and_one_name_has_one_place() -> None:
    indexes = named_indexes("index", ["https://a.example/x/simple", "https://me:pw@a.example/x/simple/", "https://a.example/x"])
    assert [(index.name, index.url) for index in indexes] == [
        ("index-a.example-x", "https://a.example/x/simple"),
        ("index-a.example-x-2", "https://a.example/x"),
    ]


_WORD = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=12)


@given(
    user=_WORD, password=st.text("abc!$&()*+,;=:@-._~XYZ", min_size=8, max_size=20), host=_WORD, path=st.lists(_WORD, max_size=4)
)
def test_credentials_never_show(user: str, password: str, host: str, path: list[str]) -> None:
    url = f"https://{user}:{password}@{host}.example/{'/'.join(path)}"
    secret = f":{password}@"
    assert secret not in index_name(url)
    assert secret not in without_credentials(url)
    assert secret not in redacted(f"error: could not fetch `{url}` and '{url}'")
    assert secret not in repr(Index(name=index_name(url), url=url))


def test_redaction_keeps_the_rest() -> None:
    assert redacted("failed: https://u:p@ss@h.example/x (and http://plain.example)") == (
        "failed: https://****@h.example/x (and http://plain.example)"
    )
