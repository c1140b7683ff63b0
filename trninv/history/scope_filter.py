"""Test whether an event belongs to a scope, in SQL (`in_scope`) and in memory (`ScopeMatcher`).

A scope is a place. Its events are those of the place, of everything in it, of links that end there, and of jobs with
chips there. Only `in_scope` covers jobs, because `ScopeMatcher` gets only the addresses of parts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from sqlalchemy import Connection, Text, and_, func, literal, literal_column, or_, select

from trninv.database.tables import (
    JOB_ACTIONS,
    NODE_KINDS,
    PART_KINDS,
    RESERVATION_ACTIONS,
    SERVER_ACTIONS,
    TABLES,
)
from trninv.errors import UnknownAddressError, WrongLevelError
from trninv.inventory.address.expressions import address_expression, join_containers
from trninv.inventory.address.lookup import Place, parse_or_look_up, resolve, resolve_place
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.address.rows_in import CONTAINERS, Key, address_is_in, rows_at, rows_in
from trninv.inventory.address.syntax import level_of
from trninv.inventory.schema.event_fields import EVENT
from trninv.inventory.schema.thing import Sql, is_in_cluster
from trninv.inventory.schema.things import THINGS


def in_scope(connection: Connection, scope: str) -> Sql:
    """Return the condition that an event belongs to the place with an address, as users write it."""
    ends = split_link(scope)  # the two ends of a link, or the address alone
    for end in ends:  # whose errors say which place may be meant
        parse_or_look_up(connection, end)
    level = level_of(scope)
    if level == "rack":
        return in_place(level, lambda: literal(resolve_place(connection, scope).id))
    values: list[str | int] = [
        "--".join(str(parse_or_look_up(connection, end)) for end in ordered_ends) for ordered_ends in (ends, ends[::-1])
    ]
    if level in ALLOCATION_LEVELS:  # for these, `in_place` takes the address, then the id
        values[1] = place_id(connection, scope)
    return in_place(level, map(literal, values).__next__)


def place_id(connection: Connection, scope: str) -> int:
    """Return the id of a place, or 0 if the place is unknown, for instance because it was deleted."""
    try:
        return resolve_place(connection, scope).id
    except UnknownAddressError:
        return 0


def in_place(level: str, next_value: Callable[[], Sql]) -> Sql:
    """Return the condition that an event belongs to a place whose address or id may be a bound parameter.

    Parameters
    ----------
    next_value
        Returns the next value that identifies the place. For a link: its address from one end, then from the other.
        For a rack: its id, since servers' addresses do not contain their rack. For `ALLOCATION_LEVELS`: the address,
        then the id. For any other place: its address.

    """
    place = next_value()
    if level == "link":
        return EVENT.c.address.in_([place, next_value()])
    if level == "rack":
        return _in_rack(place)
    conditions = [address_is_in(EVENT.c.address, place)]
    if level in ALLOCATION_LEVELS:
        job_prefix = EVENT.c.address + literal_column("'/'")
        is_below_job = func.substr(place, 1, func.length(job_prefix)) == job_prefix
        conditions.append(_has_job_in(level, next_value(), is_below_job))
    return or_(*conditions)


ALLOCATION_LEVELS: Final = ("domain", "server", "chip")
"""Levels of places that may contain chips of a job whose events have the address of a larger place."""


def _has_job_in(level: str, place_key: Sql, *cheap_conditions: Sql) -> Sql:
    """Return the condition that an event is of a job or reservation with chips in a place, cheap conditions first.

    The actions are compared as literals, because an index has the rows that have an action.
    """

    def has_chips(table: str, owner: str, actions: Iterable[str]) -> Sql:
        chips = TABLES[table]
        query = select(chips.c.id).where(chips.c[owner] == EVENT.c.part_id, rows_at(level, place_key, table))
        return and_(
            EVENT.c.action.in_(list(map(_literal, actions))), *cheap_conditions, query.correlate(EVENT).exists()
        )

    return or_(
        has_chips("allocation", "job_id", JOB_ACTIONS),
        has_chips("reserved_chip", "reservation_id", RESERVATION_ACTIONS),
    )


def _in_rack(rack: Sql) -> Sql:
    """Return the condition that an event belongs to a part that is now in a rack, or to a job with chips there.

    Ids can be reused after a cluster is removed, so the address must also begin with the rack's cluster.
    """
    racks, cluster = TABLES["rack"], TABLES["cluster"]
    slash = literal_column("'/'", Text)
    cluster_prefix = (
        select(cluster.c.slug + slash).join(racks, racks.c.cluster_id == cluster.c.id).where(racks.c.id == rack)
    )
    in_cluster = (
        func.substr(EVENT.c.address + slash, 1, func.length(cluster_prefix.scalar_subquery()))
        == cluster_prefix.scalar_subquery()
    )
    server_ids = select(TABLES["server"].c.id).where(rows_at("rack", rack, "server"))
    cordons = and_(EVENT.c.action.in_(list(map(_literal, SERVER_ACTIONS))), EVENT.c.part_id.in_(server_ids))
    return and_(in_cluster, or_(_of_parts_at("rack", rack), cordons, _has_job_in("rack", rack)))


def of_parts_in(place: Place) -> Sql:
    """Return the condition that an event is of a part that is now at or below a place, or of a link that ends there.

    Ids can be reused after a cluster is removed, so it may be an event of an earlier part.
    """
    if place.level != "cluster":
        return _of_parts_at(place.level, place.id)
    cluster = literal(place.id)
    return or_(
        *(
            and_(EVENT.c.kind == _literal(kind), is_in_cluster(THINGS[kind], EVENT.c.part_id, cluster))
            for kind in PART_KINDS
        )
    )


def _of_parts_at(level: str, key: Key) -> Sql:
    """Return the condition of `of_parts_in` for a level and an id."""
    kinds = {"server": ("server",), "node": NODE_KINDS, "link": ("link",)}
    return or_(
        *(
            and_(
                EVENT.c.kind.in_(list(map(_literal, names))),
                EVENT.c.part_id.in_(select(TABLES[table].c.id).where(rows_at(level, key, table))),
            )
            for table, names in kinds.items()
            if level in CONTAINERS[table]
        )
    )


def _literal(kind: str) -> Sql:
    return literal_column(f"'{kind}'")


@dataclass(frozen=True, slots=True)
class ScopeMatcher:
    """Matches the addresses of parts at or below a place, and of links that end there.

    Attributes
    ----------
    places
        The address of the place, or the addresses of a rack's servers and switches.
    """

    places: frozenset[str]

    @classmethod
    def from_scope(cls, connection: Connection, scope: str) -> "ScopeMatcher":
        """Return the matcher of an existing place.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            The place is a core; cores have no state.

        """
        place = resolve(connection, scope)
        if place.level == "core":
            raise WrongLevelError(f"{place.address} is a core and has no state: name its chip")
        if place.level == "rack":
            queries = (
                select(address_expression(kind)).select_from(join_containers(kind)).where(rows_in(place, kind))
                for kind in ("server", "switch")
            )
            return cls(frozenset(address for query in queries for address in connection.scalars(query)))
        return cls(frozenset({place.address}))

    def matches(self, address: str) -> bool:
        """Return whether the part with this address is in the scope."""
        ends_and_containers = (
            container for end in split_link(address) for container in accumulate(end.split("/"), "{}/{}".format)
        )
        return address in self.places or any(container in self.places for container in ends_and_containers)
