"""Paths from any of some places to any of others, against every pair and the whole graph."""

import random
from collections.abc import Iterator
from itertools import product

import networkx as nx
import pytest

import trninv
from conftest import BACKENDS, Databases, Run, both_ways, seeds
from graphs import seed_clusters, split_ports
from trninv.errors import InvalidArgumentError
from trninv.routing.fleet import BaseFleet
from trninv.routing.link_selection import LinkSelection
from trninv.routing.questions.path import PlacePair

pytestmark = pytest.mark.slow_on_postgresql

NAME = "c-trn1"


@pytest.fixture(scope="module", params=BACKENDS)
def three(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    with trninv.open(seed_clusters(databases.migrated(request.param), {"trn1": 3})) as opened:
        yield opened


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("by", ["hops", "bandwidth"])
def test_the_best_of_all_pairs(three: BaseFleet, seed: int, by: str) -> None:
    """Of a damaged cluster: the rank, the pairs that have it, and that the path joins one of them."""
    chance = random.Random(f"{seed} {by}")
    whole = three.graph(NAME)
    chips = sorted(node for node, of in whole.nodes(data=True) if of["kind"] == "chip")
    links = [f"{a}--{b}" for a, b in map(sorted, whole.edges) if "/c" in a and "/c" in b]
    damaged = three.what_if([*chance.sample(chips, 8), *chance.sample(links, 30)], {f"{NAME}/d0/s0/efa0": 0.5})
    within = [chip for chip in chips if seed % 2 or "/d0/" in chip]
    places = chance.sample(within, 7)
    sources, targets = places[:3], places[3:]
    found = damaged.path(sources[0], targets[0], by, or_from=sources[1:], or_to=targets[1:])
    over = LinkSelection.SCALE_UP if len({place.split("/")[1] for place in places}) == 1 else LinkSelection.ANY
    ranks = {}
    for one, other in product(sources, targets):
        alone = damaged.path(one, other, by, via=over.name)
        for path in alone.paths:
            ranks[PlacePair(one, other)] = (-(path.bandwidth or 0) if by == "bandwidth" else 0, path.hops)
    assert found.via is over
    assert found.reachable == bool(ranks)
    best = {pair for pair in ranks if ranks[pair] == min(ranks.values())}
    assert set(found.best_pairs) == best
    for path in found.paths:
        assert (-(path.bandwidth or 0) if by == "bandwidth" else 0, path.hops) == min(ranks.values())
        assert PlacePair(path.steps[0].address, path.steps[-1].address) in best
    if by == "hops" and over is LinkSelection.ANY:
        ways = split_ports(damaged.graph(NAME))
        ours = {place.split("/")[1] for place in places}
        kept = [node for node in ways if "/d" not in str(node) or any(f"/{domain}/" in str(node) for domain in ours)]
        part = ways.subgraph(kept)
        away = nx.multi_source_dijkstra_path_length(part, {place for place in sources if place in part}, weight=None)
        assert found.paths[0].hops == min(away[place] for place in targets if place in away)


def test_ways_that_are_as_good_count_together(three: BaseFleet) -> None:
    found = three.path(f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c1", or_to=[f"{NAME}/d0/s0/c4", f"{NAME}/d0/s0/c10"], k=5)
    assert (found.tied_paths, found.source, found.target) == (2, f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c1")
    assert [pair.target.rpartition("/")[2] for pair in found.best_pairs] == ["c1", "c4"]
    assert [path.hops for path in found.paths[:2]] == [1, 1]
    apart = three.path(f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c1", shape="link_disjoint", or_to=f"{NAME}/d0/s0/c4")
    assert {path.steps[-1].address.rpartition("/")[2] for path in apart.paths} == {"c1", "c4"}
    assert three.path(f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c1").best_pairs == ()


def test_a_place_in_both_sets_is_at_home(three: BaseFleet) -> None:
    found = three.path(f"{NAME}/d0/s0/c0", f"{NAME}/d1/s0/c1", or_to=[f"{NAME}/d0/s0/c0"])
    assert (found.paths[0].hops, found.best_pairs) == (0, (PlacePair(f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c0"),))


def test_too_many_pairs_are_refused(three: BaseFleet) -> None:
    chips = [f"{NAME}/d{domain}/s0/c{chip}" for domain in range(2) for chip in range(16)]
    with pytest.raises(InvalidArgumentError, match="288 pairs of places are too many; name at most 256"):
        three.path(chips[0], chips[31], or_from=chips[1:9], or_to=chips)


def test_where_nothing_joins_them_all_are_named(three: BaseFleet) -> None:
    found = three.path(f"{NAME}/d0/s0/c0", f"{NAME}/d1/s0/c0", via="scale_up", or_to=f"{NAME}/d2/s0/c0")
    assert not found.reachable
    assert found.best_pairs == ()
    assert (found.reason or "").endswith("there is a path")
    gone = three.what_if([f"{NAME}/d1", f"{NAME}/d2"]).path(f"{NAME}/d0", f"{NAME}/d1", or_to=f"{NAME}/d2")
    assert gone.reason == f"every part of {NAME}/d1 or {NAME}/d2 is down or avoided"


def test_the_command_line_and_graphql_take_sets(run: Run, three: BaseFleet) -> None:
    ends, more = (f"{NAME}/d0/s0/c0", f"{NAME}/d0/s0/c10"), (f"{NAME}/d0/s0/c2", f"{NAME}/d0/s0/c5")
    database = three.engine.url.render_as_string(hide_password=False)
    status, out, _ = run("path", *ends, "--or-from", more[0], "--or-to", more[1], database=database)
    assert status == 0
    assert f"best from {ends[0]} to {more[1]} and {more[0]} to {ends[1]}" in out
    document = """query($a: Address!, $b: Address!, $c: [Address!], $d: [Address!]) {
        path(from: $a, to: $b, orFrom: $c, orTo: $d) { tiedPaths bestPairs { source target } paths { hops } } }"""
    found = both_ways(three)(document, a=ends[0], b=ends[1], c=[more[0]], d=more[1:])["data"]["path"]
    python = three.path(*ends, or_from=more[0], or_to=more[1])
    assert found["bestPairs"] == [{"source": pair.source, "target": pair.target} for pair in python.best_pairs]
    assert len(found["bestPairs"]) == 3
    assert (found["tiedPaths"], found["paths"][0]["hops"]) == (python.tied_paths, python.paths[0].hops)
