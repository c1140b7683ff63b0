"""What happened: the events of a place and of all that it holds, newest first."""

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
    """A change of a part's state; or what was done to a job, or to a server for jobs' sake.

    Attributes
    ----------
    event
        Its number; numbers keep the order in which changes were made, whatever the clock said.
    batch
        The number of the first event of the same change; None of events before revision 0017, as are source and kind.
    action, job
        One of ACTIONS and, unless that is of a server, the job's name; None where a part's state was changed.
    address
        Of the part; or the least place that has all of the job's chips.
    before, after
        Its condition; of a part whose server is not up either, its own. None where no state was changed.
    taken_along
        Whether its server was changed, and took it along.

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
        """By the names that GraphQL gives them, with values as the database has them."""
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
    """Which events; every test must hold.

    Attributes
    ----------
    scope
        A place: those of it, of all it holds and of the links that end there. What is gone still has its events.
    since, until
        Times with their zones.
    kind, action, job, who, source
        What the event has: one of PART_KINDS, one of ACTIONS, a job's name, a name, one of EVENT_SOURCES.
    why
        A text that is somewhere in the reason.
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
        """In SQL. What a server took along is left out beside the server's own event.

        Raises
        ------
        AddressError, UnknownAddressError
        LimitError
            There is no such kind, action or source.
        MomentError
            A time has no zone, or is yet to come.

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
            yield ~is_cascaded()  # last: SQLite asks in this order, and it takes longest


def list_events(
    connection: Connection, scope: str | None = None, *, limit: int = 50, after: int | None = None, **tests: Any
) -> Iterator[Event]:
    """The latest events, newest first; or the first ones after a number, oldest first.

    Parameters
    ----------
    scope, tests
        As `Wanted` has them.

    Raises
    ------
    AddressError, UnknownAddressError, LimitError, MomentError
        As `Wanted.conditions` says.

    """
    query = select(*_COLUMNS).where(*EventFilter(scope, **tests).conditions(connection)).limit(limit)
    newest_first = query.order_by(EVENT.c.id.desc())
    ordered = newest_first if after is None else query.where(EVENT.c.id > after).order_by(EVENT.c.id)
    yield from map(_event_from_row, connection.execute(ordered))


def events_after(connection: Connection, after: int, limit: int) -> list[Event]:
    """The first events after a number, oldest first, with what servers took along."""
    query = select(*_COLUMNS).where(EVENT.c.id > after).order_by(EVENT.c.id).limit(limit)
    return [_event_from_row(row) for row in connection.execute(query)]


def last_event_number(connection: Connection) -> int:
    """The number of the newest event; 0: there is none."""
    return connection.scalar(select(func.max(EVENT.c.id))) or 0


def in_scope(connection: Connection, scope: str) -> Sql:
    """`of_place`, of an address as people write it."""
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
    """The id of a place; 0 of one that is gone."""
    try:
        return resolve_place(connection, scope).id
    except UnknownAddressError:
        return 0


def in_place(level: str, next_value: Callable[[], Sql]) -> Sql:
    """Of a place, of all it holds and of the links that end there; and of jobs that held chips there.

    Parameters
    ----------
    take
        Gives the address; of a link that from either end; of a rack its id, for servers are not named by their rack;
        of the levels `HOLDING` its id after the address.

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
"""Levels of places that jobs of a larger one may hold chips in."""


def _job_was_in(level: str, key: Sql, *first_tests: Sql) -> Sql:
    """That an event is of a job which held chips of a place; `before` is asked first."""
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
    """What is in it now; not what a cluster that is gone had by the same ids."""
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
