"""Logins and tokens for registries: challenges as they are written, Docker's and podman's login files, token servers."""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from builder.adapters.registry_http import Answer, Ask, Transport, host_of, is_loopback
from builder.errors import UnreachableError

_HUB = "docker.io"
_HUB_KEYS = ("index.docker.io", _HUB, "registry-1.docker.io")
_WORD_CHARACTERS = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_WORD = re.compile(rf"\s*,?\s*(?P<name>{_WORD_CHARACTERS})(?:\s*=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<plain>[^\s,\"]+)))?")
_DEFAULT_SECONDS = 60.0
_MARGIN_SECONDS = 10.0
_REFUSALS = frozenset({400, 401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """One way to log in that a 401 offers: ``scheme`` and the names of ``parameters`` in lower case."""

    scheme: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A user's login for a registry; ``identity`` is a refresh token. ``helper`` names what keeps it, if not the file."""

    user: str = ""
    password: str = field(default="", repr=False)
    identity: str = field(default="", repr=False)
    helper: str = ""

    @property
    def basic(self) -> str:
        """The value of a Basic ``Authorization`` header."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


def parse_challenges(header: str) -> tuple[Challenge, ...]:
    """Read a ``WWW-Authenticate`` header: any number of challenges, parameters in any order."""
    found: list[tuple[str, dict[str, str]]] = []
    place = 0
    while match := _WORD.match(header, place):
        place = match.end()
        value = match["plain"] if match["quoted"] is None else re.sub(r"\\(.)", r"\1", match["quoted"])
        if value is None:
            found.append((match["name"].lower(), {}))
        elif found:
            found[-1][1].setdefault(match["name"].lower(), value)
    return tuple(Challenge(scheme=scheme, parameters=parameters) for scheme, parameters in found)


def login_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return where Docker and podman keep logins, the one to ask first at the head."""
    home = environ.get("HOME", "")
    run, config = environ.get("XDG_RUNTIME_DIR", ""), environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    docker = environ.get("DOCKER_CONFIG") or (f"{home}/.docker" if home else "")
    files = (
        environ.get("REGISTRY_AUTH_FILE", ""),
        docker and f"{docker}/config.json",
        run and f"{run}/containers/auth.json",
        config and f"{config}/containers/auth.json",
    )
    return tuple(Path(file) for file in files if file)


class Logins:
    """The logins in Docker's and podman's own files, read when a registry asks for one.

    Credential helpers are not run yet; a login that one keeps is answered with its ``helper``.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = tuple(files)

    def find(self, registry: str, repository: str) -> Login | None:
        """Return the login for ``registry/repository``: the longest key that covers it, in the first file that has one."""
        kept = None
        for file in self._files:
            document = _read(file)
            login = _from_auths(document.get("auths"), registry, repository)
            if login is not None:
                return login
            kept = kept or _from_helpers(document, registry)
        return kept


def _read(file: Path) -> Mapping[str, object]:
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unusable(file, error.strerror or "it cannot be read") from error
    except ValueError as error:
        raise _unusable(file, "it is not JSON") from error
    if not isinstance(document, dict):
        raise _unusable(file, "it is not a JSON object")
    return document


def _unusable(file: Path, why: str) -> UnreachableError:
    return UnreachableError(
        f"the logins in {str(file)!r} cannot be used: {why}", hint="mend or remove that file, then log in again"
    )


def _keys(registry: str, repository: str) -> tuple[str, ...]:
    """Return every key that covers a repository, the narrowest first."""
    names = _HUB_KEYS if registry == _HUB else (registry,)
    parts = repository.split("/")
    paths = ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return tuple(f"{name}/{path}" for name in names for path in paths) + names


def _bare(key: str) -> str:
    """Return a key of ``auths`` without scheme and API version: ``https://index.docker.io/v1/`` is ``index.docker.io``."""
    key = key.partition("://")[2] or key
    return re.sub(r"/v[12]/?$", "", key).rstrip("/")


def _from_auths(auths: object, registry: str, repository: str) -> Login | None:
    if not isinstance(auths, dict):
        return None
    entries = {_bare(key): entry for key, entry in auths.items() if isinstance(entry, dict)}
    for key in _keys(registry, repository):
        login = _login(entries[key]) if key in entries else None
        if login is not None:
            return login
    return None


def _login(entry: Mapping[str, object]) -> Login | None:
    """Return the login of one entry, ``None`` when it holds none (a helper keeps it)."""
    identity = str(entry.get("identitytoken") or "")
    user, password = str(entry.get("username") or ""), str(entry.get("password") or "")
    if auth := entry.get("auth"):
        try:
            user, _, password = base64.b64decode(str(auth), validate=True).decode().rstrip("\0").partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
    return Login(user=user, password=password, identity=identity) if identity or user else None


def _from_helpers(document: Mapping[str, object], registry: str) -> Login | None:
    helpers = document.get("credHelpers")
    helper = helpers.get(registry) if isinstance(helpers, dict) else None
    helper = helper or document.get("credsStore")
    return Login(helper=str(helper)) if helper else None


class Authorizer:
    """Answers a registry's challenges; keeps one token per registry and scope until it runs out."""

    def __init__(self, transport: Transport, logins: Logins) -> None:
        self._transport = transport
        self._logins = logins
        self._tokens: dict[tuple[str, str], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def known(self, registry: str, scope: str) -> Mapping[str, str]:
        """Return the header of a token that is still good, empty when there is none."""
        with self._lock:
            value, until = self._tokens.get((registry, scope), ("", 0.0))
        return {"Authorization": value} if value and self._transport.monotonic() < until else {}

    def answer(self, refused: Answer, *, registry: str, repository: str, scope: str) -> Mapping[str, str]:
        """Return the header that answers a 401, empty when nothing we have can.

        The challenge is read anew each time: a realm may change. ``UnreachableError`` when the
        token server refuses the login we have.
        """
        challenges = parse_challenges(refused.headers.get("www-authenticate", ""))
        login = self._logins.find(registry, repository)
        for challenge in challenges:
            if challenge.scheme == "bearer" and challenge.parameters.get("realm"):
                value, seconds = self._token(challenge, registry, repository, scope, login)
                break
            if challenge.scheme == "basic" and login is not None and login.user:
                value, seconds = login.basic, float("inf")
                break
        else:
            return {}
        with self._lock:
            self._tokens[registry, scope] = (value, self._transport.monotonic() + seconds)
        return {"Authorization": value}

    def hint(self, registry: str, repository: str) -> str:
        """Return what to do about a refusal, for its error."""
        login = self._logins.find(registry, repository)
        command = f"run `docker login {registry}` or `podman login {registry}`"
        if login is None:
            return f"check the image's name; if it is private, {command}"
        if login.helper:
            return f"the login is kept by the helper {login.helper!r}, which cannot be asked yet; {command} without a helper"
        return f"check that {login.user or 'the login'!r} may read it; else {command} with another account"

    def _token(self, challenge: Challenge, registry: str, repository: str, scope: str, login: Login | None) -> tuple[str, float]:
        realm, parameters = challenge.parameters["realm"], dict(challenge.parameters)
        if urllib.parse.urlsplit(realm).scheme != "https" and not is_loopback(host_of(realm)):
            msg = f"{registry!r} names a token server without TLS: {host_of(realm)!r}"
            raise UnreachableError(msg, hint="ask whoever runs that registry; no login is sent over plain HTTP")
        asked = {name: parameters[name] for name in ("service",) if parameters.get(name)}
        asked["scope"] = parameters.get("scope") or scope
        answer = self._transport.send(_token_request(realm, asked, login, what=f"a token for {registry!r}"))
        if answer.status in _REFUSALS:
            who = f"the login of {login.user!r}" if login is not None and login.user else "a request without a login"
            msg = f"{host_of(realm)!r} refused {who} for {registry!r}: {answer.status}"
            raise UnreachableError(msg, hint=self.hint(registry, repository))
        return _read_token(answer, realm)


def _token_request(realm: str, asked: Mapping[str, str], login: Login | None, *, what: str) -> Ask:
    if login is not None and login.identity:
        form = {"grant_type": "refresh_token", "refresh_token": login.identity, "client_id": "imgbuild", **asked}
        return Ask(method="POST", url=realm, what=what, form=form)
    parts = urllib.parse.urlsplit(realm)
    query = [*urllib.parse.parse_qsl(parts.query), *asked.items()]
    headers = {}
    if login is not None and login.user:
        query.append(("account", login.user))
        headers["Authorization"] = login.basic
    url = parts._replace(query=urllib.parse.urlencode(query)).geturl()
    return Ask(method="GET", url=url, what=what, headers=headers)


def _read_token(answer: Answer, realm: str) -> tuple[str, float]:
    """Return the header's value and for how many seconds it is good."""
    try:
        document = json.loads(answer.body)
        token = document.get("token") or document.get("access_token")
        seconds = float(document.get("expires_in") or _DEFAULT_SECONDS)
    except (ValueError, TypeError, AttributeError):
        token, seconds = None, 0.0
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        msg = f"the token server {host_of(realm)!r} answered {answer.status} without a token"
        raise UnreachableError(msg, hint="try again later, or ask whoever runs that registry")
    return f"Bearer {token}", max(seconds - _MARGIN_SECONDS, seconds / 2)
