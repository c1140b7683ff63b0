"""Resolve the systems that can be seeded and the conflicts between sources."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import strawberry
from sqlalchemy import Connection as Database
from sqlalchemy import RowMapping

from trninv.catalog.derived import DocumentedTotal, SystemTotals
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import System as CatalogSystem
from trninv.database.tables import TABLES
from trninv.graphql.enums import Disagreement
from trninv.graphql.inventory_types import to_object
from trninv.graphql.list_arguments import ListArguments
from trninv.graphql.request_context import AppInfo
from trninv.graphql.scalars import BandwidthType, CapacityType, CitedBandwidth, CitedCapacity, lazy_list, lazy_type
from trninv.inventory.schema.thing import select_thing
from trninv.inventory.schema.things import THINGS


@strawberry.type(name="Conflict", description="Facts about one attribute of a subject that disagree.")
class ConflictType:
    subject: str = strawberry.field(description="The part, model or system that they are about.")
    attribute: str = strawberry.field(description="The attribute that they state.")
    disagreement: Any = strawberry.field(description="How they disagree.", graphql_type=Disagreement)
    note: str | None = strawberry.field(description="How to read them.")
    facts: list[Any] = strawberry.field(
        description="All of them, the selected one first.", graphql_type=lazy_list("Fact")
    )

    @strawberry.field(description="The selected fact.", graphql_type=lazy_type("Fact"))
    def selected(self) -> Any:
        return self.facts[0]


@strawberry.type(name="System", description="A system that can be seeded.")
class SystemType:
    slug: str = strawberry.field(description="Name to seed it by.")
    name: str = strawberry.field(description="What it is.")
    aliases: list[str] = strawberry.field(description="Its aliases.")
    chips: int = strawberry.field(description="Number of chips.")
    servers: int = strawberry.field(description="Number of servers.")
    domains: int = strawberry.field(description="Scale-up domains.")
    domain_model: str = strawberry.field(description="Name of the model of its domains.")
    memory: Any = strawberry.field(
        description="HBM of all chips; the fact is about one chip.", graphql_type=CapacityType | None
    )
    memory_bandwidth: Any = strawberry.field(
        description="HBM bandwidth of all chips; the fact is about one chip.", graphql_type=BandwidthType | None
    )
    teraflops: float | None = strawberry.field(
        description="10¹² dense BF16 operations per second of all chips; null if no document says."
    )
    host_memory: Any = strawberry.field(
        description="Memory of all servers; the fact is about one server.", graphql_type=CapacityType | None
    )
    nics: int = strawberry.field(description="Number of EFA devices.")
    efa_bandwidth: Any = strawberry.field(
        description="Bandwidth of all EFA devices; the fact is about one.", graphql_type=BandwidthType | None
    )
    links: int = strawberry.field(description="Number of scale-up links.")
    link_bandwidth: Any = strawberry.field(
        description="Bandwidth of all scale-up links, summed over their models.", graphql_type=BandwidthType | None
    )
    network_nodes: int = strawberry.field(description="Network nodes of its EFA fabric.")
    sources: list[Any] = strawberry.field(description="Sources of its facts.", graphql_type=lazy_list("Source"))

    @classmethod
    def from_catalog(cls, system: CatalogSystem) -> "SystemType":
        """Convert a system of the catalog."""
        same_fields = {name: getattr(system, name) for name in ("slug", "name", "chips", "servers", "domains")}
        sources: list[Any] = [to_object("source", asdict(source)) for source in system.sources(default_catalog())]
        design = SystemTotals.from_system(default_catalog(), system)
        return cls(
            **same_fields,
            aliases=list(system.aliases),
            domain_model=system.domain.name,
            memory=_cite(CitedCapacity, design.memory),
            memory_bandwidth=_cite(CitedBandwidth, design.memory_bandwidth),
            teraflops=design.teraflops,
            host_memory=_cite(CitedCapacity, design.host_memory),
            nics=design.nics.parts,
            efa_bandwidth=_cite(CitedBandwidth, design.nics),
            links=design.wires.parts,
            link_bandwidth=_cite(CitedBandwidth, design.wires),
            network_nodes=design.network_nodes,
            sources=sources,
        )


def _cite(
    unit: type[CitedCapacity] | type[CitedBandwidth], total: DocumentedTotal
) -> CitedCapacity | CitedBandwidth | None:
    """Attach a total's fact to its value; None if no document gives it."""
    if total.value is None:
        return None
    quantity = unit(total.value)
    quantity.fact_key = total.fact.key if total.fact else None
    return quantity


async def resolve_conflicts(_: object, info: AppInfo, arguments: Mapping[str, Any]) -> list[ConflictType]:
    """Return the conflicts about a subject, an attribute, or both.

    Raises
    ------
    FilterError
        No fact has this subject or attribute.

    """
    filters = {name: arguments[name] for name in ("subject", "attribute") if arguments.get(name) is not None}
    ListArguments.parse(THINGS["fact"], filters)
    all_conflicts = await info.context.read(read_conflicts)
    return [
        conflict
        for conflict in all_conflicts
        if all(getattr(conflict, name) == value for name, value in filters.items())
    ]


def read_conflicts(connection: Database) -> list[ConflictType]:
    """Return every subject and attribute on which documents disagree, or which needs a note to be read correctly."""
    fact = TABLES["fact"]
    query = select_thing(THINGS["fact"]).where(fact.c.differs_in.is_not(None)).order_by(fact.c.id)
    groups: dict[tuple[str, str], list[RowMapping]] = {}
    for row in connection.execute(query).mappings():
        groups.setdefault((row["subject"], row["attribute"]), []).append(row)
    return [
        ConflictType(
            subject=subject,
            attribute=attribute,
            disagreement=Disagreement(fact_rows[0]["differs_in"]),
            note=fact_rows[0]["note"],
            facts=[to_object("fact", row) for row in fact_rows],
        )
        for (subject, attribute), fact_rows in groups.items()
    ]
