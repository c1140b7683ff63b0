"""A model of domain as placement sees it: chips by bit, the sets that a job may hold, and what links inside carry.

Bit i of a set of chips is the blueprint's node i: chips come first, server by server.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from trninv import solvers
from trninv.catalog.facts import catalog
from trninv.catalog.models import DomainModel, systems
from trninv.errors import IllegalSizeError, UnknownSystemError
from trninv.inventory.schema import TABLES
from trninv.solvers.blocks import Shape, Torus
from trninv.solvers.slices import Limits, limits
from trninv.topology.blueprint import NIC
from trninv.units import counted

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

Part = int | tuple[int, int]
"""A node of a domain in local numbers, or both ends of a link, the lower first."""
_NEAR = 2
"""Legal sizes that are named where one is not."""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Any so many servers of a rack may be held together; with so many more of it to spare."""

    servers: int
    spares: int = 0


@dataclass(frozen=True, slots=True)
class Rack:
    """The free servers of a rack, the best first, of a kind of free set.

    So many of them have every link, are sound, and may be taken: each choice of these is as good as is wanted.
    """

    of: int
    servers: tuple[int, ...]
    any_of: AnyOf
    intact: int
    sound: int
    good: int

    @property
    def needs(self) -> int:
        """Servers, those to spare too."""
        return self.any_of.servers + self.any_of.spares

    @property
    def mask(self) -> int:
        """The chips of the best ones."""
        return sum(self.servers[: self.any_of.servers])

    def parts(self) -> Iterator[int]:
        """As many as are needed, over and over."""
        return (sum(self.servers[at : at + self.needs]) for at in range(0, self.good - self.needs + 1, self.needs))


