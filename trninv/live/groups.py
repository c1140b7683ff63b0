"""The two sides of an identification: slots of the design, and machines that must stand together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, case, func, select

from trninv.catalog.instance_types import models_of
from trninv.inventory.address import Place, address_of
from trninv.inventory.schema import TABLES
from trninv.live.newest import MANAGERS, Machine, Newest
from trninv.live.newest import Place as Ring
from trninv.timestamps import format_timestamp

_SERVER, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("server", "domain", "cluster"))
_BATCH: Final = 5_000
_AT_ONCE: Final = 500
ULTRASERVER: Final = "UltraServer"
"""How the key of a group begins that shares one."""
_HYPERPOD: Final = "hyperpod"
"""It calls UltraServers by ids of its own, and their instances by the type of plain ones."""


class Slot(NamedTuple):
    """A server's place in the design; ``network_node`` is the lowest above it, where all of its NICs have one."""

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
class Member:
    """A machine, the slot where it stands, if it does, and the models of domain whose servers are of its type."""

    machine: Machine
    slot: Slot | None
    place: Ring | None
    kinds: frozenset[str]

    @property
    def name(self) -> str:
        """Its name."""
        return self.machine.name

    @property
    def is_unclaimed(self) -> bool:
        """Whether its type is known, and no model in the catalog claims it."""
        kind = type_of(self.machine)
        return kind is not None and not models_of(kind)

    @property
    def position(self) -> int | None:
        """Its number in its UltraServer."""
        return self.place and self.place.position

    @property
    def network_node(self) -> str | None:
        """The lowest network node above it."""
        nodes = self.machine.value("network_nodes")
        return str(nodes).rpartition(" ")[2] if nodes else None


@dataclass(slots=True, eq=False)
class Group:
    """Machines of one domain: those that share an UltraServer or a capacity block, or one by itself.

    Attributes
    ----------
    key
        What they share, in words.

    """

    key: str
    members: list[Member]

    @property
    def kinds(self) -> frozenset[str]:
        """Models of domain whose servers are of the type of all of them."""
        return frozenset.intersection(*(each.kinds for each in self.members))

    @property
    def standing(self) -> list[Member]:
        """Those that have a slot."""
        return [each for each in self.members if each.slot is not None]

    @property
    def slots(self) -> list[Slot]:
        """Where they stand."""
        return [each.slot for each in self.members if each.slot is not None]

    @property
    def unplaced(self) -> list[Member]:
        """Those that have none."""
        return [each for each in self.members if each.slot is None]

    @property
    def network_node(self) -> str | None:
        """The lowest network node above all of them, if that is one."""
        found = {each.network_node for each in self.members} - {None}
        return found.pop() if len(found) == 1 else None


def slots(connection: Connection, place: Place | None) -> list[Slot]:
    """The slots of a cluster, or of all clusters."""
    model, nic, link = TABLES["domain_model"], TABLES["nic"], TABLES["link"]
    above = (
        select(nic.c.server_id, func.min(link.c.b_id).label("low"), func.max(link.c.b_id).label("high"))
        .join(link, link.c.a_id == nic.c.id)
        .where(link.c.scope == "fabric")
        .group_by(nic.c.server_id)
        .subquery()
    )
    query = (
        select(_SERVER.c.id, address_of("server"), _DOMAIN.c.id, _SERVER.c.ordinal, _CLUSTER.c.slug, _DOMAIN.c.ordinal)
        .add_columns(model.c.slug, model.c.servers, case((above.c.low == above.c.high, above.c.low)))
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
        .join(model, model.c.id == _DOMAIN.c.domain_model_id)
        .outerjoin(above, above.c.server_id == _SERVER.c.id)
        .order_by(_SERVER.c.id)
    )
    if place is not None:
        query = query.where(_CLUSTER.c.id == place.cluster_id)
    rows = connection.execute(query, execution_options={"yield_per": _BATCH})
    found: Iterable[tuple[Any, ...]] = map(tuple, rows)
    return [Slot(*row) for row in found]


def living(newest: Newest, within: timedelta) -> list[Machine]:
    """Machines that were seen not much longer ago than what was seen last; the others are taken for gone."""
    last = {name: max(seen.at for seen in machine.seen) for name, machine in newest.machines.items() if machine.seen}
    if not last:
        return []
    from_ = format_timestamp(datetime.fromisoformat(max(last.values())) - within)
    return [newest.machines[name] for name, at in last.items() if at >= from_]


