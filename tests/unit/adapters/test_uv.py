"""uv as the resolver: what it is told, what its answers become, and why it failed in words."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from builder.adapters.downloads import Downloads
from builder.adapters.index_pages import IndexPages, OfferedFile
from builder.adapters.pip_config import PipConfig, named_indexes
from builder.adapters.uv import UvResolver
from builder.errors import ImgbuildError, ProgramError, UnreachableError, UnsatisfiableError
from builder.model.build import Completed
from builder.model.lock import Installed, LockedPackage
from builder.model.oci import Platform
from builder.model.plan import Index
from builder.ports import ProcessRunner, Resolver

AMD64 = Platform.parse("linux/amd64")
PYLOCK = """
lock-version = "1.0"
[[packages]]
name = "accelerate"
version = "1.15.0"
wheels = [{ url = "https://files.example/accelerate-1.15.0-py3-none-any.whl", size = 394295, hashes = { sha256 = "ab" } }]
[[packages]]
name = "torch"
version = "2.9.0a0+145a3a7bda.nv25.10"
archive = { path = "stubs/torch.whl", hashes = { sha256 = "cd" } }
[[packages]]
name = "acme-utils"
version = "3"
wheels = [{ url = "https://acme.example/acme_utils-3-py3-none-any.whl", hashes = { sha256 = "ef" } }]
"""
ANNOTATED = """
accelerate==1.15.0
    # via -r requirements.in
    # from https://pypi.org/simple
acme-utils==3
    # via accelerate
    # from https://acme.example/simple
torch @ file:///tmp/x/stubs/torch.whl
    # via
    #   -c constraints.txt
    #   accelerate