@dataclass(frozen=True)
class Legal:
    """What a job may hold of a domain: listed sets by their number of chips, and numbers of any servers of a rack."""

    sets: Mapping[int, tuple[int, ...]]
    any_of: Mapping[int, AnyOf]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of chips, the least first."""
        return tuple(sorted({*self.sets, *self.any_of}))

    def check(self, model: "Model", chips: int, own: str, *, in_servers: bool = False) -> None:
        """Refuse a number of chips that is not legal, said in chips or in servers; ``own`` is how to have a box of any.

        Raises
        ------
        IllegalSizeError
            Naming the nearest ones.

        """
        if chips not in self.sizes:
            each, what = (model.per_server, "server") if in_servers else (1, "chip")
            sizes = [size // each for size in self.sizes if not size % each]
            near = sorted(sorted(sizes, key=lambda size: abs(size - chips // each))[:_NEAR])
            listed = " and ".join(f"{size:,}" for size in near)
            instead = f" ({own} for a launcher of your own)" if model.torus else ""
            said = counted(chips // each, what)
            raise IllegalSizeError(f"{said} are not legal on {model.slug}; nearest {listed}{instead}")


@dataclass(frozen=True, eq=False)
class Model:
    """A model of domain; `model_of` makes one a slug."""

    of: DomainModel

    @property
    def slug(self) -> str:
        """Its name."""
        return self.of.slug

    @cached_property
    def chips(self) -> int:
        """Chips of a domain."""
        return self.of.blueprint.chips

    @cached_property
    def servers(self) -> int:
        """Servers of a domain."""
        return self.of.blueprint.servers

    @property
    def per_server(self) -> int:
        """Chips of a server."""
        return self.chips // self.servers

    @cached_property
    def nodes(self) -> int:
        """Rows of ``node`` that a domain has."""
        return len(self.of.blueprint.nodes)

    @cached_property
    def torus(self) -> Torus | None:
        """The torus that the chips make up, if they do."""
        return Torus(self.of.blueprint.sides) if self.of.blueprint.wiring == "torus" else None

    @cached_property
    def full(self) -> int:
        """All chips."""
        return (1 << self.chips) - 1

    @cached_property
    def whole_server(self) -> tuple[int, ...]:
        """The chips of each server."""
        one = (1 << self.per_server) - 1
        return tuple(one << self.per_server * server for server in range(self.servers))

    @cached_property
    def racks(self) -> tuple[tuple[int, ...], ...]:
        """Servers by rack of the domain."""
        found: dict[int, list[int]] = {}
        for server in range(self.servers):
            found.setdefault(self.of.blueprint.rack_of(server), []).append(server)
        return tuple(map(tuple, found.values()))

    @cached_property
    def carries(self) -> tuple[int, ...]:
        """Of a torus, what a link along each axis carries when healthy, one direction."""
        if self.torus is None:
            return ()
        axis = {(a, b): along for a, b, along in self.torus.links()}
        role = {axis[wire.a, wire.b]: wire.role for wire in self.of.blueprint.wires}
        return tuple(self.bandwidth(role[along]) if along in role else 0 for along in range(len(self.torus.sides)))

    def shape_of(self, mask: int) -> Shape | None:
        """Of a set that is a block of the torus."""
        return self.torus.shape_of.get(mask) if self.torus else None

    def limits(self, mask: int) -> Limits:
        """What an undamaged set carries."""
        if self.torus and (shape := self.shape_of(mask)):
            return limits(self.torus.sides, self.carries, shape)
        return _solved(self, self._alike(mask))

    def worn_limits(self, mask: int, carried: Mapping[tuple[int, int], int]) -> Limits:
        """What a set with degraded links carries."""
        near = tuple((ends, left) for ends, left in carried.items() if self._joins(ends, mask))
        return _worn(self, mask, near) if near and mask.bit_count() > 1 else self.limits(mask)

    def _joins(self, ends: tuple[int, int], mask: int) -> bool:
        """Whether a link leads from chips of a set to each other, or to a switch."""
        chips = [end for end in ends if end < self.chips]
        return bool(chips) and all(mask >> end & 1 for end in chips)

    def least_degree(self, mask: int, carried: Mapping[tuple[int, int], int]) -> int:
        """What goes into the worst linked chip of a set, damaged links as they are: no all-gather has more."""
        into = {chip: 0 for chip in range(self.chips) if mask >> chip & 1}
        for (a, b), capacity in self._carries.items():
            if all(end in into or end >= self.chips for end in (a, b)):
                for end in into.keys() & {a, b}:
                    into[end] += carried.get((a, b), capacity)
        return min(into.values())

    def shortfall(self, mask: int, carried: Mapping[tuple[int, int], int]) -> tuple[int, int]:
        """What damage takes from links among a set's chips, or to their switches: at the worst chip, and of all."""
        at = Counter[int]()
        for ends, left in carried.items():
            if self._joins(ends, mask):
                at.update(dict.fromkeys((end for end in ends if end < self.chips), self._carries[ends] - left))
        return max(at.values(), default=0), at.total()

    @cached_property
    def wires_at(self) -> Mapping[Part, tuple[int, ...]]:
        """Numbers of the wires that end at a node, or that lead from one node to another."""
        found: dict[Part, list[int]] = {}
        for at, wire in enumerate(self.of.blueprint.wires):
            for part in (wire.a, wire.b, (wire.a, wire.b)):
                found.setdefault(part, []).append(at)
        return {part: tuple(wires) for part, wires in found.items()}

    @cached_property
    def chips_at(self) -> Mapping[Part, int]:
        """The chips that are unhealthy where a part is: a chip itself, and those of a NIC or of a link to one."""
        found: dict[Part, int] = {chip: 1 << chip for chip in range(self.chips)}
        for link in self.of.blueprint.links:
            if link.role == NIC:
                found[link.a, link.b] = 1 << link.a
                found[link.b] = found.get(link.b, 0) | 1 << link.a
        return found

    @cached_property
    def _carries(self) -> dict[tuple[int, int], int]:
        return {(wire.a, wire.b): self.bandwidth(wire.role) for wire in self.of.blueprint.wires}

    def _alike(self, mask: int) -> int:
        """A set of the same worth, of a switched domain in whose rack it lies: its servers moved to the front."""
        if self.torus or sum(any(mask & self.whole_server[each] for each in rack) for rack in self.racks) > 1:
            return mask
        parts = (mask >> self.per_server * server & self.whole_server[0] for server in range(self.servers))
        most_first = sorted(((1 << part.bit_count()) - 1 for part in parts), reverse=True)
        return sum(part << self.per_server * at for at, part in enumerate(most_first))

    def graph(self, mask: int, carried: Mapping[tuple[int, int], int] | None = None) -> "Graph":
        """The links among some chips and through the switches that they are attached to.

        Parameters
        ----------
        carried
            What damaged links carry, by both ends, the lower first.

        """
        found = solvers.graph.Graph()
        found.add_nodes_from(chip for chip in range(self.chips) if mask >> chip & 1)
        for wire in self.of.blueprint.wires:
            if self._joins((wire.a, wire.b), mask):
                capacity = (carried or {}).get((wire.a, wire.b), self.bandwidth(wire.role))
                if capacity:
                    found.add_edge(wire.a, wire.b, capacity=capacity)
        return found

    def bandwidth(self, role: str) -> int:
        """What a link of a role carries when healthy, one direction."""
        return catalog().value(self.of.links[role].slug, "bandwidth")


