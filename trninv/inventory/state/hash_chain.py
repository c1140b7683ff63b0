"""Seal events in a hash chain and verify it.

Each event, and each recorded start of a cluster's history, is one line of JSON. Its digest is the SHA-256 of the digest
before it and of this line; a seal stores the digest after an event. Every change of states through trninv calls
`seal_events` in its own transaction. Events written by plain SQL are sealed by the next such change, because SQLite's
triggers cannot hash; until then they are the unsealed tail, which `trninv verify` reports.

Anyone who can write to the database can also compute a new chain. To detect that, note the last seal elsewhere.

Events, starts and seals are numbered by their ids. A seal has the id of the last event that it covers and, in its
column ``starts``, the id of the last recorded start.

A seal also covers rows of other tables through its column ``sealed_rows`` (`trninv.inventory.state.sealed_rows`), one
more line of the chain where it changes. So the chain can be verified without these rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, func, insert, select, text

from trninv.database.tables import EVENT_SOURCES, FORMER_ACTIONS, TABLES
from trninv.errors import InvalidArgumentError
from trninv.inventory.state.sealed_rows import LAST_ROW_IDS, encode_line, last_row_ids, next_seal, seal_rows
from trninv.inventory.triggers.event_triggers import LOCK
from trninv.units import format_timestamp

_EVENT, _SEAL, _ARCHIVE, _CURRENT_CHANGE, _START, _RESTART = (
    TABLES[name]
    for name in ("state_event", "event_seal", "history_archive", "_change", "history_start", "seal_restart")
)
SEALED_COLUMNS: Final = tuple(
    _EVENT.c[name]
    for name in (
        *("id", "batch", "at", "source", "who", "why", "kind", "part_id", "previous_id", "address", "before"),
        *("factor_ppm_before", "state", "factor_ppm", "own_before", "own_factor_ppm_before", "own_state"),
        *("own_factor_ppm", "clock_went_back", "action", "job", "chip_ids"),
    )
)
"""Columns in the order in which they are hashed."""
_ACTION_POSITION: Final = SEALED_COLUMNS.index(_EVENT.c.action)
_CURRENT_ACTIONS: Final = {former: action for action, former in FORMER_ACTIONS.items()}
"""The current names of actions, by their former names."""
_ADDED_COLUMNS: Final = (1, 2)
"""The numbers of columns that were added at the end, the last ones first.

Columns added together are not hashed if all of them are NULL, so that older seals stay valid.
"""
# every change executes these statements, and building them again would take longer than running them
_INSERT_CHANGE: Final = insert(_CURRENT_CHANGE)
_DELETE_CHANGE: Final = delete(_CURRENT_CHANGE).returning(_CURRENT_CHANGE.c.batch)
_LOCK: Final = text(f"SELECT pg_advisory_xact_lock({LOCK})")
_NEWEST_SEAL: Final = select(_SEAL).order_by(_SEAL.c.id.desc()).limit(1)
_NEWEST_SEAL_AND_ROWS: Final = _NEWEST_SEAL.add_columns(select(func.max(_START.c.id)).scalar_subquery(), *LAST_ROW_IDS)
_INSERT_SEAL: Final = insert(_SEAL)
_STARTS: Final = select(_START).where(_START.c.id > bindparam("after")).order_by(_START.c.id)
_BATCH_SIZE: Final = 10_000
_EVENTS: Final = (
    select(*SEALED_COLUMNS).where(_EVENT.c.id > bindparam("after")).order_by(_EVENT.c.id).limit(_BATCH_SIZE)
)


@dataclass(frozen=True, slots=True)
class ChainStatus:
    """The result of verifying the chain.

    Attributes
    ----------
    events
        Count of events in the database.
    sealed
        Number of the last sealed event; 0 if there is none.
    sha256
        The digest of the last seal; empty if there is none.
    unsealed
        Count of events after the last sealed one.
    broken
        The first difference from a seal, in a few words; None if there is none.
    archived
        Number of the last event that exists only in an archive; 0 if there is none.
    restart
        The last restart of the chain; None if there was none.
    """

    events: int
    sealed: int
    sha256: str
    unsealed: int
    broken: str | None = None
    archived: int = 0
    restart: "ChainRestart | None" = None


@dataclass(frozen=True, slots=True)
class ChainRestart:
    """A restart of the chain: a schema version renamed actions in the events, so that they had to be sealed again.

    Attributes
    ----------
    event
        Number of the last event that was sealed before the restart.
    sha256
        Its former seal.
    archived
        Number of the last event that existed only in an archive then; 0 if there was none.
    schema_version
        The schema version that restarted the chain.
    """

    event: int
    sha256: str
    archived: int
    schema_version: str


@contextmanager
def record_change(connection: Connection, *, who: str, why: str, source: str) -> Iterator[datetime]:
    """Attribute what is written inside this context to an author; triggers record it as events, which are then sealed.

    Yields the time of the change. The change is written as a whole or, on an exception, not at all. A change without
    events adds no seal. Other changes of states, jobs and cordons wait until the caller's transaction ends.
    """
    if source not in EVENT_SOURCES:
        raise InvalidArgumentError(f"source {source!r}: choose {', '.join(EVENT_SOURCES[:-1])} or {EVENT_SOURCES[-1]}")
    lock_events(connection)
    now = datetime.now(UTC)
    values = {"at": format_timestamp(now), "who": who, "why": why, "source": source}
    with connection.begin_nested():
        connection.execute(_INSERT_CHANGE, {"id": 1, **values})
        yield now
        # triggers wrote the batch when they recorded the first event
        if connection.scalar(_DELETE_CHANGE) is not None:
            seal_events(connection)  # so each seal, except a migration's, ends with an event of trninv's own change


def lock_events(connection: Connection) -> None:
    """Wait until no other transaction writes events, and keep others from doing so until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK)


