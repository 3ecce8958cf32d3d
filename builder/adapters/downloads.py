"""HTTP for package indexes: patient with what passes, quick with what does not, resuming what was cut.

Retried are 429 (as ``Retry-After`` says), 5xx, resets and cut streams, as long as less than
``budget`` seconds went by without a byte. Certificates, proxy, trusted hosts and time limits are
pip's; ``~/.netrc`` and the proxy variables count as they do for every program that uses requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import requests
import urllib3

from builder.adapters.files import disk_errors
from builder.adapters.pip_config import PipConfig
from builder.errors import UnreachableError

_RETRIED = {408, 425, 429, 500, 502, 503, 504}
_GONE = frozenset({404, 410})
_FORBIDDEN = 403
_REFUSED = frozenset({401, _FORBIDDEN})
_OK = 200
_PARTIAL = 206
_BAD_RANGE = 416
CHUNK = 256 * 1024
"""Bytes that are written at a time."""
_FIRST_DELAY = 0.5
_LONGEST_DELAY = 15.0
_CONNECTS = 4
"""How often in a row a host is asked that cannot even be connected to."""
Progress = Callable[[int], None]


@dataclass(slots=True)
class _Patience:
    """How long one page or file is tried."""

    host: str
    budget: float
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    attempts: int = 0
    connects: int = 0
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.monotonic()

    def progressed(self) -> None:
        """Start counting anew: bytes came."""
        self.since = self.monotonic()
        self.attempts = self.connects = 0

    def again(self, reason: str, *, after: float | None = None, connected: bool = True) -> None:
        """Wait before the next attempt, or raise ``UnreachableError`` when there is to be none."""
        self.attempts += 1
        self.connects = 0 if connected else self.connects + 1
        delay = after if after is not None else min(_FIRST_DELAY * 2 ** (self.attempts - 1), _LONGEST_DELAY)
        left = self.budget - (self.monotonic() - self.since)
        if delay > left or self.connects >= _CONNECTS:
            tried = f"{self.attempts} time{'' if self.attempts == 1 else 's'}"
            msg = f"the package index at {self.host} could not be asked: {reason} (tried {tried})"
            raise UnreachableError(msg, hint=_hint(after)) from None
        self.sleep(delay)


def _hint(after: float | None) -> str:
    if after is not None:
        return f"it asks to wait {after:.0f} seconds; run the same command again then: what was downloaded is kept"
    return "look at the network, the proxy and pip's configuration (pip config list), then run the same command again"


class Downloads:
    """Pages and files over HTTP, with pip's certificates and proxy.

    ``budget`` is how many seconds without a byte are waited for one page or file.
    """

    def __init__(
        self,
        config: PipConfig,
        *,
        budget: float = 120.0,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._config = config
        self._budget = budget
        self._monotonic = monotonic
        self._sleep = sleep
        self._session = requests.Session()
        adapter = requests.adapters.HTTPAdapter(pool_connections=16, pool_maxsize=16)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)
        if config.trusted_hosts:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)

    def page(self, url: str, *, accept: str, forbidden_is_absent: bool = False) -> requests.Response | None:
        """Return an index page, ``None`` when there is none; credentials may stand in ``url``.

        ``forbidden_is_absent`` says that the answer 403 means that there is none.
        """
        absent = _GONE | {_FORBIDDEN} if forbidden_is_absent else _GONE
        patience = self._patience(url)
        while True:
            response = self._get(url, patience, {"Accept": accept}, owner=url, stream=False, absent=absent)
            if response is not None:
                return response if response.status_code == _OK else None

    def file(self, url: str, part: Path, *, owner: str, size: int | None, on_progress: Progress) -> bool:
        """Add to ``part`` until it is the whole file; return false when the index has no such file.

        What ``part`` holds already is not asked for again, where the server can resume. ``owner``
        is the index whose credentials count, on its own host only. More than ``size`` bytes are
        never written.
        """
        patience = self._patience(url)
        while True:
            have = part.stat().st_size if part.exists() else 0
            if size is not None and have >= size:
                return True
            headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
            response = self._get(url, patience, headers, owner=owner, stream=True)
            if response is None:
                continue
            with response:
                if response.status_code in _GONE:
                    return False
                if not _resumes(response, have):
                    part.unlink(missing_ok=True)
                    if response.status_code != _OK:
                        patience.again("it cannot resume a download")
                        continue
                if self._receive(response, part, size, patience, on_progress):
                    return True

    def _patience(self, url: str) -> _Patience:
        return _Patience(host=_host(url), budget=self._budget, monotonic=self._monotonic, sleep=self._sleep)

    def _get(
        self,
        url: str,
        patience: _Patience,
        headers: Mapping[str, str],
        *,
        owner: str,
        stream: bool,
        absent: AbstractSet[int] = _GONE,
    ) -> requests.Response | None:
        """Ask once; ``None`` when it is to be asked again, a response of 2xx, ``absent`` or 416 otherwise."""
        try:
            response = self._session.get(
                _bare(url),
                headers=headers,
                auth=_credentials(owner, url),
                stream=stream,
                timeout=(min(self._config.timeout, 30.0), self._config.timeout),
                verify=self._verify(url),
                cert=self._config.client_cert,
                proxies=dict.fromkeys(("http", "https"), self._config.proxy) if self._config.proxy else None,
            )
        except requests.exceptions.SSLError as error:
            msg = f"the package index at {patience.host} has a certificate that does not hold: {_reason(error)}"
            raise UnreachableError(msg, hint="name its authority's certificate with cert in pip's configuration") from error
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            patience.again(_reason(error), connected=not _never_connected(error))
            return None
        except requests.RequestException as error:
            msg = f"the package index at {patience.host} could not be asked: {_reason(error)}"
            raise UnreachableError(msg, hint=_hint(None)) from error
        except OSError as error:
            msg = f"the package index at {patience.host} could not be asked: a certificate cannot be read ({error})"
            raise UnreachableError(msg, hint="mend cert or client-cert in pip's configuration (pip config list)") from error
        return self._answered(response, patience, absent)

    @staticmethod
    def _answered(response: requests.Response, patience: _Patience, absent: AbstractSet[int]) -> requests.Response | None:
        status = response.status_code
        if status in _RETRIED:
            response.close()
            patience.again(f"it answered {status} {response.reason}", after=retry_after(response))
            return None
        if status in _REFUSED - absent:
            response.close()
            msg = f"the package index at {_host(response.url)} refuses the credentials, or wants some (it answered {status})"
            raise UnreachableError(msg, hint="put them into ~/.netrc, or into the index's URL in pip's configuration")
        if status not in {_OK, _PARTIAL, _BAD_RANGE} | absent:
            response.close()
            msg = f"the package index at {_host(response.url)} answered {status} {response.reason}"
            raise UnreachableError(msg, hint="look at the URL of the index in the matrix or in pip's configuration")
        return response

    def _receive(
        self, response: requests.Response, part: Path, size: int | None, patience: _Patience, on_progress: Progress
    ) -> bool:
        """Write what comes; return whether it came to its end.

        A body that says how long it is and ends sooner is an error of the connection, so one that
        does not fail is whole, whatever ``size`` says.
        """
        with disk_errors(f"downloading {part.name}", needed=size), part.open("ab") as stream:
            try:
                for chunk in response.iter_content(CHUNK):
                    stream.write(chunk)
                    patience.progressed()
                    on_progress(stream.tell())
                    if size is not None and stream.tell() > size:
                        return True
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                stream.flush()
                patience.again(_reason(error))
                return False
            received = stream.tell()
        if size is not None and received < size and "Content-Length" not in response.headers:
            patience.again(f"it sent {received} of {size} bytes")
            return False
        return True

    def _verify(self, url: str) -> bool | str:
        parts = urlsplit(url)
        names = {parts.hostname or "", f"{parts.hostname}:{parts.port}"}
        if names & set(self._config.trusted_hosts):
            return False
        return self._config.cert or True


def _resumes(response: requests.Response, have: int) -> bool:
    """Whether the body is to be added to the ``have`` bytes there are."""
    if response.status_code != _PARTIAL:
        return have == 0 and response.status_code == _OK
    return response.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _bare(url: str) -> str:
    """Return a URL without user name and password; they travel in a header, and only to their own host."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=_host(url)))


