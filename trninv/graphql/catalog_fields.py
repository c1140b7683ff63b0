"""Resolve the field systems: the designs that `trninv seed` can create."""

from typing import Any

import strawberry

from trninv.catalog.derived import DocumentedTotal, SystemTotals
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import System as CatalogSystem
from trninv.graphql.scalars import (
    BandwidthType,
    CapacityType,
    CitedBandwidth,
    CitedCapacity,
    FactReference,
    lazy_list,
)


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
    sources: Any = strawberry.field(description="Sources of its facts.", graphql_type=lazy_list("Source"))

    @classmethod
    def from_catalog(cls, system: CatalogSystem) -> "SystemType":
        """Convert a system of the catalog."""
        same_fields = {name: getattr(system, name) for name in ("slug", "name", "chips", "servers", "domains")}
        totals = SystemTotals.from_system(default_catalog(), system)
        return cls(
            **same_fields,
            aliases=list(system.aliases),
            domain_model=system.domain.name,
            memory=_cite(CitedCapacity, totals.memory),
            memory_bandwidth=_cite(CitedBandwidth, totals.memory_bandwidth),
            teraflops=totals.teraflops,
            host_memory=_cite(CitedCapacity, totals.host_memory),
            nics=totals.nics.parts,
            efa_bandwidth=_cite(CitedBandwidth, totals.nics),
            links=totals.links.parts,
            link_bandwidth=_cite(CitedBandwidth, totals.links),
            network_nodes=totals.network_nodes,
            sources=system.sources(default_catalog()),
        )


def _cite(
    quantity_class: type[CitedCapacity] | type[CitedBandwidth], total: DocumentedTotal
) -> CitedCapacity | CitedBandwidth | None:
    """Return a total as a quantity with the fact that it comes from; None if no document states the total."""
    if total.value is None:
        return None
    quantity = quantity_class(total.value)
    quantity.fact = FactReference(*total.fact.key) if total.fact else None
    return quantity
