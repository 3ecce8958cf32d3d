"""Package files into the cache: verified, resumed, downloaded once; on loopback servers that misbehave."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from builder.adapters.downloads import CHUNK, Downloads, retry_after
from builder.adapters.index import SimpleIndex
from builder.adapters.index_pages import IndexPages, OfferedFile, page_of
from builder.adapters.pip_config import PipConfig, named_indexes
from builder.errors import HostBlockedError, InterruptedRunError, MismatchError, UnreachableError
from builder.model.lock import LockedPackage
from builder.model.plan import Index
from builder.ports import PackageIndex

WHEEL = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(WHEEL).hexdigest()
FILE = "demo-1.0-py3-none-any.whl"
PACKAGE = LockedPackage(name="demo", version="1.0", index="acme", file=FILE, sha256=SHA256, size=len(WHEEL))
JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Asked:
    path: str
    range: str | None
    authorization: str | None


@dataclass
class Server:
    """A server whose answers are functions of the request, in turn per path; the last one stays."""

    url: str = ""
    answers: dict[str, list[Callable[[BaseHTTPRequestHandler], None]]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def on(self, path: str, *answers: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.answers[path] = list(answers)

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        headers = request.headers
        with self.lock:
            self.asked.append(Asked(request.path, headers.get("Range"), headers.get("Authorization")))
            queue = self.answers.get(request.path, [status(404)])
            answer = queue.pop(0) if len(queue) > 1 else queue[0]
        answer(request)


@pytest.fixture
def servers() -> Iterator[Callable[[], Server]]:
    running: list[ThreadingHTTPServer] = []

    def start() -> Server:
        server = Server()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.handle(self)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        running.append(http)
        return server

    yield start
    for http in running:
        http.shutdown()
        http.server_close()


@pytest.fixture
def server(servers: Callable[[], Server]) -> Server:
    server = servers()
    server.on("/simple/demo/", page(server.url))
    server.on(f"/files/{FILE}", body(WHEEL))
    return server


def reply(request: BaseHTTPRequestHandler, code: int, data: bytes = b"", **headers: str) -> None:
    request.send_response(code)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(data)


def status(code: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    return lambda request: reply(request, code, b"", **headers)


def page(base: str, *, sha256: str | None = SHA256, kind: str = JSON) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with the page of ``demo``: PEP 691, or PEP 503 with a relative link."""
    if kind == JSON:
        hashes = {"sha256": sha256} if sha256 else {}
        files = [{"filename": FILE, "url": f"{base}/files/{FILE}", "hashes": hashes, "size": len(WHEEL)}]
        data = json.dumps({"meta": {"api-version": "1.1"}, "name": "demo", "versions": ["1.0"], "files": files}).encode()
    else:
        fragment = f"#sha256={sha256}" if sha256 else ""
        data = f'<!DOCTYPE html><html><body><a href="../../files/{FILE}{fragment}">{FILE}</a></body></html>'.encode()
    return lambda request: reply(request, 200, data, Content_Type=kind)


def body(data: bytes, *, send: int | None = None, ranges: bool = True) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with a file, or with a piece of it where asked; after ``send`` bytes the connection is cut."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        begin = int(request.headers.get("Range", "bytes=0-")[6:-1]) if ranges else 0
        rest = data[begin:]
        request.send_response(206 if begin else 200)
        if begin:
            request.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        request.send_header("Content-Length", str(len(rest)))
        request.end_headers()
        request.wfile.write(rest if send is None else rest[:send])

    return answer