"""
TORCH = Installed(name="torch", version="2.9.0a0+145a3a7bda.nv25.10", requires=("numpy",))
NUMPY = Installed(name="numpy", version="1.26.4")


@dataclass
class Uv:
    """A runner that answers as uv would, and keeps what it was given: arguments, variables, files."""

    answers: list[Completed]
    calls: list[list[str]] = field(default_factory=list)
    variables: list[dict[str, str]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: bytes | None = None,
        seconds: float | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> Completed:
        assert cwd is not None
        self.calls.append(list(argv))
        self.variables.append(dict(env or {}))
        self.files.append({path.name: path.read_text(errors="replace") for path in cwd.rglob("*") if path.is_file()})
        self.modes.append(cwd.stat().st_mode & 0o777)
        return self.answers.pop(0)

    @property
    def stopping(self) -> bool:
        return False

    def stop(self) -> None:
        raise NotImplementedError


def done(stdout: str = "", *, stderr: str = "", code: int = 0, timed_out: bool = False) -> Completed:
    return Completed(argv=("uv",), code=code, stdout=stdout, stderr=stderr, seconds=0.1, timed_out=timed_out)


class NoPages(Downloads):
    """Indexes that say nothing about any file."""

    def page(self, url: str, *, accept: str, forbidden_is_absent: bool = False) -> None:
        return None


def resolver(uv: Uv, config: PipConfig | None = None, environment: Mapping[str, str] | None = None) -> UvResolver:
    config = config or PipConfig()
    pages = IndexPages(NoPages(config), links=frozenset())
    return UvResolver(uv, config=config, cache=Path("/cache"), environment=environment or {}, pages=pages, program="/bin/uv")


def ask(
    uv: Uv,
    *requirements: str,
    config: PipConfig | None = None,
    installed: Sequence[Installed] = (),
    indexes: Sequence[Index] = (),
) -> tuple[LockedPackage, ...]:
    return resolver(uv, config).resolve(
        requirements, python="3.12.3", platform=AMD64, glibc="2.39", indexes=indexes, installed=installed
    )


def failed(
    stderr: str, *requirements: str, config: PipConfig | None = None, installed: Sequence[Installed] = ()
) -> ImgbuildError:
    with pytest.raises(ImgbuildError) as caught:
        ask(Uv([done(stderr=stderr, code=1)]), *requirements, config=config, installed=installed)
    return caught.value


def test_it_satisfies_the_port_and_nothing_asked_runs_nothing() -> None:
    runner: ProcessRunner = Uv([])
    port: Resolver = UvResolver(runner, config=PipConfig(), cache=Path("/cache"), environment={})
    assert port.resolve([], python="3.12", platform=AMD64, glibc="2.36", indexes=(), installed=()) == ()


def test_files_come_with_their_index_and_askers_and_what_the_base_has_is_left_out() -> None:
    uv = Uv([done(PYLOCK), done(ANNOTATED)])
    acme = Index(name="acme", url="https://me:secret@acme.example/simple/")
    assert ask(uv, "accelerate", installed=(TORCH, NUMPY), indexes=(acme,)) == (
        LockedPackage(
            name="accelerate",
            version="1.15.0",
            index="pypi",
            file="accelerate-1.15.0-py3-none-any.whl",
            sha256="ab",
            size=394295,
            requested_by=("matrix",),
        ),
        LockedPackage(
            name="acme-utils",
            version="3",
            index="acme",
            file="acme_utils-3-py3-none-any.whl",
            sha256="ef",
            requested_by=("accelerate",),
        ),
    )
    first, second = uv.calls
    assert first[:4] == ["/bin/uv", "pip", "compile", "requirements.in"]
    pairs = dict(itertools.pairwise(first))
    assert (pairs["--python-version"], pairs["--python-platform"], pairs["--only-binary"]) == (
        "3.12.3",
        "x86_64-manylinux_2_39",
        ":all:",
    )
    assert (pairs["--format"], pairs["--cache-dir"], pairs["--config-file"]) == ("pylock.toml", "/cache/uv", "uv.toml")
    assert "--emit-index-annotation" in second
    assert "secret" not in "".join([*first, *second])
    assert uv.files[1]["pins.txt"] == "accelerate==1.15.0\nacme-utils==3\n"


def test_uv_is_told_everything_in_files_only_this_user_may_read() -> None:
    uv = Uv([done(PYLOCK), done(ANNOTATED)])
    config = PipConfig(
        indexes=named_indexes("index", ["https://pypi.org/simple", "https://extra.example/simple"]),
        find_links=named_indexes("find-links", ["https://links.example/page.html", "/not/there"]),
        constraints=("/etc/constraints.txt",),
        trusted_hosts=("extra.example",),
    )
    ask(
        uv,
        "accelerate",
        "numpy>=1",
        config=config,
        installed=(TORCH,),
        indexes=(Index(name="acme", url="https://me:pw@acme.example/simple"),),
    )
    files = uv.files[0]
    assert uv.modes == [0o700, 0o700]
    assert files["requirements.in"] == "accelerate\nnumpy>=1\n"
    first, second = files["constraints.txt"].splitlines()
    assert first == "-c /etc/constraints.txt"
    assert second.startswith("torch @ file:///")
    assert second.endswith("/stubs/torch-2.9.0a0%2B145a3a7bda.nv25.10-py3-none-any.whl")
    assert tomllib.loads(files["uv.toml"]) == {
        "index-strategy": "first-index",
        "no-index": False,
        "find-links": ["https://links.example/page.html"],
        "allow-insecure-host": ["extra.example"],
        "index": [
            {"name": "n1", "url": "https://me:pw@acme.example/simple"},
            {"name": "n2", "url": "https://pypi.org/simple"},
            {"name": "n3", "url": "https://extra.example/simple", "default": True},
        ],
    }


def test_pips_certificates_proxy_and_patience_reach_uv_and_the_users_uv_variables_do_not() -> None:
    uv = Uv([done(PYLOCK), done(ANNOTATED)])
    config = PipConfig(cert="/ca.pem", client_cert="/me.pem", proxy="http://proxy:8080", timeout=180)
    one = resolver(uv, config, {"UV_INDEX_URL": "https://elsewhere", "HOME": "/root", "UV_EXCLUDE_NEWER": "2020"})
    with pytest.raises(ProgramError, match="uv did not say which index acme-utils 3 came from"):  # it was not told of that one
        one.resolve(["a"], python="3.12", platform=AMD64, glibc="2.36", indexes=(), installed=(TORCH,))
    assert uv.calls[0][:6] == ["env", "-u", "UV_EXCLUDE_NEWER", "-u", "UV_INDEX_URL", "/bin/uv"]
    assert uv.variables[0] == {
        "UV_HTTP_TIMEOUT": "180",
        "UV_HTTP_RETRIES": "4",
        "SSL_CERT_FILE": "/ca.pem",
        "SSL_CLIENT_CERT": "/me.pem",
        "ALL_PROXY": "http://proxy:8080",
        "HTTP_PROXY": "http://proxy:8080",
        "HTTPS_PROXY": "http://proxy:8080",
    }


def test_no_index_asks_no_index_not_even_the_variants_own() -> None:
    uv = Uv([done('lock-version = "1.0"'), done("")])
    ask(uv, "a", config=PipConfig(indexes=(), no_index=True), indexes=(Index(name="acme", url="https://acme.example"),))
    settings = tomllib.loads(uv.files[0]["uv.toml"])
    assert settings["no-index"] is True
    assert "index" not in settings


@pytest.mark.parametrize(
    ("python", "platform", "glibc", "message"),
    [
        ("3.13t", "linux/amd64", "2.36", "Python '3.13t' is not one that packages can be resolved for"),
        ("3.12", "linux/s390x", "2.36", "Python packages cannot be resolved for linux/s390x"),
        ("3.12", "windows/amd64", "2.36", "Python packages cannot be resolved for windows/amd64"),
        ("3.12", "linux/amd64", "2.12", "the base has glibc 2.12, and packages are resolved for glibc 2.17 or newer only"),
    ],
)
def test_a_place_uv_cannot_resolve_for_is_said_in_words(python: str, platform: str, glibc: str, message: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        resolver(Uv([])).resolve(["a"], python=python, platform=Platform.parse(platform), glibc=glibc, indexes=(), installed=())
    assert caught.value.message == message


def test_a_base_without_glibc_is_refused() -> None:
    with pytest.raises(UnsatisfiableError, match=r"the base has no glibc \(musl"):
        resolver(Uv([])).resolve(["a"], python="3.12", platform=AMD64, glibc=None, indexes=(), installed=())


@pytest.mark.parametrize(
    ("glibc", "platform"),
    [("2.17", "x86_64-manylinux_2_17"), ("2.30", "x86_64-manylinux_2_28"), ("2.43", "x86_64-manylinux_2_40")],
)
def test_the_c_library_is_rounded_down_to_what_uv_knows(glibc: str, platform: str) -> None:
    uv = Uv([done('lock-version = "1.0"'), done("")])
    resolver(uv).resolve(["a"], python="3.12", platform=AMD64, glibc=glibc, indexes=(), installed=())
    assert platform in uv.calls[0]


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ("-r /etc/passwd", "'-r /etc/passwd' is not a requirement"),
        ("--index-url https://evil.example", "is not a requirement"),
        ("a\n--index-url https://evil.example", "is not a requirement"),
        ("a @ https://example.org/a.whl", "a is asked for by URL, and a lock holds no URLs"),
    ],
)
def test_only_names_and_versions_are_asked_for(requirement: str, message: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        ask(Uv([]), requirement)
    assert message in caught.value.message


NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: "
END = ", we can conclude that your requirements are unsatisfiable.\n"


def test_every_plain_conflict_with_the_base_is_named_at_once() -> None:
    text = NO_SOLUTION + "Because only numpy<2.5 is available and you require numpy>=2.5" + END
    error = failed(text, "numpy>=2.5", "torch>=2.9", "accelerate", installed=(TORCH, NUMPY))
    assert isinstance(error, UnsatisfiableError)
    assert error.message == (
        "the base has numpy 1.26.4, your matrix asks numpy>=2.5; "
        "the base has torch 2.9.0a0+145a3a7bda.nv25.10, your matrix asks torch>=2.9"
    )
    assert error.details[1].startswith("cause: Because only numpy<2.5 is available")


def test_a_pre_release_of_the_base_meets_a_prefix() -> None:
    error = failed(NO_SOLUTION + "Because x and y.", "torch==2.9.*", installed=(TORCH,))
    assert error.message == "no versions fit together for Python 3.12.3 on linux/amd64 with glibc 2.39: because x and y"


def test_a_conflict_further_down_names_the_base_too() -> None:
    text = NO_SOLUTION + "Because only numpy<2.0 is available and jax>=0.8.0 depends on numpy>=2.0, and you require jax" + END
    error = failed(text, "jax", installed=(NUMPY,))
    assert error.message == (
        "the base has numpy 1.26.4, which does not fit: "
        "because only numpy<2.0 is available and jax>=0.8.0 depends on numpy>=2.0, and you require jax"
    )


def test_a_package_without_a_wheel_is_refused_with_a_way_out() -> None:
    text = (
        NO_SOLUTION
        + "Because sgmllib3k==1.0.0 has no usable wheels and you require sgmllib3k"
        + END
        + "hint: Wheels are required for `sgmllib3k` because building from source is disabled\n"
    )
    error = failed(text, "sgmllib3k")
    assert isinstance(error, UnsatisfiableError)
    assert error.message.startswith(
        "there is no wheel for Python 3.12.3 on linux/amd64 with glibc 2.39: because sgmllib3k==1.0.0 has"
    )
    assert "never builds from source" in (error.hint or "")


def test_uvs_advice_about_its_own_options_is_not_passed_on() -> None:
    text = NO_SOLUTION + (
        "Because there is no version of numpy==99 and you require numpy==99.\n"
        "hint: `numpy` was found on https://pypi.org/simple, but not at the requested version. By default, uv will only consider "
        "versions that are published on the first index. Use `--index-strategy unsafe-best-match` to consider all, "
        "regardless of the order in which they were defined.\n"
    )
    error = failed(text, "numpy==99", config=PipConfig(constraints=("https://me:pw@h.example/c.txt",)))
    assert error.details[-1] == (
        "hint: `numpy` was found on <pypi>, but not at the requested version. "
        "imgbuild takes a name only from the first index that has it."
    )
    assert (error.hint or "").endswith("pip's configuration adds the constraints of https://****@h.example/c.txt")


DOWN = """error: Request failed after 3 retries in 9.1s
  cause: Failed to fetch: https://me:secret@down.example/simple/numpy/
  cause: dns error
