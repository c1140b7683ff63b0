"""List events: changes of state, and actions on jobs, cordons and reservations.

`trninv events`, the GraphQL subscription and the event stream read them here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, func, select

from trninv.database.tables import ACTIONS, EVENT_SOURCES, PART_KINDS
from trninv.errors import InvalidArgumentError
from trninv.history.point_in_time import parse_time
from trninv.history.scope_filter import in_scope
from trninv.inventory.address.syntax import level_of
from trninv.inventory.schema.event_fields import EVENT, EVENT_FIELDS, IS_STATE_CHANGE
from trninv.inventory.schema.thing import Sql
from trninv.inventory.state.condition import PPM, Condition
from trninv.inventory.state.state_change import is_cascaded
from trninv.units import format_lower_bound, format_timestamp

_COLUMNS: Final = [field.sql.label(field.name) for field in EVENT_FIELDS if field.name != "id"]


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a part's state, or an action on a job, a server's cordon or a reservation.

    Attributes
    ----------
    event
        The event's number. Numbers follow the order of changes even if the clock went back.
    batch
        The number of the first event of the same change. `batch`, `source` and `kind` may be None for events recorded
        before the first release.
    action, job
        One of ACTIONS, and the name of the job or reservation unless the action is on a server. Both are None for a
        change of state.
    moved_from
        Of a move, whether the job left the address; None for any other event.
    address
        The part's address, or the smallest place that contains all of the job's chips.
    before, after
        The part's condition. If only its own condition changed, which its server's condition hides, that one. None for
        an action, which changes no state.
    cascaded
        Whether the change cascaded from the part's server.

    """

    event: int
    batch: int | None
    at: str
    who: str
    source: str | None
    kind: str | None
    action: str | None
    job: str | None
    moved_from: bool | None
    address: str
    before: Condition | None
    after: Condition | None
    why: str
    cascaded: bool
    clock_went_back: bool

    def to_json(self) -> dict[str, Any]:
        """Return the fields under their GraphQL names, with the values that the database stores."""
        values: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if name in ("before", "after"):
                factor = value and value.factor_ppm and value.factor_ppm / PPM
                values |= {name: value and value.state, "factorBefore" if name == "before" else "factor": factor}
            else:
                first, *rest = name.split("_")
                values[first + "".join(map(str.capitalize, rest))] = value
        return values


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Conditions on events, all of which must be met.

    Attributes
    ----------
    scope
        The address of a place. Selects events of the place, of everything in it and of links that end there. The place
        may have been deleted.
    since, until
        Times with their zones, both inclusive.
    kind, action, job, who, source
        Values that the event must have: one of PART_KINDS, one of ACTIONS, a job's name, an author, one of
        EVENT_SOURCES.
    why
        Text that the reason must contain.
    batch
        The number of the first event of a change.
    states_only
        Whether to exclude actions on jobs and servers.

    """

    scope: str | None = None
    since: str | datetime | None = None
    until: str | datetime | None = None
    kind: str | None = None
    action: str | None = None
    job: str | None = None
    who: str | None = None
    why: str | None = None
    source: str | None = None
    batch: int | None = None
    states_only: bool = False

    def conditions(self, connection: Connection) -> Iterator[Sql]:
        """Yield the conditions in SQL, and exclude cascaded events if their server is in scope too.

        Raises
        ------
        AddressError, UnknownAddressError
        InvalidArgumentError
            There is no such kind, action or source.
        InvalidTimeError
            A time has no zone, or is in the future.

        """
        if self.scope is not None:
            yield in_scope(connection, self.scope)
        if self.since is not None:
            yield EVENT.c.at >= format_lower_bound(parse_time(self.since))
        if self.until is not None:
            yield EVENT.c.at <= format_timestamp(parse_time(self.until))
        for name, choices in (("kind", PART_KINDS), ("action", ACTIONS), ("source", EVENT_SOURCES)):
            if (value := getattr(self, name)) is not None and value not in choices:
                raise InvalidArgumentError(f"{name} {value!r}: choose {', '.join(choices[:-1])} or {choices[-1]}")
        for name in ("kind", "action", "job", "who", "source", "batch"):
            if (value := getattr(self, name)) is not None:
                yield EVENT.c[name] == value
        if self.why is not None:
            yield EVENT.c.why.contains(self.why, autoescape=True)
        yield from [IS_STATE_CHANGE] if self.states_only else []
        level = None if self.scope is None else level_of(self.scope)
        if level in (None, "cluster", "domain", "rack", "server"):
            yield ~is_cascaded()  # SQLite tests conditions in order, so the slowest is the last


def list_events(
    connection: Connection, scope: str | None = None, *, limit: int = 50, after: int | None = None, **filters: Any
) -> Iterator[Event]:
    """Yield the latest events, newest first; with `after`, the first events after that number, oldest first.

    Parameters
    ----------
    scope, filters
        Fields of `EventFilter`.

    Raises
    ------
    AddressError, UnknownAddressError, InvalidArgumentError, InvalidTimeError
        See `EventFilter.conditions`.

    """
    query = select(*_COLUMNS).where(*EventFilter(scope, **filters).conditions(connection)).limit(limit)
    newest_first = query.order_by(EVENT.c.id.desc())
    ordered = newest_first if after is None else query.where(EVENT.c.id > after).order_by(EVENT.c.id)
    yield from map(_event_from_row, connection.execute(ordered))


def events_after(connection: Connection, after: int, limit: int) -> list[Event]:
    """Return the first events after a number, oldest first, including cascaded events."""
    query = select(*_COLUMNS).where(EVENT.c.id > after).order_by(EVENT.c.id).limit(limit)
    return [_event_from_row(row) for row in connection.execute(query)]


def last_event_number(connection: Connection) -> int:
    """Return the number of the newest event, or 0 if there is none."""
    return connection.scalar(select(func.max(EVENT.c.id))) or 0


def _event_from_row(row: Any) -> Event:
    values = dict(row._mapping)  # noqa: SLF001 # SQLAlchemy's public name for it
    factors = values.pop("factor_before"), values.pop("factor")
    states = values.pop("before"), values.pop("after")
    before, after = (state and Condition(state, factor) for state, factor in zip(states, factors, strict=True))
    values |= {name: bool(values[name]) for name in ("cascaded", "clock_went_back")}
    values["moved_from"] = None if values["moved_from"] is None else bool(values["moved_from"])
    return Event(**values, before=before, after=after)
