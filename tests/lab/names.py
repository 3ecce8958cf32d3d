"""Names of registries that lead to the lab's stand-ins."""

from __future__ import annotations

STAND_INS = (
    "docker.io",
    "index.docker.io",
    "registry-1.docker.io",
    "auth.docker.io",
    "nvcr.io",
    "authn.nvidia.com",
    "vault.habana.ai",
    "ghcr.io",
    "quay.io",
    "public.ecr.aws",
    "mcr.microsoft.com",
    "gcr.io",
    "us-docker.pkg.dev",
)
