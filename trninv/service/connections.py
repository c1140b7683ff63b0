"""Connections that send heads and take answers in time; bodies are `trninv.service.arrival`'s."""

import asyncio
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

ENDING: Final = "trninv.ending"
"""In the scope of an answer that has no end: what ends it when the server stops."""


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
