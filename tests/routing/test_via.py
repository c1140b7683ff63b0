"""One rule for every question: scale-up links alone within a domain, EFA as well across domains or where asked."""

import random
from collections import Counter
from collections.abc import Iterator

import networkx as nx
import pytest

import trninv
from conftest import BACKENDS, Databases, Run, both_ways, seeds
from graphs import seed_clusters, split_ports
from trninv.routing.fleet import BaseFleet
from trninv.routing.link_selection import LinkSelection
from trninv.solvers.graph import Graph

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "c-u-trn2x64/d0"
PIECES = [f"{U}/s0/c{chip}--{U}/s{near}/c{chip}" for chip in range(16) for near in (1, 3)]
"""All z links of a server: 16 chips and 48."""
ENDS = f"{U}/s0/c0", f"{U}/s1/c0"


@pytest.fixture(scope="module", params=BACKENDS)
def clusters(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    with trninv.open(seed_clusters(databases.migrated(request.param), {"trn1": 2, "u-trn2x64": 2})) as opened:
        yield opened


def test_a_domain_in_pieces_stays_in_its_scale_up_links(clusters: BaseFleet) -> None:
    parted = clusters.what_if(PIECES)
    path, flow, away = parted.path(*ENDS), parted.bandwidth(*ENDS), parted.distances(U)
    all_to_all, halves = parted.collectives(U), parted.bisection(U)
    assert {each.via for each in (path, flow, away, all_to_all, halves)} == {LinkSelection.SCALE_UP}
    assert (path.reachable, flow.maximum_flow, away.unreachable, all_to_all.all_to_all.upper) == (False, 0, 768, 0)
    assert (
        path.reason
        == flow.reason
        == "no scale-up links that are up join them; via ANY, over EFA as well, there is a path"
    )
    assert away.reason == (
        "no scale-up links that are up join 768 pairs; via ANY, over EFA as well, 768 of them are connected"
    )
    assert all_to_all.reason == "no scale-up links that are up join all of them"
    assert not any("efa" in link.address for link in halves.cut)


def test_any_goes_over_efa_as_well(clusters: BaseFleet) -> None:
    parted = clusters.what_if(PIECES)
    path, flow, away = parted.path(*ENDS, via="any"), parted.bandwidth(*ENDS, via="any"), parted.distances(U, "any")
    assert {each.via for each in (path, flow, away)} == {LinkSelection.ANY}
    assert [step.address for step in path.paths[0].steps if step.kind == "nic"] == [f"{U}/s0/efa0", f"{U}/s1/efa0"]
    assert (path.paths[0].hops, path.reason, flow.maximum_flow, flow.reason) == (4, None, 16 * 25 * GB, None)
    assert (away.unreachable, away.reason) == (0, None)
    assert clusters.distances(U, "any").diameter == 4 < (clusters.distances(U).diameter or 0)


def test_nothing_joins_what_efa_does_not_either(clusters: BaseFleet) -> None:
    lost = clusters.what_if([*PIECES, *(f"{U}/s0/efa{nic}" for nic in range(16))])
    assert (
        lost.path(*ENDS).reason
        == lost.bandwidth(*ENDS).reason
        == ("no scale-up links that are up join them; via ANY, over EFA as well, there is no path either")
    )
    assert (lost.distances(U).reason or "").endswith("none of them is connected")
    assert lost.path(*ENDS, via="any").reason == "no links that are up join them"


def test_across_domains_scale_up_links_join_nothing(clusters: BaseFleet) -> None:
    ends = "c-trn1/d0/s0/c0", "c-trn1/d1/s0/c0"
    alone = clusters.path(*ends, via="scale_up")
    assert (alone.reachable, alone.via, (alone.reason or "").endswith("there is a path")) == (
        False,
        LinkSelection.SCALE_UP,
        True,
    )
    assert clusters.bandwidth(*ends, "scale_up").maximum_flow == 0
    assert clusters.distances("c-trn1", "scale_up").unreachable == 16 * 16
    for question in (clusters.path, clusters.bandwidth):
        assert question(*ends) == question(*ends, via="any")
        assert question(*ends).via is LinkSelection.ANY
    inside = "c-trn1/d0/s0/c0", "c-trn1/d0/s0/c5"
    assert clusters.path(*inside) == clusters.path(*inside, via="scale_up")
    of_cluster = clusters.collectives("c-trn1"), clusters.bisection("c-trn1"), clusters.distances("c-trn1")
    assert {each.via for each in of_cluster} == {LinkSelection.ANY}
    of_domain = clusters.collectives("c-trn1/d0"), clusters.bisection("c-trn1/d0"), clusters.distances("c-trn1/d0")
    assert {each.via for each in of_domain} == {LinkSelection.SCALE_UP}


def test_what_a_cluster_is_of_does_not_depend_on_what_is_up(clusters: BaseFleet) -> None:
    """With one of two domains down, EFA still counts for the other's chips."""
    one = clusters.what_if("c-trn1/d1")
    collectives = one.collectives("c-trn1")
    assert (collectives.via, collectives.chips) == (LinkSelection.ANY, 16)
    assert collectives.all_gather.upper == 192 * GB + 12_500_000_000
    assert one.collectives("c-trn1/d0").all_gather.upper == 192 * GB


def test_over_efa_two_chips_of_a_nic_meet_at_its_network_node(clusters: BaseFleet) -> None:
    """Not in the NIC: what goes up comes down again, so that either direction of the uplink bounds it."""
    chips, nic, above = ("c-trn1/d0/s0/c0", "c-trn1/d0/s0/c1"), "c-trn1/d0/s0/efa0", "c-trn1/fabric/t3/n0"
    torus = [
        f"{chip}--c-trn1/d0/s0/c{near}"
        for chip, others in zip(chips, ((1, 3, 4, 12), (2, 5, 13)), strict=True)
        for near in others
    ]
    alone = clusters.what_if(torus)
    assert not alone.path(*chips).reachable
    (path,) = alone.path(*chips, via="any").paths
    nodes = [step.address for step in path.steps if step.kind != "link"]
    assert (nodes, path.hops) == ([chips[0], nic, above, nic, chips[1]], 4)
    assert alone.bandwidth(*chips, "any").maximum_flow == 12_500_000_000
    assert len(alone.path(*chips, shape="link_disjoint", via="any").paths) == 1
    assert alone.what_if([f"{nic}--{above}"]).bandwidth(*chips, "any").maximum_flow == 0
    slow = alone.what_if(derate={f"{nic}--{above}": 0.5}).bandwidth(*chips, "any")
    assert slow.maximum_flow == sum(link.bandwidth for link in slow.minimum_cut) == 6_250_000_000


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("system", ["trn1", pytest.param("u-trn2x64", marks=pytest.mark.slow)])
def test_any_is_the_whole_graph(clusters: BaseFleet, system: str, seed: int) -> None:
    """Of randomly damaged domains, with NICs as ports; and EFA only ever adds."""
    cluster, chance = f"c-{system}", random.Random(f"{system} {seed}")
    whole_graph = clusters.graph(cluster)
    links = [f"{a}--{b}" for a, b in map(sorted, whole_graph.edges)]
    inner = [link for link in links if "efa" not in link]
    lost = chance.sample(inner, len(inner) // 2) + chance.sample([link for link in links if "efa" in link], 8)
    damaged = clusters.what_if([_written(whole_graph, link) for link in lost])
    graph = damaged.graph(cluster)
    ways = split_ports(graph)
    chips = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip" and "/d0/" in node]
    for a, b in [chance.sample(chips, 2) for _ in range(4)]:
        path, flow = damaged.path(a, b, via="any"), damaged.bandwidth(a, b, "any")
        own = {node for node in ways if "/d1/" not in str(node)}
        part = ways.subgraph(own)
        assert path.reachable == nx.has_path(part, a, b)
        assert not path.reachable or path.paths[0].hops == nx.shortest_path_length(part, a, b)
        assert flow.maximum_flow == nx.maximum_flow_value(part, a, b, capacity="bandwidth")
        assert flow.maximum_flow >= damaged.bandwidth(a, b).maximum_flow
        assert flow.maximum_flow == sum(link.bandwidth for link in flow.minimum_cut)
    hops: Counter[int] = Counter()
    for a in chips:
        reached = nx.single_source_shortest_path_length(part, a)
        hops.update(reached[b] for b in chips if b > a and b in reached)
    away = damaged.distances(f"{cluster}/d0", "any")
    assert {each.hops: each.pairs for each in away.by_hops} == hops


def _written(graph: Graph, link: str) -> str:
    """A link's address has its ends in the order of the tables: chips before NICs before network nodes."""
    order = {"chip": 0, "nic": 1, "network_node": 2}
    a, b = link.split("--")
    return link if order[graph.nodes[a]["kind"]] <= order[graph.nodes[b]["kind"]] else f"{b}--{a}"


def test_the_command_line_takes_it(run: Run, clusters: BaseFleet) -> None:
    database = clusters.engine.url.render_as_string(hide_password=False)
    down = [part for link in PIECES for part in ("--down", link)]
    status, out, _ = run("path", *ENDS, *down, database=database)
    assert (status, "via ANY" in out) == (1, True)
    status, out, _ = run("path", *ENDS, "--via", "any", *down, "-v", database=database)
    assert (status, "EFA fabric" in out) == (0, True)
    status, out, _ = run("bandwidth", *ENDS, *down, database=database)
    assert (status, "no scale-up links" in out) == (1, True)
    status, out, _ = run("distances", U, *down, database=database)
    assert "768 pairs not connected: no scale-up links" in out
    status, _, error = run("distances", U, "--via", "luck", database=database)
    assert (status, "luck" in error) == (2, True)


@pytest.mark.slow
def test_graphql_takes_it(clusters: BaseFleet) -> None:
    document = """query($a: Address!, $b: Address!, $d: Address!, $down: [Address!]!) { whatIf(down: $down) {
        path(from: $a, to: $b) { via reason } any: path(from: $a, to: $b, via: ANY) { via reachable reason }
        bandwidth(from: $a, to: $b, via: ANY) { via reason } distances(scope: $d, via: SCALE_UP) { via reason }
        collectives(scope: $d) { via reason } bisection(scope: $d) { via reason } } }"""
    found = both_ways(clusters)(document, a=ENDS[0], b=ENDS[1], d=U, down=PIECES)["data"]["whatIf"]
    assert {name: answer["via"] for name, answer in found.items()} == {
        "path": "SCALE_UP",
        "any": "ANY",
        "bandwidth": "ANY",
        "distances": "SCALE_UP",
        "collectives": "SCALE_UP",
        "bisection": "SCALE_UP",
    }
    assert (found["any"]["reachable"], found["any"]["reason"]) == (True, None)


@pytest.mark.parametrize("seed", seeds(2))
def test_a_pool_over_efa_is_that_of_the_whole_graph(clusters: BaseFleet, seed: int) -> None:
    """Which chips are how far away, over how wide a path, and what each ring delivers."""
    chance = random.Random(seed)
    graph = clusters.graph("c-trn1")
    links = [_written(graph, f"{a}--{b}") for a, b in map(sorted, graph.edges)]
    damaged = clusters.what_if(chance.sample(links, len(links) // 3), {"c-trn1/d1/s0/efa3": 0.25})
    graph = damaged.graph("c-trn1")
    ways = split_ports(graph)
    own = chance.choice([node for node, of in graph.nodes(data=True) if of["kind"] == "chip"])
    pool = damaged.memory_pool(own, via="any")
    away = {
        node: hops
        for node, hops in nx.single_target_shortest_path_length(ways, own).items()
        if node in graph and node != own and graph.nodes[node]["kind"] == "chip"
    }
    assert {chip.address: ring.hops for ring in pool.by_hops for chip in ring.reached} == away
    for ring in pool.by_hops:
        joined = ways.copy()
        joined.add_edges_from(("s", chip.address) for chip in ring.reached)
        assert ring.delivery == nx.maximum_flow_value(joined, "s", own, capacity="bandwidth")
        for chip in ring.reached[:3]:
            for floor, is_way in ((chip.widest, True), (chip.widest + 1, False)):
                wide = [(a, b) for a, b, of in ways.edges(data=True) if of["bandwidth"] >= floor]
                part = nx.DiGraph(wide)
                part.add_nodes_from([chip.address, own])
                assert nx.has_path(part, chip.address, own) == is_way
    assert (pool.via, clusters.memory_pool(own).via) == (LinkSelection.ANY, LinkSelection.SCALE_UP)
    assert (clusters.memory_pool(own, via="any").chips, clusters.memory_pool(own).chips) == (32, 16)
