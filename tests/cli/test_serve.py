"""The socket that ``trninv serve`` listens on."""

import asyncio
import socket
import subprocess
import sys
from typing import Any

import pytest
import uvicorn

from trninv.cli.serve_commands import open_socket
from trninv.service.connection_limits import TimeoutProtocol


async def answer(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_an_accepted_connection_sends_at_once(host: str) -> None:
    """Otherwise a second small packet waits for the client's delayed acknowledgement of the first: 40 ms an answer."""
    options: list[int] = []

    class Watched(TimeoutProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
            super().connection_made(transport)
            accepted = transport.get_extra_info("socket")
            options.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async def run() -> None:
        with open_socket(host, 0) as listener:
            server = uvicorn.Server(uvicorn.Config(answer, lifespan="off", log_config=None, http=Watched))
            serving = asyncio.create_task(server.serve([listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname()[:2])
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 204")
            writer.close()
            server.should_exit = True
            await serving

    asyncio.run(run())
    assert len(options) == 1
    assert options[0]


@pytest.mark.slow
def test_the_service_may_open_as_many_files_as_the_system_permits() -> None:
    code = """
import resource
from trninv.cli import serve_commands
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
serve_commands._raise_file_limit()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
