"""Plan a cluster: groups of domains of the same model, and the fabric (the EFA network) above them.

A plan exists before a cluster is seeded or adopted; `load_plan` computes that of a stored cluster, to verify or grow
it. A seeded cluster is one group below a fabric of the documented shape. An adopted cluster has a group for each run of
domains of the same model, below the network nodes that its instances report.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count, groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, func, select

from trninv.catalog.facts import Catalog
from trninv.catalog.models import DomainModel, System, SystemCatalog
from trninv.database.id_blocks import BLOCK_CAPACITY
from trninv.database.tables import TABLES
from trninv.topology.blueprint import NIC
from trninv.topology.clos import ClosFabric
from trninv.topology.fabric_tree import FabricNode, FabricTree

ADOPTED: Final = "adopted"
"""Stored as the system of an adopted cluster, which was not created from a system."""


@dataclass(frozen=True, slots=True)
class DomainGroup:
    """Consecutive domains of a cluster that have the same model."""

    model: DomainModel
    domains: int

    @property
    def nics(self) -> Counter[int]:
        """The number of NICs of each server in a domain."""
        return Counter(node.server or 0 for node in self.model.blueprint.nodes if node.kind == "nic")

    @property
    def nic_link_model(self) -> str:
        """The slug of the link model of its NICs, which all domains below a fabric have."""
        return self.model.links[NIC].slug


def group_domains(models: Iterable[DomainModel]) -> tuple[DomainGroup, ...]:
    """Group consecutive domains of the same model."""
    groups = (list(group) for _, group in groupby(models, key=attrgetter("slug")))
    return tuple(DomainGroup(group[0], len(group)) for group in groups)


class PlannedUplink(NamedTuple):
    """A link from a network node to its parent, by local numbers, with the number of its cables by link model."""

    local: int
    a: int
    b: int
    cables: Mapping[str, int]


@dataclass(frozen=True)
class ClusterPlan:
    """Domain groups in order, and the fabric above them; without a fabric (None), nothing connects the domains.

    Attributes
    ----------
    system
        The slug of the system, or `ADOPTED`.
    """

    system: str
    domain_groups: tuple[DomainGroup, ...]
    fabric: ClosFabric | FabricTree | None

    @classmethod
    def from_system(cls, catalog: Catalog, system: System) -> "ClusterPlan":
        """Plan a system as it is seeded."""
        return cls(system.slug, (DomainGroup(system.domain, system.domains),), system.fabric(catalog))

    @property
    def domains(self) -> int:
        """The number of domains of all groups."""
        return sum(group.domains for group in self.domain_groups)

    @property
    def models(self) -> tuple[DomainModel, ...]:
        """The model of each group."""
        return tuple(group.model for group in self.domain_groups)

    @cached_property
    def first_ordinals(self) -> tuple[int, ...]:
        """The ordinal of each group's first domain."""
        return tuple(accumulate((group.domains for group in self.domain_groups), initial=0))[:-1]

    def uplinks(self) -> Iterator[PlannedUplink]:
        """Yield the links between network nodes; each carries the cables of all NICs below it."""
        if isinstance(self.fabric, ClosFabric):
            (group,) = self.domain_groups  # a Clos fabric is that of a seeded system, whose domains have one model
            for local, link in enumerate(self.fabric.uplinks()):
                cable_count = link.domains * group.nics.total()
                yield PlannedUplink(local, link.a, link.b, {group.nic_link_model: cable_count})
        elif self.fabric:
            cables, numbers = self._server_cables(self.fabric), count()
            for node in self.fabric.nodes():  # from the lowest tier up
                if (parent := self.fabric.parents.get(node.local)) is not None:
                    cables[parent].update(cables[node.local])
                    # a link has its node's number, so that adding nodes renumbers no link; older versions of trninv
                    # reserved no numbers for adopted clusters (is_dense) and numbered links consecutively
                    local = next(numbers) if self.fabric.is_dense else node.local
                    yield PlannedUplink(local, node.local, parent, cables[node.local])

    def _server_cables(self, fabric: FabricTree) -> dict[int, Counter[str]]:
        """Count the cables from servers to each network node, by link model."""
        cables = {node.local: Counter[str]() for node in fabric.nodes()}
        nics_by_domain = list[tuple[str, Counter[int]]]()
        for group in self.domain_groups:
            nics_by_domain += [(group.nic_link_model, group.nics)] * group.domains
        for (domain, server), node in fabric.server_parents.items():
            link_model, nics = nics_by_domain[domain]
            cables[node][link_model] += nics[server]
        return cables


