"""Requests to registries: verified TLS, proxies, redirects that leak nothing, and retries within a budget.

Nothing here knows images. Errors name hosts only: a URL may carry a signature, a header a password.
"""

from __future__ import annotations

import email.utils
import http.cookiejar
import ipaddress
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import requests
import urllib3.exceptions

from builder import __version__
from builder.adapters.authorities import host_bundle, named_bundle
from builder.errors import UnreachableError

_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_BAD_REQUEST = 400
_TOO_MANY_REQUESTS = 429
_OVER = "the time for it is over"
_CHUNK = 64 * 1024
_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3}[ \w-]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a registry is waited for, in seconds: for a connection, between bytes, and in all."""

    connect: float = 10.0
    read: float = 30.0
    total: float = 90.0
    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 15.0

    def wait(self, attempt: int) -> float:
        """Return the pause after the attempt of this number (from 1), doubling each time."""
        return min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request: ``limit`` is the most bytes of body that are read, ``what`` names it in errors."""

    method: str
    url: str
    what: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    limit: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _TryAgain(Exception):  # noqa: N818 - not an error yet
    """An attempt failed in a way that may pass; ``wait`` is what the server asked for, in seconds."""

    def __init__(self, why: str, *, wait: float | None = None, hint: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.wait = wait
        self.hint = hint


class Transport:
    """Sends requests; safe to share between threads.

    ``environ`` is where proxies and certificate files are read (``HTTPS_PROXY``, ``NO_PROXY``,
    ``SSL_CERT_FILE``, ``REQUESTS_CA_BUNDLE``).
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.patience = patience or Patience()
        self.monotonic = monotonic
        self._environ = environ
        self._sleep = sleep
        self._local = threading.local()

    def send(self, ask: Ask) -> Answer:
        """Return the answer, whatever its status; ``UnreachableError`` when there is none in time."""
        deadline = self.monotonic() + self.patience.total
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._follow(ask, deadline)
            except _TryAgain as trouble:
                wait = self.patience.wait(attempt) if trouble.wait is None else trouble.wait
                left = deadline - self.monotonic()
                if attempt >= self.patience.attempts or wait >= left:
                    raise _gave_up(ask, trouble, attempt) from trouble
                self._sleep(wait)

    def speaks_http(self, host: str) -> bool:
        """Return whether a loopback host answers plain HTTP; a TLS port answers 400, or hangs up."""
        address = f"http://{host}/v2/"
        timeout = (self.patience.connect, self.patience.connect)
        try:
            reply = self._session.request("GET", address, timeout=timeout, allow_redirects=False, stream=True)
        except requests.ConnectionError as error:
            return "refused" in _why(error)
        except requests.RequestException:
            return True
        with reply:
            return reply.status_code != _BAD_REQUEST

    @property
    def _session(self) -> requests.Session:
        """One session per thread: connections are kept, cookies and netrc are not."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = requests.Session()
            session.trust_env = False
            session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
            session.headers.clear()
            self._local.session = session
        return session

    def _follow(self, ask: Ask, deadline: float) -> Answer:
        """Send once, and follow redirects; what authorises stays with the host it was meant for."""
        url, headers = ask.url, {"User-Agent": f"imgbuild/{__version__}", "Accept-Encoding": "identity", **ask.headers}
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._once(ask, url, headers, deadline)
            if ask.form is not None or answer.status not in _REDIRECTS or "location" not in answer.headers:
                return answer
            target = urllib.parse.urljoin(url, answer.headers["location"])
            if not _may_follow(url, target):
                raise _misled(url, f"redirected {ask.what} to an address without TLS")
            if _origin(target) != _origin(url):
                headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
            url = target
        raise _misled(ask.url, f"redirected {ask.what} in a circle")

    def _once(self, ask: Ask, url: str, headers: Mapping[str, str], deadline: float) -> Answer:
        left = deadline - self.monotonic()
        if left <= 0:
            raise _TryAgain(_OVER)
        try:
            reply = self._session.request(
                ask.method,
                url,
                headers=headers,
                data=ask.form,
                timeout=(min(self.patience.connect, left), min(self.patience.read, left)),
                allow_redirects=False,
                stream=True,
                verify=self._certificates(),
                proxies=dict(self._proxies(url)),
            )
            with reply:
                body = self._read(ask, reply, deadline) if ask.method != "HEAD" else b""
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise self._trouble(url, error) from error
        answer = Answer(
            status=reply.status_code, headers={name.lower(): value for name, value in reply.headers.items()}, body=body
        )
        if answer.status in _AGAIN:
            raise _busy(answer)
        return answer

    def _read(self, ask: Ask, reply: requests.Response, deadline: float) -> bytes:
        body = bytearray()
        for chunk in reply.iter_content(_CHUNK):
            body += chunk
            if len(body) > ask.limit:
                msg = f"{host_of(ask.url)!r} sent more than {ask.limit} bytes for {ask.what}"
                raise UnreachableError(msg, hint="check the image's name; this is not an image manifest or config")
            if self.monotonic() > deadline:
                raise _TryAgain(_OVER)
        return bytes(body)

    def _certificates(self) -> str | bool:
        named = named_bundle(self._environ)
        if named is None:
            return host_bundle() or True
        variable, path = named
        if not Path(path).exists():
            msg = f"the certificate bundle {path!r} that {variable} names is not there"
            raise UnreachableError(msg, hint=f"correct or unset {variable}")
        return path

    def _proxies(self, url: str) -> Mapping[str, str]:
        """Return the proxy for a URL as requests takes it; loopback is never asked through one."""
        parts = urllib.parse.urlsplit(url)
        if is_loopback(parts.netloc):
            return MappingProxyType({})
        exempt = self._variable("no_proxy")
        if exempt and requests.utils.should_bypass_proxies(url, exempt):
            return MappingProxyType({})
        proxy = self._variable(f"{parts.scheme}_proxy") or self._variable("all_proxy")
        return {parts.scheme: proxy if "://" in proxy else f"http://{proxy}"} if proxy else {}

    def _variable(self, name: str) -> str:
        return self._environ.get(name) or self._environ.get(name.upper(), "")

    def _trouble(self, url: str, error: Exception) -> Exception:
        """Return what to raise for a failed attempt: some failures do not pass by waiting."""
        host = host_of(url)
        if isinstance(error, requests.exceptions.ProxyError):
            return self._proxy_trouble(url, error)
        if isinstance(error, requests.exceptions.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error).upper():
            return UnreachableError(
                f"the TLS certificate of {host!r} is not trusted here",
                hint="set SSL_CERT_FILE to a bundle that holds the authority which signed it",
            )
        if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
            return UnreachableError(f"{host!r} is not an address that can be asked", hint="correct the registry's name")
        return _TryAgain(_why(error))

    def _proxy_trouble(self, url: str, error: Exception) -> Exception:
        proxy = host_of(next(iter(self._proxies(url).values()), ""))
        match = _TUNNEL.search(str(error))
        if match is None:
            return _TryAgain(f"its proxy {proxy!r} could not be reached", hint="check HTTPS_PROXY and NO_PROXY")
        return UnreachableError(
            f"the proxy {proxy!r} does not let us reach {host_of(url)!r}: {match[1].strip()}",
            hint="check HTTPS_PROXY and NO_PROXY, or use `mirrors:` in the matrix",
        )


def is_loopback(host: str) -> bool:
    """Return whether ``host[:port]`` is this machine itself, by name or address."""
    name = urllib.parse.urlsplit(f"//{host}").hostname or ""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> str:
    """Return ``host[:port]`` of a URL, without user and password."""
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]


