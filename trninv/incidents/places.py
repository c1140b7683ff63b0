"""The smallest place that holds some parts, and whether a part is at or below a place."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select

from trninv.incidents.model import Part, Spot
from trninv.incidents.reading import found
from trninv.inventory.address import Place, address_of
from trninv.inventory.schema import TABLES

_SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("server", "domain", "cluster"))
_LEVELS: Final = ("server", "rack", "domain", "cluster")
"""Of a Spot, the smallest first; a rack may hold several domains, and a domain several racks."""

_At = tuple[str, int]


def smallest(connection: Connection, groups: Sequence[Sequence[Part]]) -> list[str | None]:
    """The address of the smallest place that holds a group's parts, that of a part alone; None: none does."""
    holding = [list(_common([part.spot for part in group])) for group in groups]
    both = {at for each in holding for at in each if at[0] in ("rack", "domain")}
    size = {level: _sizes(connection, level, {key for of, key in both if of == level}) for level in ("rack", "domain")}
    chosen = [min(each, key=lambda at: _rank(at, size), default=None) for each in holding]
    named = names(connection, {at for group, at in zip(groups, chosen, strict=True) if at and len(group) > 1})
    return [group[0].address if len(group) == 1 else at and named[at] for group, at in zip(groups, chosen, strict=True)]


def is_at(part: Part, place: Place) -> bool:
    """Whether a part is at or below a place, or is a link that ends there."""
    if place.level in _LEVELS:
        return any(getattr(spot, place.level) == place.id for spot in part.touches)
    if place.level == "link":
        return part.key == ("link", place.id)
    return part.key == ("node", place.id) or place.id in part.ends


def _common(spots: Collection[Spot]) -> Iterator[_At]:
    for level in _LEVELS:
        ids = {getattr(spot, level) for spot in spots}
        if len(ids) == 1 and None not in ids:
            yield level, *ids


def _rank(at: _At, size: Mapping[str, Mapping[int, int]]) -> tuple[float, int]:
    level, key = at
    servers = size[level][key] if level in size else 0 if level == "server" else inf
    return servers, -_LEVELS.index(level)  # a domain that is its rack goes by the name of the domain


def _sizes(connection: Connection, level: str, keys: Iterable[int]) -> dict[int, int]:
    """How many servers places have."""
    column = _SERVER.c[f"{level}_id"]
    query = select(column, func.count()).group_by(column)
    return dict(found(connection, query, column, keys))


def names(connection: Connection, wanted: Collection[_At]) -> dict[_At, str]:
    """Addresses of places, by their levels and ids."""
    return {
        (level, row.id): row.address
        for level in _LEVELS
        for row in found(connection, _named(level), TABLES[level].c.id, (key for of, key in wanted if of == level))
    }


def _named(level: str) -> Select[Any]:
    table = TABLES[level]
    query = select(table.c.id, address_of(level).label("address")).select_from(table)
    if level == "server":
        query = query.join(_DOMAIN, _DOMAIN.c.id == table.c.domain_id)
    if level != "cluster":
        holds = _DOMAIN if level == "server" else table
        query = query.join(_CLUSTER, _CLUSTER.c.id == holds.c.cluster_id)
    return query
