"""The chain of digests over the events: whoever edits history by hand breaks it.

A seal is the SHA-256 of the seal before it and of every event since, each as a line of JSON. Whatever changes states
through trninv calls `seal` in the transaction of the change; events that plain SQL left are sealed by the next one,
since SQLite's triggers can't hash. Until then they are the unsealed tail, which `trninv verify` tells.

Somebody who may write the database can make a whole new chain: keep the last seal elsewhere to notice that.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select, text

from trninv.errors import LimitError
from trninv.inventory.schema import EVENT_SOURCES, TABLES
from trninv.inventory.triggers import LOCK
from trninv.timestamps import format_timestamp

_EVENT, _SEAL, _ARCHIVE, _SAID = (TABLES[name] for name in ("state_event", "event_seal", "history_archive", "_change"))
SEALED: Final = tuple(
    _EVENT.c[name]
    for name in (
        *("id", "batch", "at", "source", "who", "why", "kind", "part_id", "previous_id", "address", "before"),
        *("factor_ppm_before", "state", "factor_ppm", "own_before", "own_factor_ppm_before", "own_state"),
        *("own_factor_ppm", "clock_went_back", "action", "job"),
    )
)
"""Columns in the order in which they are hashed; of a change of state without the last two, which it has not."""
_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class Chain:
    """What became of the chain.

    Attributes
    ----------
    events
        How many there are.
    sealed
        The number of the last event that is sealed; 0 where none is.
    sha256
        The last seal; empty where there is none.
    unsealed
        Events after it.
    broken
        What is not as it was sealed, in a few words; None where all is.
    archived
        The number of the last event that is in an archive alone; 0 where none is.

    """

    events: int
    sealed: int
    sha256: str
    unsealed: int
    broken: str | None = None
    archived: int = 0


@contextmanager
def change(connection: Connection, *, who: str, why: str, source: str) -> Iterator[datetime]:
    """What is written within is one change, of the time given: triggers write its events, which are sealed in the end.

    All of it is written or, where that raises, nothing. Nobody else changes states, jobs or closings meanwhile, nor
    until the caller's transaction ends.

    Raises
    ------
    LimitError
        There is no such source.

    """
    if source not in EVENT_SOURCES:
        raise LimitError(f"source {source!r}: choose {', '.join(EVENT_SOURCES[:-1])} or {EVENT_SOURCES[-1]}")
    alone(connection)
    now = datetime.now(UTC)
    said = {"at": format_timestamp(now), "who": who, "why": why, "source": source}
    with connection.begin_nested():
        connection.execute(insert(_SAID).values(id=1, **said))
        yield now
        connection.execute(delete(_SAID))
        seal(connection)


def alone(connection: Connection) -> None:
    """Wait until nobody else changes what leaves events, plain SQL included; nobody does until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))


def seal(connection: Connection) -> None:
    """Seal every event that is not sealed yet, within the caller's transaction."""
    alone(connection)
    last = connection.execute(select(_SEAL).order_by(_SEAL.c.id.desc()).limit(1)).first()
    sealed, digest = (last.id, last.sha256) if last else (0, "")
    end = sealed
    for end, hashed in _lines(connection, sealed):  # noqa: B007 # that of the last one is sealed
        digest = following(digest, hashed)
    if end > sealed:
        connection.execute(insert(_SEAL).values(id=end, sha256=digest))


def removed(connection: Connection) -> Any:
    """The row of ``history_archive`` that tells which events are in an archive alone; None where all are here."""
    return connection.execute(select(_ARCHIVE).order_by(_ARCHIVE.c.id.desc()).limit(1)).first()


def check(connection: Connection) -> Chain:
    """Compute every seal anew and compare; of removed events the last seal is the beginning."""
    seals = [(row.id, row.sha256) for row in connection.execute(select(_SEAL).order_by(_SEAL.c.id))]
    gone = removed(connection)
    events = connection.scalar(select(func.count()).select_from(_EVENT)) or 0
    sealed, last = seals[-1] if seals else (0, "")
    unsealed = connection.scalar(select(func.count()).select_from(_EVENT).where(_EVENT.c.id > sealed)) or 0
    archived, digest = (gone.id, gone.sha256) if gone else (0, "")
    if gone and seals[:1] != [(archived, digest)]:
        broken: str | None = f"the seal of event {archived}, with which the history begins, is not as it was"
    else:
        broken = _broken(connection, seals[1:] if gone else seals, archived, digest)
    return Chain(events, sealed, last, unsealed, broken, archived)


def _broken(connection: Connection, seals: list[tuple[int, str]], before: int, digest: str) -> str | None:
    left = iter(seals)
    end, wanted = next(left, (0, ""))
    for key, hashed in _lines(connection, 0):
        if not end:
            return None
        if key > end:
            return f"event {end} is gone"
        digest = following(digest, hashed)
        if key == end:
            if digest != wanted:
                return f"events {before + 1} to {end} are not as they were sealed"
            before, (end, wanted) = end, next(left, (0, ""))
    return f"event {end} is gone" if end else None


def _lines(connection: Connection, after: int) -> Iterator[tuple[int, bytes]]:
    """Number and text of every event after one."""
    query = select(*SEALED).where(_EVENT.c.id > after).order_by(_EVENT.c.id)
    with connection.execute(query, execution_options={"yield_per": _BATCH}) as found:
        for row in found:
            yield row.id, line(row)


def line(values: Sequence[Any]) -> bytes:
    """What is hashed of an event, given its `SEALED` columns."""
    told = tuple(values) if any(value is not None for value in values[-2:]) else tuple(values)[:-2]
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def following(digest: str, line: bytes) -> str:
    """The digest after one more event."""
    return sha256(f"{digest}\n".encode() + line).hexdigest()
