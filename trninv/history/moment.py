"""A time as people write it, and the last event before it: which state of the fleet it means."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine, func, select, text

from trninv.errors import MomentError
from trninv.inventory.database import reading
from trninv.inventory.past import Unknown, past
from trninv.inventory.schema import TABLES
from trninv.inventory.unknown import clusters, refused
from trninv.timestamps import format_timestamp

Time = str | int | datetime
"""An ISO time with its zone, or the number of an event."""

_EVENT = TABLES["state_event"]
_NUMBER = re.compile(r"[0-9]{1,18}")
_LEAP = re.compile(r"(:\d\d):60(?=\D|$)")


@dataclass(frozen=True, slots=True)
class Moment:
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
    unknown: tuple[Unknown, ...] = ()


def at(engine: Engine, time: Time | None) -> Engine:
    """The database as it was at a time; as it is where none is given.

    Raises
    ------
    MomentError
        As `moment` says.

    """
    if time is None:
        return engine
    with reading(engine) as connection:
        found = moment(connection, time)
    return past(engine, found.event, found.time, found.unknown)


def moment(connection: Connection, given: Time) -> Moment:
    """The state that a time or an event's number means; a change of several parts is one, and never seen in part.

    Raises
    ------
    MomentError
        It is no time with a zone, it is yet to come, or no cluster's history reaches back so far.

    """
    if isinstance(given, int) or (isinstance(given, str) and _NUMBER.fullmatch(given.strip())):
        return _numbered(connection, int(given))
    time = instant(given, ", or the number of an event")
    event = last_by(connection, time)
    known = clusters(connection)
    return Moment(
        event, time, _without(connection, known, [each for each in known if _begins_after(each, event, time)])
    )


def _begins_after(of: Unknown, event: int, time: datetime) -> bool:
    return of.since is None or format_timestamp(time) < of.since or event < of.event


def _without(connection: Connection, known: Collection[Unknown], unknown: Collection[Unknown]) -> tuple[Unknown, ...]:
    """The clusters that are left out, which must not be all that there are."""
    if unknown and len(unknown) == len(known):
        raise refused(connection, min(unknown, key=lambda each: (each.since is None, each.since)))
    return tuple(unknown)


def instant(given: str | datetime, otherwise: str = "") -> datetime:
    """A time in UTC; a leap second is the one after it. Otherwise: what else could be written, for the refusal.

    Raises
    ------
    MomentError
        It is none, has no zone, or is yet to come.

    """
    written, leap = _LEAP.subn(r"\1:59", given.strip()) if isinstance(given, str) else (given, 0)
    try:
        time = datetime.fromisoformat(written) if isinstance(written, str) else written
        if time.tzinfo is None:
            said = time.isoformat()
            raise MomentError(f"{said}: a time needs its zone, such as {said}Z or {said}-08:00")
        time = time.astimezone(UTC) + timedelta(seconds=leap)
    except (ValueError, OverflowError):
        says = f"write a time with its zone, such as 2026-11-22T02:00:00Z{otherwise}"
        raise MomentError(f"{str(given)[:60]!r}: {says}") from None
    if time > datetime.now(UTC):
        raise MomentError(f"{given!s:.60} is yet to come: nothing is known of it")
    return time


def _numbered(connection: Connection, number: int) -> Moment:
    last = connection.scalar(select(func.max(_EVENT.c.id))) or 0
    if not 0 <= number <= last:
        raise MomentError(f"there is no event {number}: the last one is {last}")
    of = select(_EVENT.c.batch).where(_EVENT.c.id == number).scalar_subquery()
    whole = connection.scalar(select(func.max(_EVENT.c.id)).where(_EVENT.c.batch == of)) or number
    at = connection.scalar(select(_EVENT.c.at).where(_EVENT.c.id == whole)) or ""
    known = clusters(connection)
    unknown = _without(connection, known, [each for each in known if each.since is None or whole < each.event])
    at = max([at, *(each.since or "" for each in known if each not in unknown)])
    return Moment(whole, datetime.fromisoformat(at) if at else datetime.now(UTC), unknown)


def last_by(connection: Connection, time: datetime) -> int:
    """The last event that was recorded by a time: numbers count where a clock went back between two of them."""
    at = format_timestamp(time)
    back = select(_EVENT.c.id).where(text("clock_went_back"))  # as its index says it
    first = connection.scalar(back.where(_EVENT.c.at <= at).order_by(_EVENT.c.id.desc()).limit(1)) or 0
    until = connection.scalar(back.where(_EVENT.c.id > first).order_by(_EVENT.c.id).limit(1))
    query = select(_EVENT.c.id).where(_EVENT.c.at <= at, _EVENT.c.id >= first)
    if until:
        query = query.where(_EVENT.c.id < until)
    return connection.scalar(query.order_by(_EVENT.c.at.desc(), _EVENT.c.id.desc()).limit(1)) or 0
