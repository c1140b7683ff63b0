"""List events, and test in SQL whether an event belongs to a scope."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Text, and_, func, literal, literal_column, or_, select

from trninv.errors import InvalidArgumentError, UnknownAddressError
from trninv.history.moment import parse_time
from trninv.inventory.address import level_of, node_condition_at, parse_or_look_up, resolve_place
from trninv.inventory.fields import Sql
from trninv.inventory.happened import EVENT, EVENT_FIELDS, is_at_or_below
from trninv.inventory.named import split_link
from trninv.inventory.schema import ACTIONS, EVENT_SOURCES, NODE_KINDS, PART_KINDS, SERVER_ACTIONS, TABLES
from trninv.inventory.state import PPM, Condition, is_cascaded
from trninv.timestamps import format_lower_bound, format_timestamp

_COLUMNS: Final = [field.sql.label(field.name) for field in EVENT_FIELDS if field.name != "id"]


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a part's state, or an action on a job or on a server's cordon.

    Attributes
    ----------
    event
        The event's number. Numbers follow the order of changes even if the clock went back.
    batch
        The number of the first event of the same change. `batch`, `source` and `kind` are None for events recorded
        before schema version 0017.
    action, job
        One of ACTIONS, and the job's name unless the action is on a server. Both are None for a change of state.
    address
        The part's address, or the smallest place that contains all of the job's chips.
    before, after
        The part's condition, or its own condition if its server is not up either. None if no state was changed.
    taken_along
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
    address: str
    before: Condition | None
    after: Condition | None
    why: str
    taken_along: bool
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
        The address of a place: selects its events, those of its contents and those of links that end there. The place
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
        level = None if self.scope is None else level_of(self.scope)
        if level in (None, "cluster", "domain", "rack", "server"):
            yield ~is_cascaded()  # last: SQLite tests in this order, and this test is the slowest


def list_events(
    connection: Connection, scope: str | None = None, *, limit: int = 50, after: int | None = None, **tests: Any
) -> Iterator[Event]:
    """Yield the latest events, newest first, or with `after` the first ones after that number, oldest first.

    Parameters
    ----------
    scope, tests
        Fields of `EventFilter`.

    Raises
    ------
    AddressError, UnknownAddressError, InvalidArgumentError, InvalidTimeError
        See `EventFilter.conditions`.

    """
    query = select(*_COLUMNS).where(*EventFilter(scope, **tests).conditions(connection)).limit(limit)
    newest_first = query.order_by(EVENT.c.id.desc())
    ordered = newest_first if after is None else query.where(EVENT.c.id > after).order_by(EVENT.c.id)
    yield from map(_event_from_row, connection.execute(ordered))


def events_after(connection: Connection, after: int, limit: int) -> list[Event]:
    """Return the first events after a number, oldest first, cascaded ones included."""
    query = select(*_COLUMNS).where(EVENT.c.id > after).order_by(EVENT.c.id).limit(limit)
    return [_event_from_row(row) for row in connection.execute(query)]


def last_event_number(connection: Connection) -> int:
    """Return the number of the newest event, or 0 if there is none."""
    return connection.scalar(select(func.max(EVENT.c.id))) or 0


def in_scope(connection: Connection, scope: str) -> Sql:
    """Return the condition of `in_place` for an address as users write it."""
    level = level_of(scope)
    if level == "rack":
        return in_place(level, lambda: literal(resolve_place(connection, scope).id))
    link_names = [
        "--".join(str(parse_or_look_up(connection, end)) for end in ends_)
        for ends_ in (split_link(scope), split_link(scope)[::-1])
    ]
    if level in ALLOCATION_LEVELS:
        return in_place(level, map(literal, (link_names[0], place_id(connection, scope))).__next__)
    return in_place(level, lambda: literal(link_names.pop()))


def place_id(connection: Connection, scope: str) -> int:
    """Return the id of a place, or 0 if it is unknown, for instance because it was deleted."""
    try:
        return resolve_place(connection, scope).id
    except UnknownAddressError:
        return 0


def in_place(level: str, next_value: Callable[[], Sql]) -> Sql:
    """Return the condition that an event is of a place, its contents, a link ending there or a job with chips there.

    Parameters
    ----------
    next_value
        Returns one value a call: the address. For a link, its address from one end, then from the other. For a rack
        only its id, since servers' addresses do not contain their rack. For `ALLOCATION_LEVELS`, the address, then
        the id.

    """
    place = next_value()
    if level == "link":
        return EVENT.c.address.in_([place, next_value()])
    if level == "rack":
        return _in_rack(place)
    ends_there = or_(*(EVENT.c.address.like(literal_column("'%--%'") + place + rest) for rest in _SUFFIXES))
    conditions = [
        is_at_or_below(EVENT.c.address, place),
        and_(EVENT.c.address.like(literal_column("'%--%'")), ends_there),
    ]
    if level in ALLOCATION_LEVELS:
        holds = EVENT.c.address + literal_column("'/'")
        conditions.append(_job_was_in(level, next_value(), func.substr(place, 1, func.length(holds)) == holds))
    return or_(*conditions)


ALLOCATION_LEVELS: Final = ("domain", "server", "chip")
"""Levels of places that may have chips of a job whose events name a larger place."""


def _job_was_in(level: str, key: Sql, *first_tests: Sql) -> Sql:
    """Return the condition that an event is of a job with chips in a place; cheap `first_tests` are tested first."""
    allocation, chip, server = (TABLES[name] for name in ("allocation", "chip", "server"))
    columns = {"chip": chip.c.id, "server": chip.c.server_id, "rack": server.c.rack_id, "domain": server.c.domain_id}
    chips = select(chip.c.id).join(server, server.c.id == chip.c.server_id).where(columns[level] == key)
    query = (
        select(allocation.c.id)
        .where(allocation.c.job_id == EVENT.c.part_id, allocation.c.chip_id.in_(chips))
        .correlate(EVENT)
    )
    return and_(EVENT.c.job.is_not(None), *first_tests, query.exists())


_SUFFIXES: Final[tuple[Sql, ...]] = (literal_column("''"), literal_column("'/%'"))


def _in_rack(rack: Sql) -> Sql:
    """Return the condition that an event is of a part that is in a rack now.

    Ids can be reused after a cluster is removed, so the address must also begin with the rack's cluster.
    """
    node, server, link, racks, cluster = (TABLES[name] for name in ("node", "server", "link", "rack", "cluster"))
    slash = literal_column("'/'", Text)
    cluster_prefix = (
        select(cluster.c.slug + slash).join(racks, racks.c.cluster_id == cluster.c.id).where(racks.c.id == rack)
    )
    in_cluster = (
        func.substr(EVENT.c.address + slash, 1, func.length(cluster_prefix.scalar_subquery()))
        == cluster_prefix.scalar_subquery()
    )
    nodes = select(node.c.id).where(node_condition_at("rack", rack))
    parts = [
        (("server",), select(server.c.id).where(server.c.rack_id == rack)),
        (NODE_KINDS, nodes),
        (("link",), select(link.c.id).where(or_(link.c.a_id.in_(nodes), link.c.b_id.in_(nodes)))),
    ]
    states = (and_(EVENT.c.kind.in_(list(map(_literal, kinds))), EVENT.c.part_id.in_(ids)) for kinds, ids in parts)
    cordons = and_(EVENT.c.action.in_(list(map(_literal, SERVER_ACTIONS))), EVENT.c.part_id.in_(parts[0][1]))
    return and_(in_cluster, or_(*states, cordons, _job_was_in("rack", rack)))


def _literal(kind: str) -> Sql:
    return literal_column(f"'{kind}'")


def _event_from_row(row: Any) -> Event:
    values = dict(row._mapping)  # noqa: SLF001 # SQLAlchemy's public name for it
    factors = values.pop("factor_before"), values.pop("factor")
    states = values.pop("before"), values.pop("after")
    before, after = (state and Condition(state, factor) for state, factor in zip(states, factors, strict=True))
    values |= {name: bool(values[name]) for name in ("taken_along", "clock_went_back")}
    return Event(**values, before=before, after=after)
