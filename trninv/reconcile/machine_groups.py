"""Group machines that must share a domain, and load the slots that they can be in.

A domain is one server or one UltraServer, and a slot is a server's place in it. The machines of an UltraServer or of a
capacity block form a group, and any other machine is a group alone. Adoption makes new domains from groups;
identification assigns groups to existing domains.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, func, select

from trninv.catalog.instance_types import models_of
from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.importers.source_register import find_source
from trninv.inventory.address.expressions import address_expression, join_containers
from trninv.inventory.address.lookup import Place
from trninv.reconcile.latest_observations import LatestObservations, Machine, RingPosition, lowest_network_node
from trninv.reconcile.occupied_slots import network_nodes_above
from trninv.units import format_timestamp

_SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("server", "domain", "cluster"))
_FETCH_SIZE: Final = 5_000
ULTRASERVER: Final = "UltraServer"
"""The prefix of a group's key if its machines share an UltraServer."""


class Slot(NamedTuple):
    """A server's place in the design.

    Attributes
    ----------
    domain, domain_ordinal
        Id of its domain, and the domain's number in the cluster.
    ordinal
        Its number in the domain.
    cluster, model
        Slugs of its cluster and of its domain's model.
    servers
        Number of servers in its domain.
    network_node
        Id of the network node directly above it; None if its NICs do not share one.

    """

    id: int
    address: str
    domain: int
    ordinal: int
    cluster: str
    domain_ordinal: int
    model: str
    servers: int
    network_node: int | None

    @property
    def domain_address(self) -> str:
        """The address of its domain."""
        return self.address.rpartition("/")[0]


@dataclass(slots=True, eq=False)
class GroupMember:
    """A machine in a group.

    Attributes
    ----------
    slot
        Its slot; None if it is unbound.
    domain_models
        Slugs of the domain models that it could be part of; only that of its slot if it is bound.
    is_missing
        Whether a complete listing shows that it is gone.

    """

    machine: Machine
    slot: Slot | None
    ring_position: RingPosition | None
    domain_models: frozenset[str]
    is_missing: bool = False

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def is_unclaimed(self) -> bool:
        """Whether its type is known but no model in the catalog claims it."""
        instance_type = instance_type_of(self.machine)
        return instance_type is not None and not models_of(instance_type)

    @property
    def position(self) -> int | None:
        """Its number in the ring of its UltraServer's servers, if known."""
        return self.ring_position and self.ring_position.position

    @property
    def network_node(self) -> str | None:
        """The network node directly above it, if known."""
        nodes = self.machine.value("network_nodes")
        return lowest_network_node(nodes) if nodes else None


@dataclass(slots=True, eq=False)
class MachineGroup:
    """Machines that must share a domain: those of one UltraServer or capacity block, or a single machine.

    Attributes
    ----------
    key
        The UltraServer or capacity block that they share, as text; empty for a single machine.

    """

    key: str
    members: list[GroupMember]

    @property
    def domain_models(self) -> frozenset[str]:
        """The domain models that all members could be part of."""
        return frozenset.intersection(*(member.domain_models for member in self.members))

    @property
    def bound(self) -> list[GroupMember]:
        """Members with a slot."""
        return [member for member in self.members if member.slot is not None]

    @property
    def slots(self) -> list[Slot]:
        """The slots of the bound members."""
        return [member.slot for member in self.members if member.slot is not None]

    @property
    def unbound(self) -> list[GroupMember]:
        """Members without a slot."""
        return [member for member in self.members if member.slot is None]

    @property
    def duplicate_reason(self) -> str:
        """Why its machines can't be in one domain: several report one ring position; empty if all positions differ."""
        positions = Counter(member.position for member in self.members if member.position is not None)
        duplicates = (position for position, count in positions.items() if count > 1)
        return next((f"{self.key} has several instances at position {position}" for position in duplicates), "")

    @property
    def network_node(self) -> str | None:
        """The network node directly above all members, if they share one."""
        nodes = {member.network_node for member in self.members} - {None}
        return nodes.pop() if len(nodes) == 1 else None


def load_slots(connection: Connection, place: Place | None) -> list[Slot]:
    """Load the slots of a place's cluster, or of all clusters."""
    model, nodes_above = TABLES["domain_model"], network_nodes_above()
    query = (
        select(
            _SERVER.c.id,
            address_expression("server"),
            _DOMAIN.c.id,
            _SERVER.c.ordinal,
            _CLUSTER.c.slug,
            _DOMAIN.c.ordinal,
        )
        .add_columns(model.c.slug, model.c.servers, nodes_above.c.node_id)
        .select_from(join_containers("server"))
        .join(model, model.c.id == _DOMAIN.c.domain_model_id)
        .outerjoin(nodes_above, nodes_above.c.server_id == _SERVER.c.id)
        .order_by(_SERVER.c.id)
    )
    if place is not None:
        query = query.where(_CLUSTER.c.id == place.cluster_id)
    rows = connection.execute(query, execution_options={"yield_per": _FETCH_SIZE})
    tuples: Iterable[tuple[Any, ...]] = map(tuple, rows)
    return [Slot(*row) for row in tuples]


def recent_machines(latest: LatestObservations, expiry: timedelta) -> list[Machine]:
    """Return the machines that were last observed at most ``expiry`` before the latest observation of any machine.

    The others are treated as gone.
    """
    last_times = {machine: machine.last_seen_time() for machine in latest.machines.values()}
    if not any(last_times.values()):
        return []
    earliest = format_timestamp(datetime.fromisoformat(max(last_times.values())) - expiry)
    return [machine for machine, time in last_times.items() if time >= earliest]