@lru_cache(maxsize=256)
def _solved(model: Model, mask: int) -> Limits:
    return solved(model.graph(mask), mask.bit_count())


@lru_cache(maxsize=1_024)
def _worn(model: Model, mask: int, carried: tuple[tuple[tuple[int, int], int], ...]) -> Limits:
    return solved(model.graph(mask, dict(carried)), mask.bit_count())


def solved(graph: "Graph", chips: int) -> Limits:
    """Limits of any graph whose first nodes are chips, by the solvers."""
    ends = sorted(graph)[:chips]
    gather = solvers.collectives.gather(graph, dict.fromkeys(ends, 1))
    rate = int(gather.rate * (chips - 1)) if gather else 0
    return Limits(rate, int(solvers.bisection.bisect(graph, ends).upper))


@lru_cache(maxsize=64)
def model_of(slug: str) -> Model:
    """The model of a slug.

    Raises
    ------
    UnknownSystemError
        No system of the catalog is made of it.

    """
    for system in systems().systems:
        if system.domain.slug == slug:
            return Model(system.domain)
    raise UnknownSystemError(f"no system has domains of model {slug!r}: placement knows those of the catalog")


def legal_of(connection: Connection, model: Model) -> Legal:
    """What the database says that a job may hold of a domain."""
    table, domain_model = TABLES["legal_set"], TABLES["domain_model"]
    query = select(table).join(domain_model, domain_model.c.id == table.c.domain_model_id)
    sets: dict[int, dict[int, None]] = {}
    any_of: dict[int, AnyOf] = {}
    for row in connection.execute(query.where(domain_model.c.slug == model.slug).order_by(table.c.id)):
        chips = row.size * (model.per_server if row.unit == "server" else 1)
        if row.mask is None:
            any_of[chips] = AnyOf(row.size)
        elif row.unit == "server":
            mask = sum(whole for server, whole in enumerate(model.whole_server) if row.mask >> server & 1)
            sets.setdefault(chips, {})[mask] = None
        else:
            placed = {row.mask << model.per_server * server: None for server in range(model.servers)}
            sets.setdefault(chips, {}).update(placed)
    listed = {size: tuple(sorted(masks)) for size, masks in sets.items() if size not in any_of}
    return Legal(listed, any_of)


def written(shape: Shape) -> str:
    """A shape as people write it: rows × columns × servers."""
    return "x".join(map(str, (*shape[1:], shape[0]) if len(shape) > 2 else shape))  # noqa: PLR2004 # servers come first
