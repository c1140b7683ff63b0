"""What nothing joins: halves of whole parts cut nothing, others the least that splits of parts allow."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from irregular import irregular, make, plan

import trninv
from conftest import BACKENDS, Databases, examples, seeds
from graphs import chips_in, graphs, split_ports, torus_domain, whole
from oracles import brute_force
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions.bisection import BisectionAnswer
from trninv.solvers import parts, quotient
from trninv.solvers.bisection import bisect
from trninv.solvers.graph import Graph
from trninv.solvers.hubs import NarrowUplink
from trninv.solvers.islands import CutProfile, Island

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9


@examples(60)
@given(graph=graphs(), fillers=st.integers(min_value=0, max_value=3))
def test_a_graph_in_parts_against_every_split(graph: Graph, fillers: int) -> None:
    ends = chips_in(graph)
    half = (len(ends) + fillers) // 2
    low, high = max(half - fillers, 0), min(half, len(ends))
    found, least = parts.connected_parts(graph, ends), brute_force.bisection(graph, ends, fillers)
    split = parts.whole_parts_cut(graph, found, low, high)
    assert (split is not None) == (least == 0)
    split = split or parts.bisect_parts(graph, found, low, high)
    assert split.lower == split.upper == brute_force.cut(graph, split.side) == least
    assert low <= len(split.side.intersection(ends)) <= high


@pytest.mark.parametrize(("rows", "value"), [(0, 0), (1, 12 * 64), (2, 8 * 64)])
def test_a_large_torus_in_two_parts(rows: int, value: int) -> None:
    """One part is a layer, with another or with some rows of it: what lacks to half of the chips are the other rows."""
    graph = torus_domain((4, 4, 4), (128, 128, 64))
    at = {node: of["position"] for node, of in graph.nodes(data=True)}
    part = {node for node, (x, _, z) in at.items() if z == 0 or (z == 1 and (x < rows or not rows))}
    graph.remove_edges_from([(a, b) for a, b in graph.edges if (a in part) != (b in part)])
    split = bisect(graph, sorted(graph))
    assert (split.lower, split.upper, len(split.side)) == (value, value, 32)
    assert brute_force.cut(graph, split.side) == value


def test_a_number_of_chips_of_a_domain_in_two_parts() -> None:
    """24 and 40 chips: as many cut nothing, and 32 eight links of 64."""
    graph = torus_domain((4, 4, 4), (128, 128, 64))
    at = {node: of["position"] for node, of in graph.nodes(data=True)}
    part = {node for node, (x, _, z) in at.items() if z == 0 or (z == 1 and x < 2)}
    graph.remove_edges_from([(a, b) for a, b in graph.edges if (a in part) != (b in part)])
    for size, value in ((24, 0), (32, 8 * 64), (40, 0)):
        profile = CutProfile(graph, sorted(graph))
        profile.refine(size)
        assert (profile.lower[size], profile.upper[size]) == (value, value)


@st.composite
def fabrics(draw: st.DrawFn) -> tuple[list[Graph], list[NarrowUplink]]:
    """Islands of some chips below none, one or two of some hubs, -1, -2, …, of which narrow links may make trees."""
    made, number = [], draw(st.integers(1, 4))
    for first in range(0, 10 * draw(st.integers(1, 4)), 10):
        graph, chips = Graph(), list(range(first, first + draw(st.integers(1, 3))))
        graph.add_nodes_from(chips, kind="chip", position=None)
        for a, b in combinations(chips, 2):
            if draw(st.booleans()):
                graph.add_edge(a, b, capacity=draw(st.integers(1, 5)))
        above = draw(st.lists(st.integers(1, number), max_size=2))
        for at, hub in enumerate(above):
            nic = 100 + first + at
            graph.add_nodes_from([nic], kind="nic", position=None)
            graph.add_nodes_from([-hub], kind="network_node", position=None)
            graph.add_edge(nic, -hub, capacity=draw(st.integers(1, 4)))
            for chip in draw(st.lists(st.sampled_from(chips), unique=True, min_size=1)):
                graph.add_edge(chip, nic, capacity=draw(st.integers(1, 4)))
        made.append(graph)
    carries = [draw(st.integers(0, 3)) for _ in range(1, number)]
    up = [draw(st.integers(1, hub)) for hub in range(1, number)]
    ends = zip(up, range(2, number + 1), strict=True)
    return made, [
        NarrowUplink(link, (-a, -b), c) for link, ((a, b), c) in enumerate(zip(ends, carries, strict=True)) if c
    ]


def _island(graph: Graph) -> Island:
    """As `trninv.routing.cluster_islands` sees it: its hubs as one, and beside that the first of them alone."""
    chips, hubs = chips_in(graph), sorted(node for node in graph if node < 0)

    def below(some: list[int]) -> Island:
        kept = Graph(graph.subgraph(node for node in graph if node >= 0 or node in some))
        one: Graph = nx.relabel_nodes(kept, dict.fromkeys(some, 999))
        return Island.from_graph(one, chips, 999, frozenset(some))

    island = below(hubs)
    return island if len(hubs) < 2 else replace(island, one_hub_variant=below(hubs[:1]))


def _least(islands: list[Graph], narrow: list[NarrowUplink]) -> int:
    """The least flow between any halves of all chips."""
    graph: Graph = nx.compose_all(islands)
    for _, (a, b), carries in narrow:
        graph.add_nodes_from((a, b), kind="network_node")
        graph.add_edge(a, b, capacity=carries)
    ways, ends = split_ports(graph), chips_in(graph)
    return brute_force.least_flow(ways, ends)


@examples(80)
@given(fabrics())
def test_a_cluster_in_parts_against_every_split(fabric: tuple[list[Graph], list[NarrowUplink]]) -> None:
    """Exact where no island is below several hubs, and within its bounds where one is."""
    graphs_, narrow = fabric
    islands = [_island(graph) for graph in graphs_]
    chips = sum(island.chip_count for island in islands)
    assume(chips > 1)
    found, least = (
        quotient.bisect_quotient([(island, 1) for island in islands], chips // 2, -(-chips // 2), narrow),
        _least(*fabric),
    )
    assert found.lower <= least <= found.upper
    assert len({len(taken.chips) * taken.island_count for taken in found.selections}) <= chips
    if all(len(island.hubs) < 2 for island in islands):
        assert found.lower == found.upper
    large = quotient._bisect_pieces([(island, 1) for island in islands], chips // 2, -(-chips // 2), narrow)
    assert large.lower <= least <= large.upper
    assert sum(len(taken.chips) for taken in found.selections) in (chips // 2, -(-chips // 2))


@examples(60)
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 3)), min_size=2, max_size=6))
def test_whole_parts_of_a_large_cluster_cut_nothing(shape: list[tuple[int, int]]) -> None:
    """Parts of so many single chips below a hub each: 0 if and only if some have half of the chips."""
    kinds = []
    for hub, (chips, carries) in enumerate(shape, 1):
        graph = torus_domain((1,), (1,), exits=carries, above=999)
        kinds.append((Island.from_graph(graph, [0], 999, frozenset([hub])), chips))
    total = sum(chips for _, chips in kinds)
    found = quotient._bisect_pieces(kinds, total // 2, -(-total // 2), ())
    sums = {sum(chips for _, chips in some) for size in range(len(kinds)) for some in combinations(kinds, size)}
    assert (found.upper == 0) == bool(sums & {total // 2, -(-total // 2)})
    assert (found.lower == 0) == (found.upper == 0)


def test_where_a_large_cluster_has_no_half_some_leave_by_the_cheapest_exits() -> None:
    """4 and 12 chips: of the 12 four leave, by exits of 3 each."""
    graph = torus_domain((1,), (1,), exits=3, above=999)
    kinds = [(Island.from_graph(graph, [0], 999, frozenset([hub])), chips) for hub, chips in ((1, 4), (2, 12))]
    found = quotient._bisect_pieces(kinds, 8, 8, ())
    assert (found.lower, found.upper) == (12, 12)


# --- of fleets ---

WAYS = {
    "apart": [[["a", "b"]], [["c", "d"]]],
    "four": [[["a", "b"]], [["c", "d"]], [["c", "e"]], [["c", "f"]]],
    "one top": [[["a", "b"]], [["a", "c"]], [["a", "c"]], [["a", "d"]]],
}


@pytest.fixture(scope="module", params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """Adopted clusters of trn2-16.48xlarge below one top or several."""
    plans = {name.replace(" ", "-"): plan({"trn2-16.48xlarge": len(ways)}, ways) for name, ways in WAYS.items()}
    with trninv.open(make(databases.migrated(request.param), plans)) as opened:
        yield opened


def _is(answer: BisectionAnswer, value: int) -> None:
    assert (answer.lower, answer.upper) == (value * GB, value * GB)
    assert sum(link.bandwidth for link in answer.cut) == answer.upper
    assert len(answer.cut) == answer.cut_size
    assert answer.reason == (None if value else "no links that are up join the halves")
    assert abs(answer.side_a - answer.side_b) <= 1


def test_two_domains_that_nothing_joins_exchange_nothing(fleet: BaseFleet) -> None:
    """It was "between 0 B/s and 400 GB/s", though it was known for collectives."""
    for answer in (fleet.bisection("apart", ["apart/d0", "apart/d1"]), fleet.bisection("apart")):
        _is(answer, 0)
        assert (answer.chips_a, answer.chips_b) in [(("apart/d0",), ("apart/d1",)), (("apart/d1",), ("apart/d0",))]
    assert fleet.collectives("apart").all_to_all.upper == 0


@pytest.mark.parametrize(
    ("chips", "value"),
    [
        (["d0/s0/c0", "d0/s0/c1", "d1/s0/c0", "d1/s0/c1"], 0),
        (["d0/s0/c0", "d1/s0/c0"], 0),
        (["d1/s0/c0", "d2/s0/c0"], 25),
        (["d0/s0/c0", "d1/s0/c0", "d2/s0/c0", "d3/s0/c0"], 25),  # one of d0 and one of three
        (["d0/s0/c0", "d1/s0/c0", "d1/s0/c1", "d1/s0/c2"], 128 + 25),  # a link and an exit of d1
        (["d0", "d1/s0/c0", "d2/s0/c1"], 1_024 + 8 * 25 + 25),  # halves of d0, and two that exits join
    ],
)
def test_chips_of_parts(fleet: BaseFleet, chips: list[str], value: int) -> None:
    _is(fleet.bisection("four", [f"four/{chip}" for chip in chips]), value)


def test_without_network_nodes_each_domain_is_a_part(fleet: BaseFleet) -> None:
    """Two halves of domains, or one that is split."""
    alone = fleet.what_if([f"four/fabric/t2/n{node}" for node in range(4)])
    _is(alone.bisection("four"), 0)
    _is(alone.bisection("four", ["four/d0", "four/d1", "four/d2"]), 1_024)


def test_three_domains_of_one_part_and_one_alone(fleet: BaseFleet) -> None:
    """Half is two domains: of the three that are joined one is cut off, at its exits."""
    answer = fleet.bisection("four")
    _is(answer, 16 * 25)
    assert {len(answer.chips_a), len(answer.chips_b)} == {2}


BELOW = "one-top/fabric/t2/n{0}--one-top/fabric/t1/n0"
EXITS = [f"one-top/d0/s0/efa{nic}" for nic in range(16)]
DAMAGE = [
    ([BELOW.format(1)], {}, 0),  # d1 and d2 below one node, d0 and d3 below another and a third
    ([BELOW.format(0)], {}, 400),  # d0 alone, with one of three that stay joined
    (["one-top/fabric/t1/n0"], {}, 0),
    (["one-top/fabric/t2/n1"], {}, 0),
    (["one-top/fabric/t2/n0"], {}, 400),
    (EXITS, {}, 400),
    ([*EXITS, BELOW.format(2)], {}, 0),
    ([], {BELOW.format(1): 0.5}, 400),  # the uplink itself is cut
    ([], {BELOW.format(1): 0.1}, 80),
]


@pytest.mark.parametrize("is_large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize(("down", "derate", "value"), DAMAGE)
def test_a_damaged_fabric(
    fleet: BaseFleet,
    down: list[str],
    derate: dict[str, float],
    value: int,
    is_large: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of four domains, two of them below one node; what is left of an uplink counts, and where none is left, parts."""
    monkeypatch.setattr(quotient, "MAX_ISLANDS", 0 if is_large else quotient.MAX_ISLANDS)
    supposed = fleet.what_if(down, derate)
    answer = supposed.bisection("one-top")
    if derate and is_large:
        assert 0 < answer.lower <= value * GB <= answer.upper == sum(link.bandwidth for link in answer.cut)
    else:
        _is(answer, value)
    limits = supposed.collectives("one-top")
    assert (limits.all_to_all.upper > 0) == (limits.all_gather.upper > 0) == (not down)
    assert limits.reason == ("no links that are up join all of them" if down else None)


