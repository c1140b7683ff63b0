"""Which chips a question is about, and the graph that they and what may carry for them make up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from trninv import solvers
from trninv.errors import ScopeTooLargeError, WrongLevelError
from trninv.inventory.address import Place, chip_ids_of, resolve_place
from trninv.routing.via import Via
from trninv.routing.wiring import SnapshotReader, domains_in_cluster, domains_of_nodes

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph


@dataclass(frozen=True, slots=True)
class Scope:
    """Chips of a place, or those named within it.

    Attributes
    ----------
    members
        Node ids of the chips, failed ones too; None stands for all of a cluster's.
    transit
        Whether other healthy chips of their domains may forward for them.

    """

    place: Place
    domains: Sequence[int]
    members: frozenset[int] | None
    forwarding: bool = False

    @classmethod
    def resolve(
        cls, reader: SnapshotReader, scope: str, chips: Sequence[str] = (), *, forwarding: bool = False
    ) -> "Scope":
        """Resolve it.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A chip outside of the scope, or a place that holds none.

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
    def via(self) -> Via:
        """Over which links, unless a question says otherwise."""
        return Via.for_domains(self.domains)

    def graph(self, reader: SnapshotReader, question: str) -> "ScopeGraph":
        """The graph of a scope of one domain.

        Raises
        ------
        ScopeTooLargeError
            The scope has chips of several; ``what`` says what is asked of one.

        """
        if len(self.domains) != 1 or self.members is None:
            raise ScopeTooLargeError(
                f"{self.place.address} has {len(self.domains)} domains: {question} is of one domain"
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
    """The links among some chips of a domain, through the switches that they are attached to (of transit: through all).

    ``lost`` of the scope's chips have failed.
    """

    graph: "Graph"
    endpoints: list[int]
    failed_count: int

    def addresses(self) -> list[str]:
        """Addresses of the chips."""
        return [self.graph.nodes[node]["address"] for node in self.endpoints]


def _resolve_members(
    connection: Connection, chips: Sequence[str], members: frozenset[int], scope: Place
) -> frozenset[int]:
    chosen: set[int] = set()
    for address in chips:
        place_chips = set(connection.scalars(chip_ids_of(resolve_place(connection, address))))
        if not place_chips <= members:
            raise WrongLevelError(f"{address} is not within {scope.address}")
        chosen |= place_chips
    return frozenset(chosen)
