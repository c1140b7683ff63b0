"""Describe a domain model for placement: its chips as bits, its legal sets, and what the links inside a set carry.

A domain is the largest group of chips that NeuronLink connects. Its blueprint numbers its nodes: chips first, server by
server. Bit i of a set of chips is node i, as in `trninv.placement.candidates.free_capacity`. A legal set is a set of
chips that a scheduler assigns to a job. The limits of a set are its all-gather and bisection bandwidth.
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
from trninv.topology.blueprint import NIC, BlueprintLink
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

LocalPart = int | tuple[int, int]
"""A node of a domain, by its number in the blueprint, or a link, by the numbers of both ends, the lower first."""
_MAX_NEAREST = 2
"""The most legal sizes that an error message names."""


@dataclass(frozen=True, slots=True)
class AnyServers:
    """A number of servers of one rack, any of which form a legal set, and of spare servers in the same rack."""

    servers: int
    spares: int = 0


@dataclass(frozen=True, slots=True)
class RackServers:
    """The free servers of a rack, in the domains of one class: `FreeCapacity.classify_domains` groups equal domains.

    Attributes
    ----------
    servers
        Masks of the servers, the best first.
    any_of
        How many servers and spare servers a job needs.
    intact, healthy
        How many servers at the start of the list have no link down, and how many of these have no degraded part.
    eligible
        How many servers at the start of the list can be combined freely: any choice meets the requested limits.

    """

    domain_class: int
    servers: tuple[int, ...]
    any_of: AnyServers
    intact: int
    healthy: int
    eligible: int

    @property
    def required(self) -> int:
        """The number of requested servers, spares included."""
        return self.any_of.servers + self.any_of.spares

    @property
    def mask(self) -> int:
        """The chips of the best servers, without spares."""
        return sum(self.servers[: self.any_of.servers])

    def disjoint_masks(self) -> Iterator[int]:
        """Yield disjoint sets of the requested number of servers, spares included."""
        return (
            sum(self.servers[start : start + self.required])
            for start in range(0, self.eligible - self.required + 1, self.required)
        )


@dataclass(frozen=True)
class LegalSets:
    """The legal sets of a domain, by number of chips: ``sets`` lists masks, ``any_of`` allows any servers of a rack."""

    sets: Mapping[int, tuple[int, ...]]
    any_of: Mapping[int, AnyServers]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The legal numbers of chips, ascending."""
        return tuple(sorted({*self.sets, *self.any_of}))

    def check_size(self, model: "PlacementModel", chips: int, box_option: str, *, in_servers: bool = False) -> None:
        """Refuse a number of chips that no scheduler grants.

        Parameters
        ----------
        box_option
            The option that allows any box of a torus; the message names it.
        in_servers
            Whether the message counts servers instead of chips.

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
    """What placement needs to know of a domain model; `placement_model` returns the same object for the same slug."""

    domain_model: DomainModel

    @property
    def slug(self) -> str:
        """The slug of the domain model."""
        return self.domain_model.slug

    @cached_property
    def chips(self) -> int:
        """Number of chips of a domain."""
        return self.domain_model.blueprint.chips

    @cached_property
    def servers(self) -> int:
        """Number of servers of a domain."""
        return self.domain_model.blueprint.servers

    @property
    def chips_per_server(self) -> int:
        """Number of chips of a server."""
        return self.chips // self.servers

    @cached_property
    def node_count(self) -> int:
        """Number of nodes of a domain: chips, switches and NICs."""
        return len(self.domain_model.blueprint.nodes)

    @cached_property
    def torus(self) -> Torus | None:
        """The torus that the chips form, or None."""
        return Torus(self.domain_model.blueprint.sides) if self.domain_model.blueprint.pattern == "torus" else None

    @cached_property
    def full(self) -> int:
        """The mask of all chips of a domain."""
        return (1 << self.chips) - 1

    @cached_property
    def server_masks(self) -> tuple[int, ...]:
        """The mask of each server's chips."""
        first_server = (1 << self.chips_per_server) - 1
        return tuple(first_server << self.chips_per_server * server for server in range(self.servers))

    @cached_property
    def racks(self) -> tuple[tuple[int, ...], ...]:
        """The ordinals of the servers of each rack of the domain."""
        servers_by_rack: dict[int, list[int]] = {}
        for server in range(self.servers):
            servers_by_rack.setdefault(self.domain_model.blueprint.rack_of(server), []).append(server)
        return tuple(map(tuple, servers_by_rack.values()))

    @cached_property
    def axis_capacities(self) -> tuple[int, ...]:
        """Bytes per second of a healthy link along each axis of a torus, one direction; 0 for an axis without links."""
        if self.torus is None:
            return ()
        axis_by_ends = {(a, b): axis for a, b, axis in self.torus.links()}
        roles = {axis_by_ends[link.a, link.b]: link.role for link in self.domain_model.blueprint.scale_up_links}
        return tuple(self.link_bandwidth(roles[axis]) if axis in roles else 0 for axis in range(len(self.torus.sides)))

    def shape_of(self, mask: int) -> Shape | None:
        """Return the shape of a set, or None if it is not a block of the torus."""
        return self.torus.shape_by_mask.get(mask) if self.torus else None

    def limits(self, mask: int) -> BlockLimits:
        """Return the limits of a set without failures."""
        if self.torus and (shape := self.shape_of(mask)):
            return block_limits(self.torus.sides, self.axis_capacities, shape)
        return _cached_limits(self, self._canonical_mask(mask))

    def degraded_limits(self, mask: int, link_capacities: Mapping[tuple[int, int], int]) -> BlockLimits:
        """Return the limits of a set if links have only ``link_capacities``, by both ends; other links are healthy."""
        affected = tuple((ends, capacity) for ends, capacity in link_capacities.items() if self._is_inside(ends, mask))
        return _degraded_limits(self, mask, affected) if affected and mask.bit_count() > 1 else self.limits(mask)

    def _is_inside(self, ends: tuple[int, int], mask: int) -> bool:
        """Return whether a link joins two chips of a set, or one of them and a switch."""
        chips = [end for end in ends if end < self.chips]
        return bool(chips) and all(mask >> end & 1 for end in chips)

    def min_chip_bandwidth(self, mask: int, link_capacities: Mapping[tuple[int, int], int]) -> int:
        """Return the least bytes per second into any chip of a set: an upper bound for its all-gather."""
        incoming = {chip: 0 for chip in range(self.chips) if mask >> chip & 1}
        for (a, b), capacity in self._link_capacities.items():
            if all(end in incoming or end >= self.chips for end in (a, b)):
                for end in incoming.keys() & {a, b}:
                    incoming[end] += link_capacities.get((a, b), capacity)
        return min(incoming.values())

    def capacity_loss(self, mask: int, link_capacities: Mapping[tuple[int, int], int]) -> tuple[int, int]:
        """Return the bytes per second that a set's links lose to failures: at the worst chip, and summed over chips."""
        loss = Counter[int]()
        for ends, capacity in link_capacities.items():
            if self._is_inside(ends, mask):
                loss.update(
                    dict.fromkeys((end for end in ends if end < self.chips), self._link_capacities[ends] - capacity)
                )
        return max(loss.values(), default=0), loss.total()

    @cached_property
    def scale_up_links(self) -> tuple[BlueprintLink, ...]:
        """The links between chips and switches; the blueprint finds them anew each time."""
        return self.domain_model.blueprint.scale_up_links

    @cached_property
    def links_by_part(self) -> Mapping[LocalPart, tuple[int, ...]]:
        """The links that a part affects (those of a node, or the link itself), as indices of ``scale_up_links``."""
        indices: dict[LocalPart, list[int]] = {}
        for index, link in enumerate(self.scale_up_links):
            for part in (link.a, link.b, (link.a, link.b)):
                indices.setdefault(part, []).append(index)
        return {part: tuple(links) for part, links in indices.items()}

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
        """Bytes per second of each healthy scale-up link, one direction, by both ends."""
        return {(link.a, link.b): self.link_bandwidth(link.role) for link in self.domain_model.blueprint.scale_up_links}

    def _canonical_mask(self, mask: int) -> int:
        """Return a representative of the sets with the same limits, so that these are solved only once.

        In one rack of a switched domain, only the number of chips in each server matters: the representative has the
        first chips of each server, most chips first. A set of a torus or of several racks is returned as it is.
        """
        if self.torus or sum(any(mask & self.server_masks[server] for server in rack) for rack in self.racks) > 1:
            return mask
        parts = (mask >> self.chips_per_server * server & self.server_masks[0] for server in range(self.servers))
        descending = sorted(((1 << part.bit_count()) - 1 for part in parts), reverse=True)
        return sum(part << self.chips_per_server * index for index, part in enumerate(descending))

    def graph(self, mask: int, link_capacities: Mapping[tuple[int, int], int] | None = None) -> "Graph":
        """Return the graph of a set of chips and the switches at their links, without links that are down.

        Parameters
        ----------
        link_capacities
            Remaining capacities of unhealthy links by both ends, the lower first.

        """
        graph = solvers.graph.Graph()
        graph.add_nodes_from(chip for chip in range(self.chips) if mask >> chip & 1)
        for link in self.domain_model.blueprint.scale_up_links:
            if self._is_inside((link.a, link.b), mask):
                capacity = (link_capacities or {}).get((link.a, link.b), self.link_bandwidth(link.role))
                if capacity:
                    graph.add_edge(link.a, link.b, capacity=capacity)
        return graph

    def link_bandwidth(self, role: str) -> int:
        """Return the bytes per second of a healthy link, one direction, by the role that it has in the blueprint."""
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
    """Solve the limits of a graph whose nodes are ``chips`` chips, which have the lowest numbers, and switches."""
    chip_nodes = sorted(graph)[:chips]
    all_gather = solvers.collectives.all_gather_rate(graph, dict.fromkeys(chip_nodes, 1))
    received = int(all_gather.rate * (chips - 1)) if all_gather else 0  # every chip receives from all others
    return BlockLimits(received, int(solvers.bisection.bisect(graph, chip_nodes).upper))