def test_damage_that_is_stored_answers_as_damage_that_is_supposed(databases: Databases) -> None:
    """And chips whose links are all down are parts of one: half of the 32 others and one of them."""
    url = make(databases.migrated("sqlite"), {"one-top": plan({"trn2-16.48xlarge": 4}, WAYS["one top"])})
    with trninv.open(url) as fleet:
        graph = whole(fleet, "one-top")
        lone = next(node for node, of in graph.nodes(data=True) if of["address"] == "one-top/d1/s0/c0")
        links = [f"{graph.nodes[lone]['address']}--{graph.nodes[near]['address']}" for near in graph[lone]]
        for lost in (links, [*links, BELOW.format(1)], [BELOW.format(1)]):
            supposed = fleet.what_if(lost).bisection("one-top")
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                set_state(connection, lost, Condition("down"), why="test", who="tests")
            answer = fleet.bisection("one-top")
            assert (answer.lower, answer.upper, answer.cut) == (supposed.lower, supposed.upper, supposed.cut)
            assert answer.exact
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                set_state(connection, lost, Condition("up"), why="test", who="tests")
        part = fleet.what_if([*links, BELOW.format(1)]).bisection("one-top", ["one-top/d1/s0/c0", "one-top/d2/s0/c0"])
        _is(part, 0)