"""
LINKS = """error: Failed to read `--find-links` URL: http://127.0.0.1:1/x
  cause: Connection refused (os error 111)
"""
UNTRUSTED = """error: Failed to fetch: https://proxied.example/simple/numpy/
  cause: client error (Connect)
  cause: invalid peer certificate: UnknownIssuer
"""
UNAUTHORISED = """error: No solution found when resolving dependencies
  cause: Because numpy was not found.
hint: An index URL (https://priv.example/simple) could not be queried due to a lack of valid authentication (401 Unauthorized)
"""


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        (DOWN, "the package index at down.example could not be asked: dns error"),
        (LINKS, "the package index at 127.0.0.1:1 could not be asked: connection refused"),
        (UNAUTHORISED, "the package index at priv.example wants credentials and got none it takes (401)"),
    ],
)
def test_an_index_that_cannot_be_asked_is_not_an_answer(stderr: str, message: str) -> None:
    error = failed(stderr, "numpy")
    assert isinstance(error, UnreachableError)
    assert error.message == message
    assert "secret" not in "".join(error.details)


def test_a_certificate_of_an_authority_that_is_not_trusted() -> None:
    error = failed(UNTRUSTED, "numpy")
    assert error.message.endswith("at proxied.example could not be asked: invalid peer certificate: UnknownIssuer")
    assert "this host's certificates" in (error.hint or "")


def test_no_answer_in_time_is_unreachable() -> None:
    with pytest.raises(UnreachableError, match="did not answer within 900 seconds"):
        ask(Uv([done(code=-15, timed_out=True)]), "numpy")


def test_anything_else_is_uvs_own_failure() -> None:
    error = failed("error: unexpected argument '--format' found\n", "numpy")
    assert isinstance(error, ProgramError)
    assert error.message == "uv could not resolve the packages: unexpected argument '--format' found"


def test_a_distribution_of_the_base_that_compares_with_nothing_is_never_replaced() -> None:
    odd = Installed(name="acme_utils", version="2025-snapshot")
    with pytest.raises(UnsatisfiableError, match="the base has acme-utils 2025-snapshot, whose version cannot be compared"):
        ask(
            Uv([done(PYLOCK), done(ANNOTATED)]),
            "accelerate",
            installed=(odd, TORCH),
            indexes=(Index(name="a", url="https://acme.example/simple"),),
        )


def test_a_name_an_index_forbids_is_absent_when_it_has_another_and_refused_when_it_has_none() -> None:
    class Store(IndexPages):
        """An index on a plain file store: it forbids what it does not have."""

        def files(self, index: Index, name: str, *, forbidden_is_absent: bool = False) -> tuple[OfferedFile, ...]:
            if name == "torch" and index.name == "store":
                return (OfferedFile(file="torch-2-py3-none-any.whl", url="https://s.example/torch-2-py3-none-any.whl"),)
            if forbidden_is_absent:
                return ()
            msg = "the package index at s.example refuses the credentials, or wants some (it answered 403)"
            raise UnreachableError(msg, hint="put them there")

    def asked(name: str) -> Uv:
        uv = Uv([done('lock-version = "1.0"'), done("")])
        config = PipConfig()
        pages = Store(NoPages(config), links=frozenset())
        one = UvResolver(uv, config=config, cache=Path("/cache"), environment={}, pages=pages, program="/bin/uv")
        own = Index(name=name, url="https://s.example", only=("torch", "pytorch-triton"))
        one.resolve(["torch"], python="3.12", platform=AMD64, glibc="2.36", indexes=(own,), installed=())
        return uv

    page = asked("store").files[0]["index.html"]
    assert '<a href="https://s.example/torch-2-py3-none-any.whl">torch-2-py3-none-any.whl</a>' in page
    with pytest.raises(UnreachableError, match="it answered 403"):
        asked("private")
