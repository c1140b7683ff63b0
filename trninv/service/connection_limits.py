"""Close connections whose client sends a request's head, or reads a response, too slowly.

`trninv serve` runs uvicorn with this protocol; `trninv.service.middleware` limits bodies.
"""

import asyncio
from typing import Any, ClassVar, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

END_RESPONSE_KEY: Final = "trninv.ending"
"""Key, in the ASGI scope of an endless response, of the function that ends it when the server stops."""
MAX_HEAD_BYTES: Final = 64 * 1024
"""Maximum bytes of a request's head, which may be exceeded by one read; httptools has no limit of its own."""


class TimeoutProtocol(HttpToolsProtocol):
    """uvicorn's protocol with timeouts, in seconds, for slow clients.

    It closes connections on which no complete head has arrived after `head_timeout`, even if bytes still arrive, and
    those whose send buffer stays full for `write_timeout`.
    """

    head_timeout: ClassVar[float] = 10.0
    write_timeout: ClassVar[float] = 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_between_requests = True  # False from the end of a request's head to the end of its body
        self._message_count = self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self._update_head_timer()

    def data_received(self, data: bytes) -> None:
        message_count = self._message_count
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._is_between_requests and self._message_count == message_count:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The head of the request is too long.")
                return
        else:
            self._head_bytes = 0
        self._update_head_timer()

    def on_headers_complete(self) -> None:
        self._is_between_requests = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_between_requests = True
        self._message_count += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        self._cancel_write_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the write timeout when the send buffer is full."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.write_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the write timeout when the client has read the buffer."""
        self._cancel_write_timer()
        super().resume_writing()

    def shutdown(self) -> None:
        """End an endless response, too, when the server stops."""
        super().shutdown()
        scope: dict[str, Any] = dict(self.scope or {})
        if end := scope.get(END_RESPONSE_KEY):
            end()

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP; only close the connection if another response has started on it."""
        if (cycle := self._open_cycle()) and cycle.response_started:
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _open_cycle(self) -> RequestResponseCycle | None:
        """Return the latest request if its response has not ended."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        return cycle if cycle is not None and not cycle.response_complete else None

    def _update_head_timer(self) -> None:
        """Start the timer if the client has to send a head; stop it while a request is received or answered."""
        if not self._is_between_requests or self._open_cycle():
            self._cancel_head_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_timeout, self.timeout_keep_alive_handler)

    def _cancel_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
