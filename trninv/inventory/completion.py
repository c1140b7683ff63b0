"""What an address that is half written may go on to be, level by level."""

from itertools import islice
from typing import Final

from sqlalchemy import Connection, select

from trninv.errors import AddressError, UnknownAddressError
from trninv.inventory.address import neighbours, place_at, read
from trninv.inventory.describe import parts
from trninv.inventory.named import ends
from trninv.inventory.schema import NODE_KINDS, TABLES

MOST: Final = 200


def continued(connection: Connection, written: str, most: int = MOST) -> list[str]:
    """Up to ``most`` addresses that begin so: clusters, or what the place before the last / contains.

    After @ the instances and hosts that are bound to slots, after A-- the nodes that A has links to; none where what is
    before names nothing.
    """
    before, at, begins = written.rpartition("/")
    try:
        if len(ends(written)) > 1:
            (end, _) = ends(written)
            place = place_at(connection, read(connection, end))
            if place is None or place.level not in NODE_KINDS:
                return []
            found = (f"{end}--{other}" for other in neighbours(connection, place.id))
        elif not at:
            return _named(connection, written[1:]) if written.startswith("@") else _clusters(connection, written)
        else:
            place = place_at(connection, read(connection, before))
            if place is None:
                return []
            found = (before + part.removeprefix(place.address) for part in parts(connection, place, begins, most))
        return list(islice((each for each in found if each.startswith(written)), most))
    except (AddressError, UnknownAddressError):
        return []


def _clusters(connection: Connection, written: str) -> list[str]:
    slug = TABLES["cluster"].c.slug
    return list(connection.scalars(select(slug).where(slug.startswith(written, autoescape=True)).order_by(slug)))[:MOST]


def _named(connection: Connection, written: str) -> list[str]:
    binding, found = TABLES["binding"].c, list[str]()
    for column in (binding.host, binding.instance):
        begins = column.startswith(written, autoescape=True)
        query = select(column).where(binding.until.is_(None), begins).order_by(column).limit(MOST)
        found += (f"@{name}" for name in connection.scalars(query))
    return found[:MOST]
