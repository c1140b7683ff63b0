"""Collect what an answer depends on: facts, observed wiring and the instances in the servers it names."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, partial
from typing import Annotated, Any, Final, TypeVar

from sqlalchemy import Connection, Select, and_, bindparam, or_, select

from trninv.catalog.facts import EFA_FABRIC, render_value
from trninv.database.tables import TABLES
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.machine_names import replace_machine_name
from trninv.inventory.address.rows_in import rows_in
from trninv.inventory.address.syntax import parse
from trninv.routing.answer import AddressText, Answer, CitedFact, WiringSource
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import Attributes

A = TypeVar("A", bound=Answer)
_BINDING, _SERVER = TABLES["binding"], TABLES["server"]
_OBSERVED_SERVER, _OBSERVED_CHIP = TABLES["observed_server"], TABLES["observed_chip"]


def with_wiring_source(answer: A, snapshot: Snapshot, addresses: Iterable[str]) -> A:
    """Return a copy of an answer that says whether the wiring at ``addresses`` was observed or is the design."""
    places = {_domain_or_cluster(replace_machine_name(snapshot.connection, address)) for address in addresses}
    is_observed = any(
        snapshot.cached(("observed", address), partial(has_observed_wiring, snapshot.connection, address))
        for address in places
    )
    return replace(answer, wiring_source=WiringSource.from_observed(is_observed=is_observed))


def has_observed_wiring(connection: Connection, place: str) -> bool:
    """Return whether the driver of any machine now bound in a domain or cluster has reported its wiring table."""
    scope = resolve_place(connection, place)
    return connection.scalar(_observed_wiring_query().where(rows_in(scope, "server"))) is not None


def has_observed_wiring_in(connection: Connection, domain: int) -> bool:
    """Return `has_observed_wiring` of a domain, by its id."""
    return connection.scalar(_observed_wiring_in_domain_query(), {"domain": domain}) is not None


@cache
def _observed_wiring_in_domain_query() -> Select[Any]:
    return _observed_wiring_query().where(_SERVER.c.domain_id == bindparam("domain"))


def _observed_wiring_query() -> Select[Any]:
    """Select a chip whose driver reported its wiring table, in a machine that is now bound to some server.

    A machine is identified by its instance, or by its host name if the binding has no instance.
    """
    is_bound_machine = or_(
        _OBSERVED_SERVER.c.instance == _BINDING.c.instance,
        and_(_BINDING.c.instance.is_(None), _OBSERVED_SERVER.c.host == _BINDING.c.host),
    )
    query = (
        select(_OBSERVED_CHIP.c.id)
        .join(_OBSERVED_SERVER, _OBSERVED_SERVER.c.id == _OBSERVED_CHIP.c.observed_server_id)
        .join(_BINDING, is_bound_machine)
        .join(_SERVER, _SERVER.c.id == _BINDING.c.server_id)
    )
    return query.where(_BINDING.c.ended_at.is_(None), _OBSERVED_CHIP.c.neighbours.is_not(None)).limit(1)


def _domain_or_cluster(address: str) -> str:
    """Return the address of the domain that contains an address, or of its cluster if it is in no domain."""
    parsed = parse(address)
    letters, ordinal = next(iter(parsed.steps), ("", 0))
    return f"{parsed.cluster}/d{ordinal}" if letters == "d" else parsed.cluster


def cite_wiring(
    snapshot: Snapshot, nodes: Collection[Attributes], links: Iterable[Mapping[str, Any]]
) -> tuple[CitedFact, ...]:
    """Cite the bandwidth of every model of ``links``, and the facts about the EFA fabric if ``nodes`` reach into it."""
    facts = cite_links(snapshot, {attributes["model"] for attributes in links})
    if all(attributes["kind"] != "network_node" for attributes in nodes):
        return facts
    return facts + cite_fabric(snapshot, nodes)


def cite_links(snapshot: Snapshot, models: Iterable[str]) -> tuple[CitedFact, ...]:
    """Cite the bandwidth of some link models."""
    return cite(snapshot, sorted(models), ["bandwidth"])


def cite_fabric(snapshot: Snapshot, nodes: Iterable[Attributes]) -> tuple[CitedFact, ...]:
    """Cite the facts about the EFA fabric; ``nodes`` are its network nodes and the nodes of the domains below it."""
    node_list = list(nodes)
    is_observed = any(attributes.get("vendor_id") for attributes in node_list)  # only observed network nodes have one
    return cite_fabric_above(
        snapshot, {attributes["domain"] for attributes in node_list if attributes["domain"]}, is_observed=is_observed
    )


def cite_fabric_above(snapshot: Snapshot, domain_models: Iterable[str], *, is_observed: bool) -> tuple[CitedFact, ...]:
    """Cite the facts about the fabric above domains of some models, or the assumptions about an observed fabric."""
    if is_observed:
        return cite(snapshot, [EFA_FABRIC], ["blocking", "uplink"])
    sizes = cite(snapshot, sorted(domain_models), ["domains_per_network_node", "nodes_per_network_node"])
    return cite(snapshot, [EFA_FABRIC], ["blocking"]) + sizes


def cite_latency(snapshot: Snapshot) -> tuple[CitedFact, ...]:
    """Cite all latency facts."""
    subjects = snapshot.connection.scalars(
        select(TABLES["fact"].c.subject).where(TABLES["fact"].c.attribute == "latency")
    )
    return cite(snapshot, sorted(set(subjects)), ["latency"])


def cite_memory(snapshot: Snapshot, chips: Iterable[int]) -> tuple[CitedFact, ...]:
    """Cite the memory of the models of some chips, by the chips' ids."""
    chip, model = TABLES["chip"], TABLES["chip_model"]
    query = select(model.c.slug).distinct().join(chip, chip.c.chip_model_id == model.c.id)
    return cite_memory_models(snapshot, snapshot.connection.scalars(query.where(chip.c.id.in_(list(chips)))))


