"""Which certificate authorities are trusted, and that what pip trusts reaches the index and uv."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from builder.adapters.authorities import host_bundle, named_bundle
from builder.cli.environment import Environment
from builder.cli.services import Services


@pytest.fixture
def hosts_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make OpenSSL's default bundle a file of the test."""
    bundle = tmp_path / "host.pem"
    bundle.touch()
    paths = ssl.get_default_verify_paths()._replace(cafile=str(bundle))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    return bundle


def services(tmp_path: Path, **variables: str) -> Services:
    settings = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null", **variables}
    return Services(Environment(variables=settings, terminal=False, cpus=1))


def test_the_variables_that_pip_and_curl_know_are_asked_in_order() -> None:
    assert named_bundle({}) is None
    assert named_bundle({"SSL_CERT_FILE": "/a.pem", "CURL_CA_BUNDLE": ""}) == ("SSL_CERT_FILE", "/a.pem")
    assert named_bundle({"SSL_CERT_FILE": "/a.pem", "REQUESTS_CA_BUNDLE": "/b.pem"}) == ("REQUESTS_CA_BUNDLE", "/b.pem")


def test_the_bundle_of_the_host(hosts_own: Path, tmp_path: Path) -> None:
    assert host_bundle() == str(hosts_own)
    usual = tmp_path / "usual.pem"
    usual.touch()
    hosts_own.unlink()
    assert host_bundle((str(tmp_path / "absent.pem"), str(usual))) == str(usual)
    assert host_bundle((str(tmp_path / "absent.pem"),)) is None


def test_without_a_setting_of_pips_the_host_decides_whom_to_trust(hosts_own: Path, tmp_path: Path) -> None:
    assert services(tmp_path).pip.cert == str(hosts_own)
    assert services(tmp_path, REQUESTS_CA_BUNDLE="/named.pem").pip.cert == "/named.pem"
    assert services(tmp_path, REQUESTS_CA_BUNDLE="/named.pem", PIP_CERT="/pips.pem").pip.cert == "/pips.pem"