@dataclass
class Time:
    """A clock that moves only when somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def simple(cache: Path, time: Time | None = None, config: PipConfig | None = None) -> SimpleIndex:
    config = config or PipConfig(indexes=())
    clock = time or Time()
    return SimpleIndex(cache=cache, config=config, downloads=Downloads(config, monotonic=clock.monotonic, sleep=clock.sleep))


def acme(server: Server, name: str = "acme") -> Index:
    return Index(name=name, url=f"{server.url}/simple/")


@pytest.mark.process
@pytest.mark.parametrize("kind", [JSON, "text/html; charset=utf-8", "application/vnd.pypi.simple.v1+html"])
def test_a_file_is_found_verified_and_kept_by_its_hash(server: Server, tmp_path: Path, kind: str) -> None:
    server.on("/simple/demo/", page(server.url, kind=kind))
    received: list[int] = []
    port: PackageIndex = simple(tmp_path)
    path = port.fetch(PACKAGE, [acme(server)], on_progress=received.append)
    assert path == tmp_path / "wheels" / SHA256[:2] / SHA256 / FILE
    assert path.read_bytes() == WHEEL
    assert path.stat().st_mode & 0o777 == 0o444
    assert (received[0], received[-1]) == (0, len(WHEEL))
    assert received == sorted(received)
    assert [entry.name for entry in path.parent.iterdir()] == [FILE]


@pytest.mark.process
def test_what_the_cache_has_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    simple(tmp_path).fetch(PACKAGE, [acme(server)])
    before = len(server.asked)
    assert simple(tmp_path).fetch(PACKAGE, []).read_bytes() == WHEEL
    assert len(server.asked) == before


@pytest.mark.process
def test_a_file_that_was_changed_in_the_cache_is_downloaded_anew(server: Server, tmp_path: Path) -> None:
    path = simple(tmp_path).fetch(PACKAGE, [acme(server)])
    path.chmod(0o644)
    path.write_bytes(b"broken")
    assert simple(tmp_path).fetch(PACKAGE, [acme(server)]).read_bytes() == WHEEL


@pytest.mark.process
def test_the_server_is_waited_for_as_it_asks(server: Server, tmp_path: Path) -> None:
    server.on("/simple/demo/", status(429, Retry_After="7"), status(503), page(server.url))
    server.on(f"/files/{FILE}", status(429), status(500), status(504, Retry_After="3"), body(WHEEL))
    time = Time()
    assert simple(tmp_path, time).fetch(PACKAGE, [acme(server)]).read_bytes() == WHEEL
    assert time.slept == [7.0, 1.0, 0.5, 1.0, 3.0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "Tue, 01 Dec 2026 10:00:09 GMT", "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}, 9.0),
        ({"Retry-After": "Tue, 01 Dec 2026 09:00:00 GMT", "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}, 0.0),
        ({"Retry-After": "Tue, 01 Dec 2026 10:00:09 GMT"}, None),
        ({"Retry-After": "soon", "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_of_the_servers_own_clock(headers: dict[str, str], seconds: float | None) -> None:
    response = requests.Response()
    response.headers.update(headers)
    assert retry_after(response) == seconds


@pytest.mark.process
def test_a_server_that_asks_for_more_patience_than_there_is_is_not_waited_for(server: Server, tmp_path: Path) -> None:
    server.on("/simple/demo/", status(429, Retry_After="3600"))
    time = Time()
    with pytest.raises(UnreachableError) as caught:
        simple(tmp_path, time).fetch(PACKAGE, [acme(server)])
    host = server.url.removeprefix("http://")
    assert (
        caught.value.message
        == f"the package index at {host} could not be asked: it answered 429 Too Many Requests (tried 1 time)"
    )
    assert caught.value.hint == "it asks to wait 3600 seconds; run the same command again then: what was downloaded is kept"
    assert time.slept == []


@pytest.mark.process
def test_a_server_that_never_recovers_is_given_up_within_the_budget(server: Server, tmp_path: Path) -> None:
    server.on("/simple/demo/", status(503))
    time = Time()
    with pytest.raises(UnreachableError, match="it answered 503 Service Unavailable"):
        simple(tmp_path, time).fetch(PACKAGE, [acme(server)])
    assert time.slept[:5] == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert 100 < sum(time.slept) <= 120


@pytest.mark.process
def test_a_host_that_cannot_be_connected_to_is_given_up_soon(tmp_path: Path) -> None:
    time = Time()
    with pytest.raises(
        UnreachableError, match=r"the package index at 127\.0\.0\.1:9 could not be asked: .*Connection refused \(tried 4 times\)"
    ):
        simple(tmp_path, time).fetch(PACKAGE, [Index(name="acme", url="http://127.0.0.1:9/simple")])
    assert time.slept == [0.5, 1.0, 2.0]


@pytest.mark.process
def test_a_cut_download_is_resumed_where_it_was_cut(server: Server, tmp_path: Path) -> None:
    server.on(f"/files/{FILE}", body(WHEEL, send=CHUNK), body(WHEEL, send=CHUNK), body(WHEEL))
    assert simple(tmp_path).fetch(PACKAGE, [acme(server)]).read_bytes() == WHEEL
    ranges = [one.range for one in server.asked if one.path.startswith("/files/")]
    assert ranges == [None, f"bytes={CHUNK}-", f"bytes={2 * CHUNK}-"]


@pytest.mark.process
def test_a_server_that_cannot_resume_sends_it_whole(server: Server, tmp_path: Path) -> None:
    server.on(f"/files/{FILE}", body(WHEEL, send=300_000, ranges=False), body(WHEEL, ranges=False))
    assert simple(tmp_path).fetch(PACKAGE, [acme(server)]).read_bytes() == WHEEL


@pytest.mark.process
def test_a_later_run_resumes_what_an_interrupted_one_left(server: Server, tmp_path: Path) -> None:
    def interrupt(received: int) -> None:
        if received > 500_000:
            msg = "the run was interrupted"
            raise InterruptedRunError(msg)

    with pytest.raises(InterruptedRunError):
        simple(tmp_path).fetch(PACKAGE, [acme(server)], on_progress=interrupt)
    assert simple(tmp_path).fetch(PACKAGE, [acme(server)]).read_bytes() == WHEEL
    first, second = [one.range for one in server.asked if one.path.startswith("/files/")]
    assert first is None
    assert second is not None
    assert int(second[6:-1]) > 500_000


@pytest.mark.process
def test_a_beginning_that_belongs_to_another_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "wheels" / SHA256[:2] / SHA256 / f".{FILE}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"something else")
    assert simple(tmp_path).fetch(PACKAGE, [acme(server)]).read_bytes() == WHEEL


@pytest.mark.process
@pytest.mark.parametrize(
    ("announced", "hint"), [(SHA256, "the index itself announces the lock's"), (None, "imgbuild matrix lock --update")]
)
def test_wrong_bytes_name_the_file_and_both_hashes_and_are_not_kept(
    server: Server, tmp_path: Path, announced: str | None, hint: str
) -> None:
    wrong = WHEEL[:-1] + b"!"
    server.on("/simple/demo/", page(server.url, sha256=announced))
    server.on(f"/files/{FILE}", body(wrong))
    with pytest.raises(MismatchError) as caught:
        simple(tmp_path).fetch(PACKAGE, [acme(server)])
    found = hashlib.sha256(wrong).hexdigest()
    assert caught.value.message == f"{FILE} from the index 'acme' has the sha256 {found}, the lock says {SHA256}"
    assert hint in (caught.value.hint or "")
    assert list((tmp_path / "wheels" / SHA256[:2] / SHA256).iterdir()) == []


@pytest.mark.process
def test_an_index_that_announces_another_hash_is_not_downloaded_from(server: Server, tmp_path: Path) -> None:
    server.on("/simple/demo/", page(server.url, sha256="0" * 64))
    with pytest.raises(MismatchError, match=f"has the sha256 {'0' * 64}, the lock says {SHA256}"):
        simple(tmp_path).fetch(PACKAGE, [acme(server)])
    assert server.paths() == ["/simple/demo/"]


@pytest.mark.process
def test_more_bytes_than_the_lock_says_are_never_written(server: Server, tmp_path: Path) -> None:
    server.on(f"/files/{FILE}", body(WHEEL * 40))
    received: list[int] = []
    with pytest.raises(MismatchError):
        simple(tmp_path).fetch(PACKAGE, [acme(server)], on_progress=received.append)
    assert max(received) < 2 * len(WHEEL)


@pytest.mark.process
def test_a_size_that_is_not_the_files_is_said_at_once(server: Server, tmp_path: Path) -> None:
    time = Time()
    wrong = LockedPackage(name="demo", version="1.0", index="acme", file=FILE, sha256="0" * 64, size=len(WHEEL) + 1)
    server.on("/simple/demo/", page(server.url, sha256=None))
    with pytest.raises(MismatchError, match=f"has the sha256 {SHA256}, the lock says 0000"):
        simple(tmp_path, time).fetch(wrong, [acme(server)])
    assert time.slept == []
    right = LockedPackage(name="demo", version="1.0", index="acme", file=FILE, sha256=SHA256, size=len(WHEEL) + 1)
    assert simple(tmp_path, time).fetch(right, [acme(server)]).read_bytes() == WHEEL


@pytest.mark.process
def test_a_file_that_is_gone_says_where_it_was_looked_for(server: Server, tmp_path: Path) -> None:
    server.on("/simple/demo/", status(404))
    config = PipConfig(indexes=(Index(name="other", url=f"{server.url}/other"),))
    with pytest.raises(MismatchError) as caught:
        simple(tmp_path, config=config).fetch(PACKAGE, [acme(server)])
    assert caught.value.message == f"{FILE}, which the lock has from the index 'acme', is on none of: acme, other"
    assert server.paths() == ["/simple/demo/", "/other/demo/"]


@pytest.mark.process
def test_a_file_listed_but_gone_is_gone(server: Server, tmp_path: Path) -> None:
    server.on(f"/files/{FILE}", status(404))
    with pytest.raises(MismatchError, match="is on none of: acme"):
        simple(tmp_path).fetch(PACKAGE, [acme(server)])


@pytest.mark.process
def test_another_index_may_have_the_same_bytes(server: Server, tmp_path: Path) -> None:
    package = LockedPackage(name="demo", version="1.0", index="of-another-machine", file=FILE, sha256=SHA256)
    assert simple(tmp_path).fetch(package, [acme(server)]).read_bytes() == WHEEL


@pytest.mark.process
def test_many_callers_of_one_file_download_it_once(server: Server, tmp_path: Path) -> None:
    one, other = simple(tmp_path), simple(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda number: (one, other)[number % 2].fetch(PACKAGE, [acme(server)]), range(16)))
    assert {path.read_bytes() for path in paths} == {WHEEL}
    assert server.paths().count(f"/files/{FILE}") == 1


@pytest.mark.process
def test_credentials_go_to_the_indexs_own_host_only(servers: Callable[[], Server], tmp_path: Path) -> None:
    index, files = servers(), servers()
    index.on("/simple/demo/", page(files.url))
    files.on(f"/files/{FILE}", status(302, Location=f"{index.url}/moved"))
    index.on("/moved", status(302, Location=f"{files.url}/at-last"))
    files.on("/at-last", body(WHEEL))
    url = index.url.replace("http://", "http://me:s%40cret@") + "/simple/"
    simple(tmp_path).fetch(PACKAGE, [Index(name="acme", url=url)])
    assert index.asked[0].authorization == "Basic bWU6c0BjcmV0"
    assert [one.authorization for one in files.asked] == [None, None]


@pytest.mark.process
def test_a_redirect_to_another_host_does_not_take_the_credentials_along(servers: Callable[[], Server], tmp_path: Path) -> None:
    index, files = servers(), servers()
    index.on("/simple/demo/", page(index.url))
    index.on(f"/files/{FILE}", status(302, Location=f"{files.url}/elsewhere"))
    files.on("/elsewhere", body(WHEEL))
    url = index.url.replace("http://", "http://me:secret@") + "/simple/"
    simple(tmp_path).fetch(PACKAGE, [Index(name="acme", url=url)])
    assert [one.authorization is not None for one in index.asked] == [True, True]
    assert [one.authorization for one in files.asked] == [None]


@pytest.mark.process
@pytest.mark.parametrize("code", [401, 403])
def test_an_index_that_wants_credentials_is_not_an_answer(server: Server, tmp_path: Path, code: int) -> None:
    server.on("/simple/demo/", status(code))
    with pytest.raises(UnreachableError, match=rf"refuses the credentials, or wants some \(it answered {code}\)"):
        simple(tmp_path).fetch(PACKAGE, [acme(server)])


@pytest.mark.process
def test_an_index_on_a_plain_file_store_forbids_what_it_does_not_have(server: Server) -> None:
    server.on("/simple/demo/", status(403))
    pages = IndexPages(Downloads(PipConfig()), links=frozenset())
    assert pages.files(acme(server), "demo", forbidden_is_absent=True) == ()
    with pytest.raises(UnreachableError, match="refuses the credentials, or wants some"):
        pages.files(acme(server), "demo")


@pytest.mark.process
@pytest.mark.parametrize("config", [PipConfig(cert="/not/there.pem"), PipConfig(client_cert="/not/there.pem")])
def test_a_certificate_that_is_not_there_is_said(tmp_path: Path, config: PipConfig) -> None:
    with pytest.raises(UnreachableError, match=r"a certificate cannot be read .*/not/there\.pem") as caught:
        simple(tmp_path, config=config).fetch(PACKAGE, [Index(name="acme", url="https://127.0.0.1:9/simple")])
    assert "cert or client-cert in pip's configuration" in (caught.value.hint or "")


@pytest.mark.process
def test_a_page_that_is_none_is_not_an_answer(server: Server, tmp_path: Path) -> None:
    server.on("/simple/demo/", lambda request: reply(request, 200, b"{]", Content_Type=JSON))
    with pytest.raises(
        UnreachableError, match="the index 'acme' answered something that is not a page of a package index for demo"
    ):
        simple(tmp_path).fetch(PACKAGE, [acme(server)])


@pytest.mark.process
def test_what_the_disk_cannot_take_is_not_begun(server: Server, tmp_path: Path) -> None:
    huge = LockedPackage(name="demo", version="1.0", index="acme", file=FILE, sha256=SHA256, size=2**60)
    with pytest.raises(HostBlockedError, match=rf"downloading {FILE} needs 1073741824\.0 GiB"):
        simple(tmp_path).fetch(huge, [acme(server)])
    assert server.paths() == ["/simple/demo/"]


@pytest.mark.process
def test_a_page_of_links_is_a_place_too(server: Server, tmp_path: Path) -> None:
    server.on(
        "/links.html",
        lambda request: reply(request, 200, f'<a href="files/{FILE}">get it</a>'.encode(), Content_Type="text/html"),
    )
    config = PipConfig(indexes=(), find_links=named_indexes("find-links", [f"{server.url}/links.html"]))
    assert simple(tmp_path, config=config).fetch(PACKAGE, []).read_bytes() == WHEEL


def test_a_page_we_write_says_what_was_read(tmp_path: Path) -> None:
    offered = (
        OfferedFile(
            file="torch-2.9.1+cu126-cp312-cp312-linux_x86_64.whl",
            url="https://host.example/torch-2.9.1%2Bcu126-cp312-cp312-linux_x86_64.whl",
            sha256="ab" * 32,
            requires_python='>=3.10,<3.15 and "quoted"',
            metadata=True,
        ),
        OfferedFile(file="torch-1.0-py3-none-any.whl", url="https://host.example/torch-1.0-py3-none-any.whl"),
    )
    place = tmp_path / "simple" / "torch" / "index.html"
    place.parent.mkdir(parents=True)
    place.write_text(page_of(offered), encoding="utf-8")
    pages = IndexPages(Downloads(PipConfig()), links=frozenset())
    assert pages.files(Index(name="x", url=(tmp_path / "simple").as_uri()), "Torch") == offered
    assert pages.files(Index(name="x", url=(tmp_path / "simple").as_uri()), "other") == ()


def test_local_indexes_and_folders_are_places_too(tmp_path: Path) -> None:
    folder = tmp_path / "wheels-here"
    folder.mkdir()
    (folder / FILE).write_bytes(WHEEL)
    root = tmp_path / "pypi" / "simple"
    (root / "demo").mkdir(parents=True)
    (root / "demo" / "index.html").write_text(f'<a href="../../../wheels-here/{FILE}#sha256={SHA256}">{FILE}</a>')
    links = PipConfig(indexes=(), find_links=named_indexes("find-links", [str(tmp_path / "missing"), str(folder)]))
    assert simple(tmp_path / "a", config=links).fetch(PACKAGE, []).read_bytes() == WHEEL
    local = PipConfig(indexes=named_indexes("index", [root.as_uri()]))
    assert simple(tmp_path / "b", config=local).fetch(PACKAGE, []).read_bytes() == WHEEL
    assert (folder / FILE).stat().st_nlink == 1


def test_a_local_file_that_changed_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"other")
    config = PipConfig(indexes=(), find_links=named_indexes("find-links", [str(tmp_path)]))
    with pytest.raises(MismatchError, match="has the sha256"):
        simple(tmp_path / "cache", config=config).fetch(PACKAGE, [])


def test_with_no_index_at_all_the_file_is_nowhere(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="is on none of: no index at all"):
        simple(tmp_path).fetch(PACKAGE, [])
