"""Exports: read at the database's speed, sent at the reader's, and only so many at once."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from queries import snapshot_of
from sqlalchemy import Engine, QueuePool
from starlette.testclient import TestClient

from trninv.cli.serve_commands import open_socket
from trninv.database.engine import write_transaction
from trninv.errors import SqlError, TrninvError
from trninv.inventory.access import bearer_tokens
from trninv.reports import export_spool
from trninv.reports.export_spool import ExportSpool
from trninv.routing.fleet import BaseFleet
from trninv.service import export
from trninv.service.application import create_app
from trninv.settings import Settings


def _is_read(spool: ExportSpool) -> bool:
    for _ in range(3_000):
        if spool.is_complete:
            return True
        threading.Event().wait(0.01)
    return False


def test_an_export_that_nobody_reads_needs_the_database_no_more(engine: Engine) -> None:
    spool = ExportSpool("v_link", "ndjson")
    with snapshot_of(engine) as snapshot:
        spool.open(snapshot)
    assert _is_read(spool)
    with write_transaction(engine) as connection:
        bearer_tokens.create_token(connection, "meanwhile", "read", None)
    if engine.dialect.name == "postgresql":
        assert isinstance(engine.pool, QueuePool)
        assert engine.pool.checkedout() == 0
    body = b"".join(spool.pieces())
    spool.close()
    assert len(body.splitlines()) > 900


def test_an_export_is_whole_while_it_is_being_read(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_spool, "_PIECE_SIZE", 1_000)
    spool = ExportSpool("v_chip", "csv", columns="address", cluster="u-trn2x64")
    with snapshot_of(engine) as snapshot:
        spool.open(snapshot)
    assert len(b"".join(spool.pieces()).splitlines()) == 65
    spool.close()


def test_an_export_that_fails_on_the_way_does_not_look_whole(
    lite_fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_spool, "MAX_EXPORT_BYTES", 10)
    spool = ExportSpool("v_chip", "csv")
    with snapshot_of(lite_fleet.engine) as snapshot:
        spool.open(snapshot)
    with pytest.raises(TrninvError, match="too large"):
        list(spool.pieces())
    spool.close()
    with snapshot_of(lite_fleet.engine) as snapshot, pytest.raises(SqlError):
        ExportSpool("v_chip", "csv", columns="nothing").open(snapshot)


@contextmanager
def _served(url: str, settings: Settings) -> Iterator[int]:
    app = create_app(url, settings)
    config = uvicorn.Config(app, log_config=None, log_level="critical", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    listener = open_socket("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def test_only_so_many_exports_run_and_an_idle_reader_makes_room(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader takes a few bytes of what no buffer holds, and then nothing: it is dropped."""
    monkeypatch.setattr(export, "IDLE_SECONDS", 1.0)
    monkeypatch.setattr(ExportSpool, "pieces", lambda _self: iter([b"x" * 10_000_000] * 20))
    settings = Settings(database_url=lite, log="off", exports=1)
    with _served(lite, settings) as port, socket.create_connection(("127.0.0.1", port)) as idle:
        idle.sendall(b"GET /export/v_chip.csv HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert idle.recv(100).startswith(b"HTTP/1.1 200")
        assert _status(port) == 503
        assert any(_status(port) == 200 for _ in range(200) if not threading.Event().wait(0.1))


def _status(port: int) -> int:
    with socket.create_connection(("127.0.0.1", port)) as other:
        other.sendall(b"GET /export/v_chip.csv HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return int(other.recv(100).split()[1])


def test_too_many_exports_are_refused_by_name(lite: str) -> None:
    settings = Settings(database_url=lite, log="off", exports=1)
    with TestClient(create_app(lite, settings), base_url="http://127.0.0.1") as client:
        for _ in range(3):  # each makes room for the next, also one that fails
            assert client.get("/export/v_chip.csv").status_code == 200
            assert client.get("/export/v_chip.csv", params={"columns": "no"}).status_code == 400
        client.app.state.shared.exports.acquire_nowait()  # type: ignore[attr-defined] # a Starlette
        answer = client.get("/export/v_chip.csv")
        assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (503, "BUSY")