def type_of(machine: Machine) -> str | None:
    """Return its EC2 type, by HyperPod where no other source says one; None where none does."""
    said = machine.by_source("instance_type")
    own = [each.value for source, each in said.items() if source != _HYPERPOD] or [each.value for each in said.values()]
    return str(own[0]) if own else None


def chips_of(connection: Connection, machines: Iterable[Machine]) -> dict[str, int]:
    """Return how many chips machines have whose type several models claim, by name, where that was seen of all."""
    claimed = (each for each in machines if (kind := type_of(each)) and len(models_of(kind)) > 1)
    said, rows = dict[str, int](), dict[int, str]()
    for machine in claimed:
        if number := machine.value("chip_count"):
            said[machine.name] = int(number)
        if (shown := machine.value("chips")) and not shown.is_partial:
            rows[shown.observed_server] = machine.name
    key = TABLES["observed_chip"].c.observed_server_id
    servers = list(rows)
    for first in range(0, len(servers), _AT_ONCE):
        some = servers[first : first + _AT_ONCE]
        numbers = connection.execute(select(key, func.count()).where(key.in_(some)).group_by(key))
        said |= {rows[server]: number for server, number in numbers}
    return said


def grouped(
    machines: Iterable[tuple[Machine, Slot | None]], sizes: Mapping[str, int], chips: Mapping[str, int]
) -> list[Group]:
    """Machines in groups.

    A capacity block is one group if it is not larger than a domain, and its instances are not of several UltraServers;
    it may have been bought for more than one.

    Parameters
    ----------
    sizes
        Servers of a domain, by model.
    chips
        How many chips machines have, by name, where that was seen.

    """
    found, alone = defaultdict[str, list[Member]](list), list[Group]()
    for machine, slot in machines:
        kind = type_of(machine)
        claiming = models_of(kind, chips.get(machine.name)).intersection(sizes) if kind else frozenset[str]()
        member = Member(machine, slot, _place(machine), frozenset([slot.model]) if slot else claiming)
        if key := _key(member, max((sizes[model] for model in member.kinds), default=0)):
            found[key].append(member)
        else:
            alone.append(Group("", [member]))
    return [*_joined([Group(key, members) for key, members in found.items()], sizes), *alone]


def _place(machine: Machine) -> Ring | None:
    said = machine.by_source("place")
    found = next((each.value for source, each in said.items() if source != _HYPERPOD), None)
    return found or next((Ring(f"HyperPod's {each.value.ultraserver}", None) for each in said.values()), None)


def _key(member: Member, servers: int) -> str:
    if servers <= 1:
        return ""
    if member.place:
        return f"{ULTRASERVER} {member.place.ultraserver}"
    block = member.machine.value("capacity_block")
    return f"capacity block {block}" if block else ""


def _joined(groups: Iterable[Group], sizes: Mapping[str, int]) -> Iterator[Group]:
    """Groups, where a capacity block joins those that are one domain's at most."""
    by_block = defaultdict[str, list[Group]](list)
    for group in groups:
        blocks = {block for each in group.members if (block := each.machine.value("capacity_block"))}
        by_block[blocks.pop() if len(blocks) == 1 else group.key].append(group)
    for parts in by_block.values():
        elected = [part for part in parts if part.key.startswith(ULTRASERVER)]
        whole = Group((elected or parts)[0].key, [member for part in parts for member in part.members])
        most = max((sizes[kind] for kind in whole.kinds), default=0)
        yield from parts if len(elected) > 1 or len(whole.members) > most else [whole]


def superseded(members: Iterable[Member]) -> list[Member]:
    """Of machines with one place in an UltraServer, those that stand there and that a manager saw before the other."""
    by_position = defaultdict[int, list[Member]](list)
    for each in members:
        if each.position is not None:
            by_position[each.position].append(each)
    return [
        old
        for same in by_position.values()
        for old in same
        if old.slot is not None and any(_is_after(new.machine, old.machine) for new in same if new.slot is None)
    ]


def _is_after(new: Machine, old: Machine) -> bool:
    """Whether a manager that has seen both saw the old one for the last time before the new one."""
    for source in MANAGERS:
        one, other = (max((s.at for s in each.seen if s.source == source), default="") for each in (old, new))
        if "" < one < other:
            return True
    return False
