"""Search places, machines and jobs by a few letters, for GraphQL's search field."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from sqlalchemy import Connection, case, func, or_, select

from trninv.database.tables import TABLES
from trninv.errors import AddressError, UnknownAddressError, WrongLevelError
from trninv.inventory.address.completion import complete_address
from trninv.inventory.address.lookup import (
    Place,
    find_in_other_clusters,
    find_place,
    parse_or_look_up,
    resolve_link,
)
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.address.syntax import Address, is_link, level_of, parse

MAX_LENGTH: Final = 200
"""The maximum length of a search text; longer ones match nothing."""

_FIRST_DOMAIN: Final = "d0"
_CLUSTER_STEPS: Final = ("d", "r", "f")
"""The first letters of steps directly below a cluster."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Something that a search text may mean.

    Attributes
    ----------
    kind
        A level of addresses, or link, host, instance or job; GraphQL adds hits of the kind report.
    address
        The address of the place or link, or of the machine's slot; None for a job or report.
    """

    kind: str
    name: str
    address: str | None = None


def search_inventory(connection: Connection, text: str, origin: str | None, limit: int) -> list[list[SearchHit]]:
    """Search for a text and return groups of hits, the likeliest group first, with at most `limit` hits in each.

    The groups are: the exact address; addresses relative to `origin` and its containers; addresses that start with the
    text; instances and hosts; jobs; and relative addresses in other clusters. Case is ignored except in host names
    (@NAME). No hit is in two groups.

    Parameters
    ----------
    origin
        The address below which relative ones are looked up; with None or an invalid address, they match nothing.
    """
    text = text.strip()
    if not text or len(text) > MAX_LENGTH:
        return []
    address = text if text.startswith("@") else text.lower()
    bases = _with_containers(connection, origin)
    is_machine_name = address.startswith("@") and "/" not in address
    previous_hits, groups = set[SearchHit](), list[list[SearchHit]]()
    for group in (
        _place_hits(_exact_match(connection, address)),
        _place_hits(_relative_matches(connection, bases, address, limit)),
        _place_hits(() if is_machine_name else complete_address(connection, address, limit)),
        _machine_matches(connection, text.removeprefix("@"), limit),
        _job_matches(connection, text, limit),
        _place_hits(_matches_in_other_clusters(connection, {base.cluster for base in bases}, address, limit)),
    ):
        groups.append(list(islice((hit for hit in dict.fromkeys(group) if hit not in previous_hits), limit)))
        previous_hits.update(groups[-1])
    return groups


def _place_hits(addresses: Iterable[str]) -> Iterator[SearchHit]:
    return (SearchHit(level_of(address), address, address) for address in addresses)


def _with_containers(connection: Connection, origin: str | None) -> list[Address]:
    """Return the address of a place and those of its containers, innermost first; nothing for an invalid address.

    For a link, the place is its first end.
    """
    addresses = list[Address]()
    try:
        place = parse_or_look_up(connection, split_link(origin)[0]) if origin else None
    except (AddressError, UnknownAddressError):
        return []
    while place:
        addresses.append(place)
        place = place.parent if place.steps else None
    return addresses


def _absolute_address(base: Address, relative: str) -> str:
    """Return a relative address below `base` in full; for a link, complete both ends unless one is empty."""
    return "--".join(end and f"{base}/{end}" for end in split_link(relative))


def _exact_match(connection: Connection, address: str) -> Iterator[str]:
    """Yield the address of the place or link that `address` names in full, if there is one."""
    try:
        if is_link(address):
            place: Place | None = resolve_link(connection, address)
        else:
            place = find_place(connection, parse_or_look_up(connection, address))
    except (AddressError, UnknownAddressError, WrongLevelError):
        return
    if place:
        yield place.address


def _relative_matches(connection: Connection, bases: list[Address], relative: str, limit: int) -> Iterator[str]:
    for base in bases:
        yield from _exact_match(connection, _absolute_address(base, relative))
        yield from complete_address(connection, _absolute_address(base, relative), limit)


def _machine_matches(connection: Connection, prefix: str, limit: int) -> Iterator[SearchHit]:
    binding = TABLES["binding"].c
    for kind, column in (("instance", binding.instance), ("host", binding.host)):
        query = select(column.label("name"), binding.address).where(
            binding.ended_at.is_(None), column.istartswith(prefix, autoescape=True)
        )
        for row in connection.execute(query.order_by(func.length(column), column).limit(limit)):
            yield SearchHit(kind, row.name, row.address)


def _job_matches(connection: Connection, text: str, limit: int) -> Iterator[SearchHit]:
    job = TABLES["job"].c
    is_prefix = job.name.istartswith(text, autoescape=True)
    matches = or_(job.name.icontains(text, autoescape=True), job.external_id == text)
    query = select(job.name).where(job.ended_at.is_(None), matches).group_by(job.name)
    for name in connection.scalars(query.order_by(case((is_prefix, 0), else_=1), job.name).limit(limit)):
        yield SearchHit("job", name)


def _matches_in_other_clusters(
    connection: Connection, searched_clusters: set[str], address: str, limit: int
) -> Iterator[str]:
    """Yield the places with a relative address in other clusters, by default in the first domain of each."""
    relative = address if address[:1] in _CLUSTER_STEPS else f"{_FIRST_DOMAIN}/{address}"
    try:
        place = parse(f"any/{relative}")  # any cluster's name would do
    except AddressError:
        return
    yield from find_in_other_clusters(connection, place, searched_clusters, limit)
