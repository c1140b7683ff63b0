"""Cite the facts that an answer depends on."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from trninv.catalog.facts import EFA_FABRIC, render_value
from trninv.inventory.schema import TABLES
from trninv.routing.answer import CitedFact
from trninv.routing.wiring import Attributes, SnapshotReader

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
            value=row.written if row.value is None else render_value(row.value, row.dimension),
            as_written=f"{row.written} {row.unit}".rstrip(),
            quote=row.quote,
            source=row.title,
            reading_reason=row.grounds,
            note=row.note,
            disputed=row.disputed,
            assumed=row.kind == "assumed",
        )
        for row in connection.execute(query.order_by(fact.c.subject, fact.c.attribute))
    )
