"""Find the smallest place that contains some parts."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select

from trninv.database.tables import TABLES
from trninv.incidents.failures import select_by_ids
from trninv.incidents.model import Location, UnhealthyPart
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.address.lookup import Place

_SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("server", "domain", "cluster"))
_LEVELS: Final = ("server", "rack", "domain", "cluster")
"""Fields of a Location, smallest first; a rack may have several domains, and a domain several racks."""

_PlaceKey = tuple[str, int]


def smallest_common_place(connection: Connection, groups: Sequence[Sequence[UnhealthyPart]]) -> list[str | None]:
    """Return the address of the smallest place that contains all parts of a group, or None."""
    candidates = [list(_common_places([part.location for part in group])) for group in groups]
    sized_places = {place for options in candidates for place in options if place[0] in ("rack", "domain")}
    sizes = {
        level: _count_servers(connection, level, {key for place_level, key in sized_places if place_level == level})
        for level in ("rack", "domain")
    }
    chosen = [min(options, key=lambda place: _rank(place, sizes), default=None) for options in candidates]
    addresses = place_addresses(
        connection, {place for group, place in zip(groups, chosen, strict=True) if place and len(group) > 1}
    )
    return [
        group[0].address if len(group) == 1 else place and addresses[place]
        for group, place in zip(groups, chosen, strict=True)
    ]


def is_in_place(part: UnhealthyPart, place: Place) -> bool:
    """Return whether a part is at or below a place, or is a link that ends there."""
    if place.level in _LEVELS:
        return any(getattr(location, place.level) == place.id for location in part.locations)
    if place.level == "link":
        return part.key == ("link", place.id)
    return part.key == ("node", place.id) or place.id in part.ends


def _common_places(locations: Collection[Location]) -> Iterator[_PlaceKey]:
    for level in _LEVELS:
        ids = {getattr(location, level) for location in locations}
        if len(ids) == 1 and None not in ids:
            yield level, *ids


def _rank(place: _PlaceKey, sizes: Mapping[str, Mapping[int, int]]) -> tuple[float, int]:
    level, key = place
    servers = sizes[level][key] if level in sizes else 0 if level == "server" else inf
    return servers, -_LEVELS.index(level)  # if a domain has the same servers as its rack, use the domain


def _count_servers(connection: Connection, level: str, keys: Iterable[int]) -> dict[int, int]:
    """Count the servers of places."""
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
    table = TABLES[level]
    query = select(table.c.id, address_expression(level).label("address")).select_from(table)
    if level == "server":
        query = query.join(_DOMAIN, _DOMAIN.c.id == table.c.domain_id)
    if level != "cluster":
        owner = _DOMAIN if level == "server" else table
        query = query.join(_CLUSTER, _CLUSTER.c.id == owner.c.cluster_id)
    return query
