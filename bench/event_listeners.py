"""Listen to a service's events: as a client should, and as one that stops reading."""

import asyncio
import contextlib
import socket

_STALL_SECONDS = 60
"""How long a service may take to disconnect a listener that does not read."""
_READ_SECONDS = 5
"""How long reading takes what the system's buffers still have."""
_SMALL_BUFFER = 4_096


async def listen(port: int, token: str, last: int, seconds: float) -> tuple[int, str | None]:
    """Read the events after a number for some seconds; return the last one's number, and what was wrong, if anything.

    Events have consecutive numbers, so that one which is missing or comes twice shows.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_request(token, last))
    try:
        async with asyncio.timeout(seconds):
            if b" 200 " not in (status := await reader.readline()):
                return last, f"events: {status!r}"
            number = last
            while line := await reader.readline():
                if line.startswith(b"id: "):
                    number = int(line[4:])
                elif line.startswith(b"data: "):  # a frame without data only names the position
                    if number != last + 1:
                        return number, f"events: {number} after {last}"
                    last = number
    except TimeoutError:
        return last, None
    else:
        return last, "events: the stream ended"
    finally:
        writer.close()


async def stop_reading(port: int, token: str) -> bool:
    """Ask for all events, read none, and return whether the service disconnects."""
    with contextlib.closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        await asyncio.get_running_loop().sock_sendall(connection, _request(token, 0))
        await asyncio.sleep(_STALL_SECONDS)
        try:
            async with asyncio.timeout(_READ_SECONDS):
                while await asyncio.get_running_loop().sock_recv(connection, 1 << 20):
                    pass  # what was sent before
        except TimeoutError:
            return False
        except ConnectionError:
            return True
    return True


def _request(token: str, last: int) -> bytes:
    head = f"GET /changes HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Last-Event-ID: {last}\r\n\r\n".encode()
