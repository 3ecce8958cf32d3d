from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import indexes


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*indexes.VARIABLES, "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(indexes, "files", lambda: [tmp_path / "pip.conf"])
    return tmp_path / "pip.conf"


def test_pypi_may_always_be_asked() -> None:
    assert indexes.hosts() == ["files.pythonhosted.org", "pypi.org"]


def test_what_the_environment_and_files_name_may_be_asked_too(nothing_configured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_INDEX", "own=https://user:secret@one.example/simple?x=1 https://two.example:8443/simple")
    nothing_configured.write_text(
        "[global]\nindex-url = https://three.example/simple\nextra-index-url =\n  file:///srv/simple\n  https://four.example/%20/\n"
    )
    added = set(indexes.hosts()) - {"files.pythonhosted.org", "pypi.org"}
    assert added == {"one.example", "two.example", "three.example", "four.example"}
