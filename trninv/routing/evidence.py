"""The facts that an answer rests on, with what disputes them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from trninv.catalog.facts import EFA_FABRIC, render
from trninv.inventory.schema import TABLES
from trninv.routing.answer import CitedFact
from trninv.routing.wiring import Attributes, Reader

_T = TABLES


def of_wiring(
    reader: Reader, nodes: Collection[Attributes], links: Iterable[Mapping[str, Any]]
) -> tuple[CitedFact, ...]:
    """The bandwidth fact of every kind of link, and what is said of the EFA fabric if it is there."""
    found = of_links(reader, {of["model"] for of in links})
    if all(of["kind"] != "network_node" for of in nodes):
        return found
    return found + of_fabric(reader, nodes)


def of_links(reader: Reader, models: Iterable[str]) -> tuple[CitedFact, ...]:
    """The bandwidth facts of some link models."""
    return cite(reader, sorted(models), ["bandwidth"])


def of_fabric(reader: Reader, nodes: Iterable[Attributes]) -> tuple[CitedFact, ...]:
    """What is said of the EFA fabric that some nodes, network nodes among them, lie in."""
    listed = list(nodes)
    seen = any(of.get("vendor_id") for of in listed)
    return of_fabric_above(reader, {of["domain"] for of in listed if of["domain"]}, seen=seen)


def of_fabric_above(reader: Reader, domain_models: Iterable[str], *, seen: bool) -> tuple[CitedFact, ...]:
    """What is said of the fabric above some domain models, and of one that was seen, what is assumed of its uplinks."""
    if seen:
        return cite(reader, [EFA_FABRIC], ["blocking", "uplink"])
    sizes = cite(reader, sorted(domain_models), ["domains_per_network_node", "nodes_per_network_node"])
    return cite(reader, [EFA_FABRIC], ["blocking"]) + sizes


def of_latency(reader: Reader) -> tuple[CitedFact, ...]:
    """Everything that is said of latencies."""
    subjects = reader.connection.scalars(select(_T["fact"].c.subject).where(_T["fact"].c.attribute == "latency"))
    return cite(reader, sorted(set(subjects)), ["latency"])


def of_memory(reader: Reader, chips: Iterable[int]) -> tuple[CitedFact, ...]:
    """The memory fact of every model among some chips."""
    chip, model = _T["chip"], _T["chip_model"]
    wanted = select(model.c.slug).distinct().join(chip, chip.c.chip_model_id == model.c.id)
    return of_memories(reader, reader.connection.scalars(wanted.where(chip.c.id.in_(list(chips)))))


def of_memories(reader: Reader, models: Iterable[str]) -> tuple[CitedFact, ...]:
    """The memory facts of some chip models."""
    return cite(reader, sorted(models), ["device_memory"])


def cite(reader: Reader, subjects: Iterable[str], attributes: Iterable[str]) -> tuple[CitedFact, ...]:
    """The picked facts about some subjects."""
    wanted = tuple(subjects), tuple(attributes)
    return reader.remembered(("facts", *wanted), lambda: _cited(reader.connection, *wanted))


def _cited(connection: Connection, subjects: Sequence[str], attributes: Sequence[str]) -> tuple[CitedFact, ...]:
    fact, source = _T["fact"], _T["source"]
    query = select(fact, source.c.title, source.c.kind).join(source, source.c.id == fact.c.source_id)
    query = query.where(fact.c.subject.in_(subjects), fact.c.attribute.in_(attributes), fact.c.preference == 0)
    return tuple(
        CitedFact(
            id=row.id,
            subject=row.subject,
            attribute=row.attribute,
            value=row.written if row.value is None else render(row.value, row.dimension),
            written=f"{row.written} {row.unit}".rstrip(),
            quote=row.quote,
            source=row.title,
            grounds=row.grounds,
            note=row.note,
            disputed=row.disputed,
            assumed=row.kind == "assumed",
        )
        for row in connection.execute(query.order_by(fact.c.subject, fact.c.attribute))
    )
