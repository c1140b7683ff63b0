"""NICs of up to four chips: what cuts through them cost, against every split of the full graph and of the ports."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import trninv
from conftest import BACKENDS, Databases, examples, seeds
from graphs import split_ports, torus_domain, whole
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.routing.fleet import BaseFleet
from trninv.solvers import cut_enumeration, quotient
from trninv.solvers.collectives import all_gather_rate
from trninv.solvers.graph import Graph, cut_capacity
from trninv.solvers.islands import CutProfile, Island
from trninv.solvers.max_flow import minimum_cut
from trninv.solvers.tree_packing import CutProblem, pack_trees
from trninv.topology.registry import get_pattern

pytestmark = pytest.mark.slow_on_postgresql

ABOVE = 10_000
Ints = NDArray[np.int64]


def _of_kind(graph: Graph, kind: str) -> list[Any]:
    return [node for node, attributes in graph.nodes(data=True) if attributes["kind"] == kind]


def _every_split(graph: Graph, chips: Sequence[object], *, apart: bool = False) -> tuple[Ints, Ints]:
    """Least cut of every set of chips, with all ports tried on either side, and sizes of the sets.

    Network nodes are tried on either side as well, unless they are ``apart``: on the other one.
    """
    subsets = np.arange(1 << len(chips), dtype=np.int64)
    ways = split_ports(graph)
    ports = [node for node in ways if isinstance(node, tuple)]
    fabric = _of_kind(graph, "network_node")
    best = np.full(len(subsets), 2**62)
    for above in product((0,) if apart else (0, 1), repeat=len(fabric)):
        side: dict[object, Ints | int] = {chip: subsets >> i & 1 for i, chip in enumerate(chips)}
        side |= dict(zip(fabric, above, strict=True))
        total = np.zeros(len(subsets), dtype=np.int64)
        for a, b, of in ways.edges(data=True):
            if a not in ports and b not in ports:
                total += of["capacity"] * (side[a] & (1 - side[b]))
        for port in ports:
            into = sum((of["capacity"] * side[a] for a, _, of in ways.in_edges(port, data=True)), np.zeros_like(total))
            out = sum((of["capacity"] * (1 - side[b]) for _, b, of in ways.out_edges(port, data=True)), 0 * total)
            total += np.minimum(into, out)  # on side 0, on side 1
        best = np.minimum(best, total)
    return best, sum((subsets >> i & 1 for i in range(len(chips))), np.zeros_like(subsets))


def _domain(chance: random.Random, sides: tuple[int, ...], share: int, first: int = 0) -> Graph:
    """A damaged torus: some chips, links and uplinks are gone, some carry a part of what they did."""
    graph = torus_domain(sides, (7, 3), exits=chance.choice((2, 5)), chips_per_nic=share, above=ABOVE)
    for a, b in graph.edges:
        if chance.random() < 1 / 4:
            graph.edges[a, b]["capacity"] = chance.randint(1, 6)
    graph.remove_edges_from(chance.sample(sorted(graph.edges), chance.randint(0, 3)))
    graph.remove_nodes_from(chance.sample([chip for chip in graph if chip < 1_000], chance.randint(0, 1)))
    return nx.relabel_nodes(graph, {node: node + first for node in graph if node != ABOVE})


def _chips(graph: Graph) -> list[Any]:
    return _of_kind(graph, "chip")


@st.composite
def shared_nics(draw: st.DrawFn) -> Graph:
    """Up to five chips and three NICs of any of them, below one or two network nodes or both."""
    graph = Graph()
    chips, nics = list(range(draw(st.integers(2, 5)))), list(range(100, 100 + draw(st.integers(1, 3))))
    above = [ABOVE, ABOVE + 1][: draw(st.integers(1, 2))]
    for kind, nodes in (("chip", chips), ("nic", nics), ("network_node", above)):
        graph.add_nodes_from(nodes, kind=kind, position=None)
    pairs = [(a, b) for a in chips for b in chips if a < b] + [(end, nic) for end in chips + above for nic in nics]
    for a, b in draw(st.lists(st.sampled_from(pairs), unique=True, max_size=14)):
        graph.add_edge(a, b, capacity=draw(st.integers(1, 4)))
    return graph


@examples(200)
@given(graph=shared_nics(), data=st.data())
def test_a_cut_is_what_flows_through_the_ports(graph: Graph, data: st.DataObject) -> None:
    """Wherever NICs are said to stand; two uplinks of a NIC and network nodes on either side as well."""
    nodes = [node for node in graph if node not in _of_kind(graph, "nic")]
    one = set(data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=len(nodes) - 1, unique=True)))
    nics = data.draw(st.sets(st.sampled_from(sorted(set(graph).difference(nodes)))))
    ways = split_ports(graph)
    ways.add_edges_from(("one", node) for node in one)
    ways.add_edges_from((node, "other") for node in set(nodes) - one)
    assert (
        cut_capacity(graph, one | nics)
        == cut_capacity(graph, set(nodes) - one)
        == nx.maximum_flow_value(ways, "one", "other")
    )
    value, side = minimum_cut(graph, one, set(nodes) - one)
    assert value == cut_capacity(graph, side)


@examples(100)
@given(graph=shared_nics())
def test_bounds_of_any_search_hold(graph: Graph) -> None:
    """The packing proves no more than the least cut is, also of a graph in which no network node is apart."""
    chips = _chips(graph)
    cuts, sizes = _every_split(graph, chips)
    problem, half = CutProblem.from_graph(graph, chips), len(chips) // 2
    assert pack_trees(problem, problem.min_side(half, half), 2**62).bound <= cuts[sizes == half].min()


@pytest.mark.parametrize("share", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", seeds(12, 2))
def test_a_small_cluster_against_every_split_of_its_graph(seed: int, share: int) -> None:
    """Two or three damaged domains, as the quotient of few islands and as that of many."""
    chance = random.Random(seed)
    sides = chance.choice(((2, 2), (4, 1), (3, 2)))
    parts = [_domain(chance, sides, share, 20_000 * at) for at in range(chance.randint(2, 3 if sides == (2, 2) else 2))]
    joined = nx.compose_all(parts)
    chips = _chips(joined)
    cuts, sizes = _every_split(joined, chips)
    low, high = len(chips) // 2, len(chips) - len(chips) // 2
    wanted = cuts[(sizes == low) | (sizes == high)].min()
    kinds = [(Island.from_graph(graph, _chips(graph), ABOVE), 1) for graph in parts]
    found = quotient.bisect_quotient(kinds, low, high)
    assert found.lower == found.upper == wanted
    bounds = quotient._bisect_by_ratios(kinds, low, high)
    assert bounds.lower <= wanted <= bounds.upper


@pytest.mark.parametrize("share", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", seeds(8))
def test_a_domain_that_is_not_enumerated(seed: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bounds hold for every number of chips, and the search, the packing and the integer program close them."""
    graph = _domain(random.Random(seed), (4, 3), share)
    chips = _chips(graph)
    cuts, sizes = _every_split(graph, chips, apart=True)
    wanted = [cuts[sizes == size].min() for size in range(len(chips) + 1)]
    found = CutProfile(graph, chips, ABOVE)
    assert (list(found.lower), found.method) == (wanted, "enumeration of all splits")
    monkeypatch.setattr(cut_enumeration, "select_hubs", lambda *_: None)
    found = CutProfile(graph, chips, ABOVE)
    assert (found.lower <= wanted).all()
    assert (wanted <= found.upper).all()
    for size in range(0, len(chips) + 1, 3):
        if found.gap(size):
            found.refine(size)
        assert found.lower[size] == found.upper[size] == wanted[size]
    for size in range(len(chips) + 1):
        side = sum(1 << chips.index(chip) for chip in found.witness(size))
        assert (sizes[side], cuts[side]) == (size, found.upper[size])


