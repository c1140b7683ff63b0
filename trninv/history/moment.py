"""A time as people write it, and the last event before it: which state of the fleet it means."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine, func, select, text

from trninv.errors import MomentError
from trninv.inventory.chain import removed
from trninv.inventory.database import reading
from trninv.inventory.past import past
from trninv.inventory.schema import TABLES

Time = str | int | datetime
"""An ISO time with its zone, or the number of an event."""

_EVENT, _CLUSTER = TABLES["state_event"], TABLES["cluster"]
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

    """

    event: int
    time: datetime


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
    return past(engine, found.event, found.time)


def moment(connection: Connection, given: Time) -> Moment:
    """The state that a time or an event's number means; a change of several parts is one, and never seen in part.

    Raises
    ------
    MomentError
        It is no time with a zone, it is yet to come, or the history does not reach back so far.

    """
    if isinstance(given, int) or (isinstance(given, str) and _NUMBER.fullmatch(given.strip())):
        return _numbered(connection, int(given))
    time = instant(given, ", or the number of an event")
    found = Moment(last_by(connection, time), time)
    for slug, since, event in _known(connection):
        if _text(time) < since or found.event < event:
            raise MomentError(
                f"the history of {slug} is known since {since}: ask for no time before{_archived(connection)}"
            )
    return found


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


def written(given: str | datetime) -> str:
    """A time as events have it.

    Raises
    ------
    MomentError
        As `instant` says.

    """
    return _text(instant(given))


def _numbered(connection: Connection, number: int) -> Moment:
    last = connection.scalar(select(func.max(_EVENT.c.id))) or 0
    if not 0 <= number <= last:
        raise MomentError(f"there is no event {number}: the last one is {last}")
    of = select(_EVENT.c.batch).where(_EVENT.c.id == number).scalar_subquery()
    whole = connection.scalar(select(func.max(_EVENT.c.id)).where(_EVENT.c.batch == of)) or number
    at = connection.scalar(select(_EVENT.c.at).where(_EVENT.c.id == whole)) or ""
    for slug, since, event in _known(connection):
        if whole < event:
            says = f"the history of {slug} is known from event {event} on: ask for none before"
            raise MomentError(f"{says}{_archived(connection)}")
        at = max(at, since)
    return Moment(whole, datetime.fromisoformat(at) if at else datetime.now(UTC))


def _archived(connection: Connection) -> str:
    """Where what was before is to be found, where that is known."""
    gone = removed(connection)
    return f"; events up to {gone.id} are in the archive {gone.directory}" if gone else ""


def last_by(connection: Connection, time: datetime) -> int:
    """The last event that was recorded by a time: numbers count where a clock went back between two of them."""
    at = _text(time)
    back = select(_EVENT.c.id).where(text("clock_went_back"))  # as its index says it
    first = connection.scalar(back.where(_EVENT.c.at <= at).order_by(_EVENT.c.id.desc()).limit(1)) or 0
    until = connection.scalar(back.where(_EVENT.c.id > first).order_by(_EVENT.c.id).limit(1))
    query = select(_EVENT.c.id).where(_EVENT.c.at <= at, _EVENT.c.id >= first)
    if until:
        query = query.where(_EVENT.c.id < until)
    return connection.scalar(query.order_by(_EVENT.c.at.desc(), _EVENT.c.id.desc()).limit(1)) or 0


def _known(connection: Connection) -> Iterator[tuple[str, str, int]]:
    """Each cluster, since when its history is known, and the last event before that; the latest first."""
    query = select(_CLUSTER.c.slug, _CLUSTER.c.known_since, _CLUSTER.c.known_from)
    for slug, since, event in connection.execute(query.order_by(_CLUSTER.c.known_since.desc())):
        if since is None:
            raise MomentError(f"no history is known of {slug}: it was not seeded by this trninv")
        yield slug, since, event


def _text(time: datetime) -> str:
    """As events have it."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")