def load_plan(
    connection: Connection, catalog: Catalog, systems: SystemCatalog, cluster: Mapping[Any, Any]
) -> ClusterPlan | None:
    """Return the plan of a stored cluster, or None if its system or a domain model is unknown."""
    if cluster["system"] == ADOPTED:
        return _load_adopted_plan(connection, systems, cluster)
    system = systems.by_name.get(cluster["system"])
    return ClusterPlan.from_system(catalog, system.resized(cluster["domains"])) if system else None


def _load_adopted_plan(
    connection: Connection, systems: SystemCatalog, cluster: Mapping[Any, Any]
) -> ClusterPlan | None:
    """Load an adopted cluster's plan from its rows; return None if it has no domains or one of an unknown model."""
    domain, model = TABLES["domain"], TABLES["domain_model"]
    query = select(model.c.slug).join(domain, domain.c.domain_model_id == model.c.id)
    slugs = connection.scalars(query.where(domain.c.cluster_id == cluster["id"]).order_by(domain.c.ordinal)).all()
    if not slugs or not systems.domains.keys() >= set(slugs):
        return None
    return ClusterPlan(ADOPTED, group_domains(systems.domains[slug] for slug in slugs), _load_tree(connection, cluster))


def _load_tree(connection: Connection, cluster: Mapping[Any, Any]) -> FabricTree | None:
    """Load an adopted cluster's network nodes with their uplinks and the node above each server; None without nodes."""
    node, network_node, link = TABLES["node"], TABLES["network_node"], TABLES["link"]
    query = select(network_node).join(node, node.c.id == network_node.c.id).where(node.c.cluster_id == cluster["id"])
    nodes = connection.execute(query.order_by(network_node.c.id)).all()
    if not nodes:
        return None
    # clusters that older versions adopted have no reserve of ids between the other nodes and the network nodes
    reserve_end = int(cluster["first_node_id"]) + BLOCK_CAPACITY["node"]
    is_dense = nodes[0].id < reserve_end
    local = {row.id: number if is_dense else row.id - reserve_end for number, row in enumerate(nodes)}
    in_fabric = link.c.a_id.between(nodes[0].id, nodes[-1].id), link.c.b_id.between(nodes[0].id, nodes[-1].id)
    uplinks = connection.execute(select(link.c.a_id, link.c.b_id).where(*in_fabric))
    domain, server, nic = TABLES["domain"], TABLES["server"], TABLES["nic"]
    servers = (
        select(
            domain.c.ordinal.label("domain"), server.c.ordinal.label("server"), func.min(link.c.b_id).label("parent")
        )
        .select_from(domain)
        .join(server, server.c.domain_id == domain.c.id)
        .join(nic, nic.c.server_id == server.c.id)
        .join(link, link.c.a_id == nic.c.id)
        .where(domain.c.cluster_id == cluster["id"], link.c.scope == "fabric")
        .group_by(domain.c.ordinal, server.c.ordinal)
    )
    return FabricTree(
        tuple(FabricNode(local[row.id], row.tier, row.ordinal, row.vendor_id) for row in nodes),
        {local[row.a_id]: local[row.b_id] for row in uplinks if {row.a_id, row.b_id} <= local.keys()},
        {(row.domain, row.server): local[row.parent] for row in connection.execute(servers) if row.parent in local},
        is_dense,
    )
