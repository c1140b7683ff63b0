"""The islands of a cluster. Domains that are alike are read once, and so are those with the same damage."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.errors import ScopeTooLargeError
from trninv.inventory.address import address_of, node_addresses
from trninv.inventory.schema import CARRYING, TABLES
from trninv.routing.answer import LinkRef
from trninv.routing.patterns import Pattern, patterns_of, starts
from trninv.routing.scenario import Changes
from trninv.routing.scope import Scope
from trninv.routing.tops import is_joined
from trninv.routing.wear import Wear, uplinks
from trninv.routing.wiring import MAX_DOMAINS, Reader, Wiring, cut_links

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph
    from trninv.solvers.quotient import Island, Quotient

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
        for domain, island, chips in shared_out(self.kinds, self.quotient):
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


def shared_out(kinds: "Sequence[Alike]", found: "Quotient") -> "Iterator[tuple[int, Island, tuple[int, ...]]]":
    """Each domain that has chips on side A, an island like it, and these chips in that one's ids."""
    left = [list(kind.domains) for kind in kinds]
    for kind, chips, islands in sorted(found.taken, key=lambda taken: -len(taken.chips)):
        for _ in range(islands):
            is_whole = len(chips) == kinds[kind].island.size
            yield left[kind].pop(0 if is_whole else -1), kinds[kind].island, chips


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
    supposed = frozenset(reader.changes.network_nodes)
    above = "cut off", scope.place.cluster_id, supposed
    cut_off = reader.remembered(above, lambda: _cut_off(connection, scope.place.cluster_id, supposed))
    if not is_joined(reader, scope):
        cut_off = set(domains)
    if scope.members is not None:
        return [_read(reader, [domain], scope, cut_off=domain in cut_off) for domain in domains]
    patterns = patterns_of(connection, scope.place.cluster_id)
    return [
        kind
        for of_one in reader.remembered(("by model", *domains), lambda: _by_model(connection, domains))
        for kind in _of_one_model(reader, replace(scope, domains=of_one), patterns, cut_off)
    ]


def _by_model(connection: Connection, domains: Sequence[int]) -> list[list[int]]:
    """Domains of one model each."""
    domain = _T["domain"]
    query = select(domain.c.id, domain.c.domain_model_id).where(domain.c.id.between(min(domains), max(domains)))
    models = {row.id: row.domain_model_id for row in connection.execute(query)}
    found: dict[int, list[int]] = {}
    for each in domains:
        found.setdefault(models[each], []).append(each)
    return list(found.values())


def _of_one_model(
    reader: Reader, scope: Scope, patterns: Mapping[int, Pattern], cut_off: Collection[int]
) -> list[Alike]:
    """The islands of domains of one model: the healthy ones, and each kind of damage."""
    domains = scope.domains
    unlike = reader.remembered(("unlike", *domains), lambda: _unlike(reader.connection, domains))
    apart = unlike | reader.changes.domains | set(cut_off)
    kinds = [_read(reader, [domain], scope, cut_off=domain in cut_off) for domain in domains if domain in apart]
    groups: dict[Pattern, list[int]] = {}
    for domain in domains:
        if domain not in apart:
            groups.setdefault(patterns.get(domain, ()), []).append(domain)
    if () not in groups:
        return kinds + [_read(reader, alike, scope) for alike in groups.values()]
    healthy = groups.pop(())
    whole = _read(reader, healthy, scope)
    first = {table: starts(reader.connection, table, healthy[-1:])[healthy[-1]] for table in ("node", "link")}
    wear = Wear(reader.load(healthy[-1:], fabric=True), whole.island)
    return [*kinds, whole, *(_worn(wear, _lacks(first, pattern), alike, scope) for pattern, alike in groups.items())]


def unworn(kinds: Sequence[Alike]) -> list["Graph"]:
    """Graphs in which everything is that is of a model of its own."""
    return [kind.island.graph for kind in kinds if not kind.worn]


def bisect_kinds(kinds: Sequence[Alike], low: int, high: int) -> "Quotient":
    """Bounds on the least cut with ``low`` to ``high`` chips on one side."""
    return solvers.quotient.bisect([(kind.island, len(kind.domains)) for kind in kinds], low, high)


def split(reader: Reader, scope: Scope, kinds: Sequence[Alike], low: int, high: int) -> ClusterSplit:
    """Part the islands' chips, and say which domains and links that means."""
    found = bisect_kinds(kinds, low, high)
    size = sum(islands * len(_parted(kinds[kind].island, chips)) for kind, chips, islands in found.taken)
    listed = sorted(islice(_cuts(reader, scope, kinds, found), MAX_CUT), key=lambda link: link.id)
    return ClusterSplit(kinds, found, tuple(listed), size)


def _read(reader: Reader, domains: Sequence[int], scope: Scope, *, cut_off: bool = False) -> Alike:
    """The kind that some domains are of, from the tables' word on the last of them."""
    return _kind(reader.load([domains[-1]], fabric=True), domains, scope, cut_off=cut_off)


def _lacks(first: Mapping[str, int], pattern: Pattern) -> Changes:
    """Some damage as changes of a domain whose nodes and links begin at these ids."""
    lacks = Changes()
    for table, local, factor in pattern:
        (lacks.nodes if table == "node" else lacks.links)[first[table] + local] = factor
    return lacks