def _credentials(owner: str, url: str) -> tuple[str, str] | None:
    """Return the index's credentials when the file is on the index's own host, else ``None`` (then netrc counts)."""
    parts = urlsplit(owner)
    if parts.username is None or _host(owner) != _host(url) or parts.scheme != urlsplit(url).scheme:
        return None
    return unquote(parts.username), unquote(parts.password or "")


def retry_after(response: requests.Response) -> float | None:
    """Return the seconds of ``Retry-After``; a date is compared with the server's own ``Date``."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdigit():
        return float(text)
    try:
        delay = parsedate_to_datetime(text) - parsedate_to_datetime(response.headers["Date"])
    except (ValueError, TypeError, KeyError):
        return None
    return max(0.0, delay.total_seconds())


def _never_connected(error: requests.RequestException) -> bool:
    if isinstance(error, requests.ConnectTimeout):
        return True
    cause = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(cause, urllib3.exceptions.NewConnectionError)


def _reason(error: requests.RequestException) -> str:
    """Return the innermost reason in words, without URLs."""
    cause: object = error.args[0] if error.args else error
    inner = getattr(cause, "reason", None) or cause
    if isinstance(inner, urllib3.exceptions.NameResolutionError):
        return "its name is not known here"
    if isinstance(error, requests.Timeout):
        return "it did not answer in time"
    return str(inner).rpartition(": ")[2].strip("()' ") or type(error).__name__
