"""Seal events in a hash chain and verify it.

A seal is the SHA-256 of the previous seal and of every start and event since, each as one line of JSON. Every change of
states through trninv calls `seal_events` in its own transaction. Events written by plain SQL are sealed by the next
such change, because SQLite's triggers cannot hash; until then they are the unsealed tail, which `trninv verify`
reports.

Whoever may write to the database can also make a new chain: keep the last seal elsewhere to notice that.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select, text

from trninv.database.tables import EVENT_SOURCES, FORMER_ACTIONS, TABLES
from trninv.errors import InvalidArgumentError
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
_ACTION: Final = SEALED_COLUMNS.index(_EVENT.c.action)
_CURRENT_ACTIONS: Final = {former: action for action, former in FORMER_ACTIONS.items()}
_ADDED_COLUMNS: Final = (1, 2)
"""How many of the last columns revisions 0028 and 0024 added; left out of the hash where they are all NULL, so that
older seals stay valid.
"""
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class ChainStatus:
    """The result of verifying the chain.

    Attributes
    ----------
    events
        Number of events in the database.
    sealed
        Number of the last sealed event; 0 if there is none.
    sha256
        The last seal; empty if there is none.
    unsealed
        Count of events after the last sealed one.
    broken
        What differs from its seal, in a few words; None if nothing does.
    archived
        Number of the last event that exists only in an archive; 0 if there is none.
    restart
        How the chain was restarted when actions were renamed; None if it was not.
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
    """A new start of the chain, since a schema version renamed actions.

    Attributes
    ----------
    event
        Number of the last event that was sealed before.
    sha256
        Its seal before.
    archived
        Number of the last event that existed only in an archive then; 0 if there was none.
    schema_version
        The schema version that sealed the events again.
    """

    event: int
    sha256: str
    archived: int
    schema_version: str


@contextmanager
def record_change(connection: Connection, *, who: str, why: str, source: str) -> Iterator[datetime]:
    """Write a change inside this context: triggers record its events, which are sealed at the end.

    Yields the time of the change. The change is written as a whole or, on an exception, not at all; one without events
    is not sealed. Other changes of states, jobs and cordons wait until the caller's transaction ends.
    """
    if source not in EVENT_SOURCES:
        raise InvalidArgumentError(f"source {source!r}: choose {', '.join(EVENT_SOURCES[:-1])} or {EVENT_SOURCES[-1]}")
    lock_events(connection)
    now = datetime.now(UTC)
    values = {"at": format_timestamp(now), "who": who, "why": why, "source": source}
    with connection.begin_nested():
        connection.execute(insert(_CURRENT_CHANGE).values(id=1, **values))
        yield now
        if connection.scalar(delete(_CURRENT_CHANGE).returning(_CURRENT_CHANGE.c.batch)) is not None:
            seal_events(connection)  # so each seal, except those of migrations, ends with one of trninv's own events


def lock_events(connection: Connection) -> None:
    """Wait until no other transaction writes events, and keep others from doing so until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))


def seal_events(connection: Connection) -> None:
    """Seal all unsealed events within the caller's transaction."""
    lock_events(connection)
    last = newest_seal(connection)
    sealed, digest, starts = last or (0, "", None)
    for start, hashed in _starts(connection, starts or 0):
        starts, digest = start, next_seal(digest, hashed)
    end = sealed
    for end, hashed in _event_lines(connection, sealed):  # noqa: B007 # the last one is sealed
        digest = next_seal(digest, hashed)
    if end > sealed:
        connection.execute(insert(_SEAL).values(id=end, sha256=digest, starts=starts))


def newest_seal(connection: Connection) -> Any:
    """Return the newest seal (its event, its digest, the last start that it covers), or None."""
    return connection.execute(select(_SEAL).order_by(_SEAL.c.id.desc()).limit(1)).first()


def last_archived_event(connection: Connection) -> Any:
    """Return the newest row of ``history_archive``, which names the last event that is only in an archive, or None."""
    return connection.execute(select(_ARCHIVE).order_by(_ARCHIVE.c.id.desc()).limit(1)).first()


def verify_chain(connection: Connection) -> ChainStatus:
    """Recompute every seal and compare; if events were archived, the chain begins at their last seal."""
    seals = list(connection.execute(select(_SEAL).order_by(_SEAL.c.id)))
    last_archived = last_archived_event(connection)
    events = connection.scalar(select(func.count()).select_from(_EVENT)) or 0
    sealed, last = seals[-1][:2] if seals else (0, "")
    unsealed = connection.scalar(select(func.count()).select_from(_EVENT).where(_EVENT.c.id > sealed)) or 0
    archived = last_archived.id if last_archived else 0
    if last_archived and [row[:2] for row in seals[:1]] != [(archived, last_archived.sha256)]:
        broken: str | None = f"the seal of event {archived}, with which the history begins, is not as it was"
    else:
        broken = _first_difference(connection, [_BEFORE_FIRST_SEAL, *seals] if not last_archived else seals)
    return ChainStatus(events, sealed, last, unsealed, broken, archived, chain_restart(connection))


