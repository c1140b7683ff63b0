"""Two places, for the questions about what lies between them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from sqlalchemy import Connection

from trninv.errors import WrongLevelError
from trninv.inventory.address import Place, chips_of, read, resolve
from trninv.routing.answer import Path
from trninv.routing.scenario import Changes
from trninv.routing.via import Via
from trninv.routing.wiring import Reader, Wiring, domains_of, link_ref
from trninv.solvers.arcs import place
from trninv.solvers.paths import NodePath, PathMetric, Rule, best_paths, time_of
from trninv.units import Duration


@dataclass(frozen=True, slots=True)
class Ends:
    """Places where traffic begins and ends, their nodes by address and together, and the wiring of their domains."""

    starts: Mapping[str, frozenset[int]]
    stops: Mapping[str, frozenset[int]]
    sources: frozenset[int]
    targets: frozenset[int]
    wiring: Wiring
    via: Via
    avoid: tuple[str, ...]

    @classmethod
    def of(
        cls,
        reader: Reader,
        sources: Sequence[str],
        targets: Sequence[str],
        avoid: Iterable[str] = (),
        via: Via | None = None,
    ) -> "Ends":
        """Resolve them, and read the wiring without what is to be avoided.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A place that can not be an endpoint: a NIC, a network node, a cluster.

        """
        (starts, ours), (stops, theirs) = (_together(reader, places) for places in (sources, targets))
        domains = sorted(ours | theirs)
        over = Via.of(domains, via)
        wiring = reader.load(domains, fabric=over is Via.ANY)
        if avoid:
            avoided = Changes()
            for address in avoid:
                avoided.add(reader.connection, address, 0)
            wiring = wiring.changed(avoided)
        first, last = (frozenset[int]().union(*places.values()) for places in (starts, stops))
        return cls(starts, stops, first, last, wiring, over, tuple(avoid))

    @property
    def source(self) -> str:
        """Where traffic begins, in words."""
        return " or ".join(self.starts)

    @property
    def target(self) -> str:
        """Where it ends, in words."""
        return " or ".join(self.stops)

    @property
    def joined(self) -> bool:
        """Whether there is a path."""
        ahead, behind = self.wiring.arcs
        return any(best_paths(ahead, self.sources, self.targets, Rule(PathMetric.HOPS), behind))

    def unreachable(self, reader: Reader) -> str:
        """Why there is no path."""
        for address, nodes in ((self.source, self.sources), (self.target, self.targets)):
            if nodes.isdisjoint(self.wiring.nodes):
                return f"nothing of {address} is up and not avoided"
        ours, theirs = ({address.partition("/")[0] for address in places} for places in (self.starts, self.stops))
        if ours.isdisjoint(theirs):
            return "no links join clusters, and they are of different ones"
        wider = self if self.via is Via.ANY else Ends.of(reader, [*self.starts], [*self.stops], self.avoid, Via.ANY)
        return self.via.unjoined("them", "there is a way" if wider.joined else "there is none either")

    def named(self, path: NodePath, rule: Rule) -> Path:
        """A path of nodes and ports by addresses."""
        nodes, links, path = self.wiring.nodes, self.wiring.links, tuple(map(place, path))
        steps = [(nodes[node]["kind"], nodes[node]["address"]) for node in path]
        taken = Duration(ceil(time_of(links, path, rule.message))) if rule.metric is PathMetric.TIME else None
        return Path.of(steps, [link_ref(nodes, links, a, b) for a, b in pairwise(path)], taken)


def _together(reader: Reader, places: Sequence[str]) -> tuple[dict[str, frozenset[int]], frozenset[int]]:
    """The nodes of some places by address, and the domains that they are in."""
    found = [nodes_at(reader, address, _endpoints) for address in places]
    domains = frozenset[int]().union(*(within for _, _, within in found))
    return {address: nodes for address, nodes, _ in found}, domains


def nodes_at(
    reader: Reader, text: str, nodes_of: Callable[[Connection, Place], frozenset[int]]
) -> tuple[str, frozenset[int], frozenset[int]]:
    """A place's address, its nodes, and the domains that they are in; asks nothing about a chip of a domain in memory.

    Raises
    ------
    AddressError, UnknownAddressError
    WrongLevelError
        As ``nodes_of`` says, which gives the nodes of other places.

    """
    address = read(reader.connection, text)
    if known := reader.chip(address):
        chip, domain = known
        return str(address), frozenset([chip]), frozenset([domain])
    place = resolve(reader.connection, str(address))
    nodes = nodes_of(reader.connection, place)
    return place.address, nodes, frozenset(domains_of(reader.connection, nodes))


def _endpoints(connection: Connection, place: Place) -> frozenset[int]:
    if place.level == "switch":
        return frozenset([place.id])
    if place.level in ("nic", "network_node", "cluster"):
        level = place.level.replace("_", " ")
        raise WrongLevelError(f"{place.address} is a {level}: name a chip, core, server, rack, domain or switch")
    return frozenset(connection.scalars(chips_of(place)))
