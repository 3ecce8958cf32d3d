"""A CONNECT proxy that leads vendors' names to the lab's registry and refuses the rest.

Run as a program: ``proxy.py --port N --to 127.0.0.1:M [--lead NAME…] [--pass NAME…]``. A name that is
led gets the lab's TLS registry whatever it asked for; a name that is passed gets the real host (the
package index); all else is answered 403 with the name in the status line. One line per request
goes to stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Where a CONNECT goes."""

    led: frozenset[str]
    passed: frozenset[str]
    to: tuple[str, int]

    def of(self, target: str) -> tuple[str, int] | None:
        """Return the address to connect to, ``None`` to refuse."""
        host, _, port = target.rpartition(":")
        if host in self.led:
            return self.to
        return (host, int(port)) if host in self.passed and port.isdecimal() else None


async def pump(source: StreamReader, sink: StreamWriter) -> None:
    """Copy one direction to its end."""
    with suppress(ConnectionError, OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()


async def refuse(writer: StreamWriter, status: str) -> None:
    """Answer a request that leads nowhere."""
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()


async def serve(routes: Routes, reader: StreamReader, writer: StreamWriter) -> None:
    """Answer one request."""
    with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, *_ = [*head.partition("\r\n")[0].split(), "", ""]
        where = routes.of(target) if method == "CONNECT" else None
        say(f"{'-> ' + ':'.join(map(str, where)) if where else 'refused'}  {method} {target}")
        if where is None:
            await refuse(writer, f"403 the lab has no stand-in for {target}")
        else:
            await connect(where, reader, writer)
    with suppress(ConnectionError, OSError):
        writer.close()
        await writer.wait_closed()


async def connect(where: tuple[str, int], reader: StreamReader, writer: StreamWriter) -> None:
    """Join both ends until both have said all."""
    try:
        far_reader, far_writer = await asyncio.open_connection(*where)
    except OSError as error:
        await refuse(writer, f"502 {where[0]} does not answer: {error}")
        return
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await writer.drain()
    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
    with suppress(ConnectionError, OSError):
        far_writer.close()
        await far_writer.wait_closed()


def say(line: str) -> None:
    """Log one line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def listen(port: int, routes: Routes) -> None:
    """Serve until ended."""
    server = await asyncio.start_server(lambda reader, writer: serve(routes, reader, writer), "127.0.0.1", port)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--to", required=True, help="HOST:PORT of the TLS registry")
    parser.add_argument("--lead", nargs="*", default=[], help="names that lead to the registry")
    parser.add_argument("--pass", nargs="*", default=[], dest="passed", help="names that lead to themselves")
    given = parser.parse_args()
    host, _, port = given.to.rpartition(":")
    routes = Routes(led=frozenset(given.lead), passed=frozenset(given.passed), to=(host, int(port)))
    with suppress(KeyboardInterrupt):
        asyncio.run(listen(given.port, routes))


if __name__ == "__main__":
    main()
