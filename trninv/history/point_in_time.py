"""Resolve a time or an event number, such as the value of ``--at``, to a point in the history of events."""

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
_EVENT_NUMBER = re.compile(r"[0-9]{1,18}")
_SECOND = timedelta(seconds=1)
_LEAP_SECOND = re.compile(r"(:\d\d):60(?=\D|$)")


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A point in the history of the fleet.

    Attributes
    ----------
    event
        Number of the last event up to that point; 0 if there was none.
    time
        The requested time. For an event number, the later of the event's time and the latest start of the history of a
        cluster that is not omitted.
    omitted
        Clusters whose recorded history starts after this point.

    """

    event: int
    time: datetime
    omitted: tuple[OmittedCluster, ...] = ()


def engine_at(engine: Engine, time: Time | None) -> Engine:
    """Return an engine that reads the database as it was at a time; for None, return the engine itself.

    Raises
    ------
    InvalidTimeError
        The value is not a time with a zone, lies in the future, or precedes the history of every cluster.

    """
    if time is None:
        return engine
    with read_transaction(engine) as connection:
        point = resolve_point_in_time(connection, time)
    return engine_as_of(engine, point.event, point.time, point.omitted)


def resolve_point_in_time(connection: Connection, time_or_event: Time) -> PointInTime:
    """Resolve a time or an event number; an event number stands for the last event of the same change.

    Raises
    ------
    InvalidTimeError
        The value is not a time with a zone, lies in the future, or precedes the history of every cluster.

    """
    if isinstance(time_or_event, int) or (
        isinstance(time_or_event, str) and _EVENT_NUMBER.fullmatch(time_or_event.strip())
    ):
        return _point_of_event(connection, int(time_or_event))
    time = parse_time(time_or_event, ", or the number of an event")
    event = last_event_by(connection, time)
    starts = history_starts(connection)
    later_starts = [start for start in starts if _begins_after(start, event, time)]
    return PointInTime(event, time, _omitted(connection, starts, later_starts))


def _begins_after(cluster: OmittedCluster, event: int, time: datetime) -> bool:
    """Return whether a cluster's history begins after a point in time or is unknown."""
    return cluster.since is None or format_timestamp(time) < cluster.since or event < cluster.event


def _omitted(
    connection: Connection, starts: Collection[OmittedCluster], omitted: Collection[OmittedCluster]
) -> tuple[OmittedCluster, ...]:
    """Return the omitted clusters as a tuple.

    Raises
    ------
    InvalidTimeError
        All clusters are omitted.

    """
    if omitted and len(omitted) == len(starts):
        raise history_start_error(connection, min(omitted, key=lambda start: (start.since is None, start.since)))
    return tuple(omitted)


def parse_time(value: str | datetime, alternative: str = "", *, may_be_future: bool = False) -> datetime:
    """Parse a time to UTC; a leap second becomes the second after it.

    Parameters
    ----------
    alternative
        The end of the error message, which names what the caller accepts instead of a time.

    Raises
    ------
    InvalidTimeError
        The value is not a time, has no zone, or lies in the future, unless that is allowed.

    """
    iso, leap_seconds = _LEAP_SECOND.subn(r"\1:59", value.strip()) if isinstance(value, str) else (value, 0)
    try:
        time = datetime.fromisoformat(iso) if isinstance(iso, str) else iso
        if time.tzinfo is None:
            iso_text = time.isoformat()
            raise InvalidTimeError(f"{iso_text}: a time needs its zone, such as {iso_text}Z or {iso_text}-08:00")
        time = time.astimezone(UTC) + timedelta(seconds=leap_seconds)
    except (ValueError, OverflowError):
        advice = f"write a time with its zone, such as 2026-11-22T02:00:00Z{alternative}"
        raise InvalidTimeError(f"{str(value)[:60]!r}: {advice}") from None
    if may_be_future:
        return time
    now = datetime.now(UTC)
    if time >= now + _SECOND:
        raise InvalidTimeError(f"{value!s:.60} is in the future; use a past time")
    return min(time, now)  # times that were just printed are rounded up to the second


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
    """Return the number of the last event recorded up to a time, or 0; numbers decide the order if the clock went back.

    An event with ``clock_went_back`` has an earlier time than the event before it, and starts a new run of events whose
    times are in order. The last run that starts at or before `time` is searched.
    """
    time_text = format_timestamp(time)
    run_starts = select(_EVENT.c.id).where(text("clock_went_back"))  # written like the expression of its index
    first = connection.scalar(run_starts.where(_EVENT.c.at <= time_text).order_by(_EVENT.c.id.desc()).limit(1)) or 0
    next_run = connection.scalar(run_starts.where(_EVENT.c.id > first).order_by(_EVENT.c.id).limit(1))
    query = select(_EVENT.c.id).where(_EVENT.c.at <= time_text, _EVENT.c.id >= first)
    if next_run:
        query = query.where(_EVENT.c.id < next_run)
    return connection.scalar(query.order_by(_EVENT.c.at.desc(), _EVENT.c.id.desc()).limit(1)) or 0
