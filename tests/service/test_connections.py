"""Requests that are never sent whole: their connections are closed."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn

from serving import serving
from trninv.service.connection_limits import MAX_HEAD_BYTES, TimeoutProtocol

HALF = b"GET / HTTP/1.1\r\nHost: x\r\n"


class Hasty(TimeoutProtocol):
    head_timeout = 0.3
    write_timeout = 0.3


async def answer(_scope: Any, _receive: Any, send: Any) -> None:
    await asyncio.sleep(2 * Hasty.head_timeout)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


Use = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def connected(use: Use, app: Callable[..., Awaitable[None]] = answer) -> None:
    """Use a connection to a server in this process."""

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, http=Hasty))
            serving = asyncio.create_task(server.serve([listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            async with asyncio.timeout(20):
                await use(reader, writer)
            writer.close()
            server.should_exit = True
            await serving

    asyncio.run(run())


@pytest.mark.parametrize("begun", [b"", b"G", HALF])
def test_half_a_head_is_given_up(begun: bytes) -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(begun)
        assert await reader.read() == b""

    connected(use)


def test_a_byte_now_and_then_does_not_help() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HALF)
        ended = asyncio.create_task(reader.read())
        while not ended.done():
            writer.write(b"X")
            await asyncio.wait([ended], timeout=Hasty.head_timeout / 10)

    connected(use)


def test_who_takes_nothing_is_dropped() -> None:
    heard = asyncio.Event()

    async def endless(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(30):
            await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        heard.set()

    async def use(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HALF + b"\r\n")
        await heard.wait()

    connected(use, endless)


def test_who_sends_in_time_has_time_for_the_answer_and_the_next_request() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            writer.write(HALF + b"\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert await reader.readexactly(2) == b"ok"
        writer.write(HALF)
        assert await reader.read() == b""

    connected(use)


def test_a_broken_body_that_follows_head_is_refused_without_a_trace() -> None:
    told: list[object] = []

    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        writer.write(b"HEAD / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400")

    connected(use)
    assert told == []


def test_a_head_without_end_is_refused() -> None:
    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HALF + b"X-Long: " + b"x" * MAX_HEAD_BYTES)
        assert (await reader.read()).startswith(b"HTTP/1.1 400")

    connected(use)


def test_a_long_body_with_the_next_half_head_is_not_a_long_head() -> None:
    body = b"x" * MAX_HEAD_BYTES

    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HALF + b"Content-Length: %d\r\n\r\n" % len(body) + body + HALF)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(2) == b"ok"
        writer.write(b"\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")

    connected(use)


@pytest.mark.slow
def test_a_service_closes_what_is_half_sent(lite: str) -> None:
    with serving(lite, TRNINV_LOG="off", TRNINV_REQUEST_SECONDS="3") as url:
        place = urlsplit(url)
        heads = [HALF, HALF + b"Content-Length: 9\r\n\r\n{"]
        held = [socket.create_connection((place.hostname, place.port), 60) for _ in range(40)]
        for at, each in enumerate(held):
            each.sendall(heads[at % 2])
        for at, each in enumerate(held):
            with each:
                assert each.recv(12) == (b"HTTP/1.1 408" if at % 2 else b"")
