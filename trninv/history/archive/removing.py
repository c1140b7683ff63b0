"""Removes from the database the events that an archive has: no others, and only if it has just what was sealed."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Engine, case, delete, func, insert, select, update

from trninv.errors import BusyError, FileError
from trninv.history.archive import parquet
from trninv.history.archive.store import Entry, Store
from trninv.inventory.author import check_author
from trninv.inventory.chain import SEALED, alone, compared, line, removed
from trninv.inventory.database import reading, writing
from trninv.inventory.fold import fold, spans
from trninv.inventory.schema import TABLES
from trninv.inventory.start import prune, record
from trninv.timestamps import current_timestamp

_EVENT, _SEAL, _ARCHIVE, _CLUSTER = (
    TABLES[name] for name in ("state_event", "event_seal", "history_archive", "cluster")
)
_NAMES = [column.name for column in SEALED]


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed.

    Attributes
    ----------
    events
        How many; 0 where nothing could be.
    upto, since
        The last of them, and since when history is known in the database now.

    """

    events: int
    upto: int = 0
    since: str = ""


def remove(engine: Engine, store: Store, who: str) -> Removed:
    """Remove the events up to the last seal before which the archive has all of them; the newest event stays.

    Raises
    ------
    LimitError
        Who is missing, too long or not writable.
    FileError
        The archive has not what was sealed; nothing is removed.
    BusyError
        Another run removed events meanwhile; nothing is removed.

    """
    check_author(who)
    with reading(engine) as connection:
        before = removed(connection)
        upto, digest = _archived(connection, store)
    if not upto:
        return Removed(0)
    with writing(engine) as connection:
        alone(connection)
        if removed(connection) != before:
            raise BusyError("another trninv archive removed events meanwhile: run this one again")
        since = connection.scalar(select(_EVENT.c.at).where(_EVENT.c.id == upto + 1)) or ""
        now, where = current_timestamp(), str(store.directory.absolute())
        connection.execute(
            insert(_ARCHIVE).values(id=upto, sha256=digest, at=now, since=since, directory=where, who=who)
        )
        for span in spans(connection, upto):
            if span.start < upto:
                cluster = {"id": span.cluster_id, "slug": span.slug}
                record(connection, cluster, "archive", upto, fold(connection, span))
        gone = connection.execute(delete(_EVENT).where(_EVENT.c.id <= upto)).rowcount
        connection.execute(delete(_SEAL).where(_SEAL.c.id < upto))
        prune(connection)
        earlier = _CLUSTER.c.known_from < upto
        moved = {"known_since": case((_CLUSTER.c.known_since < since, since), else_=_CLUSTER.c.known_since)}
        connection.execute(update(_CLUSTER).where(earlier).values(known_from=upto, **moved))
    return Removed(gone, upto, since)


def _archived(connection: Connection, store: Store) -> tuple[int, str]:
    """The last event that may go, and its seal, computed anew from what the archive has; 0 where none may."""
    gone = removed(connection)
    begins = gone.id if gone else 0
    seals = select(_SEAL).order_by(_SEAL.c.id)
    beginning = connection.execute(seals.where(_SEAL.c.id == begins)).first() or (0, "", None)
    newest = connection.scalar(select(func.max(_EVENT.c.id))) or 0
    later = connection.execute(
        seals.where(_SEAL.c.id > begins, _SEAL.c.id < newest), execution_options={"yield_per": 10_000}
    )
    events = ((row[0], line(row)) for row in _rows(store, begins))
    found = 0, ""
    with later:
        for seal, digest, missing in compared(connection, events, beginning, later):
            if missing:
                break
            if digest != seal.sha256:
                raise FileError(
                    f"{store.directory} has other events up to {seal.id} than were sealed: nothing was removed"
                )
            found = seal.id, digest
    return found


def _rows(store: Store, after: int) -> Iterator[tuple[Any, ...]]:
    """Events of an archive after one, in their order; files are read together only where their numbers overlap.

    Raises
    ------
    FileError
        A file is not as it was written.

    """
    together, end = list[Entry](), 0
    for entry in sorted(store.of("events"), key=lambda entry: entry.first):
        if entry.last <= after:
            continue
        if together and entry.first > end:
            yield from _merged(store, together, after)
            together = []
        together.append(entry)
        end = max(end, entry.last)
    yield from _merged(store, together, after)


def _merged(store: Store, entries: list[Entry], after: int) -> Iterator[tuple[Any, ...]]:
    files = [file for entry in entries for file in entry.files]
    for file in files:
        if fault := store.fault(file):
            raise FileError(f"{store.directory}: {file.path} {fault}: nothing was removed")
    each = (parquet.rows(store.directory / file.path, _NAMES) for file in files)
    for row in heapq.merge(*each, key=itemgetter(0)):
        if row[0] > after:
            yield row
