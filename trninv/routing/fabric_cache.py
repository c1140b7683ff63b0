"""The shortest or widest path between two chips of a cluster, from what is remembered of their domains.

Where a domain touches the rest of its cluster in one network node, a best path to another such domain is that of the
one to its network node, the way through the tree above, and that of the other back. Alike domains share one graph in
local numbers and its paths; all of it is forgotten when the database changes. Answers equal those of the graph of both
domains.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from sqlalchemy import select

from trninv.inventory.address import Address
from trninv.inventory.schema import TABLES
from trninv.routing import evidence
from trninv.routing.answer import Basis, CitedFact, LinkRef, Path
from trninv.routing.basis import is_observed
from trninv.routing.wiring import Reader, Wiring, Wirings, link_ref
from trninv.solvers.arcs import place
from trninv.solvers.paths import Links, NodePath, PathMetric
from trninv.solvers.toward import Toward, widths
from trninv.units import Bandwidth

A = TypeVar("A")

_T = TABLES
MOST = 20_000
"""Domains remembered; an entry of a healthy one is a few hundred bytes."""
MOST_SEARCHES = 4_096
"""Searches of one state remembered, each of some kilobytes; healthy domains of a model share theirs."""

Facts = tuple[CitedFact, ...]
Found = tuple[Path, int, Facts]
"""The best path, how many are as good, and its facts."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """Alike domains: their wiring in local numbers, ``above`` being the network node, and paths toward its nodes."""

    wiring: Wiring
    above: int | None
    chips: dict[str, int]
    scale_up: Wiring
    """Without what leads out of the domain."""
    searches: "_Searches"

    @property
    def inside(self) -> Links:
        """The links of the domain alone."""
        return self.scale_up.links

    def toward(self, target: int, floor: int, *, inside: bool = False) -> Toward:
        """The shortest paths to a node over links of at least ``floor``."""
        ahead, behind = (self.inside, self.inside) if inside else self.wiring.arcs
        return self.searches.found((id(ahead), target, floor), lambda: Toward.of(ahead, target, floor, behind))

    def widths(self, target: int, *, inside: bool = False) -> dict[int, int]:
        """The capacity of the widest path to a node."""
        behind = self.inside if inside else self.wiring.arcs.behind
        return self.searches.found((id(behind), target), lambda: widths(behind, [target]))


class _Searches:
    """What was found of graphs that live as long as this does."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def found(self, key: Hashable, search: Callable[[], A]) -> A:
        if (known := self._known.get(key)) is None:
            if _known_only.get():
                raise _NotKnownError
            if len(self._known) >= MOST_SEARCHES:
                self._known.clear()
            known = self._known[key] = search()
        found: A = known
        return found


@dataclass(frozen=True, slots=True)
class _Domain:
    """A domain: what it shares with those like it, where its ids begin, and its way to the top of the fabric."""

    shared: _Shared
    address: str
    model: str
    first_link: int
    chain: tuple[str, ...]
    uplinks: tuple[LinkRef, ...]
    wires: tuple[str, ...]
    """The model of each uplink."""
    seen: bool
    """Whether the fabric is one that was seen."""
    is_observed: bool
    """Whether its wiring was."""

    def name(self, node: int) -> str:
        return self.chain[0] if node == self.shared.above else self.address + self.shared.wiring.nodes[node]["address"]


@dataclass(slots=True)
class _Memory:
    """What is known of one state of the database."""

    revision: Hashable
    domains: dict[tuple[str, int], _Domain | None] = field(default_factory=dict)
    shared: dict[Hashable, _Shared] = field(default_factory=dict)
    facts: dict[Hashable, Facts] = field(default_factory=dict)
    searches: _Searches = field(default_factory=_Searches)


class _NotKnownError(Exception):
    """It would have to be read or searched for, or the database is not in the state of the memory any more."""


_known_only: ContextVar[bool] = ContextVar("known_only", default=False)


@contextmanager
def only_known() -> Iterator[None]:
    """Answer from what is remembered alone, which takes microseconds; what is not is no answer."""
    token = _known_only.set(True)
    try:
        yield
    finally:
        _known_only.reset(token)


