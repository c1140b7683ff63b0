"""The questions as a notebook asks them, on the wiring as it is now."""

import dataclasses

import pytest
from sqlalchemy import text

import trninv
from trninv.errors import (
    AddressError,
    InvalidArgumentError,
    SamePlaceError,
    SchemaOutdatedError,
    TrninvError,
    UnknownAddressError,
    WrongLevelError,
)
from trninv.routing.fleet import BaseFleet
from trninv.solvers.shortest_paths import PathMetric
from trninv.units import Bandwidth, Capacity

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"


def test_a_path_names_chips_links_and_bottlenecks_in_order(fleet: BaseFleet) -> None:
    answer = fleet.path(f"{U}/s0/c0", f"{U}/s1/c1")
    assert (answer.metric, answer.reachable, answer.tied_paths, answer.truncated) == (PathMetric.HOPS, True, 2, True)
    (path,) = answer.paths
    assert (path.hops, path.bandwidth) == (2, 64 * GB)
    assert [(step.kind, step.address.replace(f"{U}/", "")) for step in path.steps] == [
        ("chip", "s0/c0"),
        ("link", "s0/c0--s0/c1"),
        ("chip", "s0/c1"),
        ("link", "s0/c1--s1/c1"),
        ("chip", "s1/c1"),
    ]
    assert [link.address for link in path.bottlenecks] == [f"{U}/s0/c1--{U}/s1/c1"]
    assert [step.bandwidth for step in path.steps] == [None, 128 * GB, None, 64 * GB, None]


def test_chip_switch_chip_is_two_hops(fleet: BaseFleet) -> None:
    path = fleet.path("trn3-gen2/d0/s0/c0", "trn3-gen2/d0/s17/c3").paths[0]
    assert [step.kind for step in path.steps] == ["chip", "link", "switch", "link", "chip"]
    assert (path.hops, path.bandwidth) == (2, 320 * GB)


def test_cores_stand_for_their_chip_and_servers_for_all_of_theirs(fleet: BaseFleet) -> None:
    by_core = fleet.path(f"{U}/s0/c0/nc3", f"{U}/s0/c5/nc0")
    by_chip = fleet.path(f"{U}/s0/c0", f"{U}/s0/c5")
    assert by_core.paths == by_chip.paths
    assert fleet.path(f"{U}/s0", f"{U}/s2").paths[0].hops == 2
    assert fleet.path(f"{U}/s0", f"{U}/s1").tied_paths == 16
    assert fleet.path(U, f"{U}/s1/c1").paths[0].hops == 0


def test_k_paths_are_distinct_and_in_order(fleet: BaseFleet) -> None:
    answer = fleet.path(f"{U}/s0/c0", f"{U}/s0/c5", k=100)
    assert len({path.steps for path in answer.paths}) == 100
    assert [path.hops for path in answer.paths] == sorted(path.hops for path in answer.paths)
    assert (answer.tied_paths, answer.truncated) == (2, False)


def test_avoiding_places_and_links(fleet: BaseFleet) -> None:
    a, b = f"{U}/s0/c0", f"{U}/s0/c1"
    assert fleet.path(a, b).paths[0].hops == 1
    assert fleet.path(a, b, avoid=[f"{b}--{a}"]).paths[0].hops == 3
    assert fleet.path(f"{U}/s0", f"{U}/s2", avoid=[f"{U}/s1", f"{U}/s3"]).reachable is False
    assert (
        fleet.path("trn3-gen1/d0/s0/c0", "trn3-gen1/d0/s0/c1", avoid=["trn3-gen1/d0/sw0"]).paths[0].bandwidth
        == 320 * GB
    )


def test_separate_clusters_do_not_reach_each_other(fleet: BaseFleet) -> None:
    path = fleet.path(f"{U}/s0/c0", "trn3-gen1/d0/s0/c0")
    assert (path.reachable, path.paths, path.tied_paths, path.facts) == (False, (), 0, ())
    flow = fleet.bandwidth(f"{U}/s0/c0", "trn3-gen1/d0/s0/c0")
    assert (flow.widest, flow.maximum_flow, flow.minimum_cut) == (None, 0, ())


