"""Reserve chips for a time, and find which reservations are in the way of a job or of another reservation.

A reservation is a row of ``reservation``, and each of its chips a row of ``reserved_chip``. It lasts from ``from_at``
until just before ``until_at``, so that another one may begin at that moment; ``ended_at`` is set if it is cancelled. A
trigger allows one reservation of a chip at a time, even for plain SQL.

A job without an end may run forever, so it can't have chips that are reserved for any later time. Times are texts as
the database stores them, which sort in the order of time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, func, or_, select, union_all

from trninv.database.bulk_read import batches
from trninv.database.sql_constructs import IsOneOf
from trninv.database.tables import TABLES
from trninv.errors import ConflictError, InvalidTimeError, UnknownReservationError, suggestion
from trninv.history.point_in_time import parse_time
from trninv.inventory.access.bearer_tokens import LIFETIME, parse_lifetime
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import rows_in
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.units import format_seconds, format_timestamp, pluralize

_RESERVATION, _RESERVED_CHIP, _JOB, _ALLOCATION = (
    TABLES[name] for name in ("reservation", "reserved_chip", "job", "allocation")
)
FOREVER: Final = "9999-12-31T23:59:59.999999+00:00"
"""The end of a window without an end."""
_MAX_DELAY: Final = timedelta(hours=1)
"""How long ago a start may be: a script may take that long, but an earlier start is a mistake."""
MAX_CONFLICTS: Final = 8
"""The most conflicts in one message."""


_NEXT_CHANGES: Final = union_all(
    *(
        select(func.min(time)).where(_RESERVATION.c.ended_at.is_(None), time > bindparam("now"))
        for time in (_RESERVATION.c.from_at, _RESERVATION.c.until_at)
    )
)


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time, from ``start`` until just before ``end``."""

    start: str
    end: str = FOREVER

    @classmethod
    def of_job(cls, start: str, end: str | None) -> "Window":
        """Return the window of a job that runs at ``start``; one that should have ended by then may run forever."""
        return cls(start, end if end and end > start else FOREVER)

    @classmethod
    def moment(cls, time: datetime) -> "Window":
        """Return the shortest window that starts at a time."""
        return cls(format_timestamp(time), format_timestamp(time + timedelta(microseconds=1)))

    def overlaps(self, start: Any, end: Any) -> Any:  # Any: texts or SQL expressions
        """Return the condition that another span, until just before its end, has a moment in common with this one."""
        if isinstance(start, str):
            return start < self.end and self.start < end
        return and_(start < self.end, end > self.start)

    def __str__(self) -> str:
        start = f"from {format_seconds(self.start)}"
        return start if self.end == FOREVER else f"{start} until {format_seconds(self.end)}"


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation in a list; the declaration "reservation" describes the fields."""

    name: str
    kind: str
    cluster: str
    place: str
    chips: int
    failed_chips: int
    from_at: str
    until_at: str
    reserved_at: str
    cancelled_at: str | None
    who: str
    why: str

    @property
    def window(self) -> Window:
        """The time for which the chips are reserved."""
        return Window(self.from_at, self.until_at)

    def __str__(self) -> str:
        purpose = self.name if self.kind == "job" else f"maintenance {self.name}"
        return f"{pluralize(self.chips, 'chip')} in {self.place} for {purpose} {self.window}"


def parse_window(start: str | None, end: str | None, now: datetime) -> Window:
    """Return the window between two times; a start that is missing, or at most an hour ago, is ``now``.

    Parameters
    ----------
    start
        A time, or a duration from now, such as 4h.
    end
        A time, or a duration from the start as it is written; None: no end.

    Raises
    ------
    InvalidTimeError, InvalidArgumentError
        A text is no time, the start is longer ago, or the window ends before or when it starts.

    """
    written_start = now if start is None else _parse_time(start, now, "from")
    if written_start < now - _MAX_DELAY:
        time = format_seconds(format_timestamp(written_start))
        raise InvalidTimeError(f"from {time}: that is more than an hour ago; write a later time, or --from now")
    first = max(now, written_start)
    if end is None:
        return Window(format_timestamp(first))
    last = _parse_time(end, written_start, "until")
    if last <= first:
        times = (format_seconds(format_timestamp(time)) for time in (last, first))
        raise InvalidTimeError("until {}: the end must be later than the start, {}".format(*times))
    return Window(format_timestamp(first), format_timestamp(last))


def _parse_time(text: str, origin: datetime, name: str) -> datetime:
    """Return the time that a text names: a time, a duration from another time, or for a start "now"."""
    text = text.strip()
    if text == "now" and name == "from":
        return origin
    if not LIFETIME.fullmatch(text):
        return parse_time(text, ", or a duration of up to 9999d, such as 4h", may_be_future=True)
    try:
        return origin + parse_lifetime(text, f"--{name}")
    except OverflowError:
        raise InvalidTimeError(f"{name} {text[:40]}: write an earlier time") from None


def overlapping(window: Window, own: str | None = None) -> ColumnElement[bool]:
    """Return the condition on ``reservation`` that it lasts in a part of a window; that named ``own`` is excluded."""
    lasts = window.overlaps(_RESERVATION.c.from_at, _RESERVATION.c.until_at)
    condition = and_(_RESERVATION.c.ended_at.is_(None), lasts)
    return condition if own is None else and_(condition, _RESERVATION.c.name != own)


def next_change(connection: Connection, now: str) -> str:
    """Return when the next reservation begins or ends after a time; FOREVER if none does."""
    return min(filter(None, connection.scalars(_NEXT_CHANGES, {"now": now})), default=FOREVER)


def list_reservations(connection: Connection, place: Place, window: Window, own: str | None = None) -> tuple[str, ...]:
    """Return the first reservations of chips in a place that last in a part of a window, in words, by their start."""
    condition = and_(overlapping(window, own), rows_in(place, "reservation"))
    return tuple(map(str, read_reservations(connection, condition, MAX_CONFLICTS)))


def render_reservations(reservations: Iterable[str]) -> Iterator[str]:
    """Yield a line for each reservation of an answer."""
    yield from (f"reserved: {reservation}" for reservation in reservations)


def reservation_definition(window: Window) -> str:
    """Return the sentence of an answer's definition on reservations."""
    return f"; chips that are reserved for a time {window} are not free"


