"""Stub wheels are real wheels that say only a name, a version and what the base itself meets."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from email import message_from_bytes

from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from builder.adapters.stub_wheels import stubs
from builder.model.lock import Installed

NGC = Installed(
    name="torch",
    version="2.9.0a0+145a3a7bda.nv25.10",
    requires=(
        "numpy>=1.0",
        "filelock",
        "sympy>=1.13.3",
        "missing>=2",
        "pillow>=99",
        "opt-einsum>=3.3; extra == 'opt-einsum'",
        "not a requirement",
        "x @ https://example.org/x.whl",
    ),
)
BASE = (
    NGC,
    Installed(name="NumPy", version="1.26.4"),
    Installed(name="filelock", version="3.13.0"),
    Installed(name="sympy", version="1.14.0rc1"),
    Installed(name="pillow", version="11.0"),
    Installed(name="odd", version="2025-snapshot"),
)


def metadata(data: bytes) -> dict[str, list[str]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        message = message_from_bytes(archive.read(name))
    return {key: message.get_all(key, []) for key in ("Name", "Version", "Requires-Dist", "Provides-Extra")}


def test_a_vendors_pre_release_keeps_its_version_and_what_the_base_meets() -> None:
    file, data = stubs(BASE)["torch"]
    assert file == "torch-2.9.0a0+145a3a7bda.nv25.10-py3-none-any.whl"
    assert metadata(data) == {
        "Name": ["torch"],
        "Version": ["2.9.0a0+145a3a7bda.nv25.10"],
        "Requires-Dist": ["numpy>=1.0", "filelock", "sympy>=1.13.3", "opt-einsum>=3.3; extra == 'opt-einsum'"],
        "Provides-Extra": ["opt-einsum"],
    }


def test_names_are_canonical_and_versions_that_compare_with_nothing_have_no_stub() -> None:
    assert sorted(stubs(BASE)) == ["filelock", "numpy", "pillow", "sympy", "torch"]


def test_the_first_of_two_of_one_name_counts() -> None:
    twice = (Installed(name="numpy", version="1.26.4"), Installed(name="NumPy", version="2.0"))
    assert stubs(twice)["numpy"][0] == "numpy-1.26.4-py3-none-any.whl"


def test_the_same_base_makes_the_same_bytes() -> None:
    assert stubs(BASE) == stubs(BASE)


_NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,10}[A-Za-z0-9])?", fullmatch=True)
_VERSIONS = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}(a0|rc1)?(\+[a-z0-9]{1,6}(\.[a-z0-9]{1,4})?)?", fullmatch=True)


@given(name=_NAMES, version=_VERSIONS)
def test_every_stub_is_a_valid_wheel(name: str, version: str) -> None:
    (file, data) = stubs((Installed(name=name, version=version),))[canonicalize_name(name)]
    parsed_name, parsed_version, _, _ = parse_wheel_filename(file)
    assert (parsed_name, parsed_version) == (canonicalize_name(name), Version(version))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        record = next(entry for entry in archive.namelist() if entry.endswith("/RECORD"))
        rows = [row.rsplit(",", 2) for row in archive.read(record).decode().splitlines()]
        assert {row[0] for row in rows} == set(archive.namelist())
        for path, digest, size in rows:
            if path == record:
                assert (digest, size) == ("", "")
                continue
            content = archive.read(path)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={expected}", len(content))
