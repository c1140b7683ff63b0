"""The facts that an answer rests on, with what disputes them."""

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, select

from trninv.catalog.facts import EFA_FABRIC, render
from trninv.inventory.schema import TABLES
from trninv.routing.answer import CitedFact
from trninv.routing.wiring import Attributes

_T = TABLES


def of_wiring(
    connection: Connection, nodes: Collection[Attributes], links: Iterable[Attributes]
) -> tuple[CitedFact, ...]:
    """The bandwidth fact of every kind of link, and what is said of the EFA fabric if it is there."""
    found = of_links(connection, {of["model"] for of in links})
    if all(of["kind"] != "network_node" for of in nodes):
        return found
    return found + of_fabric(connection, {of["domain"] for of in nodes if of["domain"]})


def of_links(connection: Connection, models: Iterable[str]) -> tuple[CitedFact, ...]:
    """The bandwidth facts of some link models."""
    return cite(connection, sorted(models), ["bandwidth"])


def of_fabric(connection: Connection, domain_models: Iterable[str]) -> tuple[CitedFact, ...]:
    """What is said of the EFA fabric above some domain models."""
    sizes = cite(connection, sorted(domain_models), ["domains_per_network_node", "nodes_per_network_node"])
    return cite(connection, [EFA_FABRIC], ["blocking"]) + sizes


def of_latency(connection: Connection) -> tuple[CitedFact, ...]:
    """Everything that is said of latencies."""
    subjects = connection.scalars(select(_T["fact"].c.subject).where(_T["fact"].c.attribute == "latency"))
    return cite(connection, sorted(set(subjects)), ["latency"])


def of_memory(connection: Connection, chips: Iterable[int]) -> tuple[CitedFact, ...]:
    """The memory fact of every model among some chips."""
    chip, model = _T["chip"], _T["chip_model"]
    wanted = select(model.c.slug).distinct().join(chip, chip.c.chip_model_id == model.c.id)
    slugs = connection.scalars(wanted.where(chip.c.id.in_(list(chips))))
    return cite(connection, sorted(slugs), ["device_memory"])


def cite(connection: Connection, subjects: Iterable[str], attributes: Iterable[str]) -> tuple[CitedFact, ...]:
    """The picked facts about some subjects."""
    fact, source = _T["fact"], _T["source"]
    query = select(fact, source.c.title, source.c.kind).join(source, source.c.id == fact.c.source_id)
    query = query.where(
        fact.c.subject.in_(list(subjects)), fact.c.attribute.in_(list(attributes)), fact.c.preference == 0
    )
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
