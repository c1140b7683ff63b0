"""Ask questions about a damaged fleet and judge the answers with an oracle."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TypeVar

import networkx as nx

from bench.damage import oracle
from bench.damage.oracle import Ints, Named, Ways
from bench.damage.states import State
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions.bisection import BisectionAnswer
from trninv.routing.questions.path import PathAnswer

T = TypeVar("T")

_CLOSE = 1e-6
_TRIES = 40
"""Starting points of a search for cheaper splits."""
_SMALL = 16
"""Most chips of a domain for a plain linear program of all-to-all, and for trying every pair."""
_PAIR = 2


@dataclass(frozen=True)
class Checked:
    """A judged answer and the processor seconds that it took.

    Attributes
    ----------
    fault
        What is wrong with the answer; empty if it is right.
    proven
        Whether the oracle knows the exact value, and not only bounds.
    tightness
        The answer's lower bound divided by its upper bound.

    """

    question: str
    system: str
    lost: int
    took: float
    fault: str
    exact: bool = True
    proven: bool = True
    tightness: float = 1.0


@dataclass(frozen=True)
class Verdict:
    """The oracle's judgement of an answer."""

    fault: str
    exact: bool = True
    proven: bool = True
    tightness: float = 1.0


class Checks:
    """The questions about one state; ``seconds`` limits the integer program for a 64-chip torus."""

    def __init__(self, fleet: BaseFleet, state: State, chance: random.Random, seconds: float) -> None:
        self._fleet, self._state, self._chance, self._seconds = fleet, state, chance, seconds
        domains = (f"{state.cluster}/d{at}" for at in range(state.domains))
        self._domain = chance.choice([domain for domain in domains if state.chips(domain)])
        self._inner = oracle.ways(state.left, [self._domain], fabric=False)
        self._ends = state.chips(self._domain)
        self._took = 0.0

    def all(self) -> Iterator[Checked]:
        """Ask each question once or a few times and yield the judged answers."""
        asked: list[tuple[str, int, Callable[[], Verdict]]] = [
            ("path by hops", 3, self._by_hops),
            ("path by bandwidth", 2, self._by_bandwidth),
            ("path between sets", 1, self._between_sets),
            ("bandwidth", 3, self._bandwidth),
            ("distances", 1, self._distances),
            ("pool", 1, self._pool),
            ("cut tree", 1, self._cut_tree),
            ("profile", 1, self._profile),
            ("collectives", 1, self._collectives),
            ("bisection of a domain", 1, self._bisection_of_domain),
            ("bisection of a cluster", 1, self._bisection_of_cluster),
        ]
        for name, times, check in asked:
            for _ in range(times):
                found = check()
                lost = len(self._state.down) + len(self._state.halved)
                quality = found.exact, found.proven, found.tightness
                yield Checked(name, self._state.system, lost, self._took, found.fault, *quality)

    def _timed(self, ask: Callable[..., T], *given: str) -> T:
        start = time.process_time()
        found = ask(*given)
        self._took = time.process_time() - start
        return found

    def _pair(self) -> tuple[str, str]:
        """Draw two chips, of one domain or of two."""
        every = self._state.chips(self._state.cluster)
        a = self._chance.choice(self._ends)
        return a, self._chance.choice(self._chance.choice([every, self._ends]))

    def _ways(self, *chips: str) -> Ways:
        """Return the graph that paths between some chips may use."""
        domains = {chip.rpartition("/s")[0] for chip in chips}
        return oracle.ways(self._state.left, domains, fabric=len(domains) > 1)

    def _by_hops(self) -> Verdict:
        a, b = self._pair()
        ways, found = self._ways(a, b), self._timed(self._fleet.path, a, b)
        hops = found.paths[0].hops if found.paths else None
        return Verdict(_unlike(f"path {a} {b}", hops, oracle.hops(ways, [a], [b])) or _walked(ways, found))

    def _by_bandwidth(self) -> Verdict:
        a, b = self._pair()
        ways, found = self._ways(a, b), self._timed(self._fleet.path, a, b, "bandwidth")
        best = (found.paths[0].bandwidth, found.paths[0].hops) if found.paths else None
        wanted = (None, 0) if a == b else oracle.widest(ways, [a], [b])
        return Verdict(_unlike(f"path {a} {b} --by bandwidth", best, wanted) or _walked(ways, found))

    def _between_sets(self) -> Verdict:
        every = self._state.chips(self._state.cluster)
        sources, targets = (self._chance.sample(every, min(3, len(every))) for _ in range(2))
        ways = self._ways(*sources, *targets)
        start = time.process_time()
        found = self._fleet.path(sources[0], targets[0], or_from=sources[1:], or_to=targets[1:])
        self._took = time.process_time() - start
        away = {(a, b): hops for a in sources for b in targets if (hops := oracle.hops(ways, [a], [b])) is not None}
        best = {pair for pair, hops in away.items() if hops == min(away.values())}
        told = {(pair.source, pair.target) for pair in found.best_pairs}
        if len(sources) * len(targets) == 1:  # the answer lists pairs only if there are several
            best = set()
        return Verdict(_unlike(f"path {sources} {targets}", told, best) or _walked(ways, found))

    def _bandwidth(self) -> Verdict:
        a, b = self._pair()
        if a == b:
            return Verdict("")
        servers = [chip.rpartition("/c")[0] for chip in (a, b)]
        if len(set(servers)) == _PAIR and self._chance.random() < 1 / 2:
            a, b = servers
        sides = [[end] if "/c" in end else self._state.chips(end) for end in (a, b)]
        found = self._timed(self._fleet.bandwidth, a, b)
        flow = oracle.flow(self._ways(a, b), *sides)
        cut = sum(link.bandwidth for link in found.minimum_cut)
        return Verdict(_unlike(f"bandwidth {a} {b}", (found.maximum_flow, cut), (flow, flow)))

    def _distances(self) -> Verdict:
        found = self._timed(self._fleet.distances, self._domain)
        told: Counter[int | None] = Counter({each.hops: each.pairs for each in found.by_hops})
        told[None] = found.unreachable
        wanted = oracle.distances(self._inner, self._ends)
        return Verdict(_unlike(f"distances {self._domain}", +told, wanted))

    def _pool(self) -> Verdict:
        chip = self._chance.choice(self._ends)
        found = self._timed(self._fleet.memory_pool, chip)
        away = nx.single_source_shortest_path_length(self._inner, chip)
        reached = {node: away[node] for node in self._ends if node in away}
        memory = sum(self._state.left.nodes[node]["memory"] for node in reached)
        told = {each.address: ring.hops for ring in found.by_hops for each in ring.reached} | {chip: 0}
        return Verdict(_unlike(f"pool {chip}", (told, found.memory), (reached, memory)))

    def _cut_tree(self) -> Verdict:
        found = self._timed(self._fleet.cut_tree, self._domain)
        what = f"cut-tree {self._domain}"
        if found.a is None or found.b is None:
            return Verdict(_unlike(what, len(self._ends), 1))
        fault = _unlike(what, found.min_flow, oracle.flow(self._inner, [found.a], [found.b]))
        if len(self._ends) > _SMALL:
            return Verdict(fault, proven=False)
        first, *others = self._ends
        least = min(oracle.flow(self._inner, [first], [other]) for other in others)
        return Verdict(fault or _unlike(f"the worst pair of {self._domain}", found.min_flow, least))

    def _alone(self) -> Named:
        """Return the graph of the domain's chips and switches."""
        left = self._state.left
        own = (node for node in left if node.startswith(f"{self._domain}/") and left.nodes[node]["kind"] != "nic")
        return left.subgraph(own)

    def _profile(self) -> Verdict:
        found = self._timed(self._fleet.split_profile, self._domain)
        graph = self._alone()
        cuts = oracle.least_cuts(graph, self._ends)
        exact, fault = all(each.exact for each in found.splits), ""
        for each in found.splits if cuts is not None else found.splits[:: len(found.splits) // 3 + 1]:
            if cuts is not None:
                least = most = int(cuts[each.chips])
            else:
                least, most = 0, oracle.searched(graph, self._ends, [each.chips], 4, self._chance.randrange(10**6))
            if each.lower > most or each.upper < least:
                fault = f"profile {self._domain}: the oracle says {least} to {most} for {each.chips} chips, not {each}"
        tightness = min((each.lower / each.upper for each in found.splits if each.upper), default=1.0)
        return Verdict(fault, exact, cuts is not None, tightness)

    def _collectives(self) -> Verdict:
        found, others = self._timed(self._fleet.collectives, self._domain), len(self._ends) - 1
        what, to_all, gathered = f"collectives {self._domain}", found.all_to_all, found.all_gather
        if not others:
            return Verdict(_unlike(what, to_all.upper, 0))
        fault, cut = "", sum(link.bandwidth for link in gathered.links)
        kept = int(gathered.method.partition("a set of ")[2].split(" ")[0])
        if gathered.lower and not oracle.gathers(self._inner, self._ends, gathered.lower // others):
            fault = f"{what}: an all-gather of {gathered.lower} is not feasible"
        if abs(cut * others / (len(self._ends) - kept) - gathered.upper) > 1:
            fault = f"{what}: the cut {cut} of {kept} chips does not give the bound {gathered.upper}"
        is_small = len(self._ends) <= _SMALL
        if is_small:
            theta = oracle.all_to_all(self._inner, self._ends) * others
            if not to_all.lower * (1 - _CLOSE) - 1 <= theta <= to_all.upper * (1 + _CLOSE) + 1:
                fault = f"{what}: the oracle's all-to-all is {theta}, not {to_all}"
        tightness = min(each.lower / each.upper for each in (to_all, gathered)) if to_all.upper else 1.0
        return Verdict(fault, gathered.exact and to_all.exact, is_small, tightness)

    def _bisection_of_domain(self) -> Verdict:
        found, graph = self._timed(self._fleet.bisection, self._domain), self._alone()
        cuts = oracle.least_cuts(graph, self._ends)
        if cuts is not None:
            return self._known(found, [cuts], self._ends)
        least, most = oracle.solved(graph, self._ends, self._seconds) if self._seconds else (0.0, inf)
        return self._judged(found, self._ends, least, min(most, self._searched(graph, self._ends)))

    def _bisection_of_cluster(self) -> Verdict:
        state, cuts = self._state, list[Ints]()
        found, every = self._timed(self._fleet.bisection, state.cluster), state.chips(state.cluster)
        for at in range(state.domains):
            domain = f"{state.cluster}/d{at}"
            own = {node for node in state.left if node.startswith(f"{domain}/")}
            above = {near for node in own for near in state.left[node] if near not in own}
            known = oracle.least_cuts(state.left.subgraph(own | above), state.chips(domain))
            if known is None:
                return self._judged(found, every, 0, self._searched(state.left, every))
            cuts.append(known)
        return self._known(found, cuts, every)

    def _searched(self, graph: Named, chips: Sequence[str]) -> int:
        halves = len(chips) // 2, len(chips) - len(chips) // 2
        return oracle.searched(graph, chips, halves, _TRIES, self._chance.randrange(10**6))

    def _known(self, found: BisectionAnswer, cuts: Sequence[Ints], chips: Sequence[str]) -> Verdict:
        """Judge by the least cuts of each domain; in the nominal bisection, failed chips may fill up either half."""
        truth = oracle.bisection(cuts, len(chips))
        lost = sum(place.startswith(f"{found.scope}/") and _is_chip(place) for place in self._state.down)
        nominal = oracle.bisection(cuts, len(chips), lost)
        if lost and not (found.nominal and found.nominal.lower <= nominal <= found.nominal.upper):
            return Verdict(f"bisection {found.scope}: the oracle's nominal is {nominal}, not {found.nominal}")
        return self._judged(found, chips, truth, truth)

    def _judged(self, found: BisectionAnswer, chips: Sequence[str], least: float, most: float) -> Verdict:
        """Judge an answer whose exact value is between two bounds, and check that its cut separates its halves."""
        fault = ""
        if found.lower > most * (1 + _CLOSE) or found.upper < least * (1 - _CLOSE):
            fault = f"bisection {found.scope}: the oracle says {least} to {most}, not {found.lower} to {found.upper}"
        tightness = found.lower / found.upper if found.upper else 1.0
        return Verdict(fault or self._parted(found, chips), found.exact, least >= most * (1 - _CLOSE), tightness)

    def _parted(self, found: BisectionAnswer, chips: Sequence[str]) -> str:
        """Return what is wrong with the cut and the halves, or an empty text."""
        cut = {frozenset((link.a, link.b)) for link in found.cut}
        a, b = (
            [chip for place in side for chip in ([place] if _is_chip(place) else self._state.chips(place))]
            for side in (found.chips_a, found.chips_b)
        )
        if sorted([*a, *b]) != sorted(chips) or abs(len(a) - len(b)) > 1:
            return f"bisection {found.scope}: {len(a)} and {len(b)} chips are not halves of {len(chips)}"
        ways = self._inner if found.scope == self._domain else self._ways(*chips)
        kept = ways.edge_subgraph([edge for edge in ways.edges if frozenset(map(_place, edge)) not in cut])
        if sum(link.bandwidth for link in found.cut) != found.upper or oracle.hops(kept, a, b) is not None:
            return f"bisection {found.scope}: the cut is not {found.upper}, or does not separate the halves"
        return ""


def _is_chip(place: str) -> bool:
    return "/c" in place and "--" not in place


def _place(node: object) -> object:
    """Return the node that a port belongs to."""
    return node[0] if isinstance(node, tuple) else node


def _unlike(what: str, found: object, wanted: object) -> str:
    return "" if found == wanted else f"{what}: {found}, but the oracle says {wanted}"


def _walked(ways: Ways, found: PathAnswer) -> str:
    """Return what is wrong with a path that uses links that are not up, or an empty text."""
    places = {frozenset(map(_place, edge)) for edge in ways.edges}
    for path in found.paths:
        nodes = [step.address for step in path.steps if step.kind != "link"]
        if any(frozenset(edge) not in places for edge in pairwise(nodes)):
            return f"path {found.source} {found.target}: uses links that are not up: {nodes}"
    return ""
