"""Load slots with the machine bound to each."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, Row, Select, case, select

from trninv.catalog.instance_types import models_of, type_names
from trninv.catalog.models import DomainModel, default_systems
from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.state.author import is_deliberate
from trninv.reconcile.latest_observations import Machine, ObservedValue

_SERVER, _DOMAIN, _CLUSTER = TABLES["server"], TABLES["domain"], TABLES["cluster"]
_BINDING, _LINK, _NIC = TABLES["binding"], TABLES["link"], TABLES["nic"]
_NETWORK_NODE, _CORDON = TABLES["network_node"], TABLES["cordon"]


class SlotModel(NamedTuple):
    """The properties of a domain model's servers.

    Attributes
    ----------
    servers
        Servers per domain.
    chips, memory_bytes, cores
        Chips per server, and memory and cores per chip.
    neighbours
        Neighbours of each chip within its server, ascending, separated by blanks; empty for switched chips.
    is_ring
        Whether the servers of a domain form a ring.
    types
        EC2 types of its servers, or patterns of them, for people; empty if the catalog lacks the model.
    chip_addresses, efa_addresses, numa_nodes
        Values for each chip of a server; empty if no document states them.

    """

    slug: str
    servers: int
    chips: int
    memory_bytes: int
    cores: int
    neighbours: tuple[str, ...]
    is_ring: bool
    types: tuple[str, ...]
    chip_addresses: tuple[str, ...]
    efa_addresses: tuple[str, ...]
    numa_nodes: tuple[int, ...]

    def has_type(self, instance_type: str) -> bool:
        """Return whether its servers have an EC2 type."""
        return self.slug in models_of(instance_type)


class ChipView(NamedTuple):
    """The chips of a machine that a source reports, as bits, and the fields that it reports for all of them."""

    chip_bits: int
    is_partial: bool
    listing: ObservedValue
    fields: frozenset[str]


@dataclass(slots=True, eq=False)
class OccupiedSlot:
    """A slot, and the machine bound to it.

    Attributes
    ----------
    network_node
        Address of the network node directly above it, or None.
    bound_name
        The bound instance or host, or None.
    is_cordoned
        Whether a person cordoned it.
    machine
        The observed machine; None without observations.
    missing_from_listing
        The complete listing that lacks its instance; then its observations no longer count.
    chip_views
        The chips that each source reports.
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
    missing_from_listing: int | None = None
    chip_views: dict[str, ChipView] = field(default_factory=dict)
    chip_taints: dict[int, tuple[str, ObservedValue]] = field(default_factory=dict)

    @property
    def instance(self) -> str | None:
        """The machine's name in findings."""
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
            is_cordoned=row.is_closed,
        )
        for row in connection.execute(_slots_query(), execution_options={"yield_per": 5_000})
    ]


def slots_by_domain(slots: list[OccupiedSlot]) -> Iterator[list[OccupiedSlot]]:
    """Yield the slots of each domain."""
    return (list(members) for _, members in groupby(slots, key=lambda slot: slot.domain))


def _slots_query() -> Select[tuple[object, ...]]:
    is_open = _BINDING.c.ended_at.is_(None)
    clusters_in_use = (
        select(_DOMAIN.c.cluster_id)
        .join(_SERVER, _SERVER.c.domain_id == _DOMAIN.c.id)
        .join(_BINDING, (_BINDING.c.server_id == _SERVER.c.id) & is_open)
    )
    joined_tables = (
        _SERVER.join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
        .outerjoin(_BINDING, (_BINDING.c.server_id == _SERVER.c.id) & is_open)
        .outerjoin(_CORDON, (_CORDON.c.server_id == _SERVER.c.id) & is_deliberate(_CORDON))
        .outerjoin(_NIC, (_NIC.c.server_id == _SERVER.c.id) & (_NIC.c.ordinal == 0))
        .outerjoin(_LINK, (_LINK.c.a_id == _NIC.c.id) & (_LINK.c.scope == "fabric"))
        .outerjoin(_NETWORK_NODE, _NETWORK_NODE.c.id == _LINK.c.b_id)
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
            _CORDON.c.id.is_not(None).label("is_closed"),
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
    is_torus = domain is not None and domain.blueprint.pattern == "torus"
    is_direct = (
        domain is not None
        and bool(domain.blueprint.scale_up_links)
        and all(node.kind != "switch" for node in domain.blueprint.nodes)
    )
    return SlotModel(
        row.slug,
        row.servers,
        row.chips,
        row.device_memory_bytes,
        row.cores,
        _neighbours(domain, row.chips) if domain and is_direct else (),
        is_torus and row.servers > 1,
        tuple(name if name in type_names(domain) else f"{name} (assumed)" for name in domain.ec2_types)
        if domain
        else (),
        server.chip_addresses if server else (),
        server.efa_addresses if server else (),
        server.numa_nodes if server else (),
    )


def servers_per_domain(instance_type: str) -> int:
    """Return the most servers per domain of all models that claim a type; 0 if none does."""
    models = (default_systems().domains[slug] for slug in models_of(instance_type))
    return max((model.blueprint.servers for model in models), default=0)


def _neighbours(domain: DomainModel, chips: int) -> tuple[str, ...]:
    """Return the neighbours of each chip of the first server; all servers are alike."""
    neighbours: list[set[int]] = [set() for _ in range(chips)]
    nodes = domain.blueprint.nodes
    for link in domain.blueprint.scale_up_links:
        a, b = nodes[link.a], nodes[link.b]
        if a.kind == b.kind == "chip" and a.server == b.server == 0:
            neighbours[a.ordinal].add(b.ordinal)
            neighbours[b.ordinal].add(a.ordinal)
    return tuple(" ".join(map(str, sorted(ordinals))) for ordinals in neighbours)