def seal_events(connection: Connection) -> None:
    """Seal all unsealed events, and starts before them, after `lock_events`; without events, do nothing."""
    newest: Any = connection.execute(_NEWEST_SEAL_AND_ROWS).first()
    newest = newest or (*BEFORE_FIRST_SEAL, 1, *last_row_ids(connection))
    sealed_event, digest, last_start, former_rows, newest_start, *row_ids = newest
    sealed_rows = seal_rows(connection, former_rows, row_ids)
    digest = _with_rows(digest, former_rows, sealed_rows)
    if (newest_start or 0) > (last_start or 0):  # few changes add a start, so most save a statement
        for last_start, line in _start_lines(connection, last_start or 0):  # noqa: B007, B020 # the last one is sealed
            digest = next_seal(digest, line)
    last_event = sealed_event
    for last_event, line in _event_lines(connection, sealed_event):  # noqa: B007 # the last one is sealed
        digest = next_seal(digest, line)
    if last_event > sealed_event:
        values = {"id": last_event, "sha256": digest, "starts": last_start, "sealed_rows": sealed_rows}
        connection.execute(_INSERT_SEAL, values)


def newest_seal(connection: Connection) -> Any:
    """Return the newest seal (its event, its digest, the last start that it covers), or None."""
    return connection.execute(_NEWEST_SEAL).first()


def last_archived_event(connection: Connection) -> Any:
    """Return the newest row of ``history_archive``, which names the last event that is only in an archive, or None."""
    return connection.execute(select(_ARCHIVE).order_by(_ARCHIVE.c.id.desc()).limit(1)).first()


def verify_chain(connection: Connection) -> ChainStatus:
    """Recompute and compare every seal; if events were archived, the chain begins at the seal of the last of them."""
    seals = list(connection.execute(select(_SEAL).order_by(_SEAL.c.id)))
    last_archived = last_archived_event(connection)
    events = connection.scalar(select(func.count()).select_from(_EVENT)) or 0
    sealed, last_digest, *_ = seals[-1] if seals else BEFORE_FIRST_SEAL
    unsealed = connection.scalar(select(func.count()).select_from(_EVENT).where(_EVENT.c.id > sealed)) or 0
    archived = last_archived.id if last_archived else 0
    first_seal = (seals[0].id, seals[0].sha256) if seals else None
    if last_archived and first_seal != (archived, last_archived.sha256):
        broken: str | None = f"the seal of event {archived}, with which the history begins, is not as it was"
    else:
        broken = _first_difference(connection, seals if last_archived else [BEFORE_FIRST_SEAL, *seals])
    return ChainStatus(events, sealed, last_digest, unsealed, broken, archived, chain_restart(connection))


def chain_restart(connection: Connection) -> ChainRestart | None:
    """Return the last restart of the chain, or None if there was none."""
    names = ("event", "sha256", "archived", "schema_version")
    query = select(*(_RESTART.c[name] for name in names)).order_by(_RESTART.c.id.desc()).limit(1)
    row = connection.execute(query).first()
    return None if row is None else ChainRestart(*row)


