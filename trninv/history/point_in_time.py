"""Turn a time or an event number into the state that it means."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine, func, select, text

from trninv.database.as_of import OmittedCluster, engine_as_of
from trninv.database.engine import read_transaction
from trninv.database.tables import TABLES
from trninv.errors import InvalidTimeError
from trninv.inventory.state.history_start import history_start_error, history_starts
from trninv.units import format_timestamp

Time = str | int | datetime
"""An ISO time with its zone, or the number of an event."""

_EVENT = TABLES["state_event"]
_NUMBER = re.compile(r"[0-9]{1,18}")
_LEAP = re.compile(r"(:\d\d):60(?=\D|$)")


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A point in the history of the fleet.

    Attributes
    ----------
    event
        Number of the last event up to then; 0 if there was none.
    time
        The requested time, or the time of the requested event.
    omitted
        Clusters whose history starts later.

    """

    event: int
    time: datetime
    omitted: tuple[OmittedCluster, ...] = ()


def engine_at(engine: Engine, time: Time | None) -> Engine:
    """Return an engine that sees the database at a time; the same engine for None.

    Raises
    ------
    InvalidTimeError
        As `resolve_point_in_time`.

    """
    if time is None:
        return engine
    with read_transaction(engine) as connection:
        point = resolve_point_in_time(connection, time)
    return engine_as_of(engine, point.event, point.time, point.omitted)


def resolve_point_in_time(connection: Connection, time_or_event: Time) -> PointInTime:
    """Resolve a time or an event number; the events of one batch are never split.

    Raises
    ------
    InvalidTimeError
        It is not a time with a zone, lies in the future, or precedes the history of every cluster.

    """
    if isinstance(time_or_event, int) or (isinstance(time_or_event, str) and _NUMBER.fullmatch(time_or_event.strip())):
        return _point_of_event(connection, int(time_or_event))
    time = parse_time(time_or_event, ", or the number of an event")
    event = last_event_by(connection, time)
    starts = history_starts(connection)
    return PointInTime(
        event, time, _omitted(connection, starts, [start for start in starts if _begins_after(start, event, time)])
    )


def _begins_after(cluster: OmittedCluster, event: int, time: datetime) -> bool:
    return cluster.since is None or format_timestamp(time) < cluster.since or event < cluster.event


def _omitted(
    connection: Connection, starts: Collection[OmittedCluster], omitted: Collection[OmittedCluster]
) -> tuple[OmittedCluster, ...]:
    """Return the omitted clusters; refuse if no cluster remains."""
    if omitted and len(omitted) == len(starts):
        raise history_start_error(connection, min(omitted, key=lambda start: (start.since is None, start.since)))
    return tuple(omitted)


def parse_time(value: str | datetime, alternative: str = "") -> datetime:
    """Parse a time to UTC; a leap second becomes the second after it.

    ``alternative`` completes the error message with what else the caller accepts.

    Raises
    ------
    InvalidTimeError
        It is not a time, has no zone, or lies in the future.

    """
    iso, leap = _LEAP.subn(r"\1:59", value.strip()) if isinstance(value, str) else (value, 0)
    try:
        time = datetime.fromisoformat(iso) if isinstance(iso, str) else iso
        if time.tzinfo is None:
            iso_text = time.isoformat()
            raise InvalidTimeError(f"{iso_text}: a time needs its zone, such as {iso_text}Z or {iso_text}-08:00")
        time = time.astimezone(UTC) + timedelta(seconds=leap)
    except (ValueError, OverflowError):
        advice = f"write a time with its zone, such as 2026-11-22T02:00:00Z{alternative}"
        raise InvalidTimeError(f"{str(value)[:60]!r}: {advice}") from None
    if time > datetime.now(UTC):
        raise InvalidTimeError(f"{value!s:.60} is in the future; use a past time")
    return time


def _point_of_event(connection: Connection, number: int) -> PointInTime:
    last = connection.scalar(select(func.max(_EVENT.c.id))) or 0
    if not 0 <= number <= last:
        raise InvalidTimeError(f"there is no event {number}; the last one is {last}")
    batch = select(_EVENT.c.batch).where(_EVENT.c.id == number).scalar_subquery()
    last_of_batch = connection.scalar(select(func.max(_EVENT.c.id)).where(_EVENT.c.batch == batch)) or number
    time_text = connection.scalar(select(_EVENT.c.at).where(_EVENT.c.id == last_of_batch)) or ""
    starts = history_starts(connection)
    omitted = _omitted(
        connection, starts, [start for start in starts if start.since is None or last_of_batch < start.event]
    )
    time_text = max([time_text, *(start.since or "" for start in starts if start not in omitted)])
    return PointInTime(last_of_batch, datetime.fromisoformat(time_text) if time_text else datetime.now(UTC), omitted)


def last_event_by(connection: Connection, time: datetime) -> int:
    """Return the last event recorded up to a time; event numbers decide the order if the clock went back."""
    time_text = format_timestamp(time)
    back = select(_EVENT.c.id).where(text("clock_went_back"))  # written like the expression of its index
    first = connection.scalar(back.where(_EVENT.c.at <= time_text).order_by(_EVENT.c.id.desc()).limit(1)) or 0
    until = connection.scalar(back.where(_EVENT.c.id > first).order_by(_EVENT.c.id).limit(1))
    query = select(_EVENT.c.id).where(_EVENT.c.at <= time_text, _EVENT.c.id >= first)
    if until:
        query = query.where(_EVENT.c.id < until)
    return connection.scalar(query.order_by(_EVENT.c.at.desc(), _EVENT.c.id.desc()).limit(1)) or 0