def test_chips_whose_links_are_all_down_fill_up_halves(fleet: BaseFleet) -> None:
    """d1 without c0 is joined to d2 and d3 by exits; c0 is a part of its own."""
    graph = whole(fleet, "four")
    links = [
        f"{graph.nodes[a]['address']}--{graph.nodes[b]['address']}"
        for a, b in graph.edges
        if "four/d1/s0/c0" in (graph.nodes[a]["address"], graph.nodes[b]["address"])
    ]
    supposed = fleet.what_if(links)
    _is(supposed.bisection("four", ["four/d1/s0/c0", "four/d2", "four/d3/s0/c1"]), 1_024 + 8 * 25)
    others = [f"four/{chip}" for chip in ("d0/s0/c0", "d0/s0/c1", "d2/s0/c0", "d2/s0/c1", "d2/s0/c2")]
    _is(supposed.bisection("four", ["four/d1/s0/c0", *others]), 0)
    pair = supposed.bisection("four", ["four/d1/s0/c0", "four/d1/s0/c1"])
    assert (pair.lower, pair.upper, pair.reason) == (0, 0, "no scale-up links that are up join the halves")
    assert supposed.collectives("four", ["four/d1/s0/c0", "four/d1/s0/c1"]).all_to_all.upper == 0


@pytest.fixture(scope="module")
def opened(databases: Databases) -> Iterator[Callable[[int], BaseFleet]]:
    """Single chips below random trees of up to three tops."""
    fleets: list[BaseFleet] = []

    @cache
    def open_(seed: int) -> BaseFleet:
        shape = irregular({"trn1.2xlarge": 8}, seed, tops=1 + seed % 3, split=False)
        fleets.append(trninv.open(make(databases.migrated("sqlite"), {"c": shape})))
        return fleets[-1]

    yield open_
    for fleet in fleets:
        fleet.close()


