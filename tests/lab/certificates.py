"""An authority of the lab's own, and one certificate for every name it stands in for."""

from __future__ import annotations

import os
from pathlib import Path

from tests.lab.names import STAND_INS
from tests.lab.place import Place
from tests.lab.process import run

DAYS = "3650"
SYSTEM = Path("/etc/ssl/certs/ca-certificates.crt")


def make(place: Place) -> None:
    """Make authority, certificate and bundle where they are missing or name other hosts."""
    names = ",".join(["DNS:localhost", "IP:127.0.0.1", *(f"DNS:{name}" for name in STAND_INS)])
    kept = place.tls / "names"
    if not (kept.exists() and kept.read_text() == names):
        authority(place.tls)
        certificate(place.tls, names)
        kept.write_text(names)
    system = Path(os.environ.get("SSL_CERT_FILE") or SYSTEM)
    if system.resolve() == place.bundle.resolve():
        system = SYSTEM
    place.bundle.write_bytes(system.read_bytes().rstrip() + b"\n" + (place.tls / "ca.crt").read_bytes())


def authority(folder: Path) -> None:
    """Make the authority that clients of the lab trust."""
    run([
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", DAYS),
        *("-subj", "/CN=imgbuild lab authority", "-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.crt")),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
    ])  # fmt: skip


def certificate(folder: Path, names: str) -> None:
    """Make the registry's certificate, signed by the authority."""
    request, extensions = folder / "registry.csr", folder / "registry.ext"
    extensions.write_text(
        f"subjectAltName={names}\nbasicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
        "extendedKeyUsage=serverAuth\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n"
    )
    run([
        *("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-subj", "/CN=imgbuild lab", "-keyout", str(folder / "registry.key"), "-out", str(request)),
    ])  # fmt: skip
    run([
        *("openssl", "x509", "-req", "-in", str(request), "-CA", str(folder / "ca.crt"), "-CAkey", str(folder / "ca.key")),
        *("-CAcreateserial", "-days", DAYS, "-extfile", str(extensions), "-out", str(folder / "registry.crt")),
    ])  # fmt: skip
