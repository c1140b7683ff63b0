"""The shortest or widest path between two chips of different domains, from what is remembered of either domain.

A domain touches the rest of its cluster in one network node, so a best path is that of the one domain to its network
node, the way through the tree above, and that of the other domain back. Alike domains share one graph in local numbers
and its paths; all of it is forgotten when the database changes. Answers equal those of the graph of both domains.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise

from sqlalchemy import select

from trninv.inventory.address import Address
from trninv.inventory.schema import TABLES
from trninv.routing import evidence
from trninv.routing.answer import CitedFact, LinkRef, Path
from trninv.routing.wiring import Reader, Wiring, Wirings, link_ref
from trninv.solvers.paths import NodePath, PathMetric, Rule, best_paths, count_best
from trninv.units import Bandwidth

_T = TABLES
MOST = 20_000
"""Domains remembered; an entry of a healthy one is a few hundred bytes."""

_Part = tuple[NodePath, int]
_HOPS = Rule(PathMetric.HOPS)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Alike domains: their wiring in local numbers, ``above`` being the network node, and paths between."""

    wiring: Wiring
    above: int
    chips: dict[str, int]
    parts: dict[tuple[int, bool, int], _Part] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)

    def part(self, chip: int, *, up: bool, floor: int) -> _Part:
        """Best path between a chip and the network node over links of at least ``floor``, and how many are as good."""
        key = chip, up, floor
        if key not in self.parts:
            links = self.wiring.links
            wide = {a: {b: of for b, of in near.items() if of["capacity"] >= floor} for a, near in links.items()}
            ends = ([chip], [self.above]) if up else ([self.above], [chip])
            found = next(best_paths(wide, *ends, _HOPS), ())
            self.parts[key] = found, count_best(wide, *ends, _HOPS)
        return self.parts[key]

    def width(self, chip: int) -> int:
        """Capacity of the widest path between a chip and the network node; 0 if there is none."""
        if chip not in self.widths:
            found = next(best_paths(self.wiring.links, [chip], [self.above], Rule(PathMetric.BANDWIDTH)), ())
            self.widths[chip] = min((self.wiring.links[a][b]["capacity"] for a, b in pairwise(found)), default=0)
        return self.widths[chip]


@dataclass(frozen=True, slots=True)
class _Domain:
    """A domain: what it shares with those like it, where its ids begin, and its way to the top of the fabric."""

    shared: _Shared
    address: str
    model: str
    first_link: int
    chain: tuple[str, ...]
    uplinks: tuple[LinkRef, ...]

    def name(self, node: int) -> str:
        return self.chain[0] if node == self.shared.above else self.address + self.shared.wiring.nodes[node]["address"]


@dataclass(slots=True)
class _Memory:
    """What is known of one state of the database."""

    revision: Hashable
    domains: dict[tuple[str, int], _Domain | None] = field(default_factory=dict)
    shared: dict[Hashable, _Shared] = field(default_factory=dict)
    facts: dict[Hashable, tuple[CitedFact, ...]] = field(default_factory=dict)


class _ChangedError(Exception):
    """The database is not in the state of the memory any more."""


class FabricCache:
    """Remembers the domains of a database; thread safe."""

    def __init__(self, wirings: Wirings) -> None:
        self._wirings, self._memory = wirings, [_Memory(None)]

    def within(self, wirings: Wirings) -> "FabricCache":
        """The same, that reads through these wirings."""
        pinned = copy(self)
        pinned._wirings = wirings  # noqa: SLF001 # its own
        return pinned

    def path(
        self, source: Address, target: Address, metric: PathMetric
    ) -> tuple[Path, int, tuple[CitedFact, ...]] | None:
        """The best path, how many are as good, and its facts; None where the graph of both domains must be asked."""
        apart = source.level == target.level == "chip" and source.cluster == target.cluster
        if (
            metric is PathMetric.TIME
            or not apart
            or source.steps[0] == target.steps[0]
            or (revision := self._wirings.current()) is None
        ):
            return None
        memory = self._memory[0]
        if memory.revision != revision or len(memory.domains) > MOST:
            memory = self._memory[0] = _Memory(revision)
        try:
            return self._across(memory, source, target, metric)
        except _ChangedError:
            return None

    def _across(
        self, memory: _Memory, source: Address, target: Address, metric: PathMetric
    ) -> tuple[Path, int, tuple[CitedFact, ...]] | None:
        one, other = self._domain(memory, source), self._domain(memory, target)
        if one is None or other is None:
            return None
        start, end = (each.shared.chips.get(_tail(at)) for each, at in ((one, source), (other, target)))
        common = next((node for node in one.chain if node in other.chain), None)
        if start is None or end is None or common is None:
            return None
        rising, falling = one.chain.index(common), other.chain.index(common)
        uplinks = one.uplinks[:rising] + other.uplinks[:falling][::-1]
        floor = 0
        if metric is PathMetric.BANDWIDTH:
            floor = min(one.shared.width(start), other.shared.width(end), *(link.bandwidth for link in uplinks))
        up, ways_up = one.shared.part(start, up=True, floor=floor)
        down, ways_down = other.shared.part(end, up=False, floor=floor)
        if not up or not down:
            return None
        links = [*_links(one, up), *uplinks, *_links(other, down)]
        nodes = [
            *((_kind(one, node), one.name(node)) for node in up),
            *(("network_node", node) for node in (*one.chain[1 : rising + 1], *other.chain[:falling][::-1])),
            *((_kind(other, node), other.name(node)) for node in down[1:]),
        ]
        return Path.of(nodes, links), ways_up * ways_down, self._facts(memory, one, other, up, down)

    def _domain(self, memory: _Memory, address: Address) -> _Domain | None:
        key = address.cluster, address.steps[0][1]
        if key not in memory.domains:
            with self._reading(memory) as reader:
                memory.domains[key] = _read(reader, memory, *key)
        return memory.domains[key]

    def _facts(
        self, memory: _Memory, one: _Domain, other: _Domain, up: NodePath, down: NodePath
    ) -> tuple[CitedFact, ...]:
        parts = ((one.shared.wiring.links, up), (other.shared.wiring.links, down))
        models = {links[a][b]["model"] for links, nodes in parts for a, b in pairwise(nodes)}
        key = frozenset(models), frozenset((one.model, other.model))
        if key not in memory.facts:
            with self._reading(memory) as reader:
                of_fabric = evidence.of_fabric(reader.connection, key[1])
                memory.facts[key] = evidence.of_links(reader.connection, models) + of_fabric
        return memory.facts[key]

    @contextmanager
    def _reading(self, memory: _Memory) -> Iterator[Reader]:
        """The state of a memory."""
        with self._wirings.reading() as reader:
            if reader.revision != memory.revision:
                raise _ChangedError
            yield reader