def instance_type_of(machine: Machine) -> str | None:
    """Return the machine's EC2 type, from an inexact source only if no other source has one; None if unknown."""
    observed = machine.latest_by_source("instance_type")
    preferred = [entry.value for source, entry in observed.items() if find_source(source).is_exact("instance_type")]
    types = preferred or [entry.value for entry in observed.values()]
    return str(types[0]) if types else None


def load_chip_counts(connection: Connection, machines: Iterable[Machine]) -> dict[str, int]:
    """Return the observed number of chips by machine name, for machines whose type several models claim."""
    ambiguous = (machine for machine in machines if (name := instance_type_of(machine)) and len(models_of(name)) > 1)
    counts, name_by_row = dict[str, int](), dict[int, str]()
    for machine in ambiguous:
        if number := machine.value("chip_count"):
            counts[machine.name] = int(number)
        if (listing := machine.value("chips")) and not listing.is_partial:
            name_by_row[listing.observed_server] = machine.name
    server = TABLES["observed_chip"].c.observed_server_id
    for batch in batches(name_by_row):
        chip_counts = connection.execute(select(server, func.count()).where(server.in_(batch)).group_by(server))
        counts |= {name_by_row[row_id]: number for row_id, number in chip_counts}
    return counts


def group_machines(
    machines: Iterable[tuple[Machine, Slot | None]],
    sizes: Mapping[str, int],
    chips: Mapping[str, int],
    missing: Collection[str] = (),
) -> list[MachineGroup]:
    """Group machines that must share a domain.

    The machines of a capacity block are one group only if they fit in one domain and are not in several UltraServers,
    because a block can also be bought for several domains.

    Parameters
    ----------
    machines
        Machines with their slots, None for unbound ones.
    sizes
        Servers per domain, by the domain model's slug.
    chips
        Numbers of chips by machine name, if observed.
    missing
        Names of machines that complete listings show to be gone.

    """
    members_by_key, single_groups = defaultdict[str, list[GroupMember]](list), list[MachineGroup]()
    for machine, slot in machines:
        instance_type = instance_type_of(machine)
        if slot:
            domain_models = frozenset([slot.model])
        elif instance_type:
            domain_models = models_of(instance_type, chips.get(machine.name)).intersection(sizes)
        else:
            domain_models = frozenset[str]()
        member = GroupMember(machine, slot, _ring_position(machine), domain_models, machine.name in missing)
        if key := _group_key(member, max((sizes[model] for model in domain_models), default=0)):
            members_by_key[key].append(member)
        else:
            single_groups.append(MachineGroup("", [member]))
    return [
        *_join_by_block([MachineGroup(key, members) for key, members in members_by_key.items()], sizes),
        *single_groups,
    ]


def _ring_position(machine: Machine) -> RingPosition | None:
    """Return the ring position that a source reports; from an inexact source, only its own id of the UltraServer."""
    observed = machine.latest_by_source("ring_position")
    exact = (entry.value for source, entry in observed.items() if find_source(source).is_exact("ring_position"))
    own_ids = (
        RingPosition(f"{find_source(source).title or source}'s {entry.value.ultraserver}", None)
        for source, entry in observed.items()
    )
    return next(chain(exact, own_ids), None)


def _group_key(member: GroupMember, servers: int) -> str:
    """Return a machine's UltraServer or capacity block as text; empty if unknown, or if domains have one server."""
    if servers <= 1:
        return ""
    if member.ring_position:
        return f"{ULTRASERVER} {member.ring_position.ultraserver}"
    block = member.machine.value("capacity_block")
    return f"capacity block {block}" if block else ""


def _join_by_block(groups: Iterable[MachineGroup], sizes: Mapping[str, int]) -> Iterator[MachineGroup]:
    """Join groups that share a capacity block, unless they are several UltraServers or too many for one domain."""
    by_block = defaultdict[str, list[MachineGroup]](list)
    for group in groups:
        blocks = {block for member in group.members if (block := member.machine.value("capacity_block"))}
        by_block[blocks.pop() if len(blocks) == 1 else group.key].append(group)
    for subgroups in by_block.values():
        ultraservers = [subgroup for subgroup in subgroups if subgroup.key.startswith(ULTRASERVER)]
        members = [member for subgroup in subgroups for member in subgroup.members]
        joined_group = MachineGroup((ultraservers or subgroups)[0].key, members)
        max_servers = max((sizes[model] for model in joined_group.domain_models), default=0)
        is_too_large = sum(not member.is_missing for member in members) > max_servers
        yield from subgroups if len(ultraservers) > 1 or is_too_large else [joined_group]


def replaced_members(members: Iterable[GroupMember]) -> list[GroupMember]:
    """Return bound machines that are gone, or replaced: an unbound machine at the same position was reported later.

    Only reports of managers (Kubernetes, Slurm, HyperPod, EC2) count: they stop listing a machine that is gone.
    """
    members = list(members)
    by_position = defaultdict[int, list[GroupMember]](list)
    for member in members:
        if member.position is not None:
            by_position[member.position].append(member)
    return [
        old
        for old in members
        if old.slot is not None
        and (
            old.is_missing
            or any(
                _is_after(new.machine, old.machine)
                for new in (by_position[old.position] if old.position is not None else ())
                if new.slot is None
            )
        )
    ]


def _is_after(new: Machine, old: Machine) -> bool:
    """Return whether a manager reported both machines, and the new one after its last report of the old one."""
    managers = {entry.source for entry in old.observations if find_source(entry.source).is_manager}
    return any(old.last_seen_time(source) < new.last_seen_time(source) for source in managers)
