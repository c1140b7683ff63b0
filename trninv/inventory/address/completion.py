"""Complete a partly typed address."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from sqlalchemy import ColumnElement, Connection, false, or_, select

from trninv.database.tables import NODE_KINDS, TABLES
from trninv.errors import AddressError, UnknownAddressError
from trninv.inventory.address.lookup import Place, find_place, neighbours, parse_or_look_up
from trninv.inventory.address.machine_names import split_link

_MAX_DIGITS = 9  # of an ordinal in an address


def children(connection: Connection, place: Place, prefix: str = "", limit: int | None = None) -> Iterator[str]:
    """Yield the addresses of a place's direct children by ordinal, at most `limit` of each kind.

    Parameters
    ----------
    prefix
        The start of the last step, such as "s1"; ignored for the servers of a rack.
    """
    server, domain = TABLES["server"], TABLES["domain"]
    if place.level == "rack":
        servers = select(domain.c.ordinal, server.c.ordinal).join(domain, domain.c.id == server.c.domain_id)
        servers = servers.where(server.c.rack_id == place.id).order_by(server.c.id)
        cluster = place.address.split("/", 1)[0]
        yield from (f"{cluster}/d{d}/s{s}" for d, s in connection.execute(servers))
    for name, letters in _CHILD_TABLES.get(place.level, ()):
        digits = prefix.removeprefix(letters)
        if not (letters.startswith(prefix) or (prefix.startswith(letters) and digits.isdecimal() and digits.isascii())):
            continue
        table = TABLES[name]
        if name == "switch":
            node = TABLES["node"]
            query = select(table.c.ordinal).join(node, node.c.id == table.c.id).where(node.c.domain_id == place.id)
        else:
            query = select(table.c.ordinal).where(table.c[f"{place.level}_id"] == place.id)
        if len(prefix) > len(letters):
            query = query.where(_has_leading_digits(table.c.ordinal, digits))
        yield from (
            f"{place.address}/{letters}{ordinal}"
            for ordinal in connection.scalars(query.order_by(table.c.ordinal).limit(limit))
        )


def _has_leading_digits(number: ColumnElement[int], digits: str) -> ColumnElement[bool]:
    """Return a condition that a number starts with these digits, as ranges that an index serves."""
    first, more = int(digits[:_MAX_DIGITS]), _MAX_DIGITS - len(digits)
    if more < 0 or (first == 0 and len(digits) > 1):
        return false()
    if first == 0:
        return number == 0
    return or_(*(number.between(first * 10**k, (first + 1) * 10**k - 1) for k in range(more + 1)))


_CHILD_TABLES = {
    "cluster": (("domain", "d"), ("rack", "r")),
    "domain": (("server", "s"), ("switch", "sw")),
    "server": (("chip", "c"), ("nic", "efa")),
    "chip": (("core", "nc"),),
}
MAX_COMPLETIONS: Final = 200


def complete_address(connection: Connection, text: str, limit: int = MAX_COMPLETIONS) -> list[str]:
    """Return up to `limit` addresses that start with `text`: clusters, or the children of the place before the last
    slash.

    After "@" these are the bound instances and hosts, after "A--" the nodes linked to A. An unknown place has none.
    """
    parent, slash, prefix = text.rpartition("/")
    try:
        if len(split_link(text)) > 1:
            (end, _) = split_link(text)
            place = find_place(connection, parse_or_look_up(connection, end))
            if place is None or place.level not in NODE_KINDS:
                return []
            addresses = (f"{end}--{other}" for other in neighbours(connection, place.id))
        elif not slash:
            return _machine_names(connection, text[1:]) if text.startswith("@") else _clusters(connection, text)
        else:
            place = find_place(connection, parse_or_look_up(connection, parent))
            if place is None:
                return []
            addresses = (
                parent + part.removeprefix(place.address) for part in children(connection, place, prefix, limit)
            )
        return list(islice((address for address in addresses if address.startswith(text)), limit))
    except (AddressError, UnknownAddressError):
        return []


def _clusters(connection: Connection, text: str) -> list[str]:
    slug = TABLES["cluster"].c.slug
    return list(connection.scalars(select(slug).where(slug.startswith(text, autoescape=True)).order_by(slug)))[
        :MAX_COMPLETIONS
    ]


def _machine_names(connection: Connection, text: str) -> list[str]:
    binding, names = TABLES["binding"].c, list[str]()
    for column in (binding.host, binding.instance):
        starts_with = column.startswith(text, autoescape=True)
        query = select(column).where(binding.ended_at.is_(None), starts_with).order_by(column).limit(MAX_COMPLETIONS)
        names += (f"@{name}" for name in connection.scalars(query))
    return names[:MAX_COMPLETIONS]
