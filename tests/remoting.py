"""A service in this process, and fleets that ask it over HTTP without a socket."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from trninv.cli.main import main
from trninv.remote.call_builder import CallBuilder
from trninv.remote.http_clients import HttpClient
from trninv.remote.remote_fleet import RemoteFleet
from trninv.service.application import create_app
from trninv.settings import Settings

Command = Callable[..., tuple[int, str, str]]
URL = "http://127.0.0.1"


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command line in this process, without a database of the fixture's own; status, stdout, stderr."""

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capfd.readouterr()
        return int(str(ended.value.code)), out, err

    return call


@contextmanager
def service(database: str, **settings: Any) -> Iterator[Callable[..., RemoteFleet]]:
    """What returns a fleet of the service, with a token if it is given one."""
    application = create_app(database, Settings(database_url=database, log="off", **settings))
    with TestClient(application, base_url=URL) as client:

        def connect(*_: str, token: str = "", **__: float) -> RemoteFleet:
            return fleet_over(client._transport, token)

        yield connect


def fleet_over(transport: httpx2.BaseTransport, token: str = "", pauses: list[float] | None = None) -> RemoteFleet:
    """A fleet whose requests go through a transport; it does not pause, but notes for how long it would."""
    client = HttpClient(token, 60, transport)
    client._sleep = ([] if pauses is None else pauses).append  # type: ignore[assignment]
    return RemoteFleet(CallBuilder(URL), client)


def answering(status: int = 200, body: bytes | str = b"", **headers: str) -> httpx2.MockTransport:
    """A transport that answers each request in the same way."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body.encode() if isinstance(body, str) else body
    return httpx2.MockTransport(lambda _: httpx2.Response(status, headers=named, content=content))
