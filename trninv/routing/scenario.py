"""What if: the fleet as it would be with things down, or carrying only a part, or other jobs. Nothing is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlalchemy import Connection, select

from trninv.errors import InvalidArgumentError, WrongLevelError
from trninv.inventory.address import is_link, node_condition, resolve_link, resolve_place
from trninv.inventory.ranges import expand_chip_ranges
from trninv.inventory.schema import TABLES
from trninv.inventory.state import PPM, to_ppm

MAX_ADDRESSES = 1_000
"""Addresses that one list of a question may have."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a question supposes.

    Attributes
    ----------
    down
        Addresses of places and links that carry nothing; a server takes its chips, NICs and switches along.
    derate
        Address and the part, between 0 and 1, of what it carries now.
    with_
        A job and a place that it would hold.
    without
        Jobs that would have ended.

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
        """As a caller writes it; one address may stand alone.

        Raises
        ------
        LimitError
            Nothing supposed, too many addresses or jobs, or a factor that is not between 0 and 1.

        """
        factors = tuple((derate or {}).items())
        allocations = tuple(
            (job, place) for job, places in (assume_allocations or {}).items() for place in unique_addresses(places)
        )
        scenario = cls(tuple(unique_addresses(down)), factors, allocations, tuple(unique_addresses(assume_released)))
        unique_addresses([address for address, _ in factors])
        unique_addresses([f"{job}={place}" for job, place in allocations])
        if scenario == cls():
            raise InvalidArgumentError(
                "suppose something: an address that is down or derated, a job with places or without"
            )
        for _, factor in factors:
            to_ppm(factor)
        return scenario

    def merge(self, other: "Scenario | None") -> "Scenario":
        """Both at once; of two factors the lesser holds."""
        if other is None:
            return self
        parts = self.down + other.down, self.derate + other.derate, self.assumed_allocations + other.assumed_allocations
        return Scenario(*parts, self.assumed_released + other.assumed_released)


@dataclass(frozen=True, slots=True)
class ScenarioChanges:
    """A scenario in ids.

    Attributes
    ----------
    nodes, links
        The millionths that each still carries, 0 being down.
    domains
        Those that something changes in.
    network_nodes
        Those that change, or lose an uplink.
    with_, without
        Jobs as the scenario names them; who places jobs looks them up.

    """

    nodes: dict[int, int] = field(default_factory=dict)
    links: dict[int, int] = field(default_factory=dict)
    domains: set[int] = field(default_factory=set)
    network_nodes: set[int] = field(default_factory=set)
    assumed_allocations: tuple[tuple[str, str], ...] = ()
    assumed_released: tuple[str, ...] = ()

    @property
    def down(self) -> frozenset[int]:
        """Nodes that carry nothing."""
        return frozenset(node for node, factor in self.nodes.items() if not factor)

    def link_capacity_ppm(self, key: int, a: int, b: int) -> int:
        """Millionths that a link between two nodes still carries."""
        return min(self.links.get(key, PPM), self.nodes.get(a, PPM), self.nodes.get(b, PPM))

    def add(self, connection: Connection, address: str, factor: int) -> None:
        """Suppose that everything an address names or contains carries only this many millionths."""
        if is_link(address):
            link = TABLES["link"]
            key = resolve_link(connection, address).id
            row = connection.execute(select(link).where(link.c.id == key)).one()
            self.links[key] = min(factor, self.links.get(key, PPM))
            self._mark_domain(row.a_id, row.domain_id)
            return
        place = resolve_place(connection, address)
        if place.level == "cluster":
            raise WrongLevelError(f"{address} is a cluster: suppose something of places within it")
        node = TABLES["node"]
        for row in connection.execute(select(node.c.id, node.c.domain_id).where(node_condition(place))):
            self.nodes[row.id] = min(factor, self.nodes.get(row.id, PPM))
            self._mark_domain(row.id, row.domain_id)

    def _mark_domain(self, node: int, domain: int | None) -> None:
        if domain is None:
            self.network_nodes.add(node)
        else:
            self.domains.add(domain)


def unique_addresses(addresses: Sequence[str] | str) -> Sequence[str]:
    """Addresses without repetitions; one may stand alone.

    Raises
    ------
    LimitError

    """
    unique = [addresses] if isinstance(addresses, str) else list(dict.fromkeys(addresses))
    if len(unique) > MAX_ADDRESSES:
        raise InvalidArgumentError(f"{len(unique):,} addresses: name at most {MAX_ADDRESSES}")
    return unique


def resolve_scenario(connection: Connection, scenario: Scenario) -> ScenarioChanges:
    """What a scenario means for the wiring.

    Raises
    ------
    AddressError, UnknownAddressError
    WrongLevelError
        A whole cluster.

    """
    resolved = ScenarioChanges(
        assumed_allocations=scenario.assumed_allocations, assumed_released=scenario.assumed_released
    )
    for address, factor in scenario.derate:
        resolved.add(connection, address, to_ppm(factor))
    for address in expand_chip_ranges(scenario.down):
        resolved.add(connection, address, 0)
    return resolved
