"""Delete archived events from the database, for `trninv archive --delete`.

Before anything is deleted, the seals are recomputed from the archived files and compared with the seals in the
database. A seal is a digest of all events up to one event.
"""

import heapq
from collections.abc import Iterator
from contextlib import ExitStack
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
    BEFORE_FIRST_SEAL,
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
_EVENT_COLUMN_NAMES = [column.name for column in SEALED_COLUMNS]


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The events deleted from the database.

    Attributes
    ----------
    events
        The number of deleted events; 0 if none could be deleted.
    last_event, since
        The number of the last deleted event, and the time of the first remaining event; 0 and "" if none was deleted.

    """

    events: int
    last_event: int = 0
    since: str = ""


def prune_events(engine: Engine, store: ArchiveStore, who: str) -> PruneResult:
    """Delete events up to the last seal that the archive covers completely; the newest event always stays.

    Parameters
    ----------
    who
        The author to record for the deletion.

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
        last, digest = _last_deletable(connection, store)
    if not last:
        return PruneResult(0)
    with write_transaction(engine) as connection:
        lock_events(connection)
        if last_archived_event(connection) != last_removal:
            raise BusyError("another trninv archive run removed events in the meantime; run it again")
        since = connection.scalar(select(_EVENT.c.at).where(_EVENT.c.id == last + 1)) or ""
        now, where = current_timestamp(), store.name
        connection.execute(
            insert(_ARCHIVE).values(id=last, sha256=digest, at=now, since=since, directory=where, who=who)
        )
        for span in event_spans(connection, last):
            if span.start < last:  # the cluster's history now begins with the state after the deleted events
                cluster = {"id": span.cluster_id, "slug": span.slug}
                record_start(connection, cluster, "archive", last, fold_events(connection, span))
        deleted = connection.execute(delete(_EVENT).where(_EVENT.c.id <= last)).rowcount
        connection.execute(delete(_SEAL).where(_SEAL.c.id < last))
        prune_starts(connection)
        known_since = case((_CLUSTER.c.known_since < since, since), else_=_CLUSTER.c.known_since)
        shortened = update(_CLUSTER).where(_CLUSTER.c.known_from < last)
        connection.execute(shortened.values(known_from=last, known_since=known_since))
    return PruneResult(deleted, last, since)


def _last_deletable(connection: Connection, store: ArchiveStore) -> tuple[int, str]:
    """Return the last event that may be deleted and its seal, recomputed from the archive; (0, "") if there is none."""
    store.check_manifest()
    last_removal = last_archived_event(connection)
    removed_up_to = last_removal.id if last_removal else 0
    seals = select(_SEAL).order_by(_SEAL.c.id)
    first_seal = connection.execute(seals.where(_SEAL.c.id == removed_up_to)).first() or BEFORE_FIRST_SEAL
    newest_event = connection.scalar(select(func.max(_EVENT.c.id))) or 0
    later_seals = connection.execute(
        seals.where(_SEAL.c.id > removed_up_to, _SEAL.c.id < newest_event), execution_options={"yield_per": 10_000}
    )
    events = ((row[0], event_bytes(row)) for row in _archived_events(store, removed_up_to))
    last_complete = 0, ""
    with later_seals:
        for seal, digest, missing in recomputed_seals(connection, events, first_seal, later_seals):
            if missing:  # the archive lacks an event of this seal, so nothing after the seal before can be deleted
                break
            if digest != seal.sha256:
                raise InvalidFileError(
                    f"{store.name}: the events up to {seal.id} do not match their seal; nothing was removed; run "
                    f"trninv archive {store.name} --check and trninv verify"
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
    """Check the files of the entries, and yield their events after a number, in order."""
    files = [file for entry in entries for file in entry.files]
    for file in files:
        if problem := store.integrity_error(file):
            raise InvalidFileError(f"{store.name}: {file.path} {problem}; nothing was removed")
    with ExitStack() as stack:
        sources = [stack.enter_context(store.directory.open(file.path)) for file in files]
        row_iterators = (parquet.read_rows(source, _EVENT_COLUMN_NAMES) for source in sources)
        for row in heapq.merge(*row_iterators, key=itemgetter(0)):
            if row[0] > after:
                yield with_current_action(row)
