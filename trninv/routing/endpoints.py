"""Resolve the endpoints of a question and load the wiring between them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from sqlalchemy import Connection

from trninv.errors import WrongLevelError
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.lookup import Place, parse_or_look_up, resolve_place
from trninv.routing.answer import Path
from trninv.routing.link_selection import LinkSelection
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.wiring import Wiring, domains_of_nodes, link_ref
from trninv.routing.wiring_cache import SnapshotReader
from trninv.solvers.adjacency import node_of_port
from trninv.solvers.shortest_paths import NodePath, PathCriterion, PathMetric, best_paths, transfer_time
from trninv.units import Duration


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Sources and targets of traffic, and the wiring of their domains.

    Attributes
    ----------
    source_addresses, target_addresses
        Node ids by the address of each place.
    sources, targets
        Node ids of all places together.
    wiring
        Without the avoided places and links.

    """

    source_addresses: Mapping[str, frozenset[int]]
    target_addresses: Mapping[str, frozenset[int]]
    sources: frozenset[int]
    targets: frozenset[int]
    wiring: Wiring
    via: LinkSelection
    avoid: tuple[str, ...]

    @classmethod
    def resolve(
        cls,
        reader: SnapshotReader,
        sources: Sequence[str],
        targets: Sequence[str],
        avoid: Iterable[str] = (),
        via: LinkSelection | None = None,
    ) -> "Endpoints":
        """Resolve the places and load the wiring without the places and links to avoid.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A place can't be an endpoint: a NIC, a network node or a cluster.

        """
        (source_nodes, source_domains), (target_nodes, target_domains) = (
            _resolve_places(reader, places) for places in (sources, targets)
        )
        domains = sorted(source_domains | target_domains)
        selection = LinkSelection.for_domains(domains, via)
        wiring = reader.load(domains, fabric=selection is LinkSelection.ANY)
        if avoid:
            changes = ScenarioChanges()
            for address in avoid:
                changes.add(reader.connection, address, 0)
            wiring = wiring.with_scenario(changes)
        all_sources, all_targets = (frozenset[int]().union(*places.values()) for places in (source_nodes, target_nodes))
        return cls(source_nodes, target_nodes, all_sources, all_targets, wiring, selection, tuple(avoid))

    @property
    def source(self) -> str:
        """Text that names the sources."""
        return " or ".join(self.source_addresses)

    @property
    def target(self) -> str:
        """Text that names the targets."""
        return " or ".join(self.target_addresses)

    @property
    def is_connected(self) -> bool:
        """Whether a path leads from a source to a target."""
        successors, predecessors = self.wiring.adjacency
        return any(best_paths(successors, self.sources, self.targets, PathCriterion(PathMetric.HOPS), predecessors))

    def unreachable_reason(self, reader: SnapshotReader) -> str:
        """Return the reason why there is no path, in words."""
        for address, nodes in ((self.source, self.sources), (self.target, self.targets)):
            if nodes.isdisjoint(self.wiring.nodes):
                return f"every part of {address} is down or avoided"
        source_clusters, target_clusters = (
            {address.partition("/")[0] for address in places}
            for places in (self.source_addresses, self.target_addresses)
        )
        if source_clusters.isdisjoint(target_clusters):
            return "they are in different clusters, which no links join"
        wider = (
            self
            if self.via is LinkSelection.ANY
            else Endpoints.resolve(
                reader, [*self.source_addresses], [*self.target_addresses], self.avoid, LinkSelection.ANY
            )
        )
        return self.via.disconnected_reason(
            "them", "there is a path" if wider.is_connected else "there is no path either"
        )

    def to_addresses(self, path: NodePath, criterion: PathCriterion) -> Path:
        """Convert a path over nodes and ports into one over addresses; it has a time only if the metric is TIME."""
        nodes, links, path = self.wiring.nodes, self.wiring.links, tuple(map(node_of_port, path))
        steps = [(nodes[node]["kind"], nodes[node]["address"]) for node in path]
        time = (
            Duration(ceil(transfer_time(links, path, criterion.message_bytes)))
            if criterion.metric is PathMetric.TIME
            else None
        )
        return Path.from_nodes(steps, [link_ref(nodes, links, a, b) for a, b in pairwise(path)], time)


def _resolve_places(reader: SnapshotReader, places: Sequence[str]) -> tuple[dict[str, frozenset[int]], frozenset[int]]:
    """Return the nodes of some places by address, and the ids of their domains."""
    resolved = [resolve_nodes(reader, address, _endpoint_nodes) for address in places]
    domains = frozenset[int]().union(*(place_domains for _, _, place_domains in resolved))
    return {address: nodes for address, nodes, _ in resolved}, domains


def resolve_nodes(
    reader: SnapshotReader, text: str, nodes_of: Callable[[Connection, Place], frozenset[int]]
) -> tuple[str, frozenset[int], frozenset[int]]:
    """Return a place's address, its nodes and the ids of their domains.

    A chip whose domain is cached takes no query; ``nodes_of`` reads the nodes of every other place, and may refuse its
    level.

    Raises
    ------
    AddressError, UnknownAddressError, WrongLevelError

    """
    address = parse_or_look_up(reader.connection, text)
    if cached := reader.chip(address):
        chip, domain = cached
        return str(address), frozenset([chip]), frozenset([domain])
    place = resolve_place(reader.connection, str(address))
    nodes = nodes_of(reader.connection, place)
    return place.address, nodes, frozenset(domains_of_nodes(reader.connection, nodes))


def _endpoint_nodes(connection: Connection, place: Place) -> frozenset[int]:
    if place.level == "switch":
        return frozenset([place.id])
    if place.level in ("nic", "network_node", "cluster"):
        level = place.level.replace("_", " ")
        raise WrongLevelError(f"{place.address} is a {level}; name a chip, core, server, rack, domain or switch")
    return frozenset(connection.scalars(chip_ids_of(place)))
