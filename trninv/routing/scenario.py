"""Describe a hypothetical change to the wiring and the jobs, and resolve it to ids; nothing is written.

`Fleet.what_if`, options such as `--down` and GraphQL's `whatIf` create scenarios. `Wiring.with_scenario` applies them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, select

from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, WrongLevelError
from trninv.inventory.address.lookup import resolve_link, resolve_place
from trninv.inventory.address.rows_in import rows_in
from trninv.inventory.address.syntax import expand_chip_ranges, is_link
from trninv.inventory.parameter import unique_addresses
from trninv.inventory.state.condition import PPM, to_ppm


@dataclass(frozen=True, slots=True)
class Scenario:
    """A hypothetical change of the wiring and the jobs, by addresses and job names.

    Attributes
    ----------
    down
        Places and links that carry nothing; a server includes its chips, NICs and switches.
    derate
        Places and links with the fraction, between 0 and 1, of their present capacity that they carry.
    assumed_allocations
        Pairs of a job and a place that is allocated to it in the scenario.
    assumed_released
        Jobs that have ended in the scenario.

    """

    down: tuple[str, ...] = ()
    derate: tuple[tuple[str, float | Fraction], ...] = ()
    assumed_allocations: tuple[tuple[str, str], ...] = ()
    assumed_released: tuple[str, ...] = ()

    @classmethod
    def parse(
        cls,
        down: Sequence[str] | str = (),
        derate: Mapping[str, float | Fraction] | None = None,
        assume_allocations: Mapping[str, Sequence[str] | str] | None = None,
        assume_released: Sequence[str] | str = (),
    ) -> "Scenario":
        """Build a scenario from a caller's arguments; a single address or job needs no list.

        Raises
        ------
        InvalidArgumentError
            The scenario is empty, has too many addresses or jobs, or a factor is not between 0 and 1.

        """
        factors = tuple((derate or {}).items())
        allocations = tuple(
            (job, place) for job, places in (assume_allocations or {}).items() for place in unique_addresses(places)
        )
        scenario = cls(tuple(unique_addresses(down)), factors, allocations, tuple(unique_addresses(assume_released)))
        # the results are not needed: these calls refuse too many addresses
        unique_addresses([address for address, _ in factors])
        unique_addresses([f"{job}={place}" for job, place in allocations])
        if scenario == cls():
            raise InvalidArgumentError(
                "the scenario is empty; name parts that are down or derated, or jobs to add or remove"
            )
        for _, factor in factors:
            to_ppm(factor)
        return scenario

    def as_arguments(self) -> dict[str, Any]:
        """Return the arguments of `Fleet.what_if` that describe this scenario."""
        places: dict[str, list[str]] = {}
        for job, place in self.assumed_allocations:
            places.setdefault(job, []).append(place)
        factors = dict(sorted(self.derate, key=lambda pair: -pair[1]))  # of several, the lowest applies
        return {"down": self.down, "derate": factors, "with_": places, "without": self.assumed_released}

    def merge(self, other: "Scenario | None") -> "Scenario":
        """Combine two scenarios; where both derate a part, the lower factor applies."""
        if other is None:
            return self
        return Scenario(
            self.down + other.down,
            self.derate + other.derate,
            self.assumed_allocations + other.assumed_allocations,
            self.assumed_released + other.assumed_released,
        )


@dataclass(frozen=True, slots=True)
class ScenarioChanges:
    """A scenario resolved to ids.

    Attributes
    ----------
    nodes, links
        Millionths of its present capacity that each changed part carries, by its id; 0 if it is down.
    domains
        Ids of the domains with a changed part.
    network_nodes
        Ids of the network nodes that are changed, or whose uplink is changed.
    assumed_allocations, assumed_released
        As in the scenario, with names instead of ids, which `trninv.placement` looks up.

    """

    nodes: dict[int, int] = field(default_factory=dict)
    links: dict[int, int] = field(default_factory=dict)
    domains: set[int] = field(default_factory=set)
    network_nodes: set[int] = field(default_factory=set)
    assumed_allocations: tuple[tuple[str, str], ...] = ()
    assumed_released: tuple[str, ...] = ()

    @property
    def down(self) -> frozenset[int]:
        """Ids of the nodes that carry nothing."""
        return frozenset(node for node, factor in self.nodes.items() if not factor)

    def link_capacity_ppm(self, link: int, a: int, b: int) -> int:
        """Return the millionths of its present capacity that a link from node ``a`` to node ``b`` carries."""
        return min(self.links.get(link, PPM), self.nodes.get(a, PPM), self.nodes.get(b, PPM))

    def add(self, connection: Connection, address: str, factor: int) -> None:
        """Limit everything an address names or contains to ``factor`` millionths of its present capacity."""
        if is_link(address):
            link = TABLES["link"]
            link_id = resolve_link(connection, address).id
            row = connection.execute(select(link).where(link.c.id == link_id)).one()
            self.links[link_id] = min(factor, self.links.get(link_id, PPM))
            self._mark_domain(row.a_id, row.domain_id)
            return
        place = resolve_place(connection, address)
        if place.level == "cluster":
            raise WrongLevelError(f"{address} is a cluster; name places within it")
        node = TABLES["node"]
        for row in connection.execute(select(node.c.id, node.c.domain_id).where(rows_in(place, "node"))):
            self.nodes[row.id] = min(factor, self.nodes.get(row.id, PPM))
            self._mark_domain(row.id, row.domain_id)

    def _mark_domain(self, node: int, domain: int | None) -> None:
        """Record a changed part by its domain, or by its network node if it is in none."""
        if domain is None:
            self.network_nodes.add(node)
        else:
            self.domains.add(domain)


def resolve_scenario(connection: Connection, scenario: Scenario) -> ScenarioChanges:
    """Resolve a scenario's addresses to changes of the wiring.

    Raises
    ------
    AddressError, UnknownAddressError
    WrongLevelError
        An address names a whole cluster.

    """
    resolved = ScenarioChanges(
        assumed_allocations=scenario.assumed_allocations, assumed_released=scenario.assumed_released
    )
    for address, factor in scenario.derate:
        resolved.add(connection, address, to_ppm(factor))
    for address in expand_chip_ranges(scenario.down):
        resolved.add(connection, address, 0)
    return resolved
