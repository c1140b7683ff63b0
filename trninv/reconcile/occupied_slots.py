"""Load the slots of the design, with the properties that the model of each slot expects of its machine.

A slot is a server's place in the design. `drift_input` adds the observed machines, and the drift rules compare the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, Row, Select, Subquery, case, func, select

from trninv.catalog.instance_types import models_of, type_names
from trninv.catalog.models import DomainModel, default_systems
from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression, join_containers
from trninv.inventory.state.author import is_deliberate
from trninv.reconcile.latest_observations import Machine, ObservedValue

_SERVER, _DOMAIN, _CLUSTER = TABLES["server"], TABLES["domain"], TABLES["cluster"]
_BINDING, _LINK, _NIC = TABLES["binding"], TABLES["link"], TABLES["nic"]
_NETWORK_NODE, _CORDON = TABLES["network_node"], TABLES["cordon"]


class SlotModel(NamedTuple):
    """What a domain model expects of the servers in its slots.

    Attributes
    ----------
    servers
        Servers per domain.
    chips, memory_bytes, cores
        Chips per server, and memory and cores per chip.
    neighbours
        Neighbours of each chip within its server, ascending, separated by blanks; empty if switches connect the chips,
        or if the catalog lacks the model.
    types
        EC2 types of its servers, or patterns for them, as text for messages that marks assumed types as such; empty if
        the catalog lacks the model.
    chip_addresses, efa_addresses, numa_nodes
        PCI address, PCI address of the EFA device and NUMA node of each chip; empty if no document states them or
        the catalog lacks the model.

    """

    slug: str
    servers: int
    chips: int
    memory_bytes: int
    cores: int
    neighbours: tuple[str, ...]
    types: tuple[str, ...]
    chip_addresses: tuple[str, ...]
    efa_addresses: tuple[str, ...]
    numa_nodes: tuple[int, ...]

    def has_type(self, instance_type: str) -> bool:
        """Return whether its servers have an EC2 type."""
        return self.slug in models_of(instance_type)


class ChipView(NamedTuple):
    """The chips of a machine that a source lists, and the fields that it reports for all of them.

    Bit n of ``chip_bits`` is set if it lists chip n; ``is_partial`` means that the machine may have more chips.
    """

    chip_bits: int
    is_partial: bool
    listing: ObservedValue
    fields: frozenset[str]


@dataclass(slots=True, eq=False)
class OccupiedSlot:
    """A slot of a cluster in use, and the machine bound to it, if there is one.

    Attributes
    ----------
    network_node
        Address of the network node directly above it, if all of its NICs share one, or None.
    bound_name
        The bound instance or host, or None.
    is_cordoned
        Whether a person keeps new jobs away from it.
    machine
        The observed machine; None if no source reports it, or if it is missing from a complete listing.
    missing_from_listing
        Ids of the last complete listing that has its instance and of the one that lacks it, or None.
    chip_views
        The chips that each source lists, by source.
    chip_taints
        Taints by chip number, with the listing that reports them.

    """

    address: str
    domain: str
    cluster: str
    ordinal: int
    model: SlotModel
    state: str
    network_node: str | None
    bound_name: str | None
    is_cordoned: bool
    machine: Machine | None = None
    missing_from_listing: tuple[int, int] | None = None
    chip_views: dict[str, ChipView] = field(default_factory=dict)
    chip_taints: dict[int, tuple[str, ObservedValue]] = field(default_factory=dict)

    @property
    def instance(self) -> str | None:
        """The name of the machine in findings: the observed one, or else the bound one."""
        return self.machine.name if self.machine else self.bound_name


def load_occupied_slots(connection: Connection) -> list[OccupiedSlot]:
    """Load all slots of clusters with bound instances, domain by domain."""
    models = {row.id: _slot_model(row) for row in connection.execute(_models_query())}
    return [
        OccupiedSlot(
            address=f"{row.domain}/s{row.ordinal}",
            domain=row.domain,
            cluster=row.cluster,
            ordinal=row.ordinal,
            model=models[row.model],
            state=row.state,
            network_node=row.network_node,
            bound_name=row.instance or row.host,
            is_cordoned=row.is_cordoned,
        )
        for row in connection.execute(_slots_query(), execution_options={"yield_per": 5_000})
    ]


def slots_by_domain(slots: list[OccupiedSlot]) -> Iterator[list[OccupiedSlot]]:
    """Yield the slots of each domain; ``slots`` must be sorted by domain."""
    return (list(members) for _, members in groupby(slots, key=lambda slot: slot.domain))


def network_nodes_above() -> Subquery:
    """Select the id of the network node directly above each server's NICs; null if they do not share one."""
    lowest, highest = func.min(_LINK.c.b_id), func.max(_LINK.c.b_id)
    return (
        select(_NIC.c.server_id, case((lowest == highest, lowest)).label("node_id"))
        .join(_LINK, _LINK.c.a_id == _NIC.c.id)
        .where(_LINK.c.scope == "fabric")
        .group_by(_NIC.c.server_id)
        .subquery()
    )


