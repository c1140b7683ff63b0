"""Resolve the scope of a question: the chips that it is about, and the links that may carry their traffic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from trninv import solvers
from trninv.errors import ScopeTooLargeError, WrongLevelError
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.routing.link_selection import LinkSelection
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import domains_in_cluster, domains_of_nodes

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
    def resolve(cls, snapshot: Snapshot, scope: str, chips: Sequence[str] = (), *, forwarding: bool = False) -> "Scope":
        """Resolve a scope, or only those of its chips that ``chips`` names, if it names any.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A chip is outside the scope, or a place has no chips.

        """
        connection = snapshot.connection
        place = resolve_place(connection, scope)
        if place.level == "cluster" and not chips:
            domains = domains_in_cluster(connection, place)
            if len(domains) > 1:
                return cls(place, domains, None)
        members = frozenset(connection.scalars(row_ids_in(place, "chip")))
        if chips:
            members = _resolve_members(connection, chips, members, place)
        return cls(place, domains_of_nodes(connection, members), members, forwarding)

    @property
    def via(self) -> LinkSelection:
        """Links that the scope's traffic may use by default."""
        return LinkSelection.for_domains(self.domains)

    def graph(self, snapshot: Snapshot, question: str) -> "ScopeGraph":
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
        wiring = snapshot.load(self.domains)
        endpoints = sorted(self.members & wiring.nodes.keys())
        scope_graph = wiring.graph
        if not self.forwarding:
            switches = {
                neighbor
                for end in endpoints
                for neighbor in scope_graph[end]
                if scope_graph.nodes[neighbor]["kind"] == "switch"
            }
            if len(kept := {*endpoints, *switches}) < len(scope_graph):  # else no copy is needed
                scope_graph = solvers.graph.Graph(scope_graph.subgraph(kept))
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
        Number of chips of the scope that carry nothing.

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
    """Return the chips of some places; refuse a place with a chip outside the scope, whose chips are ``members``."""
    selected: set[int] = set()
    for address in chips:
        place_chips = set(connection.scalars(row_ids_in(resolve_place(connection, address), "chip")))
        if not place_chips <= members:
            raise WrongLevelError(f"{address} is not within {scope.address}; name a place in it")
        selected |= place_chips
    return frozenset(selected)