def read_reservations(
    connection: Connection, condition: ColumnElement[bool], limit: int | None = None
) -> list[Reservation]:
    """Return the reservations that meet a condition on the table ``reservation``, by their start."""
    query = select_things(THINGS["reservation"], everything=True).where(condition).limit(limit)
    return [Reservation(*fields) for _, *fields in connection.execute(query)]


def find_reservation(connection: Connection, name: str, now: datetime) -> Row[Any]:
    """Return the row of the reservation with a name that is neither cancelled nor over.

    Raises
    ------
    UnknownReservationError

    """
    is_current = overlapping(Window(format_timestamp(now)))
    row = connection.execute(select(_RESERVATION).where(is_current, _RESERVATION.c.name == name)).first()
    if row is None:
        names = connection.scalars(select(_RESERVATION.c.name).where(is_current)).all()
        hint = suggestion(name, list(names))
        raise UnknownReservationError(f"no reservation {name[:200]}: {hint} (trninv reservations lists all)")
    return row


def refuse_reserved(connection: Connection, chips: Sequence[int], window: Window, own: str | None = None) -> None:
    """Refuse chips that are reserved for a part of a window, except by the reservation named ``own``.

    Raises
    ------
    ConflictError
        The message names the reservations, with their times.

    """
    if conflicts := list(reservation_conflicts(connection, chips, overlapping(window, own))):
        raise ConflictError(
            f"{join_conflicts(conflicts)}; choose other chips (trninv place), end before (--until) or use the "
            "reservation (--reservation)"
        )


def join_conflicts(conflicts: Sequence[str]) -> str:
    """Return conflicts as one text, which counts those after the first few."""
    more = len(conflicts) - MAX_CONFLICTS
    return "; ".join([*conflicts[:MAX_CONFLICTS], *([f"{more:,} more"] if more > 0 else [])])


def reservation_conflicts(
    connection: Connection, chips: Sequence[int], condition: ColumnElement[bool]
) -> Iterator[str]:
    """Yield the reservations with some of the chips, in words, by their start."""
    shared: dict[int, int] = {}
    query = (
        select(_RESERVATION.c.id, func.count())
        .join(_RESERVED_CHIP, _RESERVED_CHIP.c.reservation_id == _RESERVATION.c.id)
        .where(condition, IsOneOf(_RESERVED_CHIP.c.chip_id, "chips"))
        .group_by(_RESERVATION.c.id)
    )
    for batch in batches(sorted(chips)):
        for key, count in connection.execute(query, {"chips": batch}):
            shared[key] = shared.get(key, 0) + count
    if not shared:
        return
    rows = connection.execute(select(_RESERVATION).where(_RESERVATION.c.id.in_(shared)))
    for row in sorted(rows, key=lambda row: (row.from_at, row.id)):
        purpose = row.name if row.kind == "job" else f"maintenance {row.name}"
        subject = f"{pluralize(shared[row.id], 'chip')} {'is' if shared[row.id] == 1 else 'are'}"
        yield f"{subject} reserved for {purpose} {Window(row.from_at, row.until_at)}"


def job_conflicts(connection: Connection, chips: Sequence[int], window: Window, now: datetime) -> Iterator[str]:
    """Yield the jobs that may still have some of the chips in a window that starts now or later, in words."""
    may_run = _may_run_at(window.start, now)
    query = (
        select(_JOB.c.name, _JOB.c.until_at, func.count())
        .join(_ALLOCATION, _ALLOCATION.c.job_id == _JOB.c.id)
        .where(_ALLOCATION.c.ended_at.is_(None), may_run)
        .group_by(_JOB.c.id, _JOB.c.name, _JOB.c.until_at)
        .order_by(_JOB.c.id)
    )
    shared: dict[tuple[str, str | None], int] = {}
    for batch in batches(sorted(chips)):
        for name, until, count in connection.execute(query.where(_ALLOCATION.c.chip_id.in_(batch))):
            shared[name, until] = shared.get((name, until), 0) + count
    for (name, until), count in shared.items():
        end = f"until {format_seconds(until)}" if until else "without an end"
        yield f"{pluralize(count, 'chip')} {'has' if count == 1 else 'have'} job {name} {end}"


def _may_run_at(start: str, now: datetime) -> ColumnElement[bool]:
    """Return the condition on ``job`` that it may still run at a time; a job that should have ended by now may."""
    until = _JOB.c.until_at
    return or_(until.is_(None), until > start, until <= format_timestamp(now))


def ended_by(start: str, now: datetime) -> ColumnElement[bool]:
    """Return the condition on ``job`` that it runs now and will have ended at a time."""
    return and_(_JOB.c.ended_at.is_(None), ~_may_run_at(start, now))