def test_bandwidth_between_servers(fleet: BaseFleet) -> None:
    answer = fleet.bandwidth(f"{U}/s0", f"{U}/s2")
    assert (answer.maximum_flow, answer.both_directions) == (2_048 * GB, 4_096 * GB)
    assert sum(link.bandwidth for link in answer.minimum_cut) == answer.maximum_flow
    assert answer.widest is not None
    assert answer.widest.bandwidth == 64 * GB


@pytest.mark.parametrize(
    ("of", "chips", "gib", "rings"),
    [
        ("trn1.2xlarge/d0/s0/c0", 1, 32, []),
        ("trn1.32xlarge/d0/s0/c5", 16, 512, [(1, 4), (2, 6), (3, 4), (4, 1)]),
        ("u-trn2x64/d0/s0/c0", 64, 6_144, [(1, 6), (2, 15), (3, 20), (4, 15), (5, 6), (6, 1)]),
        ("u-trn2x64/d0/s0", 64, 6_144, [(1, 32), (2, 16)]),
        ("u-trn2x64", 64, 6_144, []),
        ("trn3-gen1/d0/s3/c9", 64, 9_216, [(1, 1), (2, 31), (3, 31)]),
        ("trn3-gen2/d0/s0/c0", 144, 20_736, [(1, 1), (2, 71), (3, 71)]),
    ],
)
def test_pools(fleet: BaseFleet, of: str, chips: int, gib: int, rings: list[tuple[int, int]]) -> None:
    answer = fleet.memory_pool(of)
    assert (answer.chips, answer.memory.gibibytes) == (chips, gib)
    assert [(ring.hops, ring.chips) for ring in answer.by_hops] == rings
    assert answer.own + answer.remote == answer.memory
    assert sum(ring.memory for ring in answer.by_hops) == answer.remote


def test_a_pool_within_limits(fleet: BaseFleet) -> None:
    near = fleet.memory_pool(f"{U}/s0/c0", max_hops=1)
    assert (near.chips, near.memory) == (7, Capacity.parse("672 GiB"))
    wide = fleet.memory_pool(f"{U}/s0/c0", min_bandwidth=Bandwidth.parse("65 GB/s"))
    assert (wide.chips, {chip.widest for ring in wide.by_hops for chip in ring.reached}) == (16, {128 * GB})
    assert fleet.memory_pool(f"{U}/s0/c0", max_hops=0).chips == 1


def test_bisection_of_named_chips_is_isolated(fleet: BaseFleet) -> None:
    """Eight chips of one row pair: only the links among them count."""
    chips = [f"{U}/s0/c{chip}" for chip in range(8)]
    answer = fleet.bisection(U, chips)
    assert (answer.upper, answer.side_a + answer.side_b) == (512 * GB, 8)
    with pytest.raises(WrongLevelError, match="is not within"):
        fleet.bisection(f"{U}/s1", chips)


def test_every_answer_says_what_it_rests_on(fleet: BaseFleet) -> None:
    for answer in (
        fleet.path(f"{U}/s0/c0", f"{U}/s0/c1"),
        fleet.bandwidth(f"{U}/s0/c0", f"{U}/s0/c1"),
        fleet.memory_pool(f"{U}/s0/c0"),
        fleet.bisection(U),
    ):
        assert "one direction" in answer.definition
        assert ("neuronlink-v3-plane", "128 GB/s") in {(fact.subject, fact.value) for fact in answer.facts}
        assert all(fact.quote and fact.source for fact in answer.facts)
        assert answer.disputed
        assert not answer.assumed
    trn3 = fleet.path("trn3-gen2/d0/s0/c0", "trn3-gen2/d0/s18/c0")
    assert [(fact.subject, fact.value) for fact in trn3.facts] == [("neuronlink-v4-twin", "128 GB/s")]
    assert "2,048" in (trn3.facts[0].note or "")


def test_an_answer_is_frozen(fleet: BaseFleet) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        fleet.bisection("trn1.32xlarge").method = "guess"  # type: ignore[misc]


