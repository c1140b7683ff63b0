"""Whether the wiring of places was observed: machines that stand there said which of their chips are joined."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection, and_, or_, select

from trninv.inventory.address import parse, resolve
from trninv.inventory.named import spelled
from trninv.inventory.schema import TABLES
from trninv.routing.answer import Answer, Basis
from trninv.routing.wiring import Reader

A = TypeVar("A", bound=Answer)

_BINDING, _SERVER, _DOMAIN = (TABLES[name] for name in ("binding", "server", "domain"))
_SEEN, _CHIP = TABLES["observed_server"], TABLES["observed_chip"]


def grounded(answer: A, reader: Reader, addresses: Iterable[str]) -> A:
    """An answer about some places that says what its wiring rests on."""
    places = {_around(spelled(reader.connection, each)) for each in addresses}
    is_seen = any(
        reader.remembered(("observed", each), partial(is_observed, reader.connection, each)) for each in places
    )
    return replace(answer, basis=Basis.of(is_observed=is_seen))


def is_observed(connection: Connection, place: str) -> bool:
    """Whether the driver's table of any machine that stands in a domain or cluster was seen."""
    at = resolve(connection, place)
    within = _SERVER.c.domain_id == at.id if at.level == "domain" else _DOMAIN.c.cluster_id == at.id
    same = or_(
        _SEEN.c.instance == _BINDING.c.instance,
        and_(_BINDING.c.instance.is_(None), _SEEN.c.host == _BINDING.c.host),
    )
    query = (
        select(_CHIP.c.id)
        .join(_SEEN, _SEEN.c.id == _CHIP.c.observed_server_id)
        .join(_BINDING, same)
        .join(_SERVER, _SERVER.c.id == _BINDING.c.server_id)
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .where(within, _BINDING.c.until.is_(None), _CHIP.c.neighbours.is_not(None))
    )
    return connection.scalar(query.limit(1)) is not None


def _around(address: str) -> str:
    """The domain that an address lies in, or else its cluster."""
    found = parse(address)
    letters, ordinal = next(iter(found.steps), ("", 0))
    return f"{found.cluster}/d{ordinal}" if letters == "d" else found.cluster
