"""Close connections whose client sends a head or reads a response too slowly; coalesce small writes.

`trninv.service.middleware` limits bodies. A response's head is sent together with its body because each packet wakes
the client once more.
"""

import asyncio
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

END_RESPONSE_KEY: Final = "trninv.ending"
"""Key in the ASGI scope of an endless response: the function that ends it when the server stops."""
COALESCE_MAX_BYTES: Final = 4_096
"""Writes up to this size wait for the next one."""


class CoalescingTransport(asyncio.Transport):
    """A transport that holds back a small write until the next one, or the loop's next iteration."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop, self._buffer = transport, loop, b""
        self._flush_handle: asyncio.Handle | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._buffer:
            self._transport.write(self._take_buffer() + data)
        elif len(data) > COALESCE_MAX_BYTES:
            self._transport.write(data)
        elif data:
            self._buffer = bytes(data)
            self._flush_handle = self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send the buffered bytes."""
        if self._buffer:
            self._transport.write(self._take_buffer())

    def _take_buffer(self) -> bytes:
        buffer, self._buffer = self._buffer, b""
        if self._flush_handle:
            self._flush_handle.cancel()
        return buffer

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._take_buffer()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()


class TimeoutProtocol(H11Protocol):
    """uvicorn's protocol with timeouts, in seconds, for slow clients.

    It closes connections whose head is incomplete after `head_timeout`, even if bytes still arrive, and those whose
    client reads nothing of a response for `write_timeout`.
    """

    head_timeout: ClassVar[float] = 10.0
    write_timeout: ClassVar[float] = 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self.transport = CoalescingTransport(transport, self.loop)
        self._update_head_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_head_timer()

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
        """Refuse invalid HTTP; just close if h11 forbids the body, as after a HEAD request."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def _update_head_timer(self) -> None:
        if self.conn.their_state is not h11.IDLE:
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
