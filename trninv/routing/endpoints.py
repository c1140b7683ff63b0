"""Resolve the endpoints of a question about two places, such as `path`, and load the wiring between them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from sqlalchemy import Connection

from trninv.errors import WrongLevelError
from trninv.inventory.address.lookup import Place, parse_or_look_up, resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.routing.answer import Path
from trninv.routing.link_selection import LinkSelection
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import Wiring, domains_of_nodes, link_ref
from trninv.solvers.adjacency import node_of_port
from trninv.solvers.shortest_paths import NodePath, PathCriterion, PathMetric, best_paths, transfer_time
from trninv.units import Duration


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Sources and targets of traffic, and the wiring of their domains.

    Attributes
    ----------
    nodes_by_source, nodes_by_target
        Node ids of each source or target place, by its address.
    sources, targets
        Node ids of all source places together, and of all target places.
    wiring
        The wiring without the places and links to avoid.
    via
        Links that traffic may use.
    avoid
        Addresses of the places and links to avoid.

    """

    nodes_by_source: Mapping[str, frozenset[int]]
    nodes_by_target: Mapping[str, frozenset[int]]
    sources: frozenset[int]
    targets: frozenset[int]
    wiring: Wiring
    via: LinkSelection
    avoid: tuple[str, ...]

    @classmethod
    def resolve(
        cls,
        snapshot: Snapshot,
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
            A place can't be an endpoint: a NIC, a network node or a cluster; or a place to avoid is a cluster.

        """
        (source_nodes, source_domains), (target_nodes, target_domains) = (
            _resolve_places(snapshot, places) for places in (sources, targets)
        )
        domains = sorted(source_domains | target_domains)
        selection = LinkSelection.for_domains(domains, via)
        wiring = snapshot.load(domains, fabric=selection is LinkSelection.ANY)
        if avoid:
            changes = ScenarioChanges()
            for address in avoid:
                changes.add(snapshot.connection, address, 0)
            wiring = wiring.with_scenario(changes)
        all_sources, all_targets = (frozenset[int]().union(*places.values()) for places in (source_nodes, target_nodes))
        return cls(source_nodes, target_nodes, all_sources, all_targets, wiring, selection, tuple(avoid))

    @property
    def source(self) -> str:
        """Text that names all sources."""
        return " or ".join(self.nodes_by_source)

    @property
    def target(self) -> str:
        """Text that names all targets."""
        return " or ".join(self.nodes_by_target)

    @property
    def is_connected(self) -> bool:
        """Whether a path leads from a source to a target."""
        successors, predecessors = self.wiring.adjacency
        return any(best_paths(successors, self.sources, self.targets, PathCriterion(PathMetric.HOPS), predecessors))

    def unreachable_reason(self, snapshot: Snapshot) -> str:
        """Return the reason why there is no path, in words."""
        for address, nodes in ((self.source, self.sources), (self.target, self.targets)):
            if nodes.isdisjoint(self.wiring.nodes):
                return f"every part of {address} is down or avoided"
        source_clusters, target_clusters = (
            {address.partition("/")[0] for address in places} for places in (self.nodes_by_source, self.nodes_by_target)
        )
        if source_clusters.isdisjoint(target_clusters):
            return "they are in different clusters, which no links join"
        over_any_link = (
            self
            if self.via is LinkSelection.ANY
            else Endpoints.resolve(
                snapshot, [*self.nodes_by_source], [*self.nodes_by_target], self.avoid, LinkSelection.ANY
            )
        )
        alternative = "there is a path" if over_any_link.is_connected else "there is no path either"
        return self.via.disconnected_reason("them", alternative)

    def to_addresses(self, path: NodePath, criterion: PathCriterion) -> Path:
        """Convert a solver's path, in which ports stand for NICs, to addresses; add its time if the metric is TIME."""
        nodes, links, node_path = self.wiring.nodes, self.wiring.links, tuple(map(node_of_port, path))
        path_nodes = [(nodes[node]["kind"], nodes[node]["address"]) for node in node_path]
        time = (
            Duration(ceil(transfer_time(links, node_path, criterion.message_bytes)))
            if criterion.metric is PathMetric.TIME
            else None
        )
        return Path.from_nodes(path_nodes, [link_ref(nodes, links, a, b) for a, b in pairwise(node_path)], time)


def _resolve_places(snapshot: Snapshot, places: Sequence[str]) -> tuple[dict[str, frozenset[int]], frozenset[int]]:
    """Return the nodes of some places by address, and the ids of their domains."""
    resolved = [resolve_nodes(snapshot, address, _endpoint_nodes) for address in places]
    domains = frozenset[int]().union(*(place_domains for _, _, place_domains in resolved))
    return {address: nodes for address, nodes, _ in resolved}, domains


def resolve_nodes(
    snapshot: Snapshot, text: str, nodes_of: Callable[[Connection, Place], frozenset[int]]
) -> tuple[str, frozenset[int], frozenset[int]]:
    """Return a place's address, its nodes and the ids of their domains.

    A chip whose domain is cached needs no query. For any other place ``nodes_of`` reads the nodes, or raises
    WrongLevelError if the place can't have any.

    Raises
    ------
    AddressError, UnknownAddressError, WrongLevelError

    """
    address = parse_or_look_up(snapshot.connection, text)
    if cached := snapshot.chip(address):
        chip, domain = cached
        return str(address), frozenset([chip]), frozenset([domain])
    place = resolve_place(snapshot.connection, str(address))
    nodes = nodes_of(snapshot.connection, place)
    return place.address, nodes, frozenset(domains_of_nodes(snapshot.connection, nodes))


def _endpoint_nodes(connection: Connection, place: Place) -> frozenset[int]:
    """Return the ids of a place's chips, or the id of a switch; refuse a NIC, a network node and a cluster."""
    if place.level == "switch":
        return frozenset([place.id])
    if place.level in ("nic", "network_node", "cluster"):
        level = place.level.replace("_", " ")
        raise WrongLevelError(f"{place.address} is a {level}; name a chip, core, server, rack, domain or switch")
    return frozenset(connection.scalars(row_ids_in(place, "chip")))