@lru_cache(maxsize=64)
def placement_model(slug: str) -> PlacementModel:
    """Return the placement model for the domain model with this slug.

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
    """Load the legal sets of a domain model: rows of ``legal_set``, in chips or in servers.

    A row without a mask allows any servers of a rack. A row of chips is about the chips of one server, and holds for
    every server. If any servers of a rack form a size, rows with masks of that size are ignored.
    """
    table, domain_model = TABLES["legal_set"], TABLES["domain_model"]
    query = select(table).join(domain_model, domain_model.c.id == table.c.domain_model_id)
    sets: dict[int, dict[int, None]] = {}
    any_of: dict[int, AnyServers] = {}
    for row in connection.execute(query.where(domain_model.c.slug == model.slug).order_by(table.c.id)):
        chips = row.size * (model.chips_per_server if row.unit == "server" else 1)
        if row.mask is None:
            any_of[chips] = AnyServers(row.size)
        elif row.unit == "server":
            mask = sum(server_mask for server, server_mask in enumerate(model.server_masks) if row.mask >> server & 1)
            sets.setdefault(chips, {})[mask] = None
        else:
            shifted = {row.mask << model.chips_per_server * server: None for server in range(model.servers)}
            sets.setdefault(chips, {}).update(shifted)
    listed = {size: tuple(sorted(masks)) for size, masks in sets.items() if size not in any_of}
    return LegalSets(listed, any_of)


def format_shape(shape: Shape) -> str:
    """Format a shape as rows × columns × servers."""
    # In a shape of three axes, servers come first.
    return "x".join(map(str, (*shape[1:], shape[0]) if len(shape) > 2 else shape))  # noqa: PLR2004
