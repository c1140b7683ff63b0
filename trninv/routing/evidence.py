"""Collect what an answer depends on: facts, observed wiring and the instances in the servers it names."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, TypeVar

from sqlalchemy import Connection, and_, or_, select

from trninv.catalog.facts import EFA_FABRIC, render_value
from trninv.database.tables import TABLES
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.machine_names import replace_machine_name
from trninv.inventory.address.syntax import parse
from trninv.routing.answer import AddressText, Answer, CitedFact, WiringSource
from trninv.routing.wiring import Attributes
from trninv.routing.wiring_cache import SnapshotReader

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
        .where(in_scope, _BINDING.c.ended_at.is_(None), _OBSERVED_CHIP.c.neighbours.is_not(None))
    )
    return connection.scalar(query.limit(1)) is not None


def _domain_or_cluster(address: str) -> str:
    """Return the address of the domain that contains an address, or of its cluster if none does."""
    parsed = parse(address)
    letters, ordinal = next(iter(parsed.steps), ("", 0))
    return f"{parsed.cluster}/d{ordinal}" if letters == "d" else parsed.cluster


_TABLES = TABLES


def cite_wiring(
    reader: SnapshotReader, nodes: Collection[Attributes], links: Iterable[Mapping[str, Any]]
) -> tuple[CitedFact, ...]:
    """Cite the bandwidth of every link model, and the EFA fabric's facts if a network node is among the nodes."""
    facts = cite_links(reader, {attributes["model"] for attributes in links})
    if all(attributes["kind"] != "network_node" for attributes in nodes):
        return facts
    return facts + cite_fabric(reader, nodes)


def cite_links(reader: SnapshotReader, models: Iterable[str]) -> tuple[CitedFact, ...]:
    """Cite the bandwidth of some link models."""
    return cite(reader, sorted(models), ["bandwidth"])


def cite_fabric(reader: SnapshotReader, nodes: Iterable[Attributes]) -> tuple[CitedFact, ...]:
    """Cite the facts about the EFA fabric of some nodes, which include network nodes."""
    node_list = list(nodes)
    is_observed = any(attributes.get("vendor_id") for attributes in node_list)
    return cite_fabric_above(
        reader, {attributes["domain"] for attributes in node_list if attributes["domain"]}, is_observed=is_observed
    )


def cite_fabric_above(
    reader: SnapshotReader, domain_models: Iterable[str], *, is_observed: bool
) -> tuple[CitedFact, ...]:
    """Cite the facts about the fabric above some domain models, or the assumptions about an observed fabric."""
    if is_observed:
        return cite(reader, [EFA_FABRIC], ["blocking", "uplink"])
    sizes = cite(reader, sorted(domain_models), ["domains_per_network_node", "nodes_per_network_node"])
    return cite(reader, [EFA_FABRIC], ["blocking"]) + sizes


def cite_latency(reader: SnapshotReader) -> tuple[CitedFact, ...]:
    """Cite all latency facts."""
    subjects = reader.connection.scalars(
        select(_TABLES["fact"].c.subject).where(_TABLES["fact"].c.attribute == "latency")
    )
    return cite(reader, sorted(set(subjects)), ["latency"])


def cite_memory(reader: SnapshotReader, chips: Iterable[int]) -> tuple[CitedFact, ...]:
    """Cite the memory of the models of some chips, by id."""
    chip, model = _TABLES["chip"], _TABLES["chip_model"]
    query = select(model.c.slug).distinct().join(chip, chip.c.chip_model_id == model.c.id)
    return cite_memory_models(reader, reader.connection.scalars(query.where(chip.c.id.in_(list(chips)))))


def cite_memory_models(reader: SnapshotReader, models: Iterable[str]) -> tuple[CitedFact, ...]:
    """Cite the memory of some chip models."""
    return cite(reader, sorted(models), ["device_memory"])


def cite(reader: SnapshotReader, subjects: Iterable[str], attributes: Iterable[str]) -> tuple[CitedFact, ...]:
    """Return the preferred facts about some attributes of some subjects, cached for the revision."""
    key = tuple(subjects), tuple(attributes)
    return reader.cached(("facts", *key), lambda: _read_facts(reader.connection, *key))


def _read_facts(connection: Connection, subjects: Sequence[str], attributes: Sequence[str]) -> tuple[CitedFact, ...]:
    fact, source = _TABLES["fact"], _TABLES["source"]
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
"""Servers of an answer whose instances are listed."""
_SERVER_PATTERN = re.compile(r"([^\s/]+/d\d+/s\d+)(?:/\S*)?")
_SKIPPED_FIELDS = {"facts", "baseline"}


@dataclass(frozen=True, slots=True)
class ServerInstance:
    """The instance in a server."""

    server: Annotated[AddressText, "The server."]
    instance: Annotated[str | None, "The instance's id."]
    host: Annotated[str | None, "Its host name."]


def servers_in_answer(answer: Answer, limit: int = MAX_INSTANCES) -> list[str]:
    """Return the addresses of the first servers that an answer names, in its order."""
    servers = dict[str, None]()
    for text in _all_texts(answer):
        for end in text.split("--"):
            if match := _SERVER_PATTERN.fullmatch(end):
                servers[match[1]] = None
        if len(servers) >= limit:
            break
    return list(servers)[:limit]


def _all_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _all_texts(item)
    elif is_dataclass(value):
        for item in fields(value):
            if item.name not in _SKIPPED_FIELDS:
                yield from _all_texts(getattr(value, item.name))
