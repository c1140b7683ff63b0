"""An asynchronous HTTP client that keeps its connection."""

import asyncio
import json
from http import HTTPStatus
from typing import Any, NamedTuple

from bench.server import encode_body


class Answer(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """Sends requests to a local port, one after another; after an error, the next request opens a new connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes, token: str = "") -> Answer:
        """Post JSON and return the response.

        Raises
        ------
        OSError, asyncio.IncompleteReadError
            The connection failed.

        """
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {token}\r\n" if token else ""
        try:
            self._streams = self._streams or await asyncio.open_connection("127.0.0.1", self._port)
            return await _exchange(*self._streams, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise

    async def query(self, document: str, token: str = "", /, **variables: Any) -> str | None:
        """Send a GraphQL document; return its error or the response's status, or None if it succeeded.

        It is sent again over a new connection if the service has closed a connection that was not used for a while.
        """
        body, is_reused = encode_body({"query": document, "variables": variables}), self._streams is not None
        try:
            answer = await self.post("/graphql", body, token)
        except (OSError, asyncio.IncompleteReadError) as error:
            return await self.query(document, token, **variables) if is_reused else type(error).__name__
        errors = json.loads(answer.body).get("errors", []) if answer.body else []
        if errors:
            return f"{errors[0]['extensions']['code']}: {errors[0]['message']}"
        return None if answer.status == HTTPStatus.OK else str(answer.status)

    def close(self) -> None:
        """Close the connection."""
        if self._streams:
            self._streams[1].close()
        self._streams = None


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> Answer:
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    headers = dict(line.split(": ", 1) for line in head.splitlines()[1:] if ": " in line)
    return Answer(int(head.split()[1]), headers, await reader.readexactly(int(headers["content-length"])))