def _worn(wear: Wear, lacks: Changes, domains: Sequence[int], scope: Scope) -> Alike:
    """What is left of the healthy domain, as a kind."""

    def left() -> Alike:
        return _kind(wear.wiring.changed(lacks), domains, scope)

    exits = wear.exits(lacks)
    if exits is None:
        return replace(left(), worn=True)
    island = solvers.quotient.Island(
        lambda: left().island.graph, tuple(exits), wear.island.above, tuple(exits.values()), sum(exits.values())
    )
    return Alike(island, tuple(domains), wear.island.size - len(exits), worn=True)


def _kind(wiring: Wiring, domains: Sequence[int], scope: Scope, *, cut_off: bool = False) -> Alike:
    graph = wiring.graph
    nics, chips = ({node for node, of in graph.nodes(data=True) if of["kind"] == kind} for kind in ("nic", "chip"))
    above = {near for nic in nics for near in graph[nic] if graph.nodes[near]["kind"] == "network_node"}
    kept = {node for node, of in graph.nodes(data=True) if of["domain"] is not None} | above
    failed = wiring.failed
    if scope.members is not None:
        kept -= set() if scope.transit else chips - scope.members
        chips &= scope.members
        failed &= scope.members
    inside = _below_one(solvers.graph.Graph(graph.subgraph(kept)), above)
    island = solvers.quotient.Island.of(inside, chips, min(above, default=None), cut_off=cut_off)
    return Alike(island, tuple(domains), len(failed))


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


def _cut_off(connection: Connection, cluster_id: int, changed: Collection[int]) -> set[int]:
    """Domains above which the fabric is damaged: a network node or uplink is out, or carries less than is below it.

    What is above the network node that all of them hang on joins nothing, so it does not matter.
    """
    node, link = _T["node"], _T["link"]
    below = select(func.sum(link.c.bandwidth_bytes_per_s)).where(link.c.b_id == node.c.id, link.c.state.in_(CARRYING))
    ours = node.c.cluster_id == cluster_id, node.c.kind == "network_node"
    # a sum for each, so that nothing has to be sorted
    nodes = connection.execute(select(node.c.id, node.c.state, below.scalar_subquery().label("carries")).where(*ours))
    state, carries = {}, {}
    for row in nodes:
        state[row.id], carries[row.id] = row.state == "up", int(row.carries or 0)
    uplinks = select(link).join(node, node.c.id == link.c.a_id).where(*ours)
    above = {row.a_id: row for row in connection.execute(uplinks)}

    top = _top({a: row.b_id for a, row in above.items()}, state)

    def sound(key: int) -> bool:
        if key == top:  # all domains hang on it alone
            return True
        while key != top and (up := above.get(key)):
            enough = up.state == "up" and up.bandwidth_bytes_per_s >= carries[key]
            if not (state[key] and enough) or key in changed:
                return False
            key = up.b_id
        return state[key] and key not in changed

    broken = [key for key in state if not sound(key)]
    wanted = select(link.c.domain_id).distinct().where(link.c.b_id.in_(broken), link.c.domain_id.is_not(None))
    return set(connection.scalars(wanted))


def _top(above: Mapping[int, int], network_nodes: Collection[int]) -> int | None:
    """The lowest network node that the way up from each of the lowest leads over."""
    leaves = set(network_nodes).difference(above.values())

    def way(key: int) -> list[int]:
        found = [key]
        while found[-1] in above:
            found.append(above[found[-1]])
        return found

    shared = set(network_nodes).intersection(*map(way, leaves)) if leaves else set[int]()
    return next((key for key in way(min(leaves)) if key in shared), None) if leaves else None


def _parted(island: "Island", chips: Collection[int]) -> tuple[LinkRef, ...]:
    """The links that part chips of an island from its others and from its network node."""
    if island.above is not None and len(chips) == island.size:
        up = cut_links(island.graph, {island.above})
        if sum(link.bandwidth for link in up) == island.exit:
            return up
    rest = [end for end in island.chips if end not in set(chips)] + ([] if island.above is None else [island.above])
    return cut_links(island.graph, solvers.flow.minimum_cut(island.graph, chips, rest)[1]) if chips and rest else ()


def _cuts(reader: Reader, scope: Scope, kinds: Sequence[Alike], found: "Quotient") -> Iterator[LinkRef]:
    """Links of the cut, those of split domains first."""
    shares = sorted(shared_out(kinds, found), key=lambda share: len(share[2]) == share[1].size)
    up: dict[int, list[LinkRef]] = {}
    for at, (domain, island, chips) in enumerate(shares):
        if at % _AT_ONCE == 0 and scope.members is None:
            whole = (near for near, of, taken in shares[at : at + _AT_ONCE] if len(taken) == of.size)
            up = uplinks(reader.connection, set(whole) - reader.changes.domains)
        if domain in up and sum(link.bandwidth for link in up[domain]) == island.exit:
            yield from up[domain]
            continue
        actual = _read(reader, [domain], scope).island
        shift = actual.chips[0] - island.chips[0]
        yield from _parted(actual, [chip + shift for chip in chips])
