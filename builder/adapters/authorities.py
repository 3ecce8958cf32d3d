"""Which certificate authorities to trust: those that the environment names, else those of this host.

A host behind a proxy that ends TLS has the proxy's authority in its own bundle, and nowhere else. pip trusts that
bundle, so that whatever pip reaches has to be reached here as well.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path

_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine
)


def named_bundle(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the first variable that names a bundle, and the path it names, which may not be there."""
    return next(((name, environment[name]) for name in _VARIABLES if environment.get(name)), None)


def host_bundle(usual: Iterable[str] = _BUNDLES) -> str | None:
    """Return the bundle that OpenSSL reads here, else the first of the ``usual`` ones that is there."""
    known = ssl.get_default_verify_paths().cafile
    return next((path for path in (known, *usual) if path and Path(path).is_file()), None)
