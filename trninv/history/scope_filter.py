"""Test whether an event belongs to a scope, in SQL and in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from sqlalchemy import Connection, Text, and_, func, literal, literal_column, or_, select

from trninv.database.tables import NODE_KINDS, SERVER_ACTIONS, TABLES
from trninv.errors import UnknownAddressError, WrongLevelError
from trninv.inventory.address.containment import node_condition_at
from trninv.inventory.address.lookup import parse_or_look_up, resolve, resolve_place
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.address.syntax import level_of
from trninv.inventory.schema.event_fields import EVENT, is_at_or_below
from trninv.inventory.schema.thing import Sql, select_thing
from trninv.inventory.schema.things import THINGS


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


@dataclass(frozen=True, slots=True)
class ScopeMatcher:
    """A scope: a place, everything below it, and the links that end there; a rack's contents are read once."""

    places: frozenset[str]

    @classmethod
    def from_scope(cls, connection: Connection, scope: str) -> "ScopeMatcher":
        """Make the matcher of an existing place.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A core, which has no state.

        """
        place = resolve(connection, scope)
        if place.level == "core":
            raise WrongLevelError(f"{place.address} is a core and has no state: name its chip")
        if place.level == "rack":
            things = THINGS["server"], THINGS["switch"]
            results = (
                connection.execute(select_thing(kind).where(kind.containers["rack"] == place.id)) for kind in things
            )
            return cls(frozenset(row.address for rows_ in results for row in rows_))
        return cls(frozenset({place.address}))

    def matches(self, address: str) -> bool:
        """Whether the part with this address is in the scope."""
        return address in self.places or any(
            above in self.places for end in split_link(address) for above in accumulate(end.split("/"), "{}/{}".format)
        )
