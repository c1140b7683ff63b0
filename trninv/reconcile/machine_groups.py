"""Group machines that must share a domain."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, case, func, select

from trninv.catalog.instance_types import models_of
from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.address.lookup import Place
from trninv.reconcile.latest_observations import MANAGERS, LatestObservations, Machine, RingPosition
from trninv.units import format_timestamp

_SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("server", "domain", "cluster"))
_FETCH_SIZE: Final = 5_000
_BATCH_SIZE: Final = 500
ULTRASERVER: Final = "UltraServer"
"""The prefix of a group's key if its machines share an UltraServer."""
_HYPERPOD: Final = "hyperpod"
"""HyperPod has its own ids for UltraServers, and reports the instances with a plain type."""


class Slot(NamedTuple):
    """A server's place in the design; ``network_node`` is directly above it if all of its NICs share one."""

    id: int
    address: str
    domain: int
    ordinal: int
    cluster: str
    domain_ordinal: int
    model: str
    servers: int
    network_node: int | None


@dataclass(slots=True, eq=False)
class GroupMember:
    """A machine, its slot if it is bound, and the domain models whose servers have its type."""

    machine: Machine
    slot: Slot | None
    ring_position: RingPosition | None
    domain_models: frozenset[str]

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def is_unclaimed(self) -> bool:
        """Whether its type is known but no model in the catalog claims it."""
        kind = instance_type_of(self.machine)
        return kind is not None and not models_of(kind)

    @property
    def position(self) -> int | None:
        """Its position in its UltraServer."""
        return self.ring_position and self.ring_position.position

    @property
    def network_node(self) -> str | None:
        """The lowest network node above it."""
        nodes = self.machine.value("network_nodes")
        return str(nodes).rpartition(" ")[2] if nodes else None


@dataclass(slots=True, eq=False)
class MachineGroup:
    """Machines of one domain: those that share an UltraServer or a capacity block, or a single machine.

    Attributes
    ----------
    key
        What they share, as text.

    """

    key: str
    members: list[GroupMember]

    @property
    def domain_models(self) -> frozenset[str]:
        """Domain models whose servers have the type of all members."""
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
    def network_node(self) -> str | None:
        """The lowest network node above all members, if they share one."""
        nodes = {member.network_node for member in self.members} - {None}
        return nodes.pop() if len(nodes) == 1 else None


