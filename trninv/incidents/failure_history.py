"""Load failures that have ended, and the events that ended them, for `trninv.incidents.closed_incidents`."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, and_, false, func, literal_column, or_, select

from trninv.database.tables import TABLES
from trninv.history.scope_filter import of_parts_in
from trninv.incidents.failures import STATE_COLUMNS, failed_itself, in_spans, select_by_ids
from trninv.inventory.address.lookup import Place

_EVENT: Final = TABLES["state_event"]
_UP: ColumnElement[str] = literal_column("'up'")


def load_recoveries(connection: Connection, before: int, limit: int, place: Place | None = None) -> Sequence[Any]:
    """Load the last events, before one, by which a part itself became healthy, the latest first.

    Each has its number `id`, the part's `kind` and `part_id`, and `failure`: the event that made the part itself
    unhealthy before, or None if it isn't recorded.

    Parameters
    ----------
    place
        Only recoveries of parts at or below it, of links that end there and of its server are loaded, with which its
        chips, NICs and switches fail and recover.
    """
    failure = _EVENT.alias("failure")
    number = failure.c.id + literal_column("0")  # see trninv.incidents.failures
    failed = select(func.max(number)).where(_is_same_part(failure), failure.c.id < _EVENT.c.id, failed_itself(failure))
    query = select(
        *(_EVENT.c[name] for name in ("id", "kind", "part_id")),
        failed.correlate(_EVENT).scalar_subquery().label("failure"),
    )
    # the condition on `before` lets both databases use an index
    query = query.where(_EVENT.c.id < before, _EVENT.c.kind.is_not(None), _EVENT.c.before != _UP, _recovered_itself())
    if place is not None:
        query = query.where(or_(of_parts_in(place), _is_of_server_of(place)))
    return connection.execute(query.order_by(_EVENT.c.id.desc()).limit(limit)).all()


def _is_of_server_of(place: Place) -> ColumnElement[bool]:
    """Return the condition that an event is of the server that contains a chip, NIC or switch."""
    if place.level not in ("chip", "nic", "switch"):
        return false()
    table = TABLES[place.level]
    server = select(table.c.server_id).where(table.c.id == place.id).scalar_subquery()
    return and_(_EVENT.c.kind == literal_column("'server'"), _EVENT.c.part_id == server)


def load_failures(connection: Connection, spans: Sequence[tuple[datetime, datetime]]) -> Iterator[Any]:
    """Yield all events of disjoint time spans that made parts unhealthy, themselves or with their servers.

    Each has the part's next recovery `recovered` (None: not yet), and whether it was down before that, `went_down`.
    """
    later = _EVENT.alias("later")
    number = later.c.id + literal_column("0")  # see trninv.incidents.failures
    is_later = _is_same_part(later), later.c.id > _EVENT.c.id
    recovered = select(func.min(number)).where(*is_later, _recovered_itself(later)).correlate(_EVENT).scalar_subquery()
    down = select(func.min(number)).where(*is_later, later.c.state == literal_column("'down'"))
    is_failure = failed_itself()
    query = select(
        _EVENT.c.id,
        func.coalesce(_EVENT.c.batch, _EVENT.c.id).label("change"),
        *(_EVENT.c[name] for name in ("at", "who", "why", "source", "kind", "part_id", "address", "before")),
        _EVENT.c.state,
        _EVENT.c.factor_ppm,
        is_failure.label("failed_itself"),
        recovered.label("recovered"),
        func.coalesce(down.correlate(_EVENT).scalar_subquery() < recovered, literal_column("false")).label("went_down"),
    )
    became_unhealthy = and_(_EVENT.c.before == _UP, _EVENT.c.state != _UP)
    query = query.where(_EVENT.c.kind.is_not(None), or_(is_failure, became_unhealthy)).order_by(_EVENT.c.id)
    return in_spans(connection, query, spans)


def load_recovery_events(connection: Connection, events: Iterable[int]) -> dict[int, Any]:
    """Load events by their numbers, with the state that they gave the part, and their author and reason."""
    query = select(*(_EVENT.c[name] for name in ("id", "at", "who", "why", "state")))
    return {row.id: row for row in select_by_ids(connection, query, _EVENT.c.id, events)}


def _recovered_itself(event: FromClause = _EVENT) -> ColumnElement[bool]:
    """Return the condition that a part itself became healthy, whatever its server's state."""
    before, after = (func.coalesce(event.c[own], event.c[effective]) for own, effective in STATE_COLUMNS)
    return and_(before != _UP, after == _UP)


def _is_same_part(event: FromClause) -> ColumnElement[bool]:
    """Return the condition that another event is about the part of an event."""
    return and_(event.c.kind == _EVENT.c.kind, event.c.part_id == _EVENT.c.part_id)
