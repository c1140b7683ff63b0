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
from bench.damage.oracle import AddressGraph, DirectedLinks, Ints
from bench.damage.states import State
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions.bisection import BisectionAnswer
from trninv.routing.questions.path import PathAnswer

T = TypeVar("T")

_TOLERANCE = 1e-6
"""Relative error that floating-point solvers may have."""
_TRIES = 40
"""Starting points of a search for smaller cuts."""
_SMALL = 16
"""Maximum chips of a domain for a plain linear program of all-to-all, and for trying every pair."""
_PAIR = 2


@dataclass(frozen=True)
class CheckedAnswer:
    """A judged answer and the processor seconds that it took.

    Attributes
    ----------
    failures
        Number of failed or degraded parts in the fleet.
    fault
        What is wrong with the answer; empty if it is right.
    proven
        Whether the oracle knows the exact value, and not only bounds.
    tightness
        The answer's lower bound divided by its upper bound.

    """

    question: str
    system: str
    failures: int
    seconds: float
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
    """Questions about one damaged cluster; ``seconds`` limits the integer program for a 64-chip torus, 0 skips it."""

    def __init__(self, fleet: BaseFleet, state: State, rng: random.Random, seconds: float) -> None:
        self._fleet, self._state, self._rng, self._seconds = fleet, state, rng, seconds
        domains = (f"{state.cluster}/d{number}" for number in range(state.domains))
        self._domain = rng.choice([domain for domain in domains if state.chips(domain)])
        self._inner = oracle.directed_links(state.working, [self._domain], fabric=False)
        self._ends = state.chips(self._domain)
        self._seconds_taken = 0.0

    def all(self) -> Iterator[CheckedAnswer]:
        """Ask each question once or a few times and yield the judged answers."""
        checks: list[tuple[str, int, Callable[[], Verdict]]] = [
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
        for name, times, check in checks:
            for _ in range(times):
                verdict = check()
                failures = len(self._state.down) + len(self._state.halved)
                quality = verdict.exact, verdict.proven, verdict.tightness
                yield CheckedAnswer(name, self._state.system, failures, self._seconds_taken, verdict.fault, *quality)

    def _measure(self, ask: Callable[..., T], *arguments: str) -> T:
        start = time.process_time()
        answer = ask(*arguments)
        self._seconds_taken = time.process_time() - start
        return answer

    def _pair(self) -> tuple[str, str]:
        """Return two random chips, of one domain or of two."""
        all_chips = self._state.chips(self._state.cluster)
        a = self._rng.choice(self._ends)
        return a, self._rng.choice(self._rng.choice([all_chips, self._ends]))

    def _directed_links(self, *chips: str) -> DirectedLinks:
        """Return the graph that paths between some chips may use."""
        domains = {chip.rpartition("/s")[0] for chip in chips}
        return oracle.directed_links(self._state.working, domains, fabric=len(domains) > 1)

    def _by_hops(self) -> Verdict:
        a, b = self._pair()
        links, answer = self._directed_links(a, b), self._measure(self._fleet.path, a, b)
        hops = answer.paths[0].hops if answer.paths else None
        return Verdict(
            _compare(f"path {a} {b}", hops, oracle.hop_count(links, [a], [b])) or _check_paths(links, answer)
        )

    def _by_bandwidth(self) -> Verdict:
        a, b = self._pair()
        links, answer = self._directed_links(a, b), self._measure(self._fleet.path, a, b, "bandwidth")
        best = (answer.paths[0].bandwidth, answer.paths[0].hops) if answer.paths else None
        expected = (None, 0) if a == b else oracle.widest_path(links, [a], [b])
        return Verdict(_compare(f"path {a} {b} --by bandwidth", best, expected) or _check_paths(links, answer))

    def _between_sets(self) -> Verdict:
        all_chips = self._state.chips(self._state.cluster)
        sources, targets = (self._rng.sample(all_chips, min(3, len(all_chips))) for _ in range(2))
        links = self._directed_links(*sources, *targets)
        start = time.process_time()
        answer = self._fleet.path(sources[0], targets[0], or_from=sources[1:], or_to=targets[1:])
        self._seconds_taken = time.process_time() - start
        hops_between = {
            (a, b): hops for a in sources for b in targets if (hops := oracle.hop_count(links, [a], [b])) is not None
        }
        best_pairs = {pair for pair, hops in hops_between.items() if hops == min(hops_between.values())}
        pairs = {(pair.source, pair.target) for pair in answer.best_pairs}
        if len(sources) * len(targets) == 1:  # the answer lists pairs only if there are several
            best_pairs = set()
        return Verdict(_compare(f"path {sources} {targets}", pairs, best_pairs) or _check_paths(links, answer))

    def _bandwidth(self) -> Verdict:
        a, b = self._pair()
        if a == b:
            return Verdict("")
        servers = [chip.rpartition("/c")[0] for chip in (a, b)]
        if len(set(servers)) == _PAIR and self._rng.random() < 1 / 2:
            a, b = servers
        sides = [[end] if "/c" in end else self._state.chips(end) for end in (a, b)]
        answer = self._measure(self._fleet.bandwidth, a, b)
        flow = oracle.max_flow(self._directed_links(a, b), *sides)
        cut = sum(link.bandwidth for link in answer.minimum_cut)
        return Verdict(_compare(f"bandwidth {a} {b}", (answer.maximum_flow, cut), (flow, flow)))

    def _distances(self) -> Verdict:
        answer = self._measure(self._fleet.distances, self._domain)
        counts: Counter[int | None] = Counter({entry.hops: entry.pairs for entry in answer.by_hops})
        counts[None] = answer.unreachable
        expected = oracle.distances(self._inner, self._ends)
        return Verdict(_compare(f"distances {self._domain}", +counts, expected))

    def _pool(self) -> Verdict:
        chip = self._rng.choice(self._ends)
        answer = self._measure(self._fleet.memory_pool, chip)
        distances = nx.single_source_shortest_path_length(self._inner, chip)
        expected_hops = {node: distances[node] for node in self._ends if node in distances}
        memory = sum(self._state.working.nodes[node]["memory"] for node in expected_hops)
        hops_by_chip = {reached_chip.address: ring.hops for ring in answer.by_hops for reached_chip in ring.reached} | {
            chip: 0
        }
        return Verdict(_compare(f"pool {chip}", (hops_by_chip, answer.memory), (expected_hops, memory)))

    def _cut_tree(self) -> Verdict:
        answer = self._measure(self._fleet.cut_tree, self._domain)
        question = f"cut-tree {self._domain}"
        if answer.a is None or answer.b is None:
            return Verdict(_compare(question, len(self._ends), 1))
        fault = _compare(question, answer.min_flow, oracle.max_flow(self._inner, [answer.a], [answer.b]))
        if len(self._ends) > _SMALL:
            return Verdict(fault, proven=False)
        source, *targets = self._ends
        least_flow = min(oracle.max_flow(self._inner, [source], [target]) for target in targets)
        return Verdict(fault or _compare(f"the worst pair of {self._domain}", answer.min_flow, least_flow))

    def _domain_graph(self) -> AddressGraph:
        """Return the graph of the domain's chips and switches."""
        graph = self._state.working
        nodes = (node for node in graph if node.startswith(f"{self._domain}/") and graph.nodes[node]["kind"] != "nic")
        return graph.subgraph(nodes)

    def _profile(self) -> Verdict:
        answer = self._measure(self._fleet.split_profile, self._domain)
        graph = self._domain_graph()
        cuts = oracle.least_cuts(graph, self._ends)
        exact, fault = all(split.exact for split in answer.splits), ""
        for split in answer.splits if cuts is not None else answer.splits[:: len(answer.splits) // 3 + 1]:
            if cuts is not None:
                lower = upper = int(cuts[split.chips])
            else:
                lower, upper = 0, oracle.search_cut(graph, self._ends, [split.chips], 4, self._rng.randrange(10**6))
            if split.lower > upper or split.upper < lower:
                fault = (
                    f"profile {self._domain}: the oracle says {lower} to {upper} for {split.chips} chips, not {split}"
                )
        tightness = min((split.lower / split.upper for split in answer.splits if split.upper), default=1.0)
        return Verdict(fault, exact, cuts is not None, tightness)

    def _collectives(self) -> Verdict:
        answer, others = self._measure(self._fleet.collectives, self._domain), len(self._ends) - 1
        question, to_all, gathered = f"collectives {self._domain}", answer.all_to_all, answer.all_gather
        if not others:
            return Verdict(_compare(question, to_all.upper, 0))
        fault, cut = "", sum(link.bandwidth for link in gathered.links)
        side_size = int(gathered.method.partition("a set of ")[2].split(" ")[0])
        if gathered.lower and not oracle.can_gather(self._inner, self._ends, gathered.lower // others):
            fault = f"{question}: an all-gather of {gathered.lower} is not feasible"
        if abs(cut * others / (len(self._ends) - side_size) - gathered.upper) > 1:
            fault = f"{question}: the cut {cut} of {side_size} chips does not give the bound {gathered.upper}"
        is_small = len(self._ends) <= _SMALL
        if is_small:
            theta = oracle.all_to_all(self._inner, self._ends) * others
            if not to_all.lower * (1 - _TOLERANCE) - 1 <= theta <= to_all.upper * (1 + _TOLERANCE) + 1:
                fault = f"{question}: the oracle's all-to-all is {theta}, not {to_all}"
        tightness = min(bounds.lower / bounds.upper for bounds in (to_all, gathered)) if to_all.upper else 1.0
        return Verdict(fault, gathered.exact and to_all.exact, is_small, tightness)

    def _bisection_of_domain(self) -> Verdict:
        answer, graph = self._measure(self._fleet.bisection, self._domain), self._domain_graph()
        cuts = oracle.least_cuts(graph, self._ends)
        if cuts is not None:
            return self._judge_exact(answer, [cuts], self._ends)
        lower, upper = oracle.solve_bisection(graph, self._ends, self._seconds) if self._seconds else (0.0, inf)
        return self._judge_bounds(answer, self._ends, lower, min(upper, self._search_cut(graph, self._ends)))

    def _bisection_of_cluster(self) -> Verdict:
        state, cuts = self._state, list[Ints]()
        answer, chips = self._measure(self._fleet.bisection, state.cluster), state.chips(state.cluster)
        for number in range(state.domains):
            domain = f"{state.cluster}/d{number}"
            own_nodes = {node for node in state.working if node.startswith(f"{domain}/")}
            neighbours = {
                neighbour for node in own_nodes for neighbour in state.working[node] if neighbour not in own_nodes
            }
            domain_cuts = oracle.least_cuts(state.working.subgraph(own_nodes | neighbours), state.chips(domain))
            if domain_cuts is None:
                return self._judge_bounds(answer, chips, 0, self._search_cut(state.working, chips))
            cuts.append(domain_cuts)
        return self._judge_exact(answer, cuts, chips)

    def _search_cut(self, graph: AddressGraph, chips: Sequence[str]) -> int:
        halves = len(chips) // 2, len(chips) - len(chips) // 2
        return oracle.search_cut(graph, chips, halves, _TRIES, self._rng.randrange(10**6))

    def _judge_exact(self, answer: BisectionAnswer, cuts: Sequence[Ints], chips: Sequence[str]) -> Verdict:
        """Judge by the least cuts of each domain; in the nominal bisection, failed chips count in either half."""
        exact_value = oracle.bisection(cuts, len(chips))
        failed = sum(place.startswith(f"{answer.scope}/") and _is_chip(place) for place in self._state.down)
        nominal = oracle.bisection(cuts, len(chips), failed)
        if failed and not (answer.nominal and answer.nominal.lower <= nominal <= answer.nominal.upper):
            return Verdict(f"bisection {answer.scope}: the oracle's nominal is {nominal}, not {answer.nominal}")
        return self._judge_bounds(answer, chips, exact_value, exact_value)

    def _judge_bounds(self, answer: BisectionAnswer, chips: Sequence[str], lower: float, upper: float) -> Verdict:
        """Judge an answer whose exact value is between two bounds, and check that its cut separates its halves."""
        fault = ""
        if answer.lower > upper * (1 + _TOLERANCE) or answer.upper < lower * (1 - _TOLERANCE):
            fault = (
                f"bisection {answer.scope}: the oracle says {lower} to {upper}, not {answer.lower} to {answer.upper}"
            )
        tightness = answer.lower / answer.upper if answer.upper else 1.0
        return Verdict(
            fault or self._check_halves(answer, chips), answer.exact, lower >= upper * (1 - _TOLERANCE), tightness
        )

    def _check_halves(self, answer: BisectionAnswer, chips: Sequence[str]) -> str:
        """Return what is wrong with the cut and the halves, or an empty text."""
        cut = {frozenset((link.a, link.b)) for link in answer.cut}
        a, b = (
            [chip for place in side for chip in ([place] if _is_chip(place) else self._state.chips(place))]
            for side in (answer.chips_a, answer.chips_b)
        )
        if sorted([*a, *b]) != sorted(chips) or abs(len(a) - len(b)) > 1:
            return f"bisection {answer.scope}: {len(a)} and {len(b)} chips are not halves of {len(chips)}"
        links = self._inner if answer.scope == self._domain else self._directed_links(*chips)
        uncut = links.edge_subgraph([edge for edge in links.edges if frozenset(map(_port_node, edge)) not in cut])
        if sum(link.bandwidth for link in answer.cut) != answer.upper or oracle.hop_count(uncut, a, b) is not None:
            return f"bisection {answer.scope}: the cut is not {answer.upper}, or does not separate the halves"
        return ""


def _is_chip(place: str) -> bool:
    return "/c" in place and "--" not in place


def _port_node(node: object) -> object:
    """Return the node that a port belongs to."""
    return node[0] if isinstance(node, tuple) else node


def _compare(question: str, value: object, expected: object) -> str:
    return "" if value == expected else f"{question}: {value}, but the oracle says {expected}"


def _check_paths(links: DirectedLinks, answer: PathAnswer) -> str:
    """Return what is wrong with a path that uses links that are not up, or an empty text."""
    places = {frozenset(map(_port_node, edge)) for edge in links.edges}
    for path in answer.paths:
        nodes = [step.address for step in path.steps if step.kind != "link"]
        if any(frozenset(edge) not in places for edge in pairwise(nodes)):
            return f"path {answer.source} {answer.target}: uses links that are not up: {nodes}"
    return ""