def _slots_query() -> Select[tuple[object, ...]]:
    is_open = _BINDING.c.ended_at.is_(None)
    clusters_in_use = (
        select(_DOMAIN.c.cluster_id)
        .join(_SERVER, _SERVER.c.domain_id == _DOMAIN.c.id)
        .join(_BINDING, (_BINDING.c.server_id == _SERVER.c.id) & is_open)
    )
    nodes_above = network_nodes_above()
    joined_tables = (
        join_containers("server")
        .outerjoin(_BINDING, (_BINDING.c.server_id == _SERVER.c.id) & is_open)
        .outerjoin(_CORDON, (_CORDON.c.server_id == _SERVER.c.id) & is_deliberate(_CORDON))
        .outerjoin(nodes_above, nodes_above.c.server_id == _SERVER.c.id)
        .outerjoin(_NETWORK_NODE, _NETWORK_NODE.c.id == nodes_above.c.node_id)
    )
    return (
        select(
            address_expression("domain").label("domain"),
            _CLUSTER.c.slug.label("cluster"),
            _SERVER.c.ordinal,
            _DOMAIN.c.domain_model_id.label("model"),
            _SERVER.c.state,
            case((_NETWORK_NODE.c.id.is_not(None), address_expression("network_node"))).label("network_node"),
            _BINDING.c.instance,
            _BINDING.c.host,
            _CORDON.c.id.is_not(None).label("is_cordoned"),
        )
        .select_from(joined_tables)
        .where(_CLUSTER.c.id.in_(clusters_in_use))
        .order_by(_DOMAIN.c.id, _SERVER.c.ordinal)
    )


def _models_query() -> Select[tuple[object, ...]]:
    model, server, chip = TABLES["domain_model"], TABLES["server_model"], TABLES["chip_model"]
    return (
        select(
            model.c.id,
            model.c.slug,
            model.c.servers,
            server.c.chips,
            chip.c.device_memory_bytes,
            chip.c.cores,
        )
        .join(server, server.c.id == model.c.server_model_id)
        .join(chip, chip.c.id == server.c.chip_model_id)
    )


def _slot_model(row: Row[tuple[object, ...]]) -> SlotModel:
    domain = default_systems().domains.get(row.slug)
    server = domain and domain.server
    is_direct = (
        domain is not None
        and bool(domain.blueprint.scale_up_links)
        and all(node.kind != "switch" for node in domain.blueprint.nodes)
    )
    claimed_types = type_names(domain) if domain else ()
    return SlotModel(
        row.slug,
        row.servers,
        row.chips,
        row.device_memory_bytes,
        row.cores,
        _neighbours(domain, row.chips) if domain and is_direct else (),
        tuple(name if name in claimed_types else f"{name} (assumed)" for name in (domain.ec2_types if domain else ())),
        server.chip_addresses if server else (),
        server.efa_addresses if server else (),
        server.numa_nodes if server else (),
    )


def servers_per_domain(instance_type: str) -> int:
    """Return the largest number of servers per domain of the models that claim an EC2 type; 0 if none does."""
    models = (default_systems().domains[slug] for slug in models_of(instance_type))
    return max((model.blueprint.servers for model in models), default=0)


def _neighbours(domain: DomainModel, chips: int) -> tuple[str, ...]:
    """Return the neighbours of each chip within the first server, which hold for every server of the model."""
    neighbours: list[set[int]] = [set() for _ in range(chips)]
    nodes = domain.blueprint.nodes
    for link in domain.blueprint.scale_up_links:
        a, b = nodes[link.a], nodes[link.b]
        if a.kind == b.kind == "chip" and a.server == b.server == 0:
            neighbours[a.ordinal].add(b.ordinal)
            neighbours[b.ordinal].add(a.ordinal)
    return tuple(" ".join(map(str, sorted(ordinals))) for ordinals in neighbours)
