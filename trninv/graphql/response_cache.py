"""Keep encoded responses, so that a repeated request is not run again.

A response that does not read the clock (`Response.reads_clock`) depends only on the document, its variables, the scope
of the client's token and the state of the database. It is sent again as long as the database has that state.
"""

from collections import OrderedDict
from collections.abc import Collection
from threading import Lock
from typing import Final

import orjson

from trninv.database.snapshot import AsOf
from trninv.graphql.document_request import Request
from trninv.graphql.responses import Response

Key = tuple[str | None, ...]
"""What a cached response depends on, besides the state of the database."""
MAX_CACHED_BYTES: Final = 16 * 2**20
"""Maximum bytes of all cached responses."""
MAX_RESPONSE_BYTES: Final = MAX_CACHED_BYTES // 16
"""Maximum bytes of a response that is cached."""
_ENTRY_BYTES: Final = 500
"""Estimated bytes of an entry besides its key and body."""


def request_key(request: Request, scope: str) -> Key | None:
    """Return the key of a request from a client with a scope; None if its variables can't be written as JSON."""
    try:
        # decoded, because orjson's bytes keep the kilobyte or more that they were written to
        variables = orjson.dumps(request.variables, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # too deeply nested, or with lone surrogates
        return None
    return scope, request.query, request.document, request.operation, request.as_of, variables


class ResponseCache:
    """LRU cache of responses by request, without their extensions; thread safe."""

    def __init__(self, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_bytes, self._lock = max_bytes, Lock()
        self._responses, self._bytes = OrderedDict[Key, Response](), 0

    def __contains__(self, key: Key) -> bool:
        return key in self._responses

    def get(self, key: Key, as_of: AsOf, states: Collection[str]) -> Response | None:
        """Return the cached response if it shows one of these states, as read at another time and revision."""
        with self._lock:
            response = self._responses.get(key)
            if response is None or response.state not in states:
                return None
            self._responses.move_to_end(key)
        return Response(response.body, cost=response.cost, as_of=as_of, reads_clock=False)

    def add(self, key: Key, response: Response) -> None:
        """Add a response if it reads no clock, shows a known state and is small enough."""
        size = _size(key, response)
        if response.reads_clock is not False or not response.state or size > min(MAX_RESPONSE_BYTES, self._max_bytes):
            return
        with self._lock:
            if earlier := self._responses.pop(key, None):
                self._bytes -= _size(key, earlier)
            self._responses[key] = response
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._bytes -= _size(*self._responses.popitem(last=False))


def _size(key: Key, response: Response) -> int:
    return sum(map(len, filter(None, key))) + len(response.body) + _ENTRY_BYTES
