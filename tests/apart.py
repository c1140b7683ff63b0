"""Work in a process of its own, which begins at once: it is forked from one that has imported trninv."""

import io
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

from sqlalchemy import event

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.cli.main import main
from trninv.database import tables
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.migration import migrate
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.archive.archive_writer import archive_history
from trninv.inventory import transfer
from trninv.inventory.seeding import cluster_seeding, expected_rows

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__, "trninv.database.migration", "trninv.cli.seed_commands", "psycopg"])


def killed_half_way(work: Callable[..., None], *arguments: object) -> None:
    """Kill what works on these arguments when it says that it is half way."""
    ours, its = _PROCESSES.Pipe()
    process = _PROCESSES.Process(target=work, args=(*arguments, its))
    process.start()
    assert ours.poll(60)
    assert ours.recv() == "half way"
    process.kill()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def seed_half(url: str, table_count: int, told: Connection) -> None:
    """Seed a system, as far as so many tables."""
    vars(expected_rows)["INSERT_ORDER"] = vars(cluster_seeding)["INSERT_ORDER"] = (
        *tables.INSERT_ORDER[:table_count],
        "the end",
    )
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        try:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"))
        except KeyError:
            told.send("half way")
            time.sleep(60)


def copy_half(source: str, target: str, at: str, told: Connection) -> None:
    """Copy a database, until this is done."""

    def pause(doing: str, _done: int, _total: int) -> None:
        if doing == at:
            told.send("half way")
            time.sleep(60)

    with (
        temporary_engine(source) as ours,
        temporary_engine(target) as theirs,
        read_transaction(ours) as found,
        write_transaction(theirs, foreign_keys=False) as made,
    ):
        transfer.copy_database(found, made, pause)


def migrate_half(url: str, to: str, before: str, told: Connection) -> None:
    """Migrate a database, until a statement that begins so."""

    def pause(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.lstrip().startswith(before):
            told.send("half way")
            time.sleep(60)

    with temporary_engine(url) as engine:
        event.listen(engine, "after_cursor_execute", pause)
        migrate(engine, to)


def at_once(number: int, *words: str) -> list[tuple[int, str]]:
    """Run a command so many times at the same moment; statuses and errors."""
    pipes = [_PROCESSES.Pipe() for _ in range(number)]
    processes = [_PROCESSES.Process(target=_command, args=(words, its)) for _, its in pipes]
    for process in processes:
        process.start()
    ended = [ours.recv() if ours.poll(60) else (-1, "nothing") for ours, _ in pipes]
    for process in processes:
        process.join(60)
    return ended


def _command(words: tuple[str, ...], told: Connection) -> None:
    error, status = io.StringIO(), 0
    with redirect_stderr(error):
        try:
            main(words)
        except SystemExit as ended:
            status = int(str(ended.code))
    told.send((status, error.getvalue()))


def killed_at(step: int, url: str, directory: str) -> bool:
    """Kill what writes an archive when it makes this file, line or name last; whether it came so far."""
    process = _PROCESSES.Process(target=_archive, args=(step, url, directory))
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _archive(step: int, url: str, directory: str) -> None:
    steps, fsync = count(1), os.fsync

    def last(number: int) -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(number)

    vars(os)["fsync"] = last
    with temporary_engine(url) as engine, open_for_writing(Path(directory)) as store:
        archive_history(engine, store)