@pytest.mark.parametrize("share", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", seeds(8))
def test_what_a_set_of_chips_takes_in_and_sends_out(seed: int, share: int) -> None:
    """All-gather's rate and the least exit capacity a chip, over all sets of a damaged domain's chips."""
    graph = _domain(random.Random(seed), (3, 2), share)
    chips, elsewhere = _chips(graph), 9
    cuts, sizes = _every_split(graph, chips, apart=True)
    least = min(Fraction(int(cut), int(size)) for cut, size in zip(cuts[1:], sizes[1:], strict=True))
    island = Island.from_graph(graph, chips, ABOVE)
    assert island.exit_ratio == least
    assert island.exit_capacity == cuts[-1]
    alone = min(Fraction(int(c), len(chips) - int(k) + elsewhere) for c, k in zip(cuts[1:], sizes[1:], strict=True))
    beside = min(Fraction(int(c), int(k)) for c, k in zip(cuts[1:-1], sizes[1:-1], strict=True))  # with the fabric in
    found = all_gather_rate(graph, dict.fromkeys(chips, 1) | {ABOVE: elsewhere})
    assert found
    assert found.rate == min(alone, beside)


@pytest.fixture(scope="module", params=BACKENDS)
def made_up(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """Two 2×4 tori, of which four chips share a NIC, whose uplink carries as much as the link of one of them."""
    url, system = databases.migrated(request.param), default_systems().get("trn1")
    wires = get_pattern("torus").build(sides=(2, 4), axes=("plane", "plane"), chips_per_nic=4)
    server = replace(system.domain.server, trays=(), chip_sets=())
    system = replace(system, domain=replace(system.domain, server=server, blueprint=wires), domains=2)
    with temporary_engine(url) as engine:
        migration.create_tables_if_missing(engine)
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), system, "c")
    with trninv.open(url) as fleet:
        yield fleet


@pytest.mark.parametrize("seed", seeds(8))
def test_a_made_up_generation_against_every_split_of_its_graph(made_up: BaseFleet, seed: int) -> None:
    """Healthy, and with links lost and degraded, NICs and their uplinks among them."""
    chance, healthy = random.Random(seed), whole(made_up, "c")
    links = [f"{healthy.nodes[a]['address']}--{healthy.nodes[b]['address']}" for a, b in sorted(healthy.edges)]
    parts = [link for link in links if not link.startswith("c/fabric")]
    worn = {link: 0.2 + chance.random() / 2 for link in chance.sample(parts, min(seed, 8))}
    fleet = made_up.what_if(chance.sample(parts, min(seed, 4)), worn) if seed else made_up
    answer, graph = fleet.bisection("c"), fleet.graph("c")
    for edge in graph.edges:
        graph.edges[edge]["capacity"] = graph.edges[edge]["bandwidth"]
    chips = _chips(graph)
    cuts, sizes = _every_split(graph, chips)
    assert answer.lower == answer.upper == cuts[sizes == len(chips) // 2].min()
    assert sum(link.bandwidth for link in answer.cut) == answer.upper
