"""Complete a partly typed address, for shells and the search field, and list the children of a place."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from sqlalchemy import ColumnElement, Connection, false, or_, select

from trninv.database.tables import NODE_KINDS, TABLES
from trninv.errors import AddressError, UnknownAddressError
from trninv.inventory.address.lookup import Place, find_place, neighbours, parse_or_look_up
from trninv.inventory.address.machine_names import split_link

_MAX_DIGITS = 9
"""The maximum number of digits of an ordinal in an address."""


def children(connection: Connection, place: Place, prefix: str = "", limit: int | None = None) -> Iterator[str]:
    """Yield the addresses of a place's direct children by ordinal, at most `limit` of each kind.

    The children of a rack are its servers; `prefix` and `limit` do not apply to them. Network nodes are not listed as
    children of their cluster.

    Parameters
    ----------
    prefix
        The start of the last step of the addresses, such as "s1".
    """
    server, domain = TABLES["server"], TABLES["domain"]
    if place.level == "rack":
        servers = select(domain.c.ordinal, server.c.ordinal).join(domain, domain.c.id == server.c.domain_id)
        servers = servers.where(server.c.rack_id == place.id).order_by(server.c.id)
        cluster = place.address.split("/", 1)[0]
        yield from (f"{cluster}/d{d}/s{s}" for d, s in connection.execute(servers))
    for table_name, letters in _CHILD_TABLES.get(place.level, ()):
        digits = prefix.removeprefix(letters)
        if not (letters.startswith(prefix) or (prefix.startswith(letters) and digits.isdecimal() and digits.isascii())):
            continue
        table = TABLES[table_name]
        if table_name == "switch":
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
    """Return the condition that a number starts with these digits, as ranges so that an index can be used."""
    first, max_further_digits = int(digits[:_MAX_DIGITS]), _MAX_DIGITS - len(digits)
    if max_further_digits < 0 or (first == 0 and len(digits) > 1):
        return false()
    if first == 0:
        return number == 0
    return or_(*(number.between(first * 10**k, (first + 1) * 10**k - 1) for k in range(max_further_digits + 1)))


_CHILD_TABLES = {
    "cluster": (("domain", "d"), ("rack", "r")),
    "domain": (("server", "s"), ("switch", "sw")),
    "server": (("chip", "c"), ("nic", "efa")),
    "chip": (("core", "nc"),),
}
"""The tables of a place's children with the letters of their steps in addresses, by the level of the place."""
MAX_COMPLETIONS: Final = 200


def complete_address(connection: Connection, text: str, limit: int = MAX_COMPLETIONS) -> list[str]:
    """Return up to `limit` addresses that start with `text`: clusters, or the children of the place before the last
    slash.

    After "@" the completions are bound instances and hosts, after "A--" the nodes linked to A. An unknown place has no
    completions. For clusters, instances and hosts, the limit is MAX_COMPLETIONS, whatever `limit` is.
    """
    parent, slash, prefix = text.rpartition("/")
    try:
        if len(split_link(text)) > 1:
            end, _ = split_link(text)
            place = find_place(connection, parse_or_look_up(connection, end))
            if place is None or place.level not in NODE_KINDS:
                return []
            addresses = (f"{end}--{other}" for other in neighbours(connection, place.id))
        elif not slash:
            return _machine_names(connection, text[1:]) if text.startswith("@") else _cluster_slugs(connection, text)
        else:
            place = find_place(connection, parse_or_look_up(connection, parent))
            if place is None:
                return []
            addresses = (  # with the parent as it was typed, such as @host
                parent + child.removeprefix(place.address) for child in children(connection, place, prefix, limit)
            )
        return list(islice((address for address in addresses if address.startswith(text)), limit))
    except (AddressError, UnknownAddressError):
        return []


def _cluster_slugs(connection: Connection, text: str) -> list[str]:
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
