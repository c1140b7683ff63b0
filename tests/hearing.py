"""Those who listen to changes over HTTP, and a service in this process for them."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urlsplit

import uvicorn
from sqlalchemy import Engine

from trninv.cli.serve_commands import open_socket
from trninv.database.engine import write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.service.application import create_app
from trninv.service.connection_limits import TimeoutProtocol
from trninv.settings import Settings


@contextmanager
def served(url: str, http: type[TimeoutProtocol] = TimeoutProtocol, **settings: Any) -> Iterator[str]:
    """The URL of a service in a thread of its own; it is stopped as by a signal, and must end by itself."""
    made = create_app(url, Settings(database_url=url, log="off", **settings))
    server = uvicorn.Server(uvicorn.Config(made, log_config=None, log_level="critical", ws="none", http=http))
    listener = open_socket("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive(), "the service did not end"


class Hearing:
    """A listener: the frames of a stream, each as its fields."""

    def __init__(self, url: str, path: str = "/changes", body: bytes | None = None, /, **headers: str) -> None:
        place = urlsplit(url)
        self._socket = socket.create_connection((place.hostname or "", place.port or 0), 10)
        sent = {"host": "127.0.0.1", "accept": "text/event-stream"} | ({} if body is None else _json(body)) | headers
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in sent.items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
        self._file = self._socket.makefile("rb")
        self.head = b"".join(iter(self._file.readline, b"\r\n")).decode().lower()
        self.status = int(self.head.split()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def __iter__(self) -> Iterator[dict[str, str]]:
        """Frames until the stream ends; data is joined, comments are the field of no name."""
        text = b""
        while size := int(self._file.readline() or b"0", 16):
            text += self._file.read(size)
            self._file.readline()
            *frames, text = text.split(b"\n\n")
            for frame in frames:
                pairs = (line.partition(":") for line in frame.decode().split("\n"))
                yield {name: value.removeprefix(" ") for name, _, value in pairs}

    def events(self, most: int) -> list[dict[str, Any]]:
        """The next events, with what their ids were."""
        found: list[dict[str, Any]] = []
        if most:
            for frame in self:
                if "data" in frame:
                    found.append(json.loads(frame["data"]) | {"id": frame["id"], "named": frame.get("event")})
                if len(found) == most:
                    break
        return found

    def body(self) -> Any:
        """What an answer that ends says."""
        length = next(line for line in self.head.splitlines() if line.startswith("content-length:"))
        return json.loads(self._file.read(int(length.split(":")[1])))


def _json(body: bytes) -> dict[str, str]:
    return {"content-type": "application/json", "content-length": str(len(body))}


def change(engine: Engine, address: str, state: str = "down") -> None:
    with write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user(state), why="so it goes", who="tester")
