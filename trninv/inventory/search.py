"""What a few letters may mean: addresses, also relative to where the reader is, instances, hosts and jobs by name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from sqlalchemy import Connection, case, func, or_, select

from trninv.errors import AddressError, UnknownAddressError, WrongLevelError
from trninv.inventory.address import Address, find_place, is_link, level_of, parse, parse_or_look_up, resolve_link
from trninv.inventory.completion import complete_address
from trninv.inventory.named import split_link
from trninv.inventory.schema import TABLES

MAX_LENGTH: Final = 200
"""Letters of a text that is searched for; a longer one means nothing."""

_FIRST_DOMAIN: Final = "d0"
_CLUSTER_STEPS: Final = ("d", "r", "f")
"""Letters that steps right below a cluster begin with."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Something that a text may mean.

    Attributes
    ----------
    kind
        A level of addresses, link, host, instance, job or report.
    address
        Of the place or link, or of the slot where the instance or host stands; None of a job or report.

    """

    kind: str
    name: str
    address: str | None = None


def search_inventory(connection: Connection, text: str, origin: str | None, limit: int) -> list[list[SearchHit]]:
    """What a text may mean, in groups: at most ``most`` each, the likeliest first.

    The groups are what the text is the address of; what it begins, read from the place ``here`` and from those that
    hold it; addresses that begin so; instances and hosts; jobs; and a relative address in other clusters. Case is
    ignored but in the addresses of hosts (@NAME). Nothing is in two groups.
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
    """The place where the reader is, and those that hold it; none where that is no address."""
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
    """A relative address below a place; a link's has two ends."""
    return "--".join(end and f"{scope}/{end}" for end in split_link(written))


def _exact_match(connection: Connection, written: str) -> Iterator[str]:
    """The address itself, where it names something."""
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
            binding.until.is_(None), column.istartswith(prefix, autoescape=True)
        )
        for row in connection.execute(query.order_by(func.length(column), column).limit(limit)):
            yield SearchHit(kind, row.name, row.address)


def _job_matches(connection: Connection, part: str, limit: int) -> Iterator[SearchHit]:
    job = TABLES["job"].c
    begins = job.name.istartswith(part, autoescape=True)
    like = or_(job.name.icontains(part, autoescape=True), job.external_id == part)
    query = select(job.name).where(job.ended.is_(None), like).group_by(job.name)
    for name in connection.scalars(query.order_by(case((begins, 0), else_=1), job.name).limit(limit)):
        yield SearchHit("job", name)


def _other_clusters(connection: Connection, searched: set[str], written: str, limit: int) -> Iterator[str]:
    """A relative address in other clusters, in the first domain of each where it leaves the domain out."""
    below = written if written[:1] in _CLUSTER_STEPS else f"{_FIRST_DOMAIN}/{written}"
    try:
        parse(f"any/{below}")
    except AddressError:
        return
    slug = TABLES["cluster"].c.slug
    for cluster in connection.scalars(select(slug).where(slug.not_in(searched)).order_by(slug).limit(limit)).all():
        yield from _exact_match(connection, f"{cluster}/{below}")