class FabricCache:
    """Remembers the domains of a database; thread safe."""

    def __init__(self, wirings: Wirings) -> None:
        self._wirings, self._memory = wirings, [_Memory(None)]

    def within(self, wirings: Wirings) -> "FabricCache":
        """The same, that reads through these wirings."""
        pinned = copy(self)
        pinned._wirings = wirings  # noqa: SLF001 # its own
        return pinned

    def path(self, source: Address, target: Address, metric: PathMetric) -> Found | None:
        """The best path, how many are as good, and its facts; None where the graph of both domains must be asked."""
        if metric is PathMetric.TIME:
            return None
        wide = metric is PathMetric.BANDWIDTH

        def find(one: Chip, other: Chip) -> Found | None:
            return one.path(other, wide=wide) if one.domain is other.domain else self._across(one, other, wide=wide)

        return self.ask((source, target), find)

    def basis(self, *places: Address) -> Basis | None:
        """What the wiring of the domains of chips rests on; None where the tables must be asked."""
        return self.ask(places, lambda *chips: Basis.of(is_observed=any(chip.domain.is_observed for chip in chips)))

    def ask(self, places: Sequence[Address], answer: "Callable[..., A | None]") -> A | None:
        """What is answered of chips of a cluster; None where the tables must be asked, as of other places."""
        revision = self._wirings.current()
        if revision is None or any(each.level != "chip" or each.cluster != places[0].cluster for each in places):
            return None
        memory = self._memory[0]
        if memory.revision != revision or len(memory.domains) > MOST:
            memory = self._memory[0] = _Memory(revision)
        try:
            chips = [self._chip(memory, each) for each in places]
            return answer(*chips) if all(chips) else None
        except _NotKnownError:
            return None

    def _chip(self, memory: _Memory, address: Address) -> "Chip | None":
        """None if it is not up."""
        if (domain := self._domain(memory, address)) is None:
            return None
        number = domain.shared.chips.get(_tail(address))
        return None if number is None else Chip(self, memory, domain, number)

    def _across(self, source: "Chip", target: "Chip", *, wide: bool) -> Found | None:
        (one, start), (other, end) = (source.domain, source.number), (target.domain, target.number)
        common = next((node for node in one.chain if node in other.chain), None)
        above, beyond = one.shared.above, other.shared.above
        if common is None or above is None or beyond is None:
            return None
        rising, falling = one.chain.index(common), other.chain.index(common)
        uplinks = one.uplinks[:rising] + other.uplinks[:falling][::-1]
        floor = 0
        if wide:
            ends = one.shared.widths(above).get(start, 0), other.shared.widths(beyond).get(end, 0)
            floor = min(*ends, *(link.bandwidth for link in uplinks))
        rise, fall = one.shared.toward(above, floor), other.shared.toward(end, floor)
        up, down = (tuple(map(place, path)) for path in (rise.path(start), fall.path(beyond)))
        if not up or not down:
            return None
        links = [*_links(one, up), *uplinks, *_links(other, down)]
        nodes = [
            *((_kind(one, node), one.name(node)) for node in up),
            *(("network_node", node) for node in (*one.chain[1 : rising + 1], *other.chain[:falling][::-1])),
            *((_kind(other, node), other.name(node)) for node in down[1:]),
        ]
        models = {_model(each, a, b) for each, part in ((one, up), (other, down)) for a, b in pairwise(part)}
        models |= {*one.wires[:rising], *other.wires[:falling]}
        count = rise.ways[start] * fall.ways[beyond]
        return Path.of(nodes, links), count, source.facts(models, {one.model, other.model})

    def _domain(self, memory: _Memory, address: Address) -> _Domain | None:
        key = address.cluster, address.steps[0][1]
        if key not in memory.domains:
            with self._reading(memory) as reader:
                memory.domains[key] = _read(reader, memory, *key)
        return memory.domains[key]

    def cited(self, memory: _Memory, key: Hashable, read: Callable[[Reader], tuple[CitedFact, ...]]) -> Facts:
        """Facts that are read once in a state."""
        if key not in memory.facts:
            with self._reading(memory) as reader:
                memory.facts[key] = read(reader)
        return memory.facts[key]

    @contextmanager
    def _reading(self, memory: _Memory) -> Iterator[Reader]:
        """The state of a memory."""
        if _known_only.get():
            raise _NotKnownError
        with self._wirings.reading() as reader:
            if reader.revision != memory.revision:
                raise _NotKnownError
            yield reader


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip that is up, in the numbers of what its domain shares with those like it."""

    _cache: FabricCache
    _memory: _Memory
    domain: _Domain
    number: int

    @property
    def wiring(self) -> Wiring:
        """The scale-up links of its domain, in these numbers; addresses lack the domain's."""
        return self.domain.shared.scale_up

    def name(self, node: int) -> str:
        """The address of a node of the domain."""
        return self.domain.name(node)

    def found(self, key: Hashable, search: Callable[[], A]) -> A:
        """What a search in the wiring finds, which is the same in all domains that are alike."""
        return self.domain.shared.searches.found((id(self.domain.shared), key), search)

    def facts(self, models: AbstractSet[str], above: AbstractSet[str] = frozenset()) -> Facts:
        """Of models of links, and of the fabric above models of domains."""

        def read(reader: Reader) -> Facts:
            of_fabric = evidence.of_fabric_above(reader, above, seen=seen) if above else ()
            return evidence.of_links(reader, models) + of_fabric

        seen = self.domain.seen
        return self._cache.cited(self._memory, (frozenset(models), frozenset(above), seen), read)

    def facts_of_memory(self) -> Facts:
        """Of its own model."""
        model = self.wiring.nodes[self.number]["model"]
        return self._cache.cited(self._memory, model, lambda reader: evidence.of_memories(reader, [model]))

    def toward(self, other: "Chip", *, wide: bool) -> Toward:
        """The best paths to another chip of the domain."""
        shared = self.domain.shared
        floor = shared.widths(other.number, inside=True).get(self.number, 0) if wide else 0
        return shared.toward(other.number, floor, inside=True)

    def path(self, other: "Chip", *, wide: bool) -> Found | None:
        """The best path to another chip of the domain; None if there is none."""
        ways = self.toward(other, wide=wide)
        if not (taken := ways.path(self.number)):
            return None
        path = Path.of([(_kind(self.domain, node), self.name(node)) for node in taken], _links(self.domain, taken))
        return path, ways.ways[self.number], self.facts({_model(self.domain, a, b) for a, b in pairwise(taken)})

    def link(self, a: int, b: int) -> LinkRef:
        """The link between two nodes of the domain."""
        return _links(self.domain, (a, b))[0]


