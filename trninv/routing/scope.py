"""Which chips a question is about, and the graph that they and what may carry for them make up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from trninv import solvers
from trninv.errors import ScopeTooLargeError, WrongLevelError
from trninv.inventory.address import Place, chips_of, resolve
from trninv.routing.via import Via
from trninv.routing.wiring import Reader, domains_in, domains_of

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
    transit: bool = False

    @classmethod
    def of(cls, reader: Reader, scope: str, chips: Sequence[str] = (), *, transit: bool = False) -> "Scope":
        """Resolve it.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A chip outside of the scope, or a place that holds none.

        """
        connection = reader.connection
        place = resolve(connection, scope)
        if place.level == "cluster" and not chips:
            domains = domains_in(connection, place)
            if len(domains) > 1:
                return cls(place, domains, None)
        members = frozenset(connection.scalars(chips_of(place)))
        if chips:
            members = _named(connection, chips, members, place)
        return cls(place, domains_of(connection, members), members, transit)

    @property
    def via(self) -> Via:
        """Over which links, unless a question says otherwise."""
        return Via.of(self.domains)

    def inside(self, reader: Reader, what: str) -> "Inside":
        """The graph of a scope of one domain.

        Raises
        ------
        ScopeTooLargeError
            The scope has chips of several; ``what`` says what is asked of one.

        """
        if len(self.domains) != 1 or self.members is None:
            raise ScopeTooLargeError(f"{self.place.address} has {len(self.domains)} domains: {what} is of one domain")
        wiring = reader.load(self.domains)
        ends = sorted(self.members & wiring.nodes.keys())
        graph = wiring.graph
        if not self.transit:
            switches = {near for end in ends for near in graph[end] if graph.nodes[near]["kind"] == "switch"}
            graph = solvers.graph.Graph(graph.subgraph({*ends, *switches}))
        return Inside(graph, ends, len(self.members & wiring.failed))


@dataclass(frozen=True, slots=True)
class Inside:
    """The links among some chips of a domain, through the switches that they are attached to (of transit: through all).

    ``lost`` of the scope's chips have failed.
    """

    graph: "Graph"
    ends: list[int]
    lost: int

    def names(self) -> list[str]:
        """Addresses of the chips."""
        return [self.graph.nodes[end]["address"] for end in self.ends]


def _named(connection: Connection, chips: Sequence[str], members: frozenset[int], scope: Place) -> frozenset[int]:
    named: set[int] = set()
    for address in chips:
        wanted = set(connection.scalars(chips_of(resolve(connection, address))))
        if not wanted <= members:
            raise WrongLevelError(f"{address} is not within {scope.address}")
        named |= wanted
    return frozenset(named)
