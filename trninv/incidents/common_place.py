"""Find the smallest place that contains some parts: the place that an incident names.

Places are servers, racks, domains and clusters. Racks and domains are compared by their number of servers, because a
rack may have several domains, and a domain several racks.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select

from trninv.database.tables import TABLES
from trninv.incidents.failures import select_by_ids
from trninv.incidents.model import Location, UnhealthyPart
from trninv.inventory.address.expressions import address_expression, join_containers
from trninv.inventory.address.lookup import Place

_SERVER = TABLES["server"]
_LEVELS: Final = ("server", "rack", "domain", "cluster")
"""Levels of places; `Location` has a field for each."""

_PlaceKey = tuple[str, int]
"""Level and id of a place."""


def smallest_common_place(connection: Connection, groups: Sequence[Sequence[UnhealthyPart]]) -> list[str | None]:
    """Return for each group the address of the smallest place that contains its parts.

    For a single part, this is its own address. For parts in several clusters, it is None.
    """
    common_places = [list(_common_places([part.location for part in group])) for group in groups]
    all_places = {place for places in common_places for place in places}
    sizes = {
        level: _count_servers(connection, level, {key for place_level, key in all_places if place_level == level})
        for level in ("rack", "domain")
    }
    smallest = [min(places, key=lambda place: _size(place, sizes), default=None) for places in common_places]
    addresses = place_addresses(
        connection, {place for group, place in zip(groups, smallest, strict=True) if place and len(group) > 1}
    )
    return [
        group[0].address if len(group) == 1 else place and addresses[place]
        for group, place in zip(groups, smallest, strict=True)
    ]


def is_in_place(part: UnhealthyPart, place: Place) -> bool:
    """Return whether a part is at or below a place, or is a link that ends there."""
    if place.level in _LEVELS:
        return any(getattr(location, place.level) == place.id for location in part.locations)
    if place.level == "link":
        return part.key == ("link", place.id)
    return part.key == ("node", place.id) or place.id in part.ends


def _common_places(locations: Collection[Location]) -> Iterator[_PlaceKey]:
    """Yield the places of every level that contain all locations."""
    for level in _LEVELS:
        ids = {getattr(location, level) for location in locations}
        if len(ids) == 1 and None not in ids:
            yield level, *ids


def _size(place: _PlaceKey, sizes: Mapping[str, Mapping[int, int]]) -> tuple[float, int]:
    """Return a sort key: the number of servers; if a rack and a domain have equally many, the domain comes first."""
    level, key = place
    # A server counts as 0 servers, so that it comes before a domain of one server.
    servers = sizes[level][key] if level in sizes else {"server": 0, "cluster": inf}[level]
    return servers, -_LEVELS.index(level)


def _count_servers(connection: Connection, level: str, keys: Iterable[int]) -> dict[int, int]:
    """Count the servers of racks or domains, by their ids."""
    column = _SERVER.c[f"{level}_id"]
    query = select(column, func.count()).group_by(column)
    return dict(select_by_ids(connection, query, column, keys))


def place_addresses(connection: Connection, places: Collection[_PlaceKey]) -> dict[_PlaceKey, str]:
    """Return the addresses of places, by their levels and ids."""
    return {
        (level, row.id): row.address
        for level in _LEVELS
        for row in select_by_ids(
            connection,
            _address_query(level),
            TABLES[level].c.id,
            (key for place_level, key in places if place_level == level),
        )
    }


def _address_query(level: str) -> Select[Any]:
    """Return a query for the ids and addresses of all places of a level."""
    address = address_expression(level).label("address")
    return select(TABLES[level].c.id, address).select_from(join_containers(level))