def former_seal(connection: Connection, restart: ChainRestart, event: int) -> str | None:
    """Recompute the seal that an event had before a restart; return None if it needs events that are not stored."""
    last_archived = last_archived_event(connection)
    if (last_archived.id if last_archived else 0) != restart.archived:
        return None
    query = select(_SEAL).where(_SEAL.c.id <= event).order_by(_SEAL.c.id)
    stored = connection.execute(query).all()
    first_seal, seals = (stored[0], stored[1:]) if last_archived else (BEFORE_FIRST_SEAL, stored)
    first_event = first_seal[0]
    lines = _event_lines(connection, first_event, former_event_bytes)
    digest = None
    for _, digest, missing in recomputed_seals(connection, lines, first_seal, seals):  # noqa: B007 # the last counts
        if missing:
            return None
    return digest


BEFORE_FIRST_SEAL: Final = (0, "", None, None)
"""The predecessor of the first seal, as (event, digest, last start, sealed rows)."""


def _first_difference(connection: Connection, seals: Sequence[Any]) -> str | None:
    """Recompute the seals after the first, which is trusted, and describe the first that differs; None if all agree."""
    first_seal, *later_seals = seals
    previous_end, *_ = first_seal
    lines = _event_lines(connection, previous_end)
    for (end, stored_digest, *_), digest, missing in recomputed_seals(connection, lines, first_seal, later_seals):
        if missing:
            return f"{missing} is gone"
        if digest != stored_digest:
            return f"events {previous_end + 1} to {end} are not as they were sealed"
        previous_end = end
    return None


def recomputed_seals(
    connection: Connection, events: Iterator[tuple[int, bytes]], first_seal: Any, seals: Iterable[Any]
) -> Iterator[tuple[Any, str, str]]:
    """Yield each seal with its recomputed digest and "".

    If an event or a recorded start is missing, yield the seal that covers it with "" and the name of what is missing,
    and stop.

    Parameters
    ----------
    events
        Number and bytes of every event after `first_seal`.
    first_seal
        The seal before the first of `seals`, or `BEFORE_FIRST_SEAL`.
    """
    last_event, digest, last_start, last_rows = first_seal
    last_start = last_start or 0
    starts = _start_lines(connection, last_start)
    for seal in seals:
        sealed_event, _, sealed_start, sealed_rows = seal
        digest, last_rows = _with_rows(digest, last_rows, sealed_rows), sealed_rows
        while last_start < (sealed_start or 0):
            number, line = next(starts, (0, b""))
            if number != last_start + 1:
                yield seal, "", f"start {last_start + 1} of the history"
                return
            last_start, digest = number, next_seal(digest, line)
        while last_event < sealed_event:
            number, line = next(events, (0, b""))
            if number != last_event + 1:
                yield seal, "", f"event {last_event + 1}"
                return
            last_event, digest = number, next_seal(digest, line)
        yield seal, digest, ""


def _with_rows(digest: str, former: str | None, rows: str | None) -> str:
    """Return the digest of the chain after the rows of other tables that a seal covers, if they changed."""
    return digest if rows is None or rows == former else next_seal(digest, rows.encode())


def _start_lines(connection: Connection, after: int) -> Iterator[tuple[int, bytes]]:
    """Yield number and hashed bytes of every recorded start after the one with number `after`."""
    for row in connection.execute(_STARTS, {"after": after}):
        yield row.id, encode_line(tuple(row))


def _event_lines(
    connection: Connection, after: int, encode: Callable[[Sequence[Any]], bytes] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield number and hashed bytes of every event after event `after`; `encode` is by default `event_bytes`."""
    rows: Sequence[Any] | None = None
    while rows is None or len(rows) == _BATCH_SIZE:  # a cursor of PostgreSQL takes three statements, even for one event
        rows = connection.execute(_EVENTS, {"after": after}).all()
        for row in rows:
            yield row.id, (encode or event_bytes)(row)
            after = row.id


def event_bytes(values: Sequence[Any]) -> bytes:
    """Return the bytes hashed for an event, from its `SEALED_COLUMNS`."""
    columns = tuple(values)
    for added in _ADDED_COLUMNS:
        if columns[-added:].count(None) < added:
            break
        columns = columns[:-added]
    return encode_line(columns)


def former_event_bytes(values: Sequence[Any]) -> bytes:
    """Return the bytes hashed for an event before actions were renamed."""
    columns = list(values)
    columns[_ACTION_POSITION] = FORMER_ACTIONS.get(columns[_ACTION_POSITION], columns[_ACTION_POSITION])
    return event_bytes(columns)


def with_current_action(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an event's `SEALED_COLUMNS` with the action's current name."""
    if values[_ACTION_POSITION] not in _CURRENT_ACTIONS:
        return values
    return (*values[:_ACTION_POSITION], _CURRENT_ACTIONS[values[_ACTION_POSITION]], *values[_ACTION_POSITION + 1 :])
