"""What an adopted cluster grows by: machines in empty slots of their domains, and more domains after its own."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from trninv.catalog.models import DomainModel
from trninv.inventory.address import Place
from trninv.inventory.binding import Binding, Standing, bindings
from trninv.inventory.plan import ADOPTED, Plan, parts
from trninv.live.anchors import Anchor, Unplaced
from trninv.live.fleet import Domain, LeftOut, Way, arranged, joined
from trninv.live.groups import ULTRASERVER, Group, Slot, grouped, slots
from trninv.live.identity import Identified, standing_in, without_undone
from trninv.live.newest import Machine, Newest
from trninv.live.positions import placed
from trninv.topology.tree import Ordinals, Tree


@dataclass(frozen=True, slots=True)
class Growth:
    """What a cluster has more.

    Attributes
    ----------
    plan
        What it then is; None where its domains and its fabric stay as they are.
    first
        Ordinal of the first of the domains that are new.
    filled
        Machines in slots that it has already.
    left_out
        Machines that it does not take, and why.

    """

    plan: Plan | None
    first: int
    domains: tuple[Domain, ...]
    filled: tuple[Standing, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def slots(self) -> Iterable[tuple[Ordinals, Machine, bool]]:
        """The ordinals of each new slot's domain and server, its machine, and whether that may stand elsewhere too."""
        return (
            ((ordinal, server), machine, server in domain.ordered)
            for ordinal, domain in enumerate(self.domains, self.first)
            for server, machine in domain.machines.items()
        )

    @property
    def empty(self) -> Iterable[Ordinals]:
        """The new slots in which no machine stands."""
        return ((ordinal, server) for ordinal, domain in enumerate(self.domains, self.first) for server in domain.empty)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a cluster has, and what was seen.

    Attributes
    ----------
    machines
        Those that may come, and those that stand somewhere.
    empty
        Addresses of slots in which nothing ever stood.

    """

    slots: Sequence[Slot]
    held: Sequence[Binding]
    newest: Newest
    machines: Sequence[Machine]
    empty: Collection[str]

    @classmethod
    def of(
        cls, connection: Connection, cluster: Place, newest: Newest, came: Sequence[Machine], empty: Collection[str]
    ) -> "Seen":
        """Read from the tables; ``came`` are machines that stand nowhere."""
        held = list(bindings(connection))
        bound = {name for each in held for name in (each.instance, each.host) if name}
        there = [each for each in newest.machines.values() if {each.name, each.host} & bound]
        return cls(slots(connection, cluster), held, newest, [*there, *came], empty)


def growth(
    connection: Connection, of: Plan, models: Mapping[str, DomainModel], seen: Seen, chips: Mapping[str, int]
) -> Growth:
    """What a cluster grows by; nothing is written.

    Raises
    ------
    AdoptionError
        What was seen of the network nodes contradicts itself or the cluster's.

    """
    sizes = {slug: model.blueprint.servers for slug, model in models.items()}
    groups = grouped(standing_in(seen.machines, seen.slots, seen.held, seen.newest), sizes, chips)
    new = [group for group in groups if group.unplaced and not group.standing]
    filled = without_undone(connection, _filled([group for group in groups if group.unplaced and group.standing], seen))
    domains, left_out = arranged(new, models, beside=True)
    if why := _closed(of):
        left_out += (LeftOut(machine.name, why) for domain in domains for machine in domain.machines.values())
        domains = []
    left_out += (LeftOut(each.name, each.why) for each in filled.unplaced)
    plan = _plan(of, domains, _moved(of, filled.standings, seen))
    return Growth(plan, of.domains, tuple(domains), filled.standings, tuple(sorted(left_out)))


def _closed(of: Plan) -> str:
    """Why a cluster takes no more domains."""
    if of.fabric is None:
        return f"the cluster has no fabric, since nothing was known above its domain: {_INSTEAD}"
    if isinstance(of.fabric, Tree) and of.fabric.is_dense:
        return f"the cluster was adopted by an earlier build of trninv, with no room for more domains: {_INSTEAD}"
    return ""


_INSTEAD = "adopt under another name takes it, or trninv unseed and adopt make the cluster anew"


def _filled(groups: Iterable[Group], seen: Seen) -> Identified:
    """Machines whose domain is there already, in its free slots."""
    taken, free = {each.server_id for each in seen.held}, defaultdict[int, list[Slot]](list)
    for slot in seen.slots:
        if slot.id not in taken:
            free[slot.domain].append(slot)
    made, left = list[Standing](), list[Unplaced]()
    for group in groups:
        if why := _unsound(group):
            left += (Unplaced(member.name, why) for member in group.unplaced)
            continue
        first = next(iter(group.slots))
        how = "ultraserver" if group.key.startswith(ULTRASERVER) else "capacity-block"
        words = f"{group.standing[0].name} stands in {first.address.rpartition('/')[0]}"
        anchor = Anchor(first.domain, how, "certain", words)
        given, others = placed(group, anchor, free[first.domain], {}, in_order=True)
        made += given
        left += others
    return Identified(tuple(made), tuple(left))


def _unsound(group: Group) -> str:
    """Why a group's machines cannot be in one domain of the cluster."""
    at = {slot.domain: slot for slot in group.slots}
    if len(at) > 1:
        domains = sorted(slot.address.rpartition("/")[0] for slot in at.values())
        return f"instances of {group.key} stand in {' and '.join(domains)}"
    (slot,) = at.values()
    if not group.kinds:
        return f"its type is not that of the others of {group.key}"
    if len(group.members) > slot.servers:
        return (
            f"{group.key} has {len(group.members)} instances, and its domain has {slot.servers} servers: trninv bind "
            "takes one that replaces another"
        )
    return ""


def _moved(of: Plan, standings: Iterable[Standing], seen: Seen) -> dict[Ordinals, Way]:
    """The network nodes above slots that were empty, where that was assumed and their machines name others."""
    if not isinstance(of.fabric, Tree):
        return {}
    names, known = {node.vendor_id for node in of.fabric.listed}, of.fabric.ways()
    by_id = {slot.id: slot for slot in seen.slots}
    found = dict[Ordinals, Way]()
    for each in standings:
        machine = seen.newest.machines.get(each.instance or "") or seen.newest.hosts.get(each.host or "")
        nodes = machine and machine.value("network_nodes")
        slot = by_id[each.server_id]
        at = slot.domain_ordinal, slot.ordinal
        if not nodes or each.address not in seen.empty or known.get(at) == (way := tuple(str(nodes).split())):
            continue
        if names.issuperset(way) or not of.fabric.is_dense:
            found[at] = way
    return found


def _plan(of: Plan, domains: Sequence[Domain], moved: Mapping[Ordinals, Way]) -> Plan | None:
    """The cluster with more domains; None where nothing is other than it was."""
    if not isinstance(of.fabric, Tree) or not (domains or moved):
        return None
    new = {
        (ordinal, server): way
        for ordinal, domain in enumerate(domains, of.domains)
        for server, way in domain.ways.items()
    }
    old = (part.model for part in of.parts for _ in range(part.domains))
    return Plan(ADOPTED, parts([*old, *(each.model for each in domains)]), joined(of.fabric, {**moved, **new}))
