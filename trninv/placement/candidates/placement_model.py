"""Describe a domain model for placement: chips as bits, legal sets, and what links inside a set carry.

Bit i of a set of chips is the blueprint's node i: chips come first, server by server.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from trninv import solvers
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import DomainModel, default_systems
from trninv.database.tables import TABLES
from trninv.errors import IllegalSizeError, UnknownSystemError
from trninv.solvers.torus_blocks import BlockLimits, Shape, Torus, block_limits
from trninv.topology.blueprint import NIC
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

LocalPart = int | tuple[int, int]
"""A node of a domain in local numbers, or both ends of a link, the lower first."""
_MAX_NEAREST = 2
"""The number of legal sizes that an error message names."""


@dataclass(frozen=True, slots=True)
class AnyServers:
    """Any so many servers of a rack form a legal set; with so many spares in the same rack."""

    servers: int
    spares: int = 0


@dataclass(frozen=True, slots=True)
class RackServers:
    """The free servers of a rack that share a domain class, the best first.

    The first ``intact`` have no link down, and the first ``healthy`` no degraded part. Any choice among the first
    ``eligible`` meets the requirements.
    """

    domain_class: int
    servers: tuple[int, ...]
    any_of: AnyServers
    intact: int
    healthy: int
    eligible: int

    @property
    def required(self) -> int:
        """The number of servers, spares included."""
        return self.any_of.servers + self.any_of.spares

    @property
    def mask(self) -> int:
        """The chips of the best servers."""
        return sum(self.servers[: self.any_of.servers])

    def disjoint_masks(self) -> Iterator[int]:
        """Yield disjoint sets of the required number of servers."""
        return (
            sum(self.servers[start : start + self.required])
            for start in range(0, self.eligible - self.required + 1, self.required)
        )


@dataclass(frozen=True)
class LegalSets:
    """The legal sets of a domain: listed sets by size, and sizes that any servers of a rack form."""

    sets: Mapping[int, tuple[int, ...]]
    any_of: Mapping[int, AnyServers]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The legal numbers of chips, ascending."""
        return tuple(sorted({*self.sets, *self.any_of}))

    def check_size(self, model: "PlacementModel", chips: int, box_option: str, *, in_servers: bool = False) -> None:
        """Refuse a size that is not legal; the message counts servers if ``in_servers``; ``box_option`` allows any box.

        Raises
        ------
        IllegalSizeError
            The size is not legal; the message names the nearest ones.

        """
        if chips not in self.sizes:
            chips_per_unit, unit = (model.chips_per_server, "server") if in_servers else (1, "chip")
            sizes = [size // chips_per_unit for size in self.sizes if not size % chips_per_unit]
            nearest = sorted(sorted(sizes, key=lambda size: abs(size - chips // chips_per_unit))[:_MAX_NEAREST])
            listed = " and ".join(f"{size:,}" for size in nearest)
            hint = f" ({box_option} for a launcher of your own)" if model.torus else ""
            requested = pluralize(chips // chips_per_unit, unit)
            raise IllegalSizeError(f"{requested} are not legal on {model.slug}; the nearest are {listed}{hint}")


@dataclass(frozen=True, eq=False)
class PlacementModel:
    """A domain model for placement; `placement_model` caches one per slug."""

    domain_model: DomainModel

    @property
    def slug(self) -> str:
        """The slug of the domain model."""
        return self.domain_model.slug

    @cached_property
    def chips(self) -> int:
        """Chips of a domain."""
        return self.domain_model.blueprint.chips

    @cached_property
    def servers(self) -> int:
        """Servers of a domain."""
        return self.domain_model.blueprint.servers

    @property
    def chips_per_server(self) -> int:
        """Chips of a server."""
        return self.chips // self.servers

    @cached_property
    def node_count(self) -> int:
        """The number of rows of ``node`` per domain."""
        return len(self.domain_model.blueprint.nodes)

    @cached_property
    def torus(self) -> Torus | None:
        """The torus that the chips form, or None."""
        return Torus(self.domain_model.blueprint.sides) if self.domain_model.blueprint.pattern == "torus" else None

    @cached_property
    def full(self) -> int:
        """All chips."""
        return (1 << self.chips) - 1

    @cached_property
    def server_masks(self) -> tuple[int, ...]:
        """The chips of each server."""
        one = (1 << self.chips_per_server) - 1
        return tuple(one << self.chips_per_server * server for server in range(self.servers))

    @cached_property
    def racks(self) -> tuple[tuple[int, ...], ...]:
        """The servers of each rack of the domain."""
        servers_by_rack: dict[int, list[int]] = {}
        for server in range(self.servers):
            servers_by_rack.setdefault(self.domain_model.blueprint.rack_of(server), []).append(server)
        return tuple(map(tuple, servers_by_rack.values()))

    @cached_property
    def axis_capacities(self) -> tuple[int, ...]:
        """The capacity of a healthy link along each axis of a torus, one direction."""
        if self.torus is None:
            return ()
        axis = {(a, b): axis_number for a, b, axis_number in self.torus.links()}
        role = {axis[wire.a, wire.b]: wire.role for wire in self.domain_model.blueprint.scale_up_links}
        return tuple(
            self.link_bandwidth(role[axis_number]) if axis_number in role else 0
            for axis_number in range(len(self.torus.sides))
        )

    def shape_of(self, mask: int) -> Shape | None:
        """Return the shape of a set, or None if it is not a block of the torus."""
        return self.torus.shape_by_mask.get(mask) if self.torus else None

    def limits(self, mask: int) -> BlockLimits:
        """Return the limits of a set without failures."""
        if self.torus and (shape := self.shape_of(mask)):
            return block_limits(self.torus.sides, self.axis_capacities, shape)
        return _cached_limits(self, self._canonical_mask(mask))

    def degraded_limits(self, mask: int, link_capacities: Mapping[tuple[int, int], int]) -> BlockLimits:
        """Return the limits of a set with failed or degraded links."""
        affected = tuple((ends, capacity) for ends, capacity in link_capacities.items() if self._is_inside(ends, mask))
        return _degraded_limits(self, mask, affected) if affected and mask.bit_count() > 1 else self.limits(mask)

    def _is_inside(self, ends: tuple[int, int], mask: int) -> bool:
        """Return whether a link joins two chips of a set, or one of them and a switch."""
        chips = [end for end in ends if end < self.chips]
        return bool(chips) and all(mask >> end & 1 for end in chips)

    def min_chip_bandwidth(self, mask: int, link_capacities: Mapping[tuple[int, int], int]) -> int:
        """Return the capacity into the worst-linked chip of a set: an upper bound for an all-gather."""
        incoming = {chip: 0 for chip in range(self.chips) if mask >> chip & 1}
        for (a, b), capacity in self._link_capacities.items():
            if all(end in incoming or end >= self.chips for end in (a, b)):
                for end in incoming.keys() & {a, b}:
                    incoming[end] += link_capacities.get((a, b), capacity)
        return min(incoming.values())

    def capacity_loss(self, mask: int, link_capacities: Mapping[tuple[int, int], int]) -> tuple[int, int]:
        """Return the capacity that failures take from a set's links and switches: at the worst chip, and in total."""
        loss = Counter[int]()
        for ends, capacity in link_capacities.items():
            if self._is_inside(ends, mask):
                loss.update(
                    dict.fromkeys((end for end in ends if end < self.chips), self._link_capacities[ends] - capacity)
                )
        return max(loss.values(), default=0), loss.total()

    @cached_property
    def wires_by_part(self) -> Mapping[LocalPart, tuple[int, ...]]:
        """Numbers of the wires that end at a node, or join two nodes."""
        numbers: dict[LocalPart, list[int]] = {}
        for number, wire in enumerate(self.domain_model.blueprint.scale_up_links):
            for part in (wire.a, wire.b, (wire.a, wire.b)):
                numbers.setdefault(part, []).append(number)
        return {part: tuple(wires) for part, wires in numbers.items()}

    @cached_property
    def chips_by_part(self) -> Mapping[LocalPart, int]:
        """The chips that an unhealthy part affects: a chip itself, and the chip of a NIC or of its link."""
        masks: dict[LocalPart, int] = {chip: 1 << chip for chip in range(self.chips)}
        for link in self.domain_model.blueprint.links:
            if link.role == NIC:
                masks[link.a, link.b] = 1 << link.a
                masks[link.b] = masks.get(link.b, 0) | 1 << link.a
        return masks

    @cached_property
    def _link_capacities(self) -> dict[tuple[int, int], int]:
        return {(wire.a, wire.b): self.link_bandwidth(wire.role) for wire in self.domain_model.blueprint.scale_up_links}

    def _canonical_mask(self, mask: int) -> int:
        """Return an equivalent set with the fullest servers first; sets of a torus or of several racks stay."""
        if self.torus or sum(any(mask & self.server_masks[member] for member in rack) for rack in self.racks) > 1:
            return mask
        parts = (mask >> self.chips_per_server * server & self.server_masks[0] for server in range(self.servers))
        descending = sorted(((1 << part.bit_count()) - 1 for part in parts), reverse=True)
        return sum(part << self.chips_per_server * index for index, part in enumerate(descending))

    def graph(self, mask: int, link_capacities: Mapping[tuple[int, int], int] | None = None) -> "Graph":
        """Return the links among some chips and through the switches that they are attached to.

        Parameters
        ----------
        link_capacities
            Capacities of unhealthy links by both ends, the lower first.

        """
        graph = solvers.graph.Graph()
        graph.add_nodes_from(chip for chip in range(self.chips) if mask >> chip & 1)
        for wire in self.domain_model.blueprint.scale_up_links:
            if self._is_inside((wire.a, wire.b), mask):
                capacity = (link_capacities or {}).get((wire.a, wire.b), self.link_bandwidth(wire.role))
                if capacity:
                    graph.add_edge(wire.a, wire.b, capacity=capacity)
        return graph

    def link_bandwidth(self, role: str) -> int:
        """Return the capacity of a healthy link of a role, in one direction."""
        return default_catalog().picked_value(self.domain_model.links[role].slug, "bandwidth")


@lru_cache(maxsize=256)
def _cached_limits(model: PlacementModel, mask: int) -> BlockLimits:
    return solve_limits(model.graph(mask), mask.bit_count())


@lru_cache(maxsize=1_024)
def _degraded_limits(
    model: PlacementModel, mask: int, link_capacities: tuple[tuple[tuple[int, int], int], ...]
) -> BlockLimits:
    return solve_limits(model.graph(mask, dict(link_capacities)), mask.bit_count())


def solve_limits(graph: "Graph", chips: int) -> BlockLimits:
    """Solve the limits of a graph whose first nodes are chips."""
    ends = sorted(graph)[:chips]
    gather = solvers.collectives.all_gather_rate(graph, dict.fromkeys(ends, 1))
    rate = int(gather.rate * (chips - 1)) if gather else 0
    return BlockLimits(rate, int(solvers.bisection.bisect(graph, ends).upper))


@lru_cache(maxsize=64)
def placement_model(slug: str) -> PlacementModel:
    """Return the placement model of a slug.

    Raises
    ------
    UnknownSystemError
        No system in the catalog has this domain model.

    """
    for system in default_systems().systems:
        if system.domain.slug == slug:
            return PlacementModel(system.domain)
    raise UnknownSystemError(f"no system in the catalog has domains of model {slug!r}; placement supports only these")


def read_legal_sets(connection: Connection, model: PlacementModel) -> LegalSets:
    """Load the legal sets of a domain model."""
    table, domain_model = TABLES["legal_set"], TABLES["domain_model"]
    query = select(table).join(domain_model, domain_model.c.id == table.c.domain_model_id)
    sets: dict[int, dict[int, None]] = {}
    any_of: dict[int, AnyServers] = {}
    for row in connection.execute(query.where(domain_model.c.slug == model.slug).order_by(table.c.id)):
        chips = row.size * (model.chips_per_server if row.unit == "server" else 1)
        if row.mask is None:
            any_of[chips] = AnyServers(row.size)
        elif row.unit == "server":
            mask = sum(whole for server, whole in enumerate(model.server_masks) if row.mask >> server & 1)
            sets.setdefault(chips, {})[mask] = None
        else:
            shifted = {row.mask << model.chips_per_server * server: None for server in range(model.servers)}
            sets.setdefault(chips, {}).update(shifted)
    listed = {size: tuple(sorted(masks)) for size, masks in sets.items() if size not in any_of}
    return LegalSets(listed, any_of)


def format_shape(shape: Shape) -> str:
    """Format a shape as rows × columns × servers."""
    return "x".join(map(str, (*shape[1:], shape[0]) if len(shape) > 2 else shape))  # noqa: PLR2004 # servers come first
