"""The Docker daemon through Docker's own Python SDK, for sockets and for TCP.

Importing this costs a tenth of a second; only an engine that has found such an endpoint does.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from docker.api import APIClient
from docker.constants import DEFAULT_DOCKER_API_VERSION
from docker.errors import APIError, DockerException
from docker.tls import TLSConfig
from packaging.version import Version
from requests.exceptions import RequestException, Timeout

from builder.adapters.docker_daemon import SECONDS, SILENT, DaemonRefusedError, not_answering, not_reached, says_absent
from builder.adapters.docker_endpoint import Endpoint
from builder.adapters.image_json import not_understood
from builder.errors import HostBlockedError, InterruptedRunError
from builder.ports import ProcessRunner

T = TypeVar("T")
_LOOK_SECONDS = 0.2


class DaemonBySdk:
    """The daemon behind a socket, or a TCP port with or without TLS.

    Each question has a connection of its own, closed when it is answered, so that threads share
    nothing. A stop of ``processes`` ends a question that waits, as it ends programs.
    """

    def __init__(self, endpoint: Endpoint, processes: ProcessRunner, *, seconds: int = SECONDS) -> None:
        self._endpoint = endpoint
        self._processes = processes
        self._seconds = seconds
        self._api: str | None = None

    def info(self) -> Mapping[str, Any]:
        """Return what it says about itself."""
        try:
            return self._object(lambda client: client.info(), ["docker", "info"])
        except DaemonRefusedError as refused:
            raise not_answering(refused.said) from refused

    def image(self, reference: str) -> Mapping[str, Any] | None:
        """Return what it says about an image."""
        try:
            return self._object(lambda client: client.inspect_image(reference), ["docker", "image", "inspect", reference])
        except DaemonRefusedError as refused:
            if says_absent(refused.said):
                return None
            raise

    def layer_sizes(self, reference: str) -> Sequence[int]:
        """Return the unpacked bytes of each layer."""
        layers = self._ask(lambda client: client.history(reference), ["docker", "history", reference])
        return [int(layer.get("Size") or 0) for layer in layers]

    def remove_image(self, reference: str) -> None:
        """Remove a tag or image."""
        try:
            self._ask(lambda client: client.remove_image(reference), ["docker", "image", "rm", reference])
        except DaemonRefusedError as refused:
            if not says_absent(refused.said):
                raise

    def _object(self, question: Callable[[Any], Any], argv: Sequence[str]) -> Mapping[str, Any]:
        found = self._ask(question, argv)
        if not isinstance(found, dict):
            raise not_understood(repr(found), " ".join(argv))
        return found

    def _ask(self, question: Callable[[Any], Any], argv: Sequence[str]) -> Any:  # noqa: ANN401 - JSON of the daemon
        def work() -> Any:  # noqa: ANN401 - as above
            self._endpoint.knock()
            with contextlib.closing(self._client(self._agreed_api())) as client:
                return question(client)

        try:
            return self._bounded(work)
        except APIError as error:
            raise DaemonRefusedError(str(error.explanation or error), argv) from error
        except (DockerException, RequestException, OSError) as error:
            raise self._lost(error) from error
        except (ValueError, LookupError, TypeError) as error:
            raise not_understood(str(error), " ".join(argv)) from error

    def _agreed_api(self) -> str:
        """Return the newest version of the API that the SDK knows and the daemon has, asked once."""
        if self._api is None:
            with contextlib.closing(self._client(DEFAULT_DOCKER_API_VERSION)) as client:
                found = client.version(api_version=False)
            newest, oldest = Version(found["ApiVersion"]), Version(found.get("MinAPIVersion") or found["ApiVersion"])
            self._api = str(min(newest, max(oldest, Version(DEFAULT_DOCKER_API_VERSION))))
        return self._api

    def _client(self, api: str) -> APIClient:
        files = {name: str(path) for name, path in self._endpoint.tls.items()}
        pair = (files["cert.pem"], files["key.pem"]) if {"cert.pem", "key.pem"} <= set(files) else None
        tls = TLSConfig(client_cert=pair, ca_cert=files["ca.pem"], verify=True) if files else False
        client = APIClient(base_url=self._endpoint.host, version=api, timeout=self._seconds, tls=tls)
        client.trust_env = False  # else REQUESTS_CA_BUNDLE would stand in for the daemon's own authority
        return client

    def _bounded(self, work: Callable[[], T]) -> T:
        """Do something that waits for the daemon, and give up when the time is over or a stop comes."""
        self._refuse_stopped()
        call = _Call(work)
        call.start()
        until = time.monotonic() + self._seconds
        while call.is_alive():
            call.join(_LOOK_SECONDS)
            self._refuse_stopped()
            if call.is_alive() and time.monotonic() > until:
                raise not_answering(SILENT)
        return call.result()

    def _refuse_stopped(self) -> None:
        if self._processes.stopping:
            msg = "interrupted while asking docker"
            raise InterruptedRunError(msg, hint="run the same command again to go on")

    def _lost(self, error: BaseException) -> HostBlockedError:
        """Return the error for a daemon that was not reached, by the first cause in the chain that says something."""
        causes = list(_chain(error))
        if any(isinstance(cause, TimeoutError | Timeout) for cause in causes):
            return not_answering(SILENT)
        known = [cause for cause in causes if isinstance(cause, OSError) and cause.strerror]
        if known:
            return not_reached(self._endpoint.host, known[-1])
        return not_answering(f"{self._endpoint.host}: {causes[-1]}")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class _Call(threading.Thread, Generic[T]):
    """One question in a thread of its own, which keeps nobody from ending."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(name="docker", daemon=True)
        self._work = work
        self._results: list[T] = []
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._results[0]
