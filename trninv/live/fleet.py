"""The plan of a cluster that is made out of what was seen: which domains there are, and which machine stands where."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trninv.catalog.models import DomainModel
from trninv.errors import AdoptionError
from trninv.inventory.plan import ADOPTED, Plan, parts
from trninv.live.groups import Group, Member, type_of
from trninv.live.newest import Machine
from trninv.live.ring import ring_of
from trninv.topology.tree import Ordinals, Tree

Way = tuple[str, ...]


class LeftOut(NamedTuple):
    """A machine that is not adopted, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain to be.

    Attributes
    ----------
    machines
        By the servers where they stand.
    ordered
        Servers whose machines stand there in the order of their names, for want of anything that tells them apart.
    ways
        The network nodes above each server, the top one first; none where no source says.

    """

    model: DomainModel
    machines: Mapping[int, Machine]
    ordered: frozenset[int]
    ways: Mapping[int, Way]

    @property
    def empty(self) -> list[int]:
        """Servers without a machine."""
        return [server for server in range(self.model.blueprint.servers) if server not in self.machines]


@dataclass(frozen=True, slots=True)
class Planned:
    """A cluster to be.

    Attributes
    ----------
    domains
        In the order of their ordinals.

    """

    plan: Plan
    domains: tuple[Domain, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def slots(self) -> Iterator[tuple[Ordinals, Machine, bool]]:
        """The ordinals of each machine's domain and server, the machine, and whether it may stand elsewhere as well."""
        return (
            ((ordinal, server), machine, server in domain.ordered)
            for ordinal, domain in enumerate(self.domains)
            for server, machine in domain.machines.items()
        )

    @property
    def empty(self) -> Iterator[Ordinals]:
        """The slots in which no machine stands."""
        return ((ordinal, server) for ordinal, domain in enumerate(self.domains) for server in domain.empty)


def planned(groups: Iterable[Group], models: Mapping[str, DomainModel]) -> Planned:
    """What groups of machines make up.

    Parameters
    ----------
    models
        Models of domains by their slugs; those of one cluster follow each other in this order.

    Raises
    ------
    AdoptionError
        Nothing can be adopted, or what was seen of the network nodes contradicts itself.

    """
    found, left_out = arranged(groups, models)
    if not found:
        raise AdoptionError(_nothing(left_out))
    return Planned(Plan(ADOPTED, parts(each.model for each in found), _fabric(found)), tuple(found), tuple(left_out))


def arranged(
    groups: Iterable[Group], models: Mapping[str, DomainModel], *, beside: bool = False
) -> tuple[list[Domain], list[LeftOut]]:
    """The domains that groups of machines make up, in order, and the machines that are in none.

    Parameters
    ----------
    beside
        Whether there are other domains, so that it must be known below which network nodes these are.

    """
    left_out, found = list[LeftOut](), list[Domain]()
    for group in groups:
        made, why = _domain(group, models)
        if made is None:
            left_out += (LeftOut(member.name, why) for member in group.members)
        else:
            found.append(made)
            names = {machine.name for machine in made.machines.values()}
            twice = "another instance has its place in the UltraServer"
            left_out += (LeftOut(member.name, twice) for member in group.members if member.name not in names)
    if beside or len(found) > 1:
        nowhere = [domain for domain in found if not domain.ways]
        left_out += (
            LeftOut(machine.name, _unjoined(domain)) for domain in nowhere for machine in domain.machines.values()
        )
        found = [domain for domain in found if domain.ways]
    order = {slug: number for number, slug in enumerate(models)}
    found.sort(key=lambda domain: (order[domain.model.slug], min(domain.ways.values(), default=()), _name(domain)))
    return found, sorted(left_out)


def _unjoined(domain: Domain) -> str:
    """Why a domain is not joined with others."""
    if domain.model.nic is None:
        slug = domain.model.slug
        return f"{slug} has no EFA device, so nothing joins it with others: trninv seed {slug} --name NAME, then bind"
    return "no source says below which network nodes it is: import aws ec2 describe-instance-topology"


def _name(domain: Domain) -> str:
    return min(machine.name for machine in domain.machines.values())


def _nothing(left_out: Sequence[LeftOut]) -> str:
    if not left_out:
        return (
            "nothing was imported that could be adopted: trninv import ec2 and kubernetes read what machines there are"
        )
    (why, count), *_ = Counter(each.why for each in left_out).most_common(1)
    return f"none of {len(left_out):,} machines can be adopted; of {count:,} of them {why}"


def _domain(group: Group, models: Mapping[str, DomainModel]) -> tuple[Domain | None, str]:
    """A group as a domain, or why it is none."""
    types = sorted({kind for member in group.members if (kind := type_of(member.machine))})
    if not types:
        return None, "no source says its type"
    kinds = [models[kind] for kind in group.kinds]
    if len(kinds) != 1:
        told = "; how many chips it has would say" if kinds else ""
        return None, f"its type {' and '.join(types)} is not that of one model in the catalog{told}"
    (model,) = kinds
    servers = model.blueprint.servers
    if servers > 1 and not group.key:
        return None, f"no source says which {model.name} it is in: its capacity block, or what its driver elected"
    if len(group.members) > servers:
        return None, f"{group.key} has {len(group.members)} machines, and one {model.name} {servers}"
    machines, ordered = _placed(group.members, model)
    return Domain(model, machines, ordered, _ways(machines, servers) if model.nic else {}), ""


def _placed(members: Sequence[Member], model: DomainModel) -> tuple[dict[int, Machine], frozenset[int]]:
    """Machines by server: those whose place in the ring is known there, the others in the order of their names."""
    ring, free = ring_of(model.slug), list(range(model.blueprint.servers))
    found, waiting = dict[int, Machine](), list[Machine]()
    for member in sorted(members, key=lambda member: member.name):
        at = member.position
        if at is None:
            waiting.append(member.machine)
        elif (server := ring[at] if at < len(ring) else at) in free:  # of two with one place, the first by name
            free.remove(server)
            found[server] = member.machine
    others = dict(zip(free, waiting, strict=False))
    ordered = frozenset(others) if model.blueprint.servers > 1 else frozenset[int]()
    return dict(sorted((found | others).items())), ordered


def _ways(machines: Mapping[int, Machine], servers: int) -> dict[int, Way]:
    """The network nodes above each server; those of most, where no source says."""
    known = {
        server: tuple(str(nodes).split())
        for server, machine in machines.items()
        if (nodes := machine.value("network_nodes"))
    }
    if not known:
        return {}
    (most, _), *_ = Counter(sorted(known.values())).most_common(1)
    return {server: known.get(server, most) for server in range(servers)}


def _fabric(domains: Sequence[Domain]) -> Tree | None:
    ways = {(ordinal, server): way for ordinal, domain in enumerate(domains) for server, way in domain.ways.items()}
    return joined(Tree((), {}, {}), ways) if ways else None


def joined(fabric: Tree, ways: Mapping[Ordinals, Way]) -> Tree:
    """A fabric with the network nodes above more servers.

    Raises
    ------
    AdoptionError
        What was seen of the network nodes contradicts itself.

    """
    try:
        return fabric.grown(ways)
    except ValueError as wrong:
        raise AdoptionError(f"{wrong}: import the topology of all instances anew, from one account") from None
