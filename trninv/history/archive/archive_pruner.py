"""Delete archived events from the database."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Engine, case, delete, func, insert, select, update

from trninv.database.engine import read_transaction, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import BusyError, InvalidFileError
from trninv.history.archive import parquet
from trninv.history.archive.archive_store import ArchiveStore, ManifestEntry
from trninv.inventory.state.author import check_author
from trninv.inventory.state.event_fold import event_spans, fold_events
from trninv.inventory.state.hash_chain import (
    SEALED_COLUMNS,
    event_bytes,
    last_archived_event,
    lock_events,
    recomputed_seals,
    with_current_action,
)
from trninv.inventory.state.history_start import prune_starts, record_start
from trninv.units import current_timestamp

_EVENT, _SEAL, _ARCHIVE, _CLUSTER = (
    TABLES[name] for name in ("state_event", "event_seal", "history_archive", "cluster")
)
_NAMES = [column.name for column in SEALED_COLUMNS]


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The events deleted from the database.

    Attributes
    ----------
    events
        The number of deleted events; 0 if none could be.
    last_event, since
        The last deleted event, and the time from which the database knows history now.

    """

    events: int
    last_event: int = 0
    since: str = ""


def prune_events(engine: Engine, store: ArchiveStore, who: str) -> PruneResult:
    """Delete events up to the last seal that the archive covers completely; the newest event always stays.

    Raises
    ------
    InvalidArgumentError
        `who` is missing, too long, or has characters that can't be written.
    InvalidFileError
        The archive's events do not match the seals, or a file is damaged; nothing is deleted.
    BusyError
        Another run deleted events meanwhile; nothing is deleted.

    """
    check_author(who)
    with read_transaction(engine) as connection:
        last_removal = last_archived_event(connection)
        upto, digest = _last_archived(connection, store)
    if not upto:
        return PruneResult(0)
    with write_transaction(engine) as connection:
        lock_events(connection)
        if last_archived_event(connection) != last_removal:
            raise BusyError("another trninv archive run removed events in the meantime; run it again")
        since = connection.scalar(select(_EVENT.c.at).where(_EVENT.c.id == upto + 1)) or ""
        now, where = current_timestamp(), str(store.directory.absolute())
        connection.execute(
            insert(_ARCHIVE).values(id=upto, sha256=digest, at=now, since=since, directory=where, who=who)
        )
        for span in event_spans(connection, upto):
            if span.start < upto:
                cluster = {"id": span.cluster_id, "slug": span.slug}
                record_start(connection, cluster, "archive", upto, fold_events(connection, span))
        deleted = connection.execute(delete(_EVENT).where(_EVENT.c.id <= upto)).rowcount
        connection.execute(delete(_SEAL).where(_SEAL.c.id < upto))
        prune_starts(connection)
        earlier = _CLUSTER.c.known_from < upto
        moved = {"known_since": case((_CLUSTER.c.known_since < since, since), else_=_CLUSTER.c.known_since)}
        connection.execute(update(_CLUSTER).where(earlier).values(known_from=upto, **moved))
    return PruneResult(deleted, upto, since)


def _last_archived(connection: Connection, store: ArchiveStore) -> tuple[int, str]:
    """Return the last event that may be deleted and its seal, recomputed from the archive; (0, "") if there is none."""
    last_removal = last_archived_event(connection)
    begins = last_removal.id if last_removal else 0
    seals = select(_SEAL).order_by(_SEAL.c.id)
    first_seal = connection.execute(seals.where(_SEAL.c.id == begins)).first() or (0, "", None)
    newest = connection.scalar(select(func.max(_EVENT.c.id))) or 0
    later = connection.execute(
        seals.where(_SEAL.c.id > begins, _SEAL.c.id < newest), execution_options={"yield_per": 10_000}
    )
    events = ((row[0], event_bytes(row)) for row in _archived_events(store, begins))
    last_complete = 0, ""
    with later:
        for seal, digest, missing in recomputed_seals(connection, events, first_seal, later):
            if missing:
                break
            if digest != seal.sha256:
                raise InvalidFileError(
                    f"{store.directory}: the events up to {seal.id} do not match their seal; nothing was removed"
                )
            last_complete = seal.id, digest
    return last_complete


def _archived_events(store: ArchiveStore, after: int) -> Iterator[tuple[Any, ...]]:
    """Yield the archived events after a number, in order.

    Only files whose ranges of numbers overlap are merged, so that few are open at once.
    """
    overlapping, end = list[ManifestEntry](), 0
    for entry in sorted(store.entries_of("events"), key=lambda entry: entry.first):
        if entry.last <= after:
            continue
        if overlapping and entry.first > end:
            yield from _merge_files(store, overlapping, after)
            overlapping = []
        overlapping.append(entry)
        end = max(end, entry.last)
    yield from _merge_files(store, overlapping, after)


def _merge_files(store: ArchiveStore, entries: list[ManifestEntry], after: int) -> Iterator[tuple[Any, ...]]:
    files = [file for entry in entries for file in entry.files]
    for file in files:
        if fault := store.integrity_error(file):
            raise InvalidFileError(f"{store.directory}: {file.path} {fault}; nothing was removed")
    row_iterators = (parquet.read_rows(store.directory / file.path, _NAMES) for file in files)
    for row in heapq.merge(*row_iterators, key=itemgetter(0)):
        if row[0] > after:
            yield with_current_action(row)