def _origin(url: str) -> tuple[str, str]:
    return urllib.parse.urlsplit(url).scheme, host_of(url).lower()


def _may_follow(url: str, target: str) -> bool:
    """TLS may lead to TLS; plain HTTP on loopback to TLS, or to loopback again."""
    scheme, host = _origin(target)
    return scheme == "https" or (scheme == "http" and _origin(url)[0] == "http" and is_loopback(host))


def _misled(url: str, how: str) -> UnreachableError:
    return UnreachableError(f"{host_of(url)!r} {how}", hint="ask whoever runs that registry, or use `mirrors:` in the matrix")


def _busy(answer: Answer) -> _TryAgain:
    """Return the pause that a 429 or 5xx asks for, in ``Retry-After`` as seconds or as a date."""
    if answer.status != _TOO_MANY_REQUESTS:
        return _TryAgain(f"it answered {answer.status}", wait=_retry_after(answer))
    return _TryAgain(
        "it answered 429: too many requests",
        wait=_retry_after(answer),
        hint="wait a while; log in with `docker login` or `podman login` for a higher limit, or use `mirrors:` in the matrix",
    )


def _retry_after(answer: Answer) -> float | None:
    text = answer.headers.get("retry-after", "").strip()
    if text.isdigit():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text)
        sent = email.utils.parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return None
    return max((moment - sent).total_seconds(), 0.0) if (moment.tzinfo is None) == (sent.tzinfo is None) else None


def _why(error: Exception) -> str:
    """Return a failed attempt in words, without its URL."""
    text = str(error)
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, requests.exceptions.Timeout) or "timed out" in text:
        return "no answer in time"
    known = {
        "NameResolutionError": "its name cannot be resolved",
        "Name or service not known": "its name cannot be resolved",
        "Connection refused": "it refused the connection",
        "Network is unreachable": "the network is unreachable",
        "No route to host": "no route leads to it",
        "IncompleteRead": "its answer was cut short",
        "reset by peer": "it reset the connection",
        "RemoteDisconnected": "it hung up",
        "SSLError": "TLS failed",
    }
    return next((words for mark, words in known.items() if mark in text), "the connection failed")


def _gave_up(ask: Ask, trouble: _TryAgain, attempts: int) -> UnreachableError:
    times = "once" if attempts == 1 else f"{attempts} times"
    asked = f"; it asks to wait {trouble.wait:.0f} s" if trouble.wait else ""
    hint = trouble.hint or "check the network, HTTPS_PROXY and the registry's name, then run it again"
    return UnreachableError(f"{host_of(ask.url)!r} could not be asked for {ask.what} ({times}): {trouble.why}{asked}", hint=hint)
