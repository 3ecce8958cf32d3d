"""The registry client against a registry on loopback that answers well, badly, late and not at all."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builder.adapters.registry import HttpRegistry
from builder.adapters.registry_http import Answer, Ask, Patience, Transport
from builder.errors import ImgbuildError, MismatchError, UnreachableError
from builder.model.oci import ImageReference, Platform
from builder.ports import Registry, ResolvedImage
from tests.unit.adapters.registry_server import OCI_INDEX, OCI_MANIFEST, RegistryServer, Reply, Seen, registry_server

pytestmark = pytest.mark.process

AMD64 = Platform("linux", "amd64")
ARM64 = Platform("linux", "arm64")


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry_server() as running:
        yield running


class Client:
    """A client that does not really wait; ``waits`` are the pauses it would have made."""

    def __init__(self, server: RegistryServer, tmp_path: Path, **options: Any) -> None:
        self.waits: list[float] = []
        self.time = 0.0
        self.server = server
        environ = {"HOME": str(tmp_path), **options.pop("environ", {})}
        patience = options.pop("patience", Patience(read=5.0, connect=5.0))
        transport = Transport(environ, patience=patience, sleep=self.sleep, monotonic=lambda: self.time)
        self.registry = HttpRegistry(environ, transport=transport, **options)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def resolve(self, name: str = "team/app:1", platform: Platform = AMD64) -> ResolvedImage | None:
        registry: Registry = self.registry
        return registry.resolve(ImageReference.parse(f"{self.server.address}/{name}"), platform)

    def fails(self, name: str = "team/app:1") -> ImgbuildError:
        with pytest.raises(ImgbuildError) as caught:
            self.resolve(name)
        assert caught.value.hint
        assert "Traceback" not in caught.value.message
        return caught.value


@pytest.fixture
def client(server: RegistryServer, tmp_path: Path) -> Client:
    return Client(server, tmp_path)


def test_an_image_without_an_index(client: Client, server: RegistryServer) -> None:
    descriptor = server.put_image("team/app", "1")
    found = client.resolve()
    assert found is not None
    assert str(found.digest) == descriptor["digest"]
    assert found.index_digest is None
    assert str(found.config_digest) == descriptor["config"]
    assert found.config["config"] == {"Env": ["A=1"]}
    assert found.size == 777
    assert server.asked == [
        "HEAD /v2/team/app/manifests/1",
        f"GET /v2/team/app/manifests/{descriptor['digest']}",
        f"GET /v2/team/app/blobs/{descriptor['config']}",
    ]


def test_an_index_gives_the_platform_and_its_attestations_are_ignored(client: Client, server: RegistryServer) -> None:
    amd64 = server.put_image("team/app", env="ON=amd64")
    arm64 = server.put_image("team/app", platform="linux/arm64/v8", env="ON=arm64")
    attestation = {**amd64, "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
    index = server.put_index("team/app", [attestation, amd64, arm64], "1")
    for platform, descriptor in ((AMD64, amd64), (ARM64, arm64)):
        found = client.resolve(platform=platform)
        assert found is not None
        assert (str(found.digest), str(found.index_digest)) == (descriptor["digest"], index)
    assert client.resolve(platform=Platform("linux", "s390x")) is None


def test_an_image_for_another_platform_is_none(client: Client, server: RegistryServer) -> None:
    server.put_image("team/app", "1", platform="linux/arm64")
    assert client.resolve() is None
    assert client.resolve(platform=ARM64) is not None


def test_an_index_whose_only_entry_names_no_platform_is_asked_further(client: Client, server: RegistryServer) -> None:
    entry = server.put_image("team/app")
    del entry["platform"]
    server.put_index("team/app", [entry], "1")
    assert client.resolve() is not None
    assert client.resolve(platform=ARM64) is None


def test_an_unknown_tag_is_none_after_one_question(client: Client, server: RegistryServer) -> None:
    assert client.resolve("team/app:nope") is None
    assert server.asked == ["HEAD /v2/team/app/manifests/nope"]


def test_an_index_of_a_lost_manifest_is_a_mismatch(client: Client, server: RegistryServer) -> None:
    entry = server.put_image("team/app")
    server.put_index("team/app", [entry], "1")
    del server.routes[f"/v2/team/app/manifests/{entry['digest']}"]
    error = client.fails()
    assert isinstance(error, MismatchError)
    assert entry["digest"] in error.message


def test_all_four_types_are_accepted_always(client: Client, server: RegistryServer) -> None:
    server.put_image("team/app", "1")
    client.resolve()
    for seen in server.seen[1:]:
        assert seen.headers["accept"].count("+json") == 4
        assert seen.headers["accept-encoding"] == "identity"
        assert seen.headers["user-agent"].startswith("imgbuild/")


def test_what_is_kept_by_digest_is_not_fetched_again(server: RegistryServer, tmp_path: Path) -> None:
    server.put_image("team/app", "1")
    first = Client(server, tmp_path, cache=tmp_path / "cache").resolve()
    server.seen.clear()
    again = Client(server, tmp_path, cache=tmp_path / "cache").resolve()
    assert again == first
    assert server.asked == ["HEAD /v2/team/app/manifests/1"]


def test_a_damaged_cache_is_no_cache(server: RegistryServer, tmp_path: Path) -> None:
    server.put_image("team/app", "1")
    first = Client(server, tmp_path, cache=tmp_path / "cache").resolve()
    for kept in (tmp_path / "cache").rglob("*"):
        if kept.is_file():
            kept.write_bytes(b"{}")
    assert Client(server, tmp_path, cache=tmp_path / "cache").resolve() == first


def test_a_cache_that_cannot_be_written_harms_nothing(server: RegistryServer, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    server.put_image("team/app", "1")
    assert Client(server, tmp_path, cache=tmp_path / "cache").resolve() is not None


def test_a_pinned_reference_is_asked_by_digest(client: Client, server: RegistryServer) -> None:
    descriptor = server.put_image("team/app")
    found = client.resolve(f"team/app:gone@{descriptor['digest']}")
    assert found is not None
    assert str(found.digest) == descriptor["digest"]
    assert all("gone" not in path for path in server.asked)


def test_a_registry_that_knows_no_head_is_asked_by_get(client: Client, server: RegistryServer) -> None:
    descriptor = server.put_image("team/app", "1")
    server.routes["HEAD /v2/team/app/manifests/1"] = Reply(status=405)
    found = client.resolve()
    assert found is not None
    assert str(found.digest) == descriptor["digest"]


def test_a_head_without_a_digest_is_followed_by_a_get(client: Client, server: RegistryServer) -> None:
    descriptor = server.put_image("team/app", "1")
    server.routes["HEAD /v2/team/app/manifests/1"] = Reply()
    found = client.resolve()
    assert found is not None
    assert str(found.digest) == descriptor["digest"]


def test_bytes_that_are_not_their_digest_are_refused(client: Client, server: RegistryServer) -> None:
    descriptor = server.put_image("team/app", "1")
    path = f"/v2/team/app/manifests/{descriptor['digest']}"
    server.routes[path] = Reply(body=b'{"mediaType": "x"}')
    error = client.fails()
    assert isinstance(error, MismatchError)
    assert descriptor["digest"] in error.message
    assert server.asked.count(f"GET {path}") == 3


def test_bytes_that_were_damaged_once_are_fetched_again(client: Client, server: RegistryServer) -> None:
    descriptor = server.put_image("team/app", "1")
    path = f"/v2/team/app/blobs/{descriptor['config']}"
    good = server.routes[path]
    assert isinstance(good, Reply)
    server.routes[path] = [Reply(body=b"{}"), good]
    assert client.resolve() is not None


@pytest.mark.parametrize(
    ("body", "media_type", "words"),
    [
        (b'{"schemaVersion": 1}', "application/vnd.docker.distribution.manifest.v1+prettyjws", "schema 1"),
        (b"<html>log in</html>", "text/html", "not JSON"),
        (b"[1]", OCI_MANIFEST, "not a JSON object"),
        (b'{"config": {"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": "sha256:%s", "size": 1}}', "", "helm"),
        (b'{"mediaType": "application/x-thing"}', "", "application/x-thing"),
        (b'{"config": {"digest": "md5:1", "size": 1}}', OCI_MANIFEST, "'md5:1'"),
        (b'{"config": {"digest": "sha256:%s", "size": -1}}', OCI_MANIFEST, "'-1'"),
        (b'{"manifests": "none"}', OCI_INDEX, "lists nothing"),
        (b'{"manifests": [7]}', OCI_INDEX, "not an object"),
    ],
)
def test_what_is_not_an_image_is_said(client: Client, server: RegistryServer, body: bytes, media_type: str, words: str) -> None:
    server.put("team/app", "manifests", body.replace(b"%s", b"0" * 64), media_type, "1")
    error = client.fails()
    assert isinstance(error, MismatchError)
    assert words in error.message


def test_an_index_in_itself_ends(client: Client, server: RegistryServer) -> None:
    entry = server.put_image("team/app")
    for _ in range(4):
        digest = server.put_index("team/app", [{**entry, "mediaType": OCI_INDEX}])
        entry = {**entry, "digest": digest, "mediaType": OCI_INDEX}
    server.put_index("team/app", [entry], "1")
    assert "index of indexes" in client.fails().message


def test_more_bytes_than_a_manifest_has_are_not_read(client: Client, server: RegistryServer) -> None:
    server.routes["HEAD /v2/team/app/manifests/1"] = Reply()
    server.routes["/v2/team/app/manifests/1"] = Reply(body=b" " * (4 * 1024 * 1024 + 1))
    assert "more than 4194304 bytes" in client.fails().message


class TestLogins:
    def guard(self, server: RegistryServer, challenge: str, *good: str) -> None:
        """Let pass only requests with one of these authorisations."""

        def gate(seen: Seen) -> Reply:
            if seen.headers.get("authorization") in good:
                return Reply()
            body = json.dumps({"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}).encode()
            return Reply(status=401, headers={"WWW-Authenticate": challenge}, body=body)

        server.gate = gate

    def write_login(self, folder: Path, document: dict[str, Any]) -> None:
        (folder / ".docker").mkdir(exist_ok=True)
        (folder / ".docker" / "config.json").write_text(json.dumps(document))

    def test_an_anonymous_token_is_fetched_once(self, client: Client, server: RegistryServer) -> None:
        server.put_image("team/app", "1")
        challenge = f'Bearer scope="repository:team/app:pull",realm="http://{server.address}/token",service="reg"'
        self.guard(server, challenge, "Bearer T0")
        server.routes["/token"] = Reply(body=b'{"token": "T0", "expires_in": 300}')
        assert client.resolve() is not None
        tokens = [path for path in server.asked if "token" in path]
        assert tokens == ["GET /token?service=reg&scope=repository%3Ateam%2Fapp%3Apull"]
        assert "authorization" not in next(seen for seen in server.seen if "token" in seen.path).headers

    def test_a_challenge_without_service_and_scope(self, client: Client, server: RegistryServer) -> None:
        server.put_image("team/app", "1")
        self.guard(server, f'bearer realm="http://{server.address}/token?x=1"', "Bearer T1")
        server.routes["/token"] = Reply(body=b'{"access_token": "T1"}')
        assert client.resolve() is not None
        assert "GET /token?x=1&scope=repository%3Ateam%2Fapp%3Apull" in server.asked

    def test_a_token_that_ran_out_is_replaced(self, client: Client, server: RegistryServer) -> None:
        server.put_image("team/app", "1")
        self.guard(server, f'Bearer realm="http://{server.address}/token"', "Bearer T1")
        server.routes["/token"] = [Reply(body=b'{"token": "T1", "expires_in": 60}'), Reply(body=b'{"token": "T2"}')]
        assert client.resolve() is not None
        client.time += 55
        self.guard(server, f'Bearer realm="http://{server.address}/token"', "Bearer T2")
        assert client.resolve() is not None
        assert sum("/token" in path for path in server.asked) == 2

    def test_a_login_from_dockers_file_goes_to_the_token_server(
        self, client: Client, server: RegistryServer, tmp_path: Path
    ) -> None:
        server.put_image("team/app", "1")
        secret = base64.b64encode(b"ann:s3cret").decode()
        self.write_login(tmp_path, {"auths": {f"http://{server.address}/v1/": {"auth": secret}}})
        self.guard(server, f'Bearer realm="http://{server.address}/token"', "Bearer T0")
        server.routes["/token"] = Reply(body=b'{"token": "T0"}')
        assert client.resolve() is not None
        asked = next(seen for seen in server.seen if "token" in seen.path)
        assert asked.headers["authorization"] == f"Basic {secret}"
        assert asked.path.endswith("&account=ann")

    def test_an_identity_token_is_posted(self, client: Client, server: RegistryServer, tmp_path: Path) -> None:
        server.put_image("team/app", "1")
        self.write_login(tmp_path, {"auths": {server.address: {"identitytoken": "idt"}}})
        self.guard(server, f'Bearer realm="http://{server.address}/token",service="reg"', "Bearer T0")
        server.routes["POST /token"] = Reply(body=b'{"access_token": "T0"}')
        assert client.resolve() is not None
        posted = next(seen for seen in server.seen if seen.method == "POST")
        assert b"grant_type=refresh_token&refresh_token=idt" in posted.body
        assert b"scope=repository%3Ateam%2Fapp%3Apull" in posted.body

    def test_basic(self, client: Client, server: RegistryServer, tmp_path: Path) -> None:
        server.put_image("team/app", "1")
        self.write_login(tmp_path, {"auths": {server.address: {"username": "ann", "password": "s3cret"}}})
        self.guard(server, 'Basic realm="here"', "Basic " + base64.b64encode(b"ann:s3cret").decode())
        assert client.resolve() is not None

    def test_a_private_image_without_a_login(self, client: Client, server: RegistryServer) -> None:
        server.put_image("team/app", "1")
        self.guard(server, 'Basic realm="here"')
        error = client.fails()
        assert isinstance(error, UnreachableError)
        assert "does not let us read" in error.message
        assert "authentication required" in error.message
        assert f"docker login {server.address}" in (error.hint or "")

    @pytest.mark.parametrize("challenge", ['Basic realm="here"', 'Bearer realm="http://{address}/token"'])
    def test_a_wrong_login_never_shows_its_password(
        self, client: Client, server: RegistryServer, tmp_path: Path, challenge: str
    ) -> None:
        secret = base64.b64encode(b"ann:s3cret").decode()
        self.write_login(tmp_path, {"auths": {server.address: {"auth": secret}}})
        self.guard(server, challenge.format(address=server.address))
        server.routes["/token"] = Reply(status=401, body=b"no")
        error = client.fails()
        assert isinstance(error, UnreachableError)
        assert "ann" in f"{error.message}{error.hint}"
        assert "s3cret" not in repr((error.message, error.hint, error.details, error.__cause__))
        assert secret not in repr((error.message, error.hint, error.details, error.__cause__))

    def test_a_login_that_a_helper_keeps_is_said(self, client: Client, server: RegistryServer, tmp_path: Path) -> None:
        self.write_login(tmp_path, {"auths": {server.address: {}}, "credsStore": "desktop"})
        self.guard(server, 'Basic realm="here"')
        assert "'desktop'" in (client.fails().hint or "")

    def test_a_login_file_that_is_broken_is_said_only_when_needed(
        self, client: Client, server: RegistryServer, tmp_path: Path
    ) -> None:
        (tmp_path / ".docker").mkdir()
        (tmp_path / ".docker" / "config.json").write_text("{")
        server.put_image("team/app", "1")
        assert client.resolve() is not None
        self.guard(server, 'Basic realm="here"')
        assert "config.json" in client.fails().message

    def test_a_token_server_without_tls_gets_no_login(self, client: Client, server: RegistryServer) -> None:
        self.guard(server, 'Bearer realm="http://192.0.2.1/token"')
        error = client.fails()
        assert "without TLS" in error.message
        assert "192.0.2.1" in error.message

    @pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"token": "a\\nb"}', b'{"token": 7}'])
    def test_a_token_server_that_talks_nonsense(self, client: Client, server: RegistryServer, body: bytes) -> None:
        self.guard(server, f'Bearer realm="http://{server.address}/token"')
        server.routes["/token"] = Reply(body=body)
        assert "without a token" in client.fails().message

    def test_an_authorisation_does_not_follow_a_redirect_to_another_host(self, client: Client, server: RegistryServer) -> None:
        descriptor = server.put_image("team/app", "1")
        path = f"/v2/team/app/blobs/{descriptor['config']}"
        blob = server.routes[path]
        self.guard(server, f'Bearer realm="http://{server.address}/token"', "Bearer T0")
        server.routes["/token"] = Reply(body=b'{"token": "T0"}')
        with registry_server() as other:
            other.routes["/there"] = blob
            server.routes[path] = Reply(status=307, headers={"Location": f"http://{other.address}/there?sig=x"})
            assert client.resolve() is not None
            assert [seen.path for seen in other.seen] == ["/there?sig=x"]
            assert "authorization" not in other.seen[0].headers


class TestTrouble:
    path = "/v2/team/app/manifests/1"

    @pytest.mark.parametrize("status", [500, 502, 503, 504])
    def test_a_server_error_passes(self, client: Client, server: RegistryServer, status: int) -> None:
        server.put_image("team/app", "1")
        good = server.routes[self.path]
        assert isinstance(good, Reply)
        server.routes[self.path] = [Reply(status=status), Reply(status=status), good]
        assert client.resolve() is not None
        assert client.waits == [0.5, 1.0]

    def test_a_server_error_that_does_not_pass(self, client: Client, server: RegistryServer) -> None:
        server.routes[self.path] = Reply(status=503)
        error = client.fails()
        assert isinstance(error, UnreachableError)
        assert error.message.endswith("(5 times): it answered 503")
        assert client.waits == [0.5, 1.0, 2.0, 4.0]

    def test_too_many_requests_waits_as_long_as_told(self, client: Client, server: RegistryServer) -> None:
        server.put_image("team/app", "1")
        good = server.routes[self.path]
        assert isinstance(good, Reply)
        server.routes[self.path] = [Reply(status=429, headers={"Retry-After": "7"}), good]
        assert client.resolve() is not None
        assert client.waits == [7.0]

    def test_too_many_requests_with_a_date(self, client: Client, server: RegistryServer) -> None:
        server.put_image("team/app", "1")
        good = server.routes[self.path]
        assert isinstance(good, Reply)
        server.routes[self.path] = [Reply(status=429, headers={"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}), good]
        error = client.fails()
        assert "asks to wait" in error.message
        assert client.waits == []

    def test_a_wait_longer_than_the_budget_is_said_at_once(self, client: Client, server: RegistryServer) -> None:
        server.routes[self.path] = Reply(status=429, headers={"Retry-After": "3600"})
        error = client.fails()
        assert "it asks to wait 3600 s" in error.message
        assert "docker login" in (error.hint or "")
        assert client.waits == []

    def test_forbidden(self, client: Client, server: RegistryServer) -> None:
        body = json.dumps({"errors": [{"code": "DENIED", "message": "you may not\n\x1b[31m"}]}).encode()
        server.routes[self.path] = Reply(status=403, body=body)
        error = client.fails()
        assert isinstance(error, UnreachableError)
        assert "DENIED: you may not" in error.message
        assert error.message.isprintable()

    @pytest.mark.parametrize("body", [b"{}", b'{"errors": []}', b'{"errors": [7]}', b'{"errors": {}}', b"\xff"])
    def test_a_strange_status_with_a_strange_body(self, client: Client, server: RegistryServer, body: bytes) -> None:
        server.routes[self.path] = Reply(status=418, body=body)
        assert "answered 418" in client.fails().message

    @pytest.mark.parametrize("how", ["reset", "truncate"])
    def test_a_broken_connection_is_tried_again(self, client: Client, server: RegistryServer, how: str) -> None:
        descriptor = server.put_image("team/app", "1")
        path = f"/v2/team/app/manifests/{descriptor['digest']}"
        good = server.routes[path]
        assert isinstance(good, Reply)
        server.routes[path] = [Reply(body=good.body, headers=good.headers, how=how), good]
        assert client.resolve() is not None
        assert client.waits == [0.5]

    def test_a_connection_that_always_breaks(self, client: Client, server: RegistryServer) -> None:
        server.routes[self.path] = Reply(how="reset")
        assert client.fails().message.endswith(("it reset the connection", "it hung up"))

    def test_a_server_that_hangs(self, server: RegistryServer, tmp_path: Path) -> None:
        client = Client(server, tmp_path, patience=Patience(read=0.05, attempts=2))
        server.routes[self.path] = Reply(how="hang")
        error = client.fails()
        assert isinstance(error, UnreachableError)
        assert "(2 times): no answer in time" in error.message

    def test_the_time_in_all_is_bounded(self, server: RegistryServer, tmp_path: Path) -> None:
        client = Client(server, tmp_path, patience=Patience(total=5.0, attempts=99, first_wait=2.0))
        server.routes[self.path] = Reply(status=502)
        assert "it answered 502" in client.fails().message
        assert client.waits == [2.0]

    def test_nobody_listens(self, server: RegistryServer, tmp_path: Path) -> None:
        client = Client(server, tmp_path, patience=Patience(attempts=2))
        server.address = "127.0.0.1:1"
        assert "it refused the connection" in client.fails().message

    def test_a_redirect_in_a_circle(self, client: Client, server: RegistryServer) -> None:
        server.routes[self.path] = Reply(status=302, headers={"Location": self.path})
        assert "in a circle" in client.fails().message

    def test_a_redirect_to_plain_http_elsewhere_is_not_followed(self, client: Client, server: RegistryServer) -> None:
        server.routes[self.path] = Reply(status=302, headers={"Location": "http://192.0.2.1/x"})
        assert "without TLS" in client.fails().message


class Recorder(Transport):
    """A transport that sends nothing and answers 404."""

    def __init__(self) -> None:
        super().__init__({})
        self.asked: list[Ask] = []

    def send(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        return Answer(status=404, headers={}, body=b"")


class TestPlaces:
    @pytest.mark.parametrize(
        ("name", "url"),
        [
            ("debian:12-slim", "https://registry-1.docker.io/v2/library/debian/manifests/12-slim"),
            ("acme/app", "https://registry-1.docker.io/v2/acme/app/manifests/latest"),
            ("nvcr.io/nvidia/cuda:12.9", "https://nvcr.io/v2/nvidia/cuda/manifests/12.9"),
            ("registry.example:5000/a/b:1", "https://registry.example:5000/v2/a/b/manifests/1"),
        ],
    )
    def test_where_a_name_is_asked(self, name: str, url: str) -> None:
        recorder = Recorder()
        assert HttpRegistry({}, transport=recorder).resolve(ImageReference.parse(name), AMD64) is None
        assert [(ask.method, ask.url) for ask in recorder.asked] == [("HEAD", url)]

    def test_a_mirror_is_asked_instead(self, server: RegistryServer, tmp_path: Path) -> None:
        server.put_image("nv/nvidia/pytorch", "25.11-py3")
        client = Client(server, tmp_path, mirrors={"nvcr.io": f"{server.address}/nv", "nvcr.io/other": "127.0.0.1:1"})
        found = client.registry.resolve(ImageReference.parse("nvcr.io/nvidia/pytorch:25.11-py3"), AMD64)
        assert found is not None
        assert client.registry.resolve(ImageReference.parse("nvcr.io/nvidia/pytorch:nope"), AMD64) is None

    def test_the_longest_mirror_prefix_wins(self, server: RegistryServer, tmp_path: Path) -> None:
        server.put_image("special/pytorch", "1")
        client = Client(server, tmp_path, mirrors={"nvcr.io": "127.0.0.1:1", "nvcr.io/nvidia": f"{server.address}/special"})
        assert client.registry.resolve(ImageReference.parse("nvcr.io/nvidia/pytorch:1"), AMD64) is not None

    def test_a_prefix_is_whole_parts_of_a_name(self, server: RegistryServer, tmp_path: Path) -> None:
        client = Client(server, tmp_path, mirrors={f"{server.address}/te": "127.0.0.1:1"})
        server.put_image("team/app", "1")
        assert client.resolve() is not None

    def test_errors_name_the_mirror(self, server: RegistryServer, tmp_path: Path) -> None:
        client = Client(server, tmp_path, mirrors={"nvcr.io": f"{server.address}/nv"})
        server.routes["/v2/nv/x/manifests/1"] = Reply(status=403)
        with pytest.raises(UnreachableError, match=f"{server.address}/nv/x:1"):
            client.registry.resolve(ImageReference.parse("nvcr.io/x:1"), AMD64)

    def test_other_hosts_are_asked_through_the_proxy_with_tls_only(self, server: RegistryServer, tmp_path: Path) -> None:
        environ = {"HTTPS_PROXY": f"http://ann:s3cret@{server.address}"}
        client = Client(server, tmp_path, environ=environ, patience=Patience(attempts=1))
        with pytest.raises(UnreachableError) as caught:
            client.registry.resolve(ImageReference.parse("registry.example/app:1"), AMD64)
        assert "registry.example" in caught.value.message
        assert "s3cret" not in f"{caught.value.message}{caught.value.hint}"
        assert server.seen == []  # it was asked to CONNECT, which this server does not know

    def test_loopback_is_never_asked_through_a_proxy(self, server: RegistryServer, tmp_path: Path) -> None:
        server.put_image("team/app", "1")
        client = Client(server, tmp_path, environ={"HTTP_PROXY": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1"})
        assert client.resolve() is not None

    def test_a_certificate_bundle_that_is_not_there(self, server: RegistryServer, tmp_path: Path) -> None:
        client = Client(server, tmp_path, environ={"SSL_CERT_FILE": "/nope/ca.pem"})
        with pytest.raises(UnreachableError, match=r"'/nope/ca\.pem' that SSL_CERT_FILE names"):
            client.registry.resolve(ImageReference.parse("registry.example/app:1"), AMD64)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed; its key is beside it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not here")
    folder = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=imgbuild test", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "ca.pem")]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"]
    subprocess.run([openssl, "req", "-x509", "-nodes", *kind, *names, *files], check=True, capture_output=True)
    return folder / "ca.pem"


class TestTls:
    def test_a_certificate_nobody_trusts(self, certificate: Path, tmp_path: Path) -> None:
        with registry_server(certificate) as server:
            error = Client(server, tmp_path).fails()
        assert isinstance(error, UnreachableError)
        assert "is not trusted here" in error.message
        assert "SSL_CERT_FILE" in (error.hint or "")

    @pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
    def test_a_bundle_that_trusts_it(self, certificate: Path, tmp_path: Path, variable: str) -> None:
        with registry_server(certificate) as server:
            server.put_image("team/app", "1")
            assert Client(server, tmp_path, environ={variable: str(certificate)}).resolve() is not None
