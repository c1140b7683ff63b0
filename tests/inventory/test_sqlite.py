"""SQLite's files: readers and writers that don't wait for each other, read-only places, a file that is replaced."""

import os
import shutil
import signal
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

import trninv
from conftest import Databases
from trninv.database import sqlite
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.revision import RevisionTracker
from trninv.errors import DatabaseError
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

CHIP = "u-trn2x64/d0/s0/c3"
NOBODY = 65534


def _file(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _set(url: str, state: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [CHIP], Condition(state), why="test", who="test")


def _with_journal(url: str) -> str:
    with sqlite3.connect(_file(url)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return url


def test_a_writer_and_a_question_that_began_before_do_not_wait_for_each_other(databases: Databases) -> None:
    """The writer commits while the question reads, and the question still reads its own state."""
    url = databases.seeded("sqlite")
    with trninv.open(url) as fleet, fleet.snapshot() as one, ThreadPoolExecutor(1) as writer:
        before = one.memory_pool(CHIP)
        writer.submit(_set, url, "down").result(timeout=30)
        assert one.memory_pool(CHIP) == before
        assert fleet.memory_pool(CHIP) != before


def test_which_state_it_is_is_never_waited_for(databases: Databases) -> None:
    """With a rollback journal, while a writer waits to commit, nobody is told a state and nobody is held up."""
    url = _with_journal(databases.seeded("sqlite"))
    with temporary_engine(url) as engine, trninv.open(url) as fleet:
        revision = RevisionTracker(engine)
        assert revision.current() is not None
        blocker = sqlite3.connect(_file(url), timeout=0, isolation_level=None)
        reader = sqlite3.connect(_file(url), isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM node").fetchone()
        blocker.execute("BEGIN IMMEDIATE")
        blocker.execute("UPDATE node SET state = state")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            blocker.execute("COMMIT")  # it holds the pending lock now: no reader may begin
        assert revision.current() is None
        assert fleet.revision() is None
        reader.execute("ROLLBACK")
        blocker.execute("COMMIT")
        assert revision.current() is not None
        revision.close()
        for each in (blocker, reader):
            each.close()


def test_a_write_gives_a_log_and_leaves_it_empty(databases: Databases) -> None:
    url = _with_journal(databases.seeded("sqlite"))
    with temporary_engine(url) as engine:
        with read_transaction(engine) as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
        _set(url, "down")
        with read_transaction(engine) as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        _set(url, "up")
        assert _file(url).with_name(f"{_file(url).name}-wal").stat().st_size == 0
    assert not list(_file(url).parent.glob(f"{_file(url).name}-*"))


def test_a_write_is_made_although_a_reader_keeps_the_journal(databases: Databases) -> None:
    """A file that can't be given a log just now is written with its journal."""
    url = _with_journal(databases.seeded("sqlite"))
    reader = sqlite3.connect(_file(url), isolation_level=None)
    cursor = reader.execute("SELECT id FROM node")
    cursor.fetchone()
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
        cursor.close()
    reader.close()


@contextmanager
def _unprivileged() -> Iterator[None]:
    """As a user who may not write everywhere."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_database_in_a_read_only_place_is_read(databases: Databases, mode: str) -> None:
    url = databases.seeded("sqlite")
    with sqlite3.connect(_file(url)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.close()
    with trninv.open(url) as fleet:
        expected = fleet.path(CHIP, "u-trn2x64/d0/s2/c5")
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "fleet.db"
        shutil.copy(_file(url), file)
        file.chmod(0o444)
        Path(name).chmod(0o555)
        with _unprivileged(), trninv.open(f"sqlite:///{file}") as fleet:
            assert fleet.path(CHIP, "u-trn2x64/d0/s2/c5") == expected
            assert list(Path(name).iterdir()) == [file]
        Path(name).chmod(0o755)


def test_a_file_that_was_replaced_is_read_anew(databases: Databases) -> None:
    """A question asked after `mv backup fleet.db` is of the backup, and so is what is remembered."""
    url, backup = databases.seeded("sqlite"), databases.seeded("sqlite")
    _set(backup, "down")
    with trninv.open(url) as fleet:
        before, known = fleet.memory_pool(CHIP), fleet.revision()
        _file(backup).replace(_file(url))
        assert fleet.revision() != known
        assert fleet.memory_pool(CHIP) != before
        _set(url, "up")
        assert fleet.memory_pool(CHIP) == before


@contextmanager
def another_writing(url: str) -> Iterator[None]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def interrupted_soon() -> Iterator[None]:
    """Ctrl-C, within the block."""
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell started in the background ignores it
    soon = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    soon.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
        soon.join()
    finally:
        signal.signal(signal.SIGINT, ours)


def test_who_waits_too_long_for_another_is_told_so(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 300)
    refused = pytest.raises(DatabaseError, match="is locked: another process has been writing")
    with another_writing(lite), temporary_engine(lite) as engine, refused, write_transaction(engine):
        pass


def test_who_waits_for_another_hears_ctrl_c(lite: str) -> None:
    with another_writing(lite), temporary_engine(lite) as engine, interrupted_soon(), write_transaction(engine):
        pass
    with temporary_engine(lite) as engine, write_transaction(engine):
        pass  # the lock is free, and nobody has it


def test_ctrl_c_in_a_long_statement_is_no_failure_of_the_database(lite: str) -> None:
    forever = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    with temporary_engine(lite) as engine, interrupted_soon(), read_transaction(engine) as connection:
        connection.execute(text(forever))
