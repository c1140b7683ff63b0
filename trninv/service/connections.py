"""Connections whose clients send the head of each request in time; its body is `trninv.service.arrival`'s.

The head of an answer leaves together with its body: each packet wakes the client once more.
"""

import asyncio
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SMALL: Final = 4_096
"""Bytes that wait for those that follow them at once."""


class Together(asyncio.Transport):
    """A transport of which a small part waits for the next one, or for the loop's next turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop, self._held = transport, loop, b""
        self._turn: asyncio.Handle | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._held:
            self._transport.write(self._taken() + data)
        elif len(data) > SMALL:
            self._transport.write(data)
        elif data:
            self._held = bytes(data)
            self._turn = self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what waits."""
        if self._held:
            self._transport.write(self._taken())

    def _taken(self) -> bytes:
        held, self._held = self._held, b""
        if self._turn:
            self._turn.cancel()
        return held

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()


class Connection(H11Protocol):
    """uvicorn's, closed where a head is not whole after some seconds, however often a byte of it comes."""

    seconds: ClassVar[float] = 10.0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self.transport = Together(transport, self.loop)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; of an answer that may have no body, as HEAD's, only the head is sent."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._late is None:
            self._late = self.loop.call_later(self.seconds, self.timeout_keep_alive_handler)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