def test_the_graph_for_notebooks(fleet: BaseFleet) -> None:
    graph = fleet.graph("trn3-gen2/d0")
    kinds = [kind["kind"] for _, kind in graph.nodes(data=True)]
    assert (kinds.count("chip"), kinds.count("switch"), kinds.count("nic")) == (144, 38, 144)
    edge = graph.edges["trn3-gen2/d0/s0/c0", "trn3-gen2/d0/s18/c0"]
    assert edge == {"bandwidth": 128 * GB, "model": "neuronlink-v4-twin", "technology": "NeuronLink-v4"}
    assert graph.nodes["trn3-gen2/d0/s18/c0"]["rack"] == 1
    server = fleet.graph(f"{U}/s0")
    assert sum(of["kind"] == "chip" for _, of in server.nodes(data=True)) == 16


@pytest.mark.parametrize(
    ("question", "arguments", "error"),
    [
        ("path", (f"{U}/s0/c0", f"{U}/s0/c99"), UnknownAddressError),
        ("path", ("?", f"{U}/s0/c0"), AddressError),
        ("path", (f"{U}/s0/c0", "u-trn2x64"), WrongLevelError),
        ("path", (f"{U}/s0/c0", f"{U}/s0/efa0"), WrongLevelError),
        ("path", (f"{U}/s0/c0", f"{U}/s0/c1", "weight"), InvalidArgumentError),
        ("path", (f"{U}/s0/c0", f"{U}/s0/c1", "hops", 0), InvalidArgumentError),
        ("path", (f"{U}/s0/c0", f"{U}/s0/c1", "hops", 101), InvalidArgumentError),
        ("bandwidth", (f"{U}/s0/c0", f"{U}/s0"), SamePlaceError),
        ("memory_pool", (f"{U}/s0/c0", -1), InvalidArgumentError),
        ("memory_pool", (f"{U}/s0/efa0",), WrongLevelError),
        ("bisection", ("trn3-gen1/d0/sw0",), WrongLevelError),
        ("graph", ("nowhere",), UnknownAddressError),
    ],
)
def test_a_wrong_question_is_refused(
    fleet: BaseFleet, question: str, arguments: tuple[object, ...], error: type[TrninvError]
) -> None:
    with pytest.raises(error):
        getattr(fleet, question)(*arguments)


def test_answers_follow_the_state(seeded: str) -> None:
    """What is down carries nothing, at once: answers are never kept."""
    with trninv.open(seeded) as fleet:
        a, b = "trn1.32xlarge/d0/s0/c0", "trn1.32xlarge/d0/s0/c1"
        assert fleet.path(a, b).paths[0].hops == 1
        with fleet.engine.begin() as connection:
            direct = "(SELECT id FROM node WHERE cluster_id = 2 AND kind = 'chip' ORDER BY id LIMIT 1)"
            connection.execute(text(f"UPDATE link SET state = 'down' WHERE a_id = {direct} AND b_id = {direct} + 1"))
        assert fleet.path(a, b).paths[0].hops == 3
        assert fleet.bandwidth(a, b).maximum_flow == 144 * GB
        assert fleet.bisection("trn1.32xlarge").upper == 336 * GB  # seven links of an axis cut
        with fleet.engine.begin() as connection:
            connection.execute(text(f"UPDATE node SET state = 'maintenance' WHERE id = {direct}"))
        assert fleet.path(a, b).reachable is False
        assert fleet.memory_pool(b).chips == 15
        assert fleet.memory_pool(a).chips == 0
        half = fleet.bisection("trn1.32xlarge")
        assert (half.side_a + half.side_b, half.exact) == (15, True)
        assert half.nominal is not None
        assert half.nominal.exact
        assert half.nominal.upper <= 384 * GB
        with fleet.engine.begin() as connection:
            connection.execute(text("UPDATE node SET state = 'up'"))
            connection.execute(text("UPDATE link SET state = 'degraded'"))
        assert fleet.path(a, b).paths[0].hops == 1


def test_an_empty_database_says_what_to_do(empty: str) -> None:
    with trninv.open(empty) as fleet, pytest.raises(SchemaOutdatedError, match="run trninv migrate"):
        fleet.bisection("u-trn2x64")


def test_opening_is_light() -> None:
    """`import trninv` brings neither SQLAlchemy nor networkx."""
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415

    code = "import sys, trninv; print([m for m in ('sqlalchemy', 'networkx', 'strawberry') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"
