"""Tell whether the wiring of a place is designed or observed, that is, reported by instances bound there."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection, and_, or_, select

from trninv.inventory.address import parse, resolve_place
from trninv.inventory.named import replace_machine_name
from trninv.inventory.schema import TABLES
from trninv.routing.answer import Answer, WiringSource
from trninv.routing.wiring import SnapshotReader

A = TypeVar("A", bound=Answer)

_BINDING, _SERVER, _DOMAIN = (TABLES[name] for name in ("binding", "server", "domain"))
_OBSERVED_SERVER, _OBSERVED_CHIP = TABLES["observed_server"], TABLES["observed_chip"]


def with_wiring_source(answer: A, reader: SnapshotReader, addresses: Iterable[str]) -> A:
    """Return a copy of an answer with the source of the wiring of the places that it is about."""
    places = {_domain_or_cluster(replace_machine_name(reader.connection, address)) for address in addresses}
    is_observed = any(
        reader.cached(("observed", address), partial(has_observed_wiring, reader.connection, address))
        for address in places
    )
    return replace(answer, wiring_source=WiringSource.from_observed(is_observed=is_observed))


def has_observed_wiring(connection: Connection, place: str) -> bool:
    """Return whether a driver's wiring table was observed of any instance bound in a domain or cluster."""
    scope = resolve_place(connection, place)
    in_scope = _SERVER.c.domain_id == scope.id if scope.level == "domain" else _DOMAIN.c.cluster_id == scope.id
    is_bound_machine = or_(
        _OBSERVED_SERVER.c.instance == _BINDING.c.instance,
        and_(_BINDING.c.instance.is_(None), _OBSERVED_SERVER.c.host == _BINDING.c.host),
    )
    query = (
        select(_OBSERVED_CHIP.c.id)
        .join(_OBSERVED_SERVER, _OBSERVED_SERVER.c.id == _OBSERVED_CHIP.c.observed_server_id)
        .join(_BINDING, is_bound_machine)
        .join(_SERVER, _SERVER.c.id == _BINDING.c.server_id)
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .where(in_scope, _BINDING.c.until.is_(None), _OBSERVED_CHIP.c.neighbours.is_not(None))
    )
    return connection.scalar(query.limit(1)) is not None


def _domain_or_cluster(address: str) -> str:
    """Return the address of the domain that contains an address, or of its cluster if none does."""
    parsed = parse(address)
    letters, ordinal = next(iter(parsed.steps), ("", 0))
    return f"{parsed.cluster}/d{ordinal}" if letters == "d" else parsed.cluster
