"""The islands of a cluster. Domains that are alike are read once, and so are those with the same damage."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.errors import ScopeTooLargeError
from trninv.inventory.address import address_of, node_addresses
from trninv.inventory.schema import TABLES
from trninv.routing.answer import LinkRef
from trninv.routing.hubs import Hubs, hubs, uplinks_between
from trninv.routing.patterns import Pattern, patterns_of, starts
from trninv.routing.scenario import Changes
from trninv.routing.scope import Scope
from trninv.routing.wear import Wear, uplinks
from trninv.routing.wiring import MAX_DOMAINS, Reader, Wiring, cut_links

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph
    from trninv.solvers.hubs import Narrow
    from trninv.solvers.quotient import Island, Quotient, Taken

_T = TABLES
MAX_CUT = 1_000
"""Links of a cut that an answer lists."""
_AT_ONCE = 16
"""Domains whose uplinks are read together: few make up a cut that is listed."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Domains that are alike.

    Attributes
    ----------
    island
        One of them, or another one's ids.
    failed
        How many of its chips are not up.
    worn
        Whether it is what is left of another kind, so that nothing in it is of a model of its own.

    """

    island: "Island"
    domains: tuple[int, ...]
    failed: int
    worn: bool = False


@dataclass(frozen=True, slots=True)
class ClusterSplit:
    """A quotient's split in terms of domains and links; ``cut`` lists the first MAX_CUT links of ``cut_size``."""

    kinds: Sequence[Alike]
    quotient: "Quotient"
    cut: tuple[LinkRef, ...]
    cut_size: int

    @property
    def lower(self) -> int:
        """Proven: no less, in bytes per second of one direction."""
        return self.quotient.lower

    @property
    def upper(self) -> int:
        """What the split cuts, in bytes per second of one direction."""
        return self.quotient.upper

    @property
    def size(self) -> int:
        """Chips on side A."""
        return sum(len(taken.chips) * taken.islands for taken in self.quotient.taken)

    @property
    def method(self) -> str:
        """How it was found, and why that is a proof."""
        return self.quotient.method

    def sides(self, connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Addresses on either side: whole domains, and the chips of those that are split."""
        inside, parts = list[int](), (list[str](), list[str]())
        outside = {domain for kind in self.kinds for domain in kind.domains}
        for domain, island, taken in shared_out(self.kinds, self.quotient):
            chips = taken.chips
            if not chips:  # its hub alone is there
                continue
            outside.remove(domain)
            if len(chips) == island.size:
                inside.append(domain)
                continue
            like = next(of["domain_id"] for _, of in island.graph.nodes(data=True) if of["domain_id"])
            first = starts(connection, "node", [domain, like])
            shift = first[domain] - first[like]
            named_chips = _node_addresses(connection, [chip + shift for chip in island.chips])
            for chip in island.chips:
                parts[chip not in chips].append(named_chips[chip + shift])
        named = _addresses(connection, {*inside, *outside})
        a, b = ([named[domain] for domain in sorted(side)] for side in (inside, outside))
        return (*a, *parts[0]), (*b, *parts[1])


def shared_out(kinds: "Sequence[Alike]", found: "Quotient") -> "Iterator[tuple[int, Island, Taken]]":
    """Each domain that has chips on side A, or its hub, an island like it, and what is taken in that one's ids."""
    left = [list(kind.domains) for kind in kinds]
    for taken in sorted(found.taken, key=lambda taken: -len(taken.chips)):
        island = kinds[taken.kind].island
        for _ in range(taken.islands):
            yield left[taken.kind].pop(0 if len(taken.chips) == island.size else -1), island, taken


def _addresses(connection: Connection, domains: Collection[int]) -> dict[int, str]:
    domain, cluster = _T["domain"], _T["cluster"]
    query = select(domain.c.id, address_of("domain").label("address"))
    query = query.join(cluster, cluster.c.id == domain.c.cluster_id)
    if len(domains) <= MAX_DOMAINS:
        query = query.where(domain.c.id.in_(domains))
    return {row.id: row.address for row in connection.execute(query) if row.id in domains}


def _node_addresses(connection: Connection, nodes: Collection[int]) -> dict[int, str]:
    query = node_addresses().where(_T["node"].c.id.in_(nodes))
    return {row.id: row.address for row in connection.execute(query)}


def islands(reader: Reader, scope: Scope) -> list[Alike]:
    """The islands of some domains of a cluster.

    Raises
    ------
    ScopeTooLargeError
        Chips of more than MAX_DOMAINS domains, but not the whole cluster.

    """
    connection, domains = reader.connection, scope.domains
    if scope.members is not None and len(domains) > MAX_DOMAINS:
        raise ScopeTooLargeError(f"chips of {len(domains)} domains: name at most {MAX_DOMAINS}, or the cluster")
    found = hubs(reader, scope.place.cluster_id)
    if scope.members is not None:
        kinds = [_read(reader, [domain], scope, found) for domain in domains]
    else:
        patterns = patterns_of(connection, scope.place.cluster_id)
        kinds = [
            kind
            for of_one in reader.remembered(("by model", *domains), lambda: _by_model(connection, domains))
            for kind in _of_one_model(reader, replace(scope, domains=of_one), patterns, found)
        ]
    several = len(frozenset[int]().union(*(kind.island.joins for kind in kinds))) > 1
    return [replace(kind, island=replace(kind.island, cut_off=True)) for kind in kinds] if several else kinds


def _by_model(connection: Connection, domains: Sequence[int]) -> list[list[int]]:
    """Domains of one model each."""
    domain = _T["domain"]
    query = select(domain.c.id, domain.c.domain_model_id).where(domain.c.id.between(min(domains), max(domains)))
    models = {row.id: row.domain_model_id for row in connection.execute(query)}
    found: dict[int, list[int]] = {}
    for each in domains:
        found.setdefault(models[each], []).append(each)
    return list(found.values())


def _of_one_model(reader: Reader, scope: Scope, patterns: Mapping[int, Pattern], found: Hubs) -> list[Alike]:
    """The islands of domains of one model: the healthy ones, and each kind of damage."""
    domains = scope.domains
    unlike = reader.remembered(("unlike", *domains), lambda: _unlike(reader.connection, domains))
    apart = unlike | reader.changes.domains | set(found.domains)
    kinds = [_read(reader, [domain], scope, found) for domain in domains if domain in apart]
    groups: dict[Pattern, list[int]] = {}
    for domain in domains:
        if domain not in apart:
            groups.setdefault(patterns.get(domain, ()), []).append(domain)
    if () not in groups:
        return kinds + [_read(reader, alike, scope, found) for alike in groups.values()]
    healthy = groups.pop(())
    whole = _read(reader, healthy, scope, found)
    first = {table: starts(reader.connection, table, healthy[-1:])[healthy[-1]] for table in ("node", "link")}
    wear = Wear(reader.load(healthy[-1:], fabric=True), whole.island)
    worn = (_worn(wear, _lacks(first, pattern), alike, scope, found) for pattern, alike in groups.items())
    return [*kinds, whole, *worn]


def unworn(kinds: Sequence[Alike]) -> list["Graph"]:
    """Graphs in which everything is that is of a model of its own."""
    return [kind.island.graph for kind in kinds if not kind.worn]


def bisect_kinds(kinds: Sequence[Alike], low: int, high: int, narrow: "Sequence[Narrow]" = ()) -> "Quotient":
    """Bounds on the least cut with ``low`` to ``high`` chips on one side; ``narrow`` links join the kinds' hubs."""
    return solvers.quotient.bisect([(kind.island, len(kind.domains)) for kind in kinds], low, high, narrow)


def split(reader: Reader, scope: Scope, kinds: Sequence[Alike], low: int, high: int) -> ClusterSplit:
    """Part the islands' chips, and say which domains and links that means."""
    above = hubs(reader, scope.place.cluster_id)
    found = bisect_kinds(kinds, low, high, above.narrow)
    cut = ((taken, kinds[taken.kind].island) for taken in found.taken)
    size = sum(taken.islands * len(_parted(island, _across(island, taken))) for taken, island in cut)
    between = uplinks_between(reader, above, found.links)
    listed = islice(chain(between, _cuts(reader, scope, kinds, found, above)), MAX_CUT)
    return ClusterSplit(kinds, found, tuple(sorted(listed, key=lambda link: link.id)), size + len(between))


def _across(island: "Island", taken: "Taken") -> tuple[int, ...]:
    """Chips of an island that are across from its hub."""
    return island.others(taken.chips) if taken.is_hub_taken else taken.chips


def are_apart(reader: Reader, scope: Scope, kinds: Sequence[Alike]) -> bool:
    """Whether some domains are joined to others by nothing: neither by hubs, nor by a domain that is below several."""
    listed = [(kind.island, len(kind.domains)) for kind in kinds]
    return len(solvers.quotient.pieces(listed, hubs(reader, scope.place.cluster_id).narrow)) > 1


def _read(reader: Reader, domains: Sequence[int], scope: Scope, found: Hubs) -> Alike:
    """The kind that some domains are of, from the tables' word on the last of them."""
    return _kind(reader.load([domains[-1]], fabric=True), domains, scope, found)


def _lacks(first: Mapping[str, int], pattern: Pattern) -> Changes:
    """Some damage as changes of a domain whose nodes and links begin at these ids."""
    lacks = Changes()
    for table, local, factor in pattern:
        (lacks.nodes if table == "node" else lacks.links)[first[table] + local] = factor
    return lacks


def _worn(wear: Wear, lacks: Changes, domains: Sequence[int], scope: Scope, found: Hubs) -> Alike:
    """What is left of the healthy domain, as a kind."""

    def left() -> Alike:
        return _kind(wear.wiring.changed(lacks), domains, scope, found)

    exits = wear.exits(lacks)
    if exits is None:
        return replace(left(), worn=True)
    island = solvers.quotient.Island(
        lambda: left().island.graph,
        tuple(exits),
        wear.island.above,
        tuple(exits.values()),
        sum(exits.values()),
        hubs=wear.island.hubs,
    )
    return Alike(island, tuple(domains), wear.island.size - len(exits), worn=True)


def _kind(wiring: Wiring, domains: Sequence[int], scope: Scope, found: Hubs) -> Alike:
    graph = wiring.graph
    chips = {node for node, of in graph.nodes(data=True) if of["kind"] == "chip"}
    kept = {node for node, of in graph.nodes(data=True) if of["domain"] is not None}
    failed = wiring.failed
    if scope.members is not None:
        kept -= set() if scope.transit else chips - scope.members
        chips &= scope.members
        failed &= scope.members
    above = _above(graph, kept)
    at_hub: dict[int, set[int]] = {}
    for node in above:
        at_hub.setdefault(found.of.get(node, node), set()).add(node)

    def below(above: Collection[int], hubs: Collection[int]) -> "Island":
        inside = _below_one(solvers.graph.Graph(graph.subgraph({*kept, *above})), above)
        return solvers.quotient.Island.of(inside, chips, min(above, default=None), frozenset(hubs))

    island = below(above, at_hub)
    if len(at_hub) > 1:
        first = min(at_hub)
        island = replace(island, at_one=below(at_hub[first], [first]))
    return Alike(island, tuple(domains), len(failed))


def _above(graph: "Graph", kept: Collection[int]) -> set[int]:
    """The network nodes that NICs of some chips lead to; those of all NICs, where none is a chip's."""
    nics = set(solvers.graph.nics_in(graph))
    used = {nic for nic in nics if any(near in kept and graph.nodes[near]["kind"] == "chip" for near in graph[nic])}
    return {near for nic in used or nics for near in graph[nic] if graph.nodes[near]["kind"] == "network_node"}


def _below_one(graph: "Graph", above: Collection[int]) -> "Graph":
    """The same, with the network nodes that the NICs lead to as the first of them: the fabric above does not block."""
    first = min(above, default=None)
    for other in set(above) - {first}:
        address = graph.nodes[other]["address"]
        for nic, of in list(graph.adj[other].items()):
            if graph.nodes[nic]["kind"] == "nic":
                graph.add_edge(nic, first, **of, above=address)
        graph.remove_node(other)
    return graph


def _unlike(connection: Connection, domains: Sequence[int]) -> set[int]:
    """Domains with other links than most have: more or fewer, or of another bandwidth in all."""
    link = _T["link"]
    measures = func.count(), func.sum(link.c.bandwidth_bytes_per_s)
    query = select(link.c.domain_id, *measures).where(link.c.domain_id.between(min(domains), max(domains)))
    found = {key: tuple(measured) for key, *measured in connection.execute(query.group_by(link.c.domain_id))}
    usual = Counter(found.get(domain) for domain in domains).most_common(1)[0][0]
    return {domain for domain in domains if found.get(domain) != usual}


def _parted(island: "Island", chips: Collection[int]) -> tuple[LinkRef, ...]:
    """The links that part chips of an island from its others and from its network node."""
    if island.above is not None and len(chips) == island.size:
        up = cut_links(island.graph, {island.above})
        if sum(link.bandwidth for link in up) == island.exit:
            return up
    rest = [end for end in island.chips if end not in set(chips)] + ([] if island.above is None else [island.above])
    return cut_links(island.graph, solvers.flow.minimum_cut(island.graph, chips, rest)[1]) if chips and rest else ()


def _cuts(reader: Reader, scope: Scope, kinds: Sequence[Alike], found: "Quotient", above: Hubs) -> Iterator[LinkRef]:
    """Links of the cut within domains and above their NICs, those of split domains first."""
    listed = ((domain, island, _across(island, taken)) for domain, island, taken in shared_out(kinds, found))
    shares = sorted((share for share in listed if share[2]), key=lambda share: len(share[2]) == share[1].size)
    up: dict[int, list[LinkRef]] = {}
    for at, (domain, island, chips) in enumerate(shares):
        if at % _AT_ONCE == 0 and scope.members is None:
            whole = (near for near, of, taken in shares[at : at + _AT_ONCE] if len(taken) == of.size)
            up = uplinks(reader.connection, set(whole) - reader.changes.domains)
        if domain in up and sum(link.bandwidth for link in up[domain]) == island.exit:
            yield from up[domain]
            continue
        actual = _read(reader, [domain], scope, above).island
        shift = actual.chips[0] - island.chips[0]
        yield from _parted(actual, [chip + shift for chip in chips])
