from __future__ import annotations

import asyncio

import pytest

from tests.lab.proxy import Routes, serve

ROUTES = Routes(led=frozenset({"nvcr.io"}), passed=frozenset({"pypi.org"}), to=("127.0.0.1", 5443))


@pytest.mark.parametrize(
    ("target", "where"),
    [
        ("nvcr.io:443", ("127.0.0.1", 5443)),
        ("nvcr.io:5000", ("127.0.0.1", 5443)),
        ("pypi.org:443", ("pypi.org", 443)),
        ("pypi.org:x", None),
        ("example.com:443", None),
        ("evil-nvcr.io:443", None),
        ("nvcr.io", None),
        ("", None),
    ],
)
def test_a_name_leads_to_the_stand_ins_to_itself_or_nowhere(target: str, where: tuple[str, int] | None) -> None:
    assert ROUTES.of(target) == where


async def answer(request: bytes, routes: Routes) -> bytes:
    """Send one request through a proxy on loopback and return all that comes back."""
    server = await asyncio.start_server(lambda reader, writer: serve(routes, reader, writer), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(request)
        writer.write_eof()
        told = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        await writer.wait_closed()
        return told


@pytest.mark.process
@pytest.mark.parametrize("request_line", ["CONNECT example.com:443 HTTP/1.1", "GET http://nvcr.io/ HTTP/1.1", "nonsense"])
def test_all_else_is_refused_by_name(request_line: str) -> None:
    told = asyncio.run(answer(f"{request_line}\r\nHost: x\r\n\r\n".encode(), ROUTES))
    assert told.startswith(b"HTTP/1.1 403 the lab has no stand-in for ")


@pytest.mark.process
def test_both_directions_are_joined() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def through() -> bytes:
        registry = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with registry:
            to = registry.sockets[0].getsockname()
            routes = Routes(led=ROUTES.led, passed=ROUTES.passed, to=(to[0], to[1]))
            return await answer(b"CONNECT nvcr.io:443 HTTP/1.1\r\n\r\nhello", routes)

    assert asyncio.run(through()) == b"HTTP/1.1 200 OK\r\n\r\nHELLO"


@pytest.mark.process
def test_a_registry_that_is_down_is_said() -> None:
    routes = Routes(led=ROUTES.led, passed=ROUTES.passed, to=("127.0.0.1", 1))
    told = asyncio.run(answer(b"CONNECT nvcr.io:443 HTTP/1.1\r\n\r\n", routes))
    assert told.startswith(b"HTTP/1.1 502 127.0.0.1 does not answer")
