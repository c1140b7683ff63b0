"""What if: the fleet as it would be with things down, or carrying only a part, or other jobs. Nothing is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlalchemy import Connection, select

from trninv.errors import LimitError, WrongLevelError
from trninv.inventory.address import is_link, nodes_of, resolve, resolve_link
from trninv.inventory.ranges import each_of
from trninv.inventory.schema import TABLES
from trninv.inventory.state import PPM, millionths

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
    with_: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        down: Sequence[str] | str = (),
        derate: Mapping[str, float | Fraction] | None = None,
        with_: Mapping[str, Sequence[str] | str] | None = None,
        without: Sequence[str] | str = (),
    ) -> "Scenario":
        """As a caller writes it; one address may stand alone.

        Raises
        ------
        LimitError
            Nothing supposed, too many addresses or jobs, or a factor that is not between 0 and 1.

        """
        derated = tuple((derate or {}).items())
        holds = tuple((job, place) for job, places in (with_ or {}).items() for place in listed(places))
        supposed = cls(tuple(listed(down)), derated, holds, tuple(listed(without)))
        listed([address for address, _ in derated])
        listed([f"{job}={place}" for job, place in holds])
        if supposed == cls():
            raise LimitError("suppose something: an address that is down or derated, a job with places or without")
        for _, factor in derated:
            millionths(factor)
        return supposed

    def beside(self, other: "Scenario | None") -> "Scenario":
        """Both at once; of two factors the lesser holds."""
        if other is None:
            return self
        parts = self.down + other.down, self.derate + other.derate, self.with_ + other.with_
        return Scenario(*parts, self.without + other.without)


@dataclass(frozen=True, slots=True)
class Changes:
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
    with_: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()

    @property
    def down(self) -> frozenset[int]:
        """Nodes that carry nothing."""
        return frozenset(node for node, factor in self.nodes.items() if not factor)

    def of_link(self, key: int, a: int, b: int) -> int:
        """Millionths that a link between two nodes still carries."""
        return min(self.links.get(key, PPM), self.nodes.get(a, PPM), self.nodes.get(b, PPM))

    def add(self, connection: Connection, address: str, factor: int) -> None:
        """Suppose that everything an address names or contains carries only this many millionths."""
        if is_link(address):
            link = TABLES["link"]
            key = resolve_link(connection, address).id
            row = connection.execute(select(link).where(link.c.id == key)).one()
            self.links[key] = min(factor, self.links.get(key, PPM))
            self._touch(row.a_id, row.domain_id)
            return
        place = resolve(connection, address)
        if place.level == "cluster":
            raise WrongLevelError(f"{address} is a cluster: suppose something of places within it")
        node = TABLES["node"]
        for row in connection.execute(select(node.c.id, node.c.domain_id).where(nodes_of(place))):
            self.nodes[row.id] = min(factor, self.nodes.get(row.id, PPM))
            self._touch(row.id, row.domain_id)

    def _touch(self, node: int, domain: int | None) -> None:
        if domain is None:
            self.network_nodes.add(node)
        else:
            self.domains.add(domain)


def listed(addresses: Sequence[str] | str) -> Sequence[str]:
    """Addresses without repetitions; one may stand alone.

    Raises
    ------
    LimitError

    """
    found = [addresses] if isinstance(addresses, str) else list(dict.fromkeys(addresses))
    if len(found) > MAX_ADDRESSES:
        raise LimitError(f"{len(found):,} addresses: name at most {MAX_ADDRESSES}")
    return found


def changes(connection: Connection, scenario: Scenario) -> Changes:
    """What a scenario means for the wiring.

    Raises
    ------
    AddressError, UnknownAddressError
    WrongLevelError
        A whole cluster.

    """
    found = Changes(with_=scenario.with_, without=scenario.without)
    for address, factor in scenario.derate:
        found.add(connection, address, millionths(factor))
    for address in each_of(scenario.down):
        found.add(connection, address, 0)
    return found