def _tail(address: Address) -> str:
    return "".join(f"/{letters}{ordinal}" for letters, ordinal in address.steps[1:])


def _kind(domain: _Domain, node: int) -> str:
    return str(domain.shared.wiring.nodes[node]["kind"])


def _links(domain: _Domain, nodes: NodePath) -> list[LinkRef]:
    found = []
    for a, b in pairwise(nodes):
        low, high = min(a, b), max(a, b)
        of = domain.shared.wiring.links[low][high]
        found.append(
            LinkRef(domain.first_link + of["id"], domain.name(low), domain.name(high), Bandwidth(of["capacity"]))
        )
    return found


def _read(reader: Reader, memory: _Memory, cluster: str, ordinal: int) -> _Domain | None:
    """A domain as the tables have it; None if it has not just one network node above it."""
    table, clusters, models = _T["domain"], _T["cluster"], _T["domain_model"]
    query = select(table.c.id, models.c.slug).join(clusters, clusters.c.id == table.c.cluster_id)
    query = query.join(models, models.c.id == table.c.domain_model_id)
    row = reader.connection.execute(query.where(clusters.c.slug == cluster, table.c.ordinal == ordinal)).first()
    if row is None:
        return None
    wiring = reader.load([row.id], fabric=True)
    nodes, links = wiring.nodes, wiring.links
    fabric = {node for node, of in nodes.items() if of["kind"] == "network_node"}
    inside = [node for node in nodes if node not in fabric]
    above = {near for node in inside for near in links[node] if near in fabric}
    if len(above) != 1:
        return None
    chain = [above.pop()]
    while higher := [near for near in links[chain[-1]] if near in fabric and near > chain[-1]]:
        chain.append(min(higher))
    prefix = f"{cluster}/d{ordinal}"
    first_link = min(of["id"] for node in inside for of in links[node].values())
    local = _local(wiring, inside, chain[0], first_link, len(prefix))
    key = repr((local.nodes, sorted((a, sorted(near.items())) for a, near in local.links.items())))
    chips = {of["address"]: node for node, of in local.nodes.items() if of["kind"] == "chip"}
    shared = memory.shared.setdefault(key, _Shared(local, max(local.nodes), chips))
    names = tuple(nodes[node]["address"] for node in chain)
    uplinks = tuple(link_ref(nodes, links, a, b) for a, b in pairwise(chain))
    return _Domain(shared, prefix, row.slug, first_link, names, uplinks)


def _local(wiring: Wiring, inside: list[int], above: int, first_link: int, prefix: int) -> Wiring:
    """The same in numbers from 0 on, the network node last; addresses lack the domain's."""
    first = min(inside)
    number = {node: node - first for node in inside}
    number[above] = max(number.values()) + 1
    nodes = {
        number[node]: {"kind": wiring.nodes[node]["kind"], "address": wiring.nodes[node]["address"][prefix:]}
        for node in inside
    }
    nodes[number[above]] = {"kind": "network_node", "address": ""}
    links = {
        number[a]: {
            number[b]: {"id": of["id"] - first_link, "capacity": of["capacity"], "model": of["model"]}
            for b, of in wiring.links[a].items()
            if b in number
        }
        for a in number
    }
    return Wiring(nodes, links, frozenset())
