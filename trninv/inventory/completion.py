"""Complete a partly typed address, one level at a time."""

from itertools import islice
from typing import Final

from sqlalchemy import Connection, select

from trninv.errors import AddressError, UnknownAddressError
from trninv.inventory.address import find_place, neighbours, parse_or_look_up
from trninv.inventory.describe import children
from trninv.inventory.named import split_link
from trninv.inventory.schema import NODE_KINDS, TABLES

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
        query = select(column).where(binding.until.is_(None), starts_with).order_by(column).limit(MAX_COMPLETIONS)
        names += (f"@{name}" for name in connection.scalars(query))
    return names[:MAX_COMPLETIONS]
