"""How many hops apart the chips of a scope are.

Across domains a path climbs the fabric's tree to the lowest network node above both, so the pairs of a cluster are
counted from how many chips of each domain are how far below its network node: products of such counts, tier by tier.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from sqlalchemy import func, select

from trninv import solvers
from trninv.errors import WrongLevelError
from trninv.inventory.schema import CARRYING, TABLES
from trninv.routing import cluster, evidence
from trninv.routing.answer import Answer, At, CitedFact, Exact, Table, Told
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Scope
from trninv.routing.via import ASKED, Reason, Via
from trninv.routing.wiring import Reader
from trninv.solvers.arcs import arcs
from trninv.units import counted

if TYPE_CHECKING:
    from trninv.solvers.distances import Counts

_DEFINED = "links travelled on a shortest path between each pair of the scope's healthy chips (chip-switch-chip is two)"


@dataclass(frozen=True, slots=True)
class HopCount:
    """Pairs of chips that are this many hops apart."""

    hops: Annotated[int, "Links of a shortest path."]
    pairs: Annotated[Exact, "How many pairs."]


@dataclass(frozen=True, kw_only=True)
class DistanceAnswer(Answer):
    """Hops between the pairs of a scope's healthy chips."""

    of: Annotated[At, "The scope."]
    chips: Annotated[int, "Its healthy chips."]
    pairs: Annotated[Exact, "All pairs."]
    unreachable: Annotated[Exact, "Pairs that nothing joins."]
    reason: Reason
    diameter: Annotated[int | None, "Most hops of a pair that is joined."]
    mean: Annotated[float | None, "Mean hops of the pairs that are joined."]
    by_hops: Annotated[tuple[HopCount, ...], "The distribution."]

    def told(self) -> Told:
        yield f"{self.of}: {counted(self.chips, 'chip')}, {counted(self.pairs, 'pair')}"
        if self.mean is not None:
            yield f"diameter {counted(self.diameter or 0, 'hop')}, mean {self.mean:.3f}"
            yield Table(["hops", "pairs"], ([each.hops, f"{each.pairs:,}"] for each in self.by_hops))
        if self.unreachable:
            yield f"{counted(self.unreachable, 'pair')} not joined: {self.reason}"

    def compared(self) -> Told:
        if self.baseline and self.baseline.mean is not None:
            yield f"as it is: diameter {self.baseline.diameter}, mean {self.baseline.mean:.3f}"


@question(price=ROUTED, examples=("distances u-trn2x64", "distances u-trn2x64 --via any"))
def distances(
    reader: Reader,
    of: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    via: Annotated[Via | None, Argument(ASKED)] = None,
) -> DistanceAnswer:
    """How many hops apart a scope's chips are: diameter, mean, distribution."""
    scope = Scope.of(reader, of, transit=True)
    over = Via.of(scope.domains, via)
    if over is Via.SCALE_UP and len(scope.domains) == 1:
        inside = scope.inside(reader, "this")
        chips, found = len(inside.ends), solvers.distances.within(dict(inside.graph.adjacency()), inside.ends)
        facts: tuple[CitedFact, ...] = ()
    else:
        kinds = cluster.islands(reader, scope)
        chips, found = sum(kind.island.size * len(kind.domains) for kind in kinds), _counted(reader, scope, kinds, over)
        nodes = (of for kind in kinds for of in kind.island.graph.nodes.values())
        facts = evidence.of_fabric(reader, nodes) if over is Via.ANY else ()
    pairs, reached = chips * (chips - 1) // 2, int(found.sum())
    by_hops = tuple(HopCount(hops, count) for hops, count in enumerate(found.tolist()) if count)
    return DistanceAnswer(
        of=scope.place.address,
        chips=chips,
        pairs=pairs,
        unreachable=pairs - reached,
        reason=_reason(reader, scope, over, pairs, reached),
        diameter=by_hops[-1].hops if by_hops else None,
        mean=sum(each.hops * each.pairs for each in by_hops) / reached if reached else None,
        by_hops=by_hops,
        definition=_DEFINED + over.over,
        via=over,
        facts=facts,
    )


def _reason(reader: Reader, scope: Scope, over: Via, pairs: int, reached: int) -> str | None:
    if pairs == reached:
        return None
    what = counted(pairs - reached, "pair")
    if over is Via.ANY:
        return over.unjoined(what)
    otherwise = int(_counted(reader, scope, cluster.islands(reader, scope), Via.ANY).sum()) - reached
    return over.unjoined(what, f"{otherwise:,} of them are joined" if otherwise else "none of them is joined")


def _counted(reader: Reader, scope: Scope, kinds: list[cluster.Alike], over: Via) -> "Counts":
    """Pairs by hops, in a domain and across."""
    across = _across(reader, scope, kinds) if over is Via.ANY else ()
    return solvers.distances.total([*_within(kinds, over), *across])


def _within(kinds: list[cluster.Alike], over: Via) -> Iterator["Counts"]:
    for kind in kinds:
        graph = kind.island.graph if over is Via.ANY else solvers.quotient.without_exits(kind.island.graph)
        links = arcs(graph.nodes, dict(graph.adjacency())).ahead
        yield solvers.distances.within(links, kind.island.chips) * len(kind.domains)


def _across(reader: Reader, scope: Scope, kinds: list[cluster.Alike]) -> Iterator["Counts"]:
    """Pairs of chips of different domains, by hops: those that meet at each network node."""
    above_domain, above_node = _tree(reader, scope)
    leaves: dict[int, list[Counts]] = {}
    for kind in kinds:
        counts = solvers.distances.below(kind.island.graph, kind.island.chips, kind.island.above)
        for domain in kind.domains:
            if domain in above_domain and len(counts):
                leaves.setdefault(above_domain[domain], []).append(counts)
    return solvers.distances.across(leaves, above_node)


def _tree(reader: Reader, scope: Scope) -> tuple[dict[int, int], dict[int, int]]:
    """The network node above each domain, and above each network node: over links and nodes that carry."""
    node, link, top = TABLES["node"], TABLES["link"], TABLES["node"].alias("top")
    down = reader.changes.down
    lost = {key for key, factor in reader.changes.links.items() if not factor}
    ours = link.c.domain_id.in_(scope.domains) if scope.members is not None else node.c.cluster_id == scope.place.id
    joined = link.join(node, node.c.id == link.c.a_id).join(top, top.c.id == link.c.b_id)
    carrying = (link.c.scope == "fabric") & link.c.state.in_(CARRYING) & top.c.state.in_(CARRYING)
    nearest, farthest = func.min(link.c.b_id), func.max(link.c.b_id)
    of_domains = select(link.c.domain_id, nearest, farthest).select_from(joined).where(carrying, ours)
    found = reader.connection.execute(of_domains.where(link.c.domain_id.is_not(None)).group_by(link.c.domain_id)).all()
    if any(nearest != farthest for _, nearest, farthest in found):
        raise WrongLevelError(
            f"{scope.place.address} has domains below several network nodes each, and distances are counted below one: "
            "ask for a path between two chips, or about one domain"
        )
    domains = {domain: above for domain, above, _ in found if above not in down}
    uplinks = (
        select(link.c.id, link.c.a_id, link.c.b_id)
        .select_from(joined)
        .where(
            carrying,
            node.c.state.in_(CARRYING),
            link.c.domain_id.is_(None),
            node.c.cluster_id == scope.place.cluster_id,
        )
    )
    nodes = {
        row.a_id: row.b_id
        for row in reader.connection.execute(uplinks)
        if row.id not in lost and not down & {row.a_id, row.b_id}
    }
    return domains, nodes