def load_slots(connection: Connection, place: Place | None) -> list[Slot]:
    """Load the slots of a cluster, or of all clusters."""
    model, nic, link = TABLES["domain_model"], TABLES["nic"], TABLES["link"]
    nodes_above = (
        select(nic.c.server_id, func.min(link.c.b_id).label("low"), func.max(link.c.b_id).label("high"))
        .join(link, link.c.a_id == nic.c.id)
        .where(link.c.scope == "fabric")
        .group_by(nic.c.server_id)
        .subquery()
    )
    query = (
        select(
            _SERVER.c.id,
            address_expression("server"),
            _DOMAIN.c.id,
            _SERVER.c.ordinal,
            _CLUSTER.c.slug,
            _DOMAIN.c.ordinal,
        )
        .add_columns(model.c.slug, model.c.servers, case((nodes_above.c.low == nodes_above.c.high, nodes_above.c.low)))
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
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
    """Return the machines whose last observation is close to the latest of all; others are treated as gone."""
    last_times = {
        name: max(observation.observed_at for observation in machine.observations)
        for name, machine in latest.machines.items()
        if machine.observations
    }
    if not last_times:
        return []
    earliest = format_timestamp(datetime.fromisoformat(max(last_times.values())) - expiry)
    return [latest.machines[name] for name, time in last_times.items() if time >= earliest]


def instance_type_of(machine: Machine) -> str | None:
    """Return the machine's EC2 type, from HyperPod only if no other source reports one; None if unknown."""
    observed = machine.latest_by_source("instance_type")
    types = [entry.value for source, entry in observed.items() if source != _HYPERPOD] or [
        entry.value for entry in observed.values()
    ]
    return str(types[0]) if types else None


def load_chip_counts(connection: Connection, machines: Iterable[Machine]) -> dict[str, int]:
    """Return the number of chips by machine name, for machines whose type several models claim, if observed."""
    ambiguous = (
        candidate for candidate in machines if (kind := instance_type_of(candidate)) and len(models_of(kind)) > 1
    )
    counts, rows = dict[str, int](), dict[int, str]()
    for machine in ambiguous:
        if number := machine.value("chip_count"):
            counts[machine.name] = int(number)
        if (listing := machine.value("chips")) and not listing.is_partial:
            rows[listing.observed_server] = machine.name
    key = TABLES["observed_chip"].c.observed_server_id
    servers = list(rows)
    for first in range(0, len(servers), _BATCH_SIZE):
        batch = servers[first : first + _BATCH_SIZE]
        count_rows = connection.execute(select(key, func.count()).where(key.in_(batch)).group_by(key))
        counts |= {rows[server]: number for server, number in count_rows}
    return counts


def group_machines(
    machines: Iterable[tuple[Machine, Slot | None]], sizes: Mapping[str, int], chips: Mapping[str, int]
) -> list[MachineGroup]:
    """Group machines that must share a domain.

    A capacity block is one group if it fits in a domain and its instances are not in several UltraServers; a block
    may have been bought for several.

    Parameters
    ----------
    sizes
        Servers per domain, by model.
    chips
        Numbers of chips by machine name, if observed.

    """
    members_by_key, single_groups = defaultdict[str, list[GroupMember]](list), list[MachineGroup]()
    for machine, slot in machines:
        instance_type = instance_type_of(machine)
        claiming_models = (
            models_of(instance_type, chips.get(machine.name)).intersection(sizes) if instance_type else frozenset[str]()
        )
        member = GroupMember(
            machine, slot, _ring_position(machine), frozenset([slot.model]) if slot else claiming_models
        )
        if key := _group_key(member, max((sizes[model] for model in member.domain_models), default=0)):
            members_by_key[key].append(member)
        else:
            single_groups.append(MachineGroup("", [member]))
    return [
        *_join_by_block([MachineGroup(key, members) for key, members in members_by_key.items()], sizes),
        *single_groups,
    ]


def _ring_position(machine: Machine) -> RingPosition | None:
    observed = machine.latest_by_source("place")
    position = next((entry.value for source, entry in observed.items() if source != _HYPERPOD), None)
    return position or next(
        (RingPosition(f"HyperPod's {entry.value.ultraserver}", None) for entry in observed.values()), None
    )


def _group_key(member: GroupMember, servers: int) -> str:
    if servers <= 1:
        return ""
    if member.ring_position:
        return f"{ULTRASERVER} {member.ring_position.ultraserver}"
    block = member.machine.value("capacity_block")
    return f"capacity block {block}" if block else ""


def _join_by_block(groups: Iterable[MachineGroup], sizes: Mapping[str, int]) -> Iterator[MachineGroup]:
    """Join groups that share a capacity block, unless they have several UltraServers or too many machines."""
    by_block = defaultdict[str, list[MachineGroup]](list)
    for group in groups:
        blocks = {block for group_member in group.members if (block := group_member.machine.value("capacity_block"))}
        by_block[blocks.pop() if len(blocks) == 1 else group.key].append(group)
    for subgroups in by_block.values():
        elected = [subgroup for subgroup in subgroups if subgroup.key.startswith(ULTRASERVER)]
        joined_group = MachineGroup(
            (elected or subgroups)[0].key, [member for subgroup in subgroups for member in subgroup.members]
        )
        max_servers = max((sizes[model] for model in joined_group.domain_models), default=0)
        yield from subgroups if len(elected) > 1 or len(joined_group.members) > max_servers else [joined_group]


def replaced_members(members: Iterable[GroupMember]) -> list[GroupMember]:
    """Return bound machines that were replaced: a manager reports a newer machine at the same position."""
    by_position = defaultdict[int, list[GroupMember]](list)
    for member in members:
        if member.position is not None:
            by_position[member.position].append(member)
    return [
        old
        for rivals in by_position.values()
        for old in rivals
        if old.slot is not None and any(_is_after(new.machine, old.machine) for new in rivals if new.slot is None)
    ]


def _is_after(new: Machine, old: Machine) -> bool:
    """Return whether a manager that reported both last reported the old one before the new one."""
    for source in MANAGERS:
        old_time, new_time = (
            max(
                (observation.observed_at for observation in machine.observations if observation.source == source),
                default="",
            )
            for machine in (old, new)
        )
        if "" < old_time < new_time:
            return True
    return False