def chain_restart(connection: Connection) -> ChainRestart | None:
    """Return how the chain was last restarted, or None if it never was."""
    names = ("event", "sha256", "archived", "schema_version")
    query = select(*(_RESTART.c[name] for name in names)).order_by(_RESTART.c.id.desc()).limit(1)
    row = connection.execute(query).first()
    return None if row is None else ChainRestart(*row)


def former_seal(connection: Connection, restart: ChainRestart, event: int) -> str | None:
    """Recompute the seal that an event had before a restart, or return None if only an archive can tell it."""
    last_archived = last_archived_event(connection)
    if (last_archived.id if last_archived else 0) != restart.archived:
        return None
    query = select(_SEAL).where(_SEAL.c.id <= event).order_by(_SEAL.c.id)
    stored = connection.execute(query).all()
    first_seal, seals = (stored[0], stored[1:]) if last_archived else (_BEFORE_FIRST_SEAL, stored)
    lines = _event_lines(connection, first_seal[0], former_event_bytes)
    digest = None
    for _, digest, missing in recomputed_seals(connection, lines, first_seal, seals):  # noqa: B007 # the last counts
        if missing:
            return None
    return digest


_BEFORE_FIRST_SEAL: Final = (0, "", None)
"""The predecessor of the first seal: no event, no digest, no start."""


def _first_difference(connection: Connection, seals: Sequence[Any]) -> str | None:
    """Return the first difference from the seals after the first, which is taken as given."""
    previous_end = seals[0][0]
    for (end, sealed, _), digest, missing in recomputed_seals(
        connection, _event_lines(connection, previous_end), seals[0], seals[1:]
    ):
        if missing:
            return f"{missing} is gone"
        if digest != sealed:
            return f"events {previous_end + 1} to {end} are not as they were sealed"
        previous_end = end
    return None


def recomputed_seals(
    connection: Connection, events: Iterator[tuple[int, bytes]], first_seal: Any, seals: Iterable[Any]
) -> Iterator[tuple[Any, str, str]]:
    """Yield each seal with its recomputed digest and "", or finally with the name of the first event or start that is
    missing.

    Parameters
    ----------
    events
        Number and bytes of every event after `first_seal`.
    first_seal
        Event, digest and last start of the seal before the first of `seals`.
    """
    last, digest, covered = first_seal[0], first_seal[1], first_seal[2] or 0
    starts = _starts(connection, covered)
    for seal in seals:
        end, _, covers = seal
        while covered < (covers or 0):
            number, line_ = next(starts, (0, b""))
            if number != covered + 1:
                yield seal, "", f"start {covered + 1} of the history"
                return
            covered, digest = number, next_seal(digest, line_)
        while last < end:
            number, line_ = next(events, (0, b""))
            if number != last + 1:
                yield seal, "", f"event {last + 1}"
                return
            last, digest = number, next_seal(digest, line_)
        yield seal, digest, ""


def _starts(connection: Connection, after: int) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of every recorded start after `after`."""
    for row in connection.execute(select(_START).where(_START.c.id > after).order_by(_START.c.id)):
        yield row.id, _json(tuple(row))


def _event_lines(
    connection: Connection, after: int, encode: Callable[[Sequence[Any]], bytes] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of every event after `after`, by default as `event_bytes` returns them."""
    query = select(*SEALED_COLUMNS).where(_EVENT.c.id > after).order_by(_EVENT.c.id)
    with connection.execute(query, execution_options={"yield_per": _BATCH}) as rows:
        for row in rows:
            yield row.id, (encode or event_bytes)(row)


def event_bytes(values: Sequence[Any]) -> bytes:
    """Return the bytes hashed for an event, from its `SEALED_COLUMNS`."""
    columns = tuple(values)
    for added in _ADDED_COLUMNS:
        if columns[-added:].count(None) < added:
            break
        columns = columns[:-added]
    return _json(columns)


def former_event_bytes(values: Sequence[Any]) -> bytes:
    """Return the bytes hashed for an event before schema version 0033 renamed actions."""
    columns = list(values)
    columns[_ACTION] = FORMER_ACTIONS.get(columns[_ACTION], columns[_ACTION])
    return event_bytes(columns)


def with_current_action(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an event's `SEALED_COLUMNS` with its action as it is named since schema version 0033."""
    if values[_ACTION] not in _CURRENT_ACTIONS:
        return values
    return (*values[:_ACTION], _CURRENT_ACTIONS[values[_ACTION]], *values[_ACTION + 1 :])


def _json(values: Sequence[Any]) -> bytes:
    return _encode(values).encode()


def next_seal(digest: str, line: bytes) -> str:
    """Return the digest after one more line."""
    return sha256(f"{digest}\n".encode() + line).hexdigest()