def cite_memory_models(snapshot: Snapshot, models: Iterable[str]) -> tuple[CitedFact, ...]:
    """Cite the memory of some chip models."""
    return cite(snapshot, sorted(models), ["device_memory"])


def cite(snapshot: Snapshot, subjects: Iterable[str], attributes: Iterable[str]) -> tuple[CitedFact, ...]:
    """Return the preferred facts about ``attributes`` of ``subjects``, cached for the revision."""
    key = tuple(subjects), tuple(attributes)
    return snapshot.cached(("facts", *key), lambda: _read_facts(snapshot.connection, *key))


def _read_facts(connection: Connection, subjects: Sequence[str], attributes: Sequence[str]) -> tuple[CitedFact, ...]:
    fact, source = TABLES["fact"], TABLES["source"]
    query = select(fact, source.c.title, source.c.kind).join(source, source.c.id == fact.c.source_id)
    query = query.where(fact.c.subject.in_(subjects), fact.c.attribute.in_(attributes), fact.c.preference == 0)
    return tuple(
        CitedFact(
            id=row.id,
            subject=row.subject,
            attribute=row.attribute,
            value=row.as_written if row.value is None else render_value(row.value, row.dimension),
            as_written=f"{row.as_written} {row.unit}".rstrip(),
            quote=row.quote,
            source=row.title,
            reading_reason=row.reading_reason,
            note=row.note,
            disputed=row.disputed,
            assumed=row.kind == "assumed",
        )
        for row in connection.execute(query.order_by(fact.c.subject, fact.c.attribute))
    )


MAX_INSTANCES: Final = 100
"""Most servers of an answer whose instances are listed."""
_SERVER_PATTERN = re.compile(r"([^\s/]+/d\d+/s\d+)(?:/\S*)?")
"""An address of a server, or of anything in it; the first group is the server's address."""
_SKIPPED_FIELDS = {"facts", "baseline"}
"""Fields of an answer in which an address is not one of the answer itself: its sources, and the answer to compare."""


@dataclass(frozen=True, slots=True)
class ServerInstance:
    """The instance in a server."""

    server: Annotated[AddressText, "The server."]
    instance: Annotated[str | None, "The instance's id."]
    host: Annotated[str | None, "Its host name."]


def servers_in_answer(answer: Answer, limit: int = MAX_INSTANCES) -> list[str]:
    """Return the addresses of the first ``limit`` servers that an answer names, in the order of its fields."""
    servers = dict[str, None]()
    for text in _all_texts(answer):
        for address in text.split("--"):  # a link is A--B
            if match := _SERVER_PATTERN.fullmatch(address):
                servers[match[1]] = None
        if len(servers) >= limit:
            break
    return list(servers)[:limit]


def _all_texts(value: object) -> Iterator[str]:
    """Yield every string in a dataclass, its tuples and the dataclasses in it, except in _SKIPPED_FIELDS."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _all_texts(item)
    elif is_dataclass(value):
        for item in fields(value):
            if item.name not in _SKIPPED_FIELDS:
                yield from _all_texts(getattr(value, item.name))
