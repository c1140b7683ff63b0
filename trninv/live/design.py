"""The slots of the design, and what a machine that stands in one should be."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, Row, Select, case, select

from trninv.catalog.instance_types import models_of, type_names
from trninv.catalog.models import DomainModel, systems
from trninv.inventory.address import address_of
from trninv.inventory.closed_servers import is_wanted
from trninv.inventory.schema import TABLES
from trninv.live.newest import Machine, Said

_SERVER, _DOMAIN, _CLUSTER = TABLES["server"], TABLES["domain"], TABLES["cluster"]
_BINDING, _LINK, _NIC = TABLES["binding"], TABLES["link"], TABLES["nic"]
_ABOVE, _CLOSING = TABLES["network_node"], TABLES["closing"]


class Model(NamedTuple):
    """What the servers of a model of domain have.

    Attributes
    ----------
    servers
        Of a domain.
    chips, memory_bytes, cores
        Chips of a server, and what each of them has.
    neighbours
        Of each chip within its server, ascending, with blanks between; empty where they are joined by switches.
    is_ring
        Whether the servers of a domain are joined in a ring.
    types
        EC2's types of its servers, or patterns of them, for people; empty of a model that the catalog does not know.
    chip_addresses, efa_addresses, numa_nodes
        Of each chip of a server; empty where no document says.

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

    def is_of(self, instance_type: str) -> bool:
        """Whether its servers are of an EC2 type."""
        return self.slug in models_of(instance_type)


class View(NamedTuple):
    """The chips that a source shows of a machine, as bits, and the fields that it reports of each of them."""

    seen: int
    is_partial: bool
    said: Said
    fields: frozenset[str]


@dataclass(slots=True, eq=False)
class Occupancy:
    """A server's place in the design, and the machine that stands there.

    Attributes
    ----------
    network_node
        Address of the lowest network node above it; None where there is none.
    bound
        The instance or host that stands there by its binding; None where none does.
    is_closed
        Whether somebody closed it to new jobs.
    machine
        What was seen of it; None where nothing was.
    gone
        The whole listing that no longer has its instance; then nothing that was seen of it counts any more.
    views
        The chips that each source shows.
    taints
        Those of chips, by their numbers, and who has them.

    """

    address: str
    domain: str
    cluster: str
    ordinal: int
    model: Model
    state: str
    network_node: str | None
    bound: str | None
    is_closed: bool
    machine: Machine | None = None
    gone: int | None = None
    views: dict[str, View] = field(default_factory=dict)
    taints: dict[int, tuple[str, Said]] = field(default_factory=dict)

    @property
    def instance(self) -> str | None:
        """What a finding calls the machine."""
        return self.machine.name if self.machine else self.bound


def slots(connection: Connection) -> list[Occupancy]:
    """All slots of clusters in which an instance stands, domain by domain."""
    models = {row.id: _model(row) for row in connection.execute(_models())}
    return [
        Occupancy(
            address=f"{row.domain}/s{row.ordinal}",
            domain=row.domain,
            cluster=row.cluster,
            ordinal=row.ordinal,
            model=models[row.model],
            state=row.state,
            network_node=row.network_node,
            bound=row.instance or row.host,
            is_closed=row.is_closed,
        )
        for row in connection.execute(_slots(), execution_options={"yield_per": 5_000})
    ]


def domains(of: list[Occupancy]) -> Iterator[list[Occupancy]]:
    """Slots by domain."""
    return (list(members) for _, members in groupby(of, key=lambda slot: slot.domain))


def _slots() -> Select[tuple[object, ...]]:
    open_ = _BINDING.c.until.is_(None)
    lived = (
        select(_DOMAIN.c.cluster_id)
        .join(_SERVER, _SERVER.c.domain_id == _DOMAIN.c.id)
        .join(_BINDING, (_BINDING.c.server_id == _SERVER.c.id) & open_)
    )
    joined = (
        _SERVER.join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
        .outerjoin(_BINDING, (_BINDING.c.server_id == _SERVER.c.id) & open_)
        .outerjoin(_CLOSING, (_CLOSING.c.server_id == _SERVER.c.id) & is_wanted(_CLOSING))
        .outerjoin(_NIC, (_NIC.c.server_id == _SERVER.c.id) & (_NIC.c.ordinal == 0))
        .outerjoin(_LINK, (_LINK.c.a_id == _NIC.c.id) & (_LINK.c.scope == "fabric"))
        .outerjoin(_ABOVE, _ABOVE.c.id == _LINK.c.b_id)
    )
    return (
        select(
            address_of("domain").label("domain"),
            _CLUSTER.c.slug.label("cluster"),
            _SERVER.c.ordinal,
            _DOMAIN.c.domain_model_id.label("model"),
            _SERVER.c.state,
            case((_ABOVE.c.id.is_not(None), address_of("network_node"))).label("network_node"),
            _BINDING.c.instance,
            _BINDING.c.host,
            _CLOSING.c.id.is_not(None).label("is_closed"),
        )
        .select_from(joined)
        .where(_CLUSTER.c.id.in_(lived))
        .order_by(_DOMAIN.c.id, _SERVER.c.ordinal)
    )


def _models() -> Select[tuple[object, ...]]:
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


def _model(row: Row[tuple[object, ...]]) -> Model:
    of = systems().domains.get(row.slug)
    server = of and of.server
    is_torus = of is not None and of.blueprint.wiring == "torus"
    is_direct = of is not None and bool(of.blueprint.wires) and all(n.kind != "switch" for n in of.blueprint.nodes)
    return Model(
        row.slug,
        row.servers,
        row.chips,
        row.device_memory_bytes,
        row.cores,
        _neighbours(of, row.chips) if of and is_direct else (),
        is_torus and row.servers > 1,
        tuple(name if name in type_names(of) else f"{name} (assumed)" for name in of.ec2_types) if of else (),
        server.chip_addresses if server else (),
        server.efa_addresses if server else (),
        server.numa_nodes if server else (),
    )


def servers_of(instance_type: str) -> int:
    """How many instances of a type make a domain, the most of models that claim it; 0 of a type that none claims."""
    claiming = (systems().domains[slug] for slug in models_of(instance_type))
    return max((model.blueprint.servers for model in claiming), default=0)


def _neighbours(domain: DomainModel, chips: int) -> tuple[str, ...]:
    """Of the chips of the first server; the others are alike."""
    found: list[set[int]] = [set() for _ in range(chips)]
    nodes = domain.blueprint.nodes
    for link in domain.blueprint.wires:
        a, b = nodes[link.a], nodes[link.b]
        if a.kind == b.kind == "chip" and a.server == b.server == 0:
            found[a.ordinal].add(b.ordinal)
            found[b.ordinal].add(a.ordinal)
    return tuple(" ".join(map(str, sorted(each))) for each in found)
