"""Connections that send heads and take answers in time; bodies are `trninv.service.arrival`'s.

The head of an answer leaves together with its body: each packet wakes the client once more.
"""

import asyncio
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

ENDING: Final = "trninv.ending"
"""In the scope of an answer that has no end: what ends it when the server stops."""
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

    def abort(self) -> None:
        self._taken()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()


class Connection(H11Protocol):
    """uvicorn's, closed where a head is not whole after some seconds, however often a byte of it comes.

    And where a client takes nothing of its answer for some time, although little waits for it.
    """

    seconds: ClassVar[float] = 10.0
    idle: ClassVar[float] = 30.0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self.transport = Together(transport, self.loop)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._flows()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """More waits for the client than is kept for it."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self.idle, self.transport.abort)

    def resume_writing(self) -> None:
        """It has taken that."""
        self._flows()
        super().resume_writing()

    def shutdown(self) -> None:
        """End what would not end by itself."""
        super().shutdown()
        scope: dict[str, Any] = dict(self.scope or {})
        if end := scope.get(ENDING):
            end()

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

    def _flows(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
