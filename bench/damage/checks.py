"""Questions about a damaged fleet, and what an oracle says of their answers."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

from bench.damage import oracle
from bench.damage.states import State
from trninv.routing.fleet import Fleet
from trninv.routing.questions.bisection import BisectionAnswer

_CLOSE = 1e-6
_TRIES = 40
"""Random beginnings of a search for cheaper splits."""
_SMALL = 16
"""Chips of a domain whose all-to-all a plain linear program answers."""


@dataclass(frozen=True)
class Checked:
    """An answer: whether it is exact, the seconds of a processor that it took, and what is wrong with it.

    Attributes
    ----------
    proven
        Whether the oracle knows the truth, and not only bounds on it.

    """

    question: str
    system: str
    exact: bool
    took: float
    fault: str = ""
    proven: bool = True
    tightness: float = 1.0


Outcome = tuple[bool, str, bool, float]
"""Whether it is exact, what is wrong, whether the oracle knows the truth, and lower / upper."""


class Checks:
    """The questions about one state."""

    def __init__(self, fleet: Fleet, state: State, chance: random.Random, seconds: float) -> None:
        self.fleet, self.state, self.chance, self.seconds = fleet, state, chance, seconds
        domains = (f"{state.cluster}/d{at}" for at in range(state.domains))
        self.domain = chance.choice([domain for domain in domains if state.chips(domain)])
        self.inner = oracle.ways(state.left, [self.domain], fabric=False)
        self.ends = state.chips(self.domain)

    def all(self) -> Iterator[Checked]:
        """Each question once or a few times."""
        asked: list[tuple[str, int, Callable[[], Outcome]]] = [
            ("path by hops", 3, self.by_hops),
            ("path by bandwidth", 2, self.by_bandwidth),
            ("bandwidth", 3, self.bandwidth),
            ("distances", 1, self.distances),
            ("pool", 1, self.pool),
            ("cut tree", 1, self.cut_tree),
            ("profile", 1, self.profile),
            ("collectives", 1, self.collectives),
            ("bisection of a domain", 1, self.bisection_of_domain),
            ("bisection of a cluster", 1, self.bisection_of_cluster),
        ]
        for name, times, check in asked:
            for _ in range(times):
                self.took = 0.0
                exact, fault, proven, tightness = check()
                yield Checked(name, self.state.system, exact, self.took, fault, proven, tightness)

    def _timed(self, ask: Callable[[], object]) -> object:
        start = time.process_time()
        try:
            return ask()
        finally:
            self.took = time.process_time() - start

    def _ends(self) -> tuple[str, str, "nx.DiGraph[object]"]:
        """Two chips, of one domain or of two, and the ways between them."""
        every = self.state.chips(self.state.cluster)
        a = self.chance.choice(every)
        b = (
            self.chance.choice([chip for chip in self.ends if chip != a] or every)
            if self.chance.random() < 1 / 2
            else self.chance.choice(every)
        )
        domains = {chip.rpartition("/s")[0] for chip in (a, b)}
        return a, b, oracle.ways(self.state.left, domains, fabric=len(domains) > 1)

    def by_hops(self) -> Outcome:
        a, b, ways = self._ends()
        found = self._timed(lambda: self.fleet.path(a, b))
        wanted = oracle.hops(ways, [a], [b])
        hops = found.paths[0].hops if found.paths else None
        return True, _unlike(f"path {a} {b}", hops, wanted) or _walked(ways, found), True, 1.0

    def by_bandwidth(self) -> Outcome:
        a, b, ways = self._ends()
        found = self._timed(lambda: self.fleet.path(a, b, "bandwidth"))
        wanted = (None, 0) if a == b else oracle.widest(ways, [a], [b])
        best = (found.paths[0].bandwidth, found.paths[0].hops) if found.paths else None
        return True, _unlike(f"path {a} {b} --by bandwidth", best, wanted) or _walked(ways, found), True, 1.0

    def bandwidth(self) -> Outcome:
        a, b, _ = self._ends()
        if a == b:
            return True, "", True, 1.0
        if self.chance.random() < 1 / 2:  # servers
            one, other = (f"{chip.rpartition('/c')[0]}" for chip in (a, b))
            a, b = (one, other) if one != other else (a, b)
        sides = [
            [chip for chip in self.state.chips(self.state.cluster) if chip == end or chip.startswith(f"{end}/")]
            for end in (a, b)
        ]
        domains = {end.rpartition("/s")[0] for end in (a, b)}
        ways = oracle.ways(self.state.left, domains, fabric=len(domains) > 1)
        found = self._timed(lambda: self.fleet.bandwidth(a, b))
        fault = _unlike(f"bandwidth {a} {b}", found.maximum_flow, oracle.flow(ways, *sides))
        cut = sum(link.bandwidth for link in found.minimum_cut)
        return True, fault or _unlike("its cut", cut, found.maximum_flow), True, 1.0

    def distances(self) -> Outcome:
        found = self._timed(lambda: self.fleet.distances(self.domain))
        wanted = oracle.distances(self.inner, self.ends)
        told = Counter({each.hops: each.pairs for each in found.by_hops}) + Counter({None: found.unreachable})
        return True, _unlike(f"distances {self.domain}", told, +wanted), True, 1.0

    def pool(self) -> Outcome:
        chip = self.chance.choice(self.ends)
        found = self._timed(lambda: self.fleet.memory_pool(chip))
        away = nx.single_source_shortest_path_length(self.inner, chip)
        reached = {node: away[node] for node in self.ends if node in away}
        memory = sum(self.state.left.nodes[node]["memory"] for node in reached)
        told = {each.address: ring.hops for ring in found.by_hops for each in ring.reached} | {chip: 0}
        return True, _unlike(f"pool {chip}", (told, found.memory), (reached, memory)), True, 1.0

    def cut_tree(self) -> Outcome:
        found = self._timed(lambda: self.fleet.cut_tree(self.domain))
        if len(self.ends) < 2:
            return True, _unlike(f"cut-tree {self.domain}", found.a, None), True, 1.0
        fault = _unlike(f"cut-tree {self.domain}", found.worst, oracle.flow(self.inner, [found.a], [found.b]))
        least = (
            min(oracle.flow(self.inner, self.ends[:1], [end]) for end in self.ends[1:])
            if len(self.ends) <= _SMALL
            else found.worst
        )
        return True, fault or _unlike("its worst pair", found.worst, least), True, 1.0

    def _alone(self, domain: str) -> "nx.Graph[str]":
        """Chips and switches of a domain."""
        kind = nx.get_node_attributes(self.state.left, "kind")
        return self.state.left.subgraph(
            node for node in self.state.left if node.startswith(f"{domain}/") and kind[node] != "nic"
        )

    def profile(self) -> Outcome:
        found = self._timed(lambda: self.fleet.profile(self.domain))
        graph = self._alone(self.domain)
        wanted, proven = oracle.least_cuts(graph, self.ends), True
        exact = all(each.exact for each in found.splits)
        if wanted is None:
            proven = False
            wanted = [max(each.lower, 0) for each in found.splits]
            wanted = [0, *wanted]
        for each in found.splits:
            if not each.lower <= wanted[each.chips] <= each.upper:
                return (
                    exact,
                    f"profile {self.domain}: {each.chips} chips cut {wanted[each.chips]}, not {each.lower} to {each.upper}",
                    proven,
                    1.0,
                )
        return exact, "", proven, 1.0

    def collectives(self) -> Outcome:
        found = self._timed(lambda: self.fleet.collectives(self.domain))
        others, fault = len(self.ends) - 1, ""
        if others < 1:
            return True, _unlike(f"collectives {self.domain}", found.all_to_all.upper, 0), True, 1.0
        exact = found.all_gather.exact and found.all_to_all.exact
        rate, cut = found.all_gather.lower / others, sum(link.bandwidth for link in found.all_gather.links)
        kept = int(found.all_gather.method.partition("a set of ")[2].split(" ")[0])
        if rate and not oracle.gather(self.inner, self.ends, int(rate)):
            fault = f"collectives {self.domain}: no all-gather of {found.all_gather.lower}"
        if abs(cut * others / (len(self.ends) - kept) - found.all_gather.upper) > 1:
            fault = f"collectives {self.domain}: the cut {cut} of {kept} chips does not allow {found.all_gather.upper}"
        if len(self.ends) <= _SMALL:
            theta = oracle.all_to_all(self.inner, self.ends) * others
            if not found.all_to_all.lower * (1 - _CLOSE) - 1 <= theta <= found.all_to_all.upper * (1 + _CLOSE) + 1:
                fault = f"collectives {self.domain}: all-to-all {theta}, not {found.all_to_all}"
        return exact, fault, len(self.ends) <= _SMALL, 1.0

    def bisection_of_domain(self) -> Outcome:
        found = self._timed(lambda: self.fleet.bisection(self.domain))
        graph = self._alone(self.domain)
        cuts = oracle.least_cuts(graph, self.ends)
        if cuts is not None:
            return self._known(found, [cuts], len(self.ends))
        most = oracle.searched(graph, self.ends, _TRIES, self.chance.randrange(10**6))
        least = 0.0
        if self.seconds:
            least, upper = oracle.solved(graph, self.ends, self.seconds)
            most = min(most, upper)
        return self._judged(found, least, most, proven=least >= most * (1 - _CLOSE))

    def bisection_of_cluster(self) -> Outcome:
        found = self._timed(lambda: self.fleet.bisection(self.state.cluster))
        every, kind = self.state.chips(self.state.cluster), nx.get_node_attributes(self.state.left, "kind")
        cuts = []
        for at in range(self.state.domains):
            own = {node for node in self.state.left if node.startswith(f"{self.state.cluster}/d{at}/")}
            above = {near for node in own for near in self.state.left[node] if kind[near] == "network_node"}
            cuts.append(
                oracle.least_cuts(
                    self.state.left.subgraph(own | above), self.state.chips(f"{self.state.cluster}/d{at}")
                )
            )
        if all(each is not None for each in cuts):
            return self._known(found, cuts, len(every))
        most = oracle.searched(self.state.left, every, _TRIES, self.chance.randrange(10**6))
        return self._judged(found, 0, most, proven=False)

    def _known(self, found: BisectionAnswer, cuts: "Sequence[oracle.Ints]", chips: int) -> Outcome:
        """Against what each domain cuts; failed chips of the scope fill up either half of the nominal one."""
        truth, lost = oracle.bisection(cuts, chips), self._lost(found.of)
        outcome = self._judged(found, truth, truth, proven=True)
        if lost:
            nominal = oracle.bisection(cuts, chips, lost)
            if not found.nominal or not found.nominal.lower <= nominal <= found.nominal.upper:
                return outcome[0], f"bisection {found.of}: nominal {nominal}, not {found.nominal}", True, outcome[3]
        return outcome

    def _lost(self, scope: str) -> int:
        return sum("/c" in place and "--" not in place and place.startswith(f"{scope}/") for place in self.state.down)

    def _judged(self, found: BisectionAnswer, least: float, most: float, *, proven: bool) -> Outcome:
        """The truth is between least and most, and may not be outside of the bounds; the cut must part the halves."""
        fault, tightness = "", found.lower / found.upper if found.upper else 1.0
        if found.lower > most * (1 + _CLOSE) or found.upper < least * (1 - _CLOSE):
            fault = f"bisection {found.of}: {least} to {most}, not {found.lower} to {found.upper}"
        return found.exact, fault or self._parted(found), proven, tightness

    def _parted(self, found: BisectionAnswer) -> str:
        cut = {frozenset((link.a, link.b)) for link in found.cut}
        if sum(link.bandwidth for link in found.cut) != found.upper:
            return f"bisection {found.of}: its cut does not sum to {found.upper}"
        a, b = ([chip for place in side for chip in self._healthy(place)] for side in (found.chips_a, found.chips_b))
        scope = self.state.chips(found.of) if "/" in found.of else self.state.chips(self.state.cluster)
        if sorted([*a, *b]) != sorted(scope) or abs(len(a) - len(b)) > 1:
            return f"bisection {found.of}: {len(a)} and {len(b)} chips are no halves of {len(scope)}"
        is_domain = "/" in found.of
        ways = (
            self.inner
            if is_domain
            else oracle.ways(
                self.state.left, [f"{self.state.cluster}/d{at}" for at in range(self.state.domains)], fabric=True
            )
        )
        kept = ways.edge_subgraph([edge for edge in ways.edges if frozenset(map(_place, edge)) not in cut])
        return "" if oracle.hops(kept, a, b) is None else f"bisection {found.of}: its cut does not part its halves"

    def _healthy(self, place: str) -> list[str]:
        if "/c" in place:
            return [place]
        return self.state.chips(place)


def _place(node: object) -> str:
    return str(node[0]) if isinstance(node, tuple) else str(node)


def _unlike(what: str, found: object, wanted: object) -> str:
    return "" if found == wanted else f"{what}: {found}, but the oracle says {wanted}"


def _walked(ways: "nx.DiGraph[object]", found: object) -> str:
    """Whether a path leads over links that are there."""
    places = {frozenset(map(_place, edge)) for edge in ways.edges}
    for path in found.paths:
        nodes = [step.address for step in path.steps if step.kind != "link"]
        if any(frozenset(edge) not in places for edge in pairwise(nodes)):
            return f"path {found.source} {found.target}: not over links that are up: {nodes}"
    return ""