def _tail(address: Address) -> str:
    return "".join(f"/{letters}{ordinal}" for letters, ordinal in address.steps[1:])


def _kind(domain: _Domain, node: int) -> str:
    return str(domain.shared.wiring.nodes[node]["kind"])


def _model(domain: _Domain, a: int, b: int) -> str:
    return str(domain.shared.wiring.links[a][b]["model"])


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
    """A domain as the tables have it; None if there is nothing of it."""
    table, clusters, models = _T["domain"], _T["cluster"], _T["domain_model"]
    query = select(table.c.id, models.c.slug).join(clusters, clusters.c.id == table.c.cluster_id)
    query = query.join(models, models.c.id == table.c.domain_model_id)
    row = reader.connection.execute(query.where(clusters.c.slug == cluster, table.c.ordinal == ordinal)).first()
    if row is None:
        return None
    wiring = reader.load([row.id], fabric=True)
    nodes, links = wiring.nodes, wiring.links
    inside = [node for node, of in nodes.items() if of["kind"] != "network_node"]
    if not inside:
        return None
    chain = _chain(wiring, inside)
    prefix = f"{cluster}/d{ordinal}"
    first_link = min((of["id"] for node in inside for of in links[node].values()), default=0)
    local, above = _local(wiring, inside, chain[:1], first_link, len(prefix))
    key = repr((above, local.nodes, sorted((a, sorted(near.items())) for a, near in local.links.items())))
    if key not in memory.shared:
        memory.shared[key] = _shared(local, above, memory.searches)
    names = tuple(nodes[node]["address"] for node in chain)
    uplinks = tuple(link_ref(nodes, links, a, b) for a, b in pairwise(chain))
    wires = tuple(links[a][b]["model"] for a, b in pairwise(chain))
    seen = any(nodes[node]["vendor_id"] for node in chain)
    is_seen = is_observed(reader.connection, prefix)
    return _Domain(memory.shared[key], prefix, row.slug, first_link, names, uplinks, wires, seen, is_seen)


def _chain(wiring: Wiring, inside: list[int]) -> list[int]:
    """The network nodes from a domain to the top; none if it does not touch just one."""
    fabric = wiring.nodes.keys() - set(inside)
    touched = {near for node in inside for near in wiring.links[node] if near in fabric}
    if len(touched) != 1:
        return []
    chain = [touched.pop()]
    while higher := [near for near in wiring.links[chain[-1]] if near in fabric and near > chain[-1]]:
        chain.append(min(higher))
    return chain


def _shared(local: Wiring, above: int | None, searches: _Searches) -> _Shared:
    kept = {node for node, of in local.nodes.items() if of["kind"] in ("chip", "switch")}
    inside = {node: {near: of for near, of in local.links[node].items() if near in kept} for node in kept}
    chips = {of["address"]: node for node, of in local.nodes.items() if of["kind"] == "chip"}
    scale_up = Wiring({node: of for node, of in local.nodes.items() if node in kept}, inside, frozenset())
    return _Shared(local, above, chips, scale_up, searches)


def _local(
    wiring: Wiring, inside: list[int], above: list[int], first_link: int, prefix: int
) -> tuple[Wiring, int | None]:
    """The same in numbers from 0 on, and the network node's, the last, if there is one; addresses lack the domain's."""
    first = min(inside)
    number = {node: node - first for node in inside}
    nodes = {
        number[node]: {key: wiring.nodes[node][key] for key in ("kind", "memory", "model")}
        | {"address": wiring.nodes[node]["address"][prefix:]}
        for node in inside
    }
    for node in above:
        number[node] = max(nodes) + 1
        nodes[number[node]] = {"kind": "network_node", "address": ""}
    links = {
        number[a]: {
            number[b]: {"id": of["id"] - first_link, "capacity": of["capacity"], "model": of["model"]}
            for b, of in wiring.links[a].items()
            if b in number
        }
        for a in number
    }
    return Wiring(nodes, links, frozenset()), (max(nodes) if above else None)
