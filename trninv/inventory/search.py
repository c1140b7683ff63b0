"""What a few letters may mean: addresses, also relative to where the reader is, instances, hosts and jobs by name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from sqlalchemy import Connection, case, func, or_, select

from trninv.errors import AddressError, UnknownAddressError, WrongLevelError
from trninv.inventory.address import Address, is_link, level_of, parse, place_at, read, resolve_link
from trninv.inventory.completion import continued
from trninv.inventory.named import ends
from trninv.inventory.schema import TABLES

LONGEST: Final = 200
"""Letters of a text that is searched for; a longer one means nothing."""

_FIRST_DOMAIN: Final = "d0"
_OF_CLUSTERS: Final = ("d", "r", "f")
"""Letters that steps right below a cluster begin with."""


@dataclass(frozen=True, slots=True)
class Found:
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


def found(connection: Connection, text: str, here: str | None, most: int) -> list[list[Found]]:
    """What a text may mean, in groups: at most ``most`` each, the likeliest first.

    The groups are what the text is the address of; what it begins, read from the place ``here`` and from those that
    hold it; addresses that begin so; instances and hosts; jobs; and a relative address in other clusters. Case is
    ignored but in the addresses of hosts (@NAME). Nothing is in two groups.
    """
    text = text.strip()
    if not text or len(text) > LONGEST:
        return []
    written = text if text.startswith("@") else text.lower()
    scopes = _scopes(connection, here)
    seen, groups = set[Found](), list[list[Found]]()
    for group in (
        _placed(_there(connection, written)),
        _placed(_relative(connection, scopes, written, most)),
        _placed(() if written.startswith("@") and "/" not in written else continued(connection, written, most)),
        _named(connection, text.removeprefix("@"), most),
        _jobs(connection, text, most),
        _placed(_elsewhere(connection, {scope.cluster for scope in scopes}, written, most)),
    ):
        groups.append(list(islice((each for each in dict.fromkeys(group) if each not in seen), most)))
        seen.update(groups[-1])
    return groups


def _placed(addresses: Iterable[str]) -> Iterator[Found]:
    return (Found(level_of(each), each, each) for each in addresses)


def _scopes(connection: Connection, here: str | None) -> list[Address]:
    """The place where the reader is, and those that hold it; none where that is no address."""
    scopes = list[Address]()
    try:
        place = read(connection, ends(here)[0]) if here else None
    except (AddressError, UnknownAddressError):
        return []
    while place:
        scopes.append(place)
        place = place.parent if place.steps else None
    return scopes


def _below(scope: object, written: str) -> str:
    """A relative address below a place; a link's has two ends."""
    return "--".join(end and f"{scope}/{end}" for end in ends(written))


def _there(connection: Connection, written: str) -> Iterator[str]:
    """The address itself, where it names something."""
    try:
        place = (
            resolve_link(connection, written) if is_link(written) else place_at(connection, read(connection, written))
        )
    except (AddressError, UnknownAddressError, WrongLevelError):
        return
    if place:
        yield place.address


def _relative(connection: Connection, scopes: list[Address], written: str, most: int) -> Iterator[str]:
    for scope in scopes:
        yield from _there(connection, _below(scope, written))
        yield from continued(connection, _below(scope, written), most)


def _named(connection: Connection, begins: str, most: int) -> Iterator[Found]:
    binding = TABLES["binding"].c
    for kind, column in (("instance", binding.instance), ("host", binding.host)):
        named = select(column.label("name"), binding.address).where(
            binding.until.is_(None), column.istartswith(begins, autoescape=True)
        )
        for row in connection.execute(named.order_by(func.length(column), column).limit(most)):
            yield Found(kind, row.name, row.address)


def _jobs(connection: Connection, part: str, most: int) -> Iterator[Found]:
    job = TABLES["job"].c
    begins = job.name.istartswith(part, autoescape=True)
    like = or_(job.name.icontains(part, autoescape=True), job.external_id == part)
    wanted = select(job.name).where(job.ended.is_(None), like).group_by(job.name)
    for name in connection.scalars(wanted.order_by(case((begins, 0), else_=1), job.name).limit(most)):
        yield Found("job", name)


def _elsewhere(connection: Connection, known: set[str], written: str, most: int) -> Iterator[str]:
    """A relative address in other clusters, in the first domain of each where it leaves the domain out."""
    below = written if written[:1] in _OF_CLUSTERS else f"{_FIRST_DOMAIN}/{written}"
    try:
        parse(f"any/{below}")
    except AddressError:
        return
    slug = TABLES["cluster"].c.slug
    for cluster in connection.scalars(select(slug).where(slug.not_in(known)).order_by(slug).limit(most)).all():
        yield from _there(connection, f"{cluster}/{below}")
