"""Search places, machines and jobs by a few letters."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from sqlalchemy import Connection, case, func, or_, select

from trninv.database.tables import TABLES
from trninv.errors import AddressError, UnknownAddressError, WrongLevelError
from trninv.inventory.address.completion import complete_address
from trninv.inventory.address.lookup import find_place, parse_or_look_up, resolve_link
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
        A level of addresses, or link, host, instance, job or report.
    address
        The address of the place or link, or of the machine's slot; None for a job or report.
    """

    kind: str
    name: str
    address: str | None = None


def search_inventory(connection: Connection, text: str, origin: str | None, limit: int) -> list[list[SearchHit]]:
    """Search for a text and return groups of hits, the likeliest first, at most `limit` in each.

    The groups are: the exact address; addresses relative to `origin` and its containers; addresses that start with the
    text; instances and hosts; jobs; and relative addresses in other clusters. Case is ignored except in host names
    (@NAME). No hit is in two groups.

    Parameters
    ----------
    origin
        The address from which relative ones are resolved; None or an invalid address: none are.
    """
    text = text.strip()
    if not text or len(text) > MAX_LENGTH:
        return []
    written = text if text.startswith("@") else text.lower()
    scopes = _scopes(connection, origin)
    previous_hits, groups = set[SearchHit](), list[list[SearchHit]]()
    for group in (
        _place_hits(_exact_match(connection, written)),
        _place_hits(_relative_matches(connection, scopes, written, limit)),
        _place_hits(
            () if written.startswith("@") and "/" not in written else complete_address(connection, written, limit)
        ),
        _machine_matches(connection, text.removeprefix("@"), limit),
        _job_matches(connection, text, limit),
        _place_hits(_other_clusters(connection, {scope.cluster for scope in scopes}, written, limit)),
    ):
        groups.append(list(islice((hit for hit in dict.fromkeys(group) if hit not in previous_hits), limit)))
        previous_hits.update(groups[-1])
    return groups


def _place_hits(addresses: Iterable[str]) -> Iterator[SearchHit]:
    return (SearchHit(level_of(address), address, address) for address in addresses)


def _scopes(connection: Connection, scope: str | None) -> list[Address]:
    """Return the address of a place and of its containers, or none if it is not an address."""
    scopes = list[Address]()
    try:
        place = parse_or_look_up(connection, split_link(scope)[0]) if scope else None
    except (AddressError, UnknownAddressError):
        return []
    while place:
        scopes.append(place)
        place = place.parent if place.steps else None
    return scopes


def _relative_address(scope: object, written: str) -> str:
    """Return a relative address below a place; the two ends of a link are both relative."""
    return "--".join(end and f"{scope}/{end}" for end in split_link(written))


def _exact_match(connection: Connection, written: str) -> Iterator[str]:
    """Yield the address itself if it exists."""
    try:
        place = (
            resolve_link(connection, written)
            if is_link(written)
            else find_place(connection, parse_or_look_up(connection, written))
        )
    except (AddressError, UnknownAddressError, WrongLevelError):
        return
    if place:
        yield place.address


def _relative_matches(connection: Connection, scopes: list[Address], written: str, limit: int) -> Iterator[str]:
    for scope in scopes:
        yield from _exact_match(connection, _relative_address(scope, written))
        yield from complete_address(connection, _relative_address(scope, written), limit)


def _machine_matches(connection: Connection, prefix: str, limit: int) -> Iterator[SearchHit]:
    binding = TABLES["binding"].c
    for kind, column in (("instance", binding.instance), ("host", binding.host)):
        query = select(column.label("name"), binding.address).where(
            binding.ended_at.is_(None), column.istartswith(prefix, autoescape=True)
        )
        for row in connection.execute(query.order_by(func.length(column), column).limit(limit)):
            yield SearchHit(kind, row.name, row.address)


def _job_matches(connection: Connection, part: str, limit: int) -> Iterator[SearchHit]:
    job = TABLES["job"].c
    is_prefix = job.name.istartswith(part, autoescape=True)
    like = or_(job.name.icontains(part, autoescape=True), job.external_id == part)
    query = select(job.name).where(job.ended_at.is_(None), like).group_by(job.name)
    for name in connection.scalars(query.order_by(case((is_prefix, 0), else_=1), job.name).limit(limit)):
        yield SearchHit("job", name)


def _other_clusters(connection: Connection, searched: set[str], written: str, limit: int) -> Iterator[str]:
    """Yield a relative address in other clusters, in the first domain of each if it names no domain."""
    relative = written if written[:1] in _CLUSTER_STEPS else f"{_FIRST_DOMAIN}/{written}"
    try:
        parse(f"any/{relative}")
    except AddressError:
        return
    slug = TABLES["cluster"].c.slug
    for cluster in connection.scalars(select(slug).where(slug.not_in(searched)).order_by(slug).limit(limit)).all():
        yield from _exact_match(connection, f"{cluster}/{relative}")
