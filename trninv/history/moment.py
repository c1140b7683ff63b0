"""A time as people write it, and the last event before it: which state of the fleet it means."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine, func, select, text

from trninv.errors import InvalidTimeError
from trninv.inventory.database import read_transaction
from trninv.inventory.past import OmittedCluster, engine_as_of
from trninv.inventory.schema import TABLES
from trninv.inventory.unknown import history_start_error, history_starts
from trninv.timestamps import format_timestamp

Time = str | int | datetime
"""An ISO time with its zone, or the number of an event."""

_EVENT = TABLES["state_event"]
_NUMBER = re.compile(r"[0-9]{1,18}")
_LEAP = re.compile(r"(:\d\d):60(?=\D|$)")


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A state of the fleet.

    Attributes
    ----------
    event
        The number of the last event that had happened; 0: none.
    time
        The time that it was asked by, else that of the event.
    unknown
        The clusters of which nothing is known then.

    """

    event: int
    time: datetime
    omitted: tuple[OmittedCluster, ...] = ()


def engine_at(engine: Engine, time: Time | None) -> Engine:
    """The database as it was at a time; as it is where none is given.

    Raises
    ------
    MomentError
        As `moment` says.

    """
    if time is None:
        return engine
    with read_transaction(engine) as connection:
        point = resolve_point_in_time(connection, time)
    return engine_as_of(engine, point.event, point.time, point.omitted)


def resolve_point_in_time(connection: Connection, time_or_event: Time) -> PointInTime:
    """The state that a time or an event's number means; a change of several parts is one, and never seen in part.

    Raises
    ------
    MomentError
        It is no time with a zone, it is yet to come, or no cluster's history reaches back so far.

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
    """The clusters that are left out, which must not be all that there are."""
    if omitted and len(omitted) == len(starts):
        raise history_start_error(connection, min(omitted, key=lambda start: (start.since is None, start.since)))
    return tuple(omitted)


def parse_time(value: str | datetime, alternative: str = "") -> datetime:
    """A time in UTC; a leap second is the one after it. Otherwise: what else could be written, for the refusal.

    Raises
    ------
    MomentError
        It is none, has no zone, or is yet to come.

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
        raise InvalidTimeError(f"{value!s:.60} is yet to come: nothing is known of it")
    return time


def _point_of_event(connection: Connection, number: int) -> PointInTime:
    last = connection.scalar(select(func.max(_EVENT.c.id))) or 0
    if not 0 <= number <= last:
        raise InvalidTimeError(f"there is no event {number}: the last one is {last}")
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
    """The last event that was recorded by a time: numbers count where a clock went back between two of them."""
    time_text = format_timestamp(time)
    back = select(_EVENT.c.id).where(text("clock_went_back"))  # as its index says it
    first = connection.scalar(back.where(_EVENT.c.at <= time_text).order_by(_EVENT.c.id.desc()).limit(1)) or 0
    until = connection.scalar(back.where(_EVENT.c.id > first).order_by(_EVENT.c.id).limit(1))
    query = select(_EVENT.c.id).where(_EVENT.c.at <= time_text, _EVENT.c.id >= first)
    if until:
        query = query.where(_EVENT.c.id < until)
    return connection.scalar(query.order_by(_EVENT.c.at.desc(), _EVENT.c.id.desc()).limit(1)) or 0
