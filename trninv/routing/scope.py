"""Resolve which chips a question is about, and whether the fabric connects them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from trninv import solvers
from trninv.errors import ScopeTooLargeError, WrongLevelError
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.routing.link_selection import LinkSelection
from trninv.routing.wiring import domains_in_cluster, domains_of_nodes
from trninv.routing.wiring_cache import SnapshotReader

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph


@dataclass(frozen=True, slots=True)
class Scope:
    """All chips of a place, or some of them.

    Attributes
    ----------
    domains
        Ids of the chips' domains.
    members
        Node ids of the chips, including failed ones; None for all chips of a cluster with several domains.
    forwarding
        Whether other healthy chips of their domains may forward traffic.

    """

    place: Place
    domains: Sequence[int]
    members: frozenset[int] | None
    forwarding: bool = False

    @classmethod
    def resolve(
        cls, reader: SnapshotReader, scope: str, chips: Sequence[str] = (), *, forwarding: bool = False
    ) -> "Scope":
        """Resolve a scope, limited to ``chips`` if any are given.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A chip is outside the scope, or a place has no chips.

        """
        connection = reader.connection
        place = resolve_place(connection, scope)
        if place.level == "cluster" and not chips:
            domains = domains_in_cluster(connection, place)
            if len(domains) > 1:
                return cls(place, domains, None)
        members = frozenset(connection.scalars(chip_ids_of(place)))
        if chips:
            members = _resolve_members(connection, chips, members, place)
        return cls(place, domains_of_nodes(connection, members), members, forwarding)

    @property
    def via(self) -> LinkSelection:
        """Links that traffic may use by default."""
        return LinkSelection.for_domains(self.domains)

    def graph(self, reader: SnapshotReader, question: str) -> "ScopeGraph":
        """Return the graph of a scope within one domain.

        Raises
        ------
        ScopeTooLargeError
            The scope has chips of several domains; the message names the ``question``.

        """
        if len(self.domains) != 1 or self.members is None:
            raise ScopeTooLargeError(
                f"{self.place.address} has {len(self.domains)} domains; {question} is for one domain"
            )
        wiring = reader.load(self.domains)
        endpoints = sorted(self.members & wiring.nodes.keys())
        scope_graph = wiring.graph
        if not self.forwarding:
            switches = {
                neighbor
                for end in endpoints
                for neighbor in scope_graph[end]
                if scope_graph.nodes[neighbor]["kind"] == "switch"
            }
            scope_graph = solvers.graph.Graph(scope_graph.subgraph({*endpoints, *switches}))
        return ScopeGraph(scope_graph, endpoints, len(self.members & wiring.failed))


@dataclass(frozen=True, slots=True)
class ScopeGraph:
    """The healthy chips of a scope and the links that may carry their traffic.

    Attributes
    ----------
    graph
        The chips and the switches attached to them; with forwarding, the whole domain.
    endpoints
        Node ids of the chips, in ascending order.
    failed_count
        Chips of the scope that carry nothing.

    """

    graph: "Graph"
    endpoints: list[int]
    failed_count: int

    def addresses(self) -> list[str]:
        """Return the addresses of the chips."""
        return [self.graph.nodes[node]["address"] for node in self.endpoints]


def _resolve_members(
    connection: Connection, chips: Sequence[str], members: frozenset[int], scope: Place
) -> frozenset[int]:
    chosen: set[int] = set()
    for address in chips:
        place_chips = set(connection.scalars(chip_ids_of(resolve_place(connection, address))))
        if not place_chips <= members:
            raise WrongLevelError(f"{address} is not within {scope.address}; name a place in it")
        chosen |= place_chips
    return frozenset(chosen)