@pytest.mark.parametrize("seed", seeds(8, 2))
def test_damaged_fabrics_of_single_chips_against_every_split(opened: Callable[[int], BaseFleet], seed: int) -> None:
    fleet, chance = opened(seed % 4), random.Random(seed)
    graph = whole(fleet, "c")
    named = {node: of["address"] for node, of in graph.nodes(data=True)}
    links = [f"{named[a]}--{named[b]}" for a, b in sorted(graph.edges)]
    uplinks = [link for link in links if link.startswith("c/fabric")]
    down = chance.sample(links, seed % 3) + chance.sample(uplinks, min(len(uplinks), seed % 2))
    derate = {link: chance.choice([0.1, 0.5]) for link in chance.sample(uplinks, min(len(uplinks), 2))}
    answer = fleet.what_if(down, derate).bisection("c")
    for a, b in list(graph.edges):
        link = f"{named[a]}--{named[b]}" if f"{named[a]}--{named[b]}" in links else f"{named[b]}--{named[a]}"
        graph.edges[a, b]["capacity"] = int(graph.edges[a, b]["capacity"] * derate.get(link, 1)) * (link not in down)
    ends = chips_in(graph)
    ways, found = split_ports(graph), []
    for half in brute_force.halves(ends):
        joined = ways.copy()
        joined.add_edges_from(("s", end) for end in half)
        joined.add_edges_from((end, "t") for end in ends if end not in half)
        found.append(int(nx.maximum_flow_value(joined, "s", "t")))
    assert answer.lower == answer.upper == min(found) == sum(link.bandwidth for link in answer.cut)
