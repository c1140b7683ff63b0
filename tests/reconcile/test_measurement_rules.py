"""Drift rules about measurements, compared with plain restatements of their definitions."""

import itertools
import random
import statistics
from collections.abc import Iterator

import networkx as nx
import pytest
from drifting import MEASURED_RULES, seeded
from hypothesis import given
from hypothesis import strategies as st
from measuring import measure, report, run
from sqlalchemy import Engine

from conftest import BACKENDS, Databases, examples
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.cluster_seeding import unseed
from trninv.inventory.state.bindings import bind, unbind
from trninv.reconcile.drift import DriftResult, detect_drift
from trninv.reconcile.latest_observations import pinned_binding
from trninv.reconcile.link_suspects import suspected_link
from trninv.reconcile.measured_runs import Run
from trninv.reconcile.rules.measurement_rules import is_slow, slowest_peer

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

CLUSTER = "trn2-16.48xlarge"
SLOTS = [f"{CLUSTER}/d{domain}/s0" for domain in range(6)]
U = "u-trn2x64/d0/s0"


def make(url: str) -> None:
    """Six bound servers of a model, and one of another."""
    seeded(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        unseed(connection, resolve_place(connection, CLUSTER).id)
        cluster_seeding.seed(connection, default_catalog(), default_systems().get(CLUSTER).resized(6), CLUSTER)
        for number, slot in enumerate([*SLOTS, U]):
            bind(connection, [pinned_binding(connection, slot, f"i-0{number}")], who="anna")


@pytest.fixture(params=BACKENDS)
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, make)) as made:
        yield made


def url(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def ran(engine: Engine, speed: float, slot: str = SLOTS[0], operation: str = "all-gather") -> None:
    measure(url(engine), (report(operation, "bf16", 64, [(2**30, speed)]), run(slot, operation)))


def found(engine: Engine) -> list[tuple[str, str | None, str | None, str | None]]:
    with write_transaction(engine) as connection:
        result: DriftResult = detect_drift(connection)
    return [
        (finding.rule, finding.address, finding.expected, finding.observed)
        for finding in result.findings
        if finding.rule in MEASURED_RULES
    ]


def test_a_slow_run_is_found_stays_found_and_clears(engine: Engine) -> None:
    for speed in (380, 390, 385):
        ran(engine, speed)
    assert found(engine) == []
    slow = (
        "slow-collective",
        SLOTS[0],
        "at least 80% of the median of its earlier runs",
        "all-gather bf16: slower than before",
    )
    for speed in (300, 299, 298, 297, 296):
        ran(engine, speed)
        assert found(engine) == [slow]
    ran(engine, 381)
    assert found(engine) == []


def test_a_successor_does_not_inherit_measurements(engine: Engine) -> None:
    for speed in (380, 390, 100):
        ran(engine, speed)
    assert [rule for rule, *_ in found(engine)] == ["slow-collective"]
    with write_transaction(engine) as connection:
        unbind(connection, SLOTS[0], who="anna")
        bind(connection, [pinned_binding(connection, SLOTS[0], "i-0ff")], who="anna")
    assert found(engine) == []


def test_a_machine_slower_than_its_peers(engine: Engine) -> None:
    for slot, speed in zip(SLOTS[:5], (380, 384, 386, 390, 300), strict=True):
        ran(engine, speed, slot)
    expected = f"at least median - 3 MAD of machines of {CLUSTER}"
    assert found(engine) == [("slower-than-peers", SLOTS[4], expected, "all-gather bf16: slower than its peers")]


def test_four_machines_are_no_standard(engine: Engine) -> None:
    for slot, speed in zip(SLOTS[:4], (380, 384, 386, 100), strict=True):
        ran(engine, speed, slot)
    assert found(engine) == []


def test_the_impossible_is_found_and_no_standard_for_others(engine: Engine) -> None:
    for speed in (900, 900, 380):
        ran(engine, speed)
    assert found(engine) == []
    ran(engine, 600, SLOTS[1])
    expected = "at most the limit of the wiring"
    assert found(engine) == [("impossible-measurement", SLOTS[1], expected, "all-gather bf16: above the limit")]
    ran(engine, 512 * 16 / 15 * 0.999_999, SLOTS[1])
    assert found(engine) == []


def test_a_slow_link_is_proposed_as_the_cause(engine: Engine) -> None:
    def transfers(slow: set[tuple[int, int]]) -> None:
        pairs = [(0, 1), (0, 4), (1, 2), (1, 5), (4, 5)]
        lines = [f"{U}/c{a},{U}/c{b},1000000000,{0.1 if (a, b) in slow else 0.01}" for a, b in pairs]
        measure(url(engine), ("\n".join(["from,to,bytes,seconds", *lines, ""]).encode(), {}), kind="bandwidth")

    transfers(set())
    measure(
        url(engine), (b"from,to,bytes,seconds\n" + f"{U}/c0,{U}/c1,1000000001,0.01\n".encode(), {}), kind="bandwidth"
    )
    lines = [f"{U}/c{a},{U}/c{b},1000000000,0.0101" for a, b in [(0, 1), (0, 4), (1, 2), (1, 5), (4, 5)]]
    measure(url(engine), ("\n".join(["from,to,bytes,seconds", *lines]).encode(), {}), kind="bandwidth")
    transfers({(0, 1)})
    ((rule, address, _, observed),) = found(engine)
    assert (rule, address) == ("slow-collective", U)
    assert observed == f"transfer: slower than before; likely cause: the link {U}/c0--{U}/c1"


def runs(bandwidths: list[int]) -> list[Run]:
    return [
        Run("", "a/d0/s0", None, None, "all-gather", "bf16", 1, 16, 64, 2, bandwidth, None, 1)
        for bandwidth in bandwidths
    ]


@examples(300)
@given(st.lists(st.integers(1, 1_000), max_size=12))
def test_slow_by_its_definition(bandwidths: list[int]) -> None:
    standard: list[int] = []
    slow = False
    for bandwidth in bandwidths:
        slow = len(standard) > 1 and bandwidth * 10 < 8 * statistics.median(standard)
        standard += [] if slow else [bandwidth]
    assert is_slow(runs(bandwidths)) == slow


def test_slow_at_its_bounds() -> None:
    assert not is_slow(runs([100, 100, 80]))
    assert is_slow(runs([100, 100, 79]))
    assert not is_slow(runs([100, 1]))
    assert not is_slow([])


@examples(300)
@given(st.lists(st.integers(1, 10**6), min_size=5, max_size=20))
def test_the_slowest_peer_by_its_definition(bandwidths: list[int]) -> None:
    middle = statistics.median(bandwidths)
    mad = statistics.median([abs(value - middle) for value in bandwidths])
    assert slowest_peer(bandwidths) == pytest.approx(middle - 3 * max(mad, middle / 100))
    assert slowest_peer([10 * value for value in bandwidths]) == pytest.approx(10 * slowest_peer(bandwidths))


def test_a_machine_at_the_threshold_is_no_outlier(engine: Engine) -> None:
    assert slowest_peer([100, 100, 100, 100, 97]) == 97
    for slot, speed in zip(SLOTS[:5], (200, 200, 200, 200, 194.001), strict=True):
        ran(engine, speed, slot)
    assert found(engine) == []
    ran(engine, 193.9, SLOTS[4])
    assert [rule for rule, *_ in found(engine)] == ["slower-than-peers"]


def transfer(a: int, b: int) -> Run:
    return Run("", "x/d0/s0/c" + str(a), f"x/d0/s0/c{b}", None, "transfer", None, 1, 2, None, None, 1, None, 1)


@pytest.mark.parametrize("seed", range(60))
def test_suspects_by_all_shortest_paths(seed: int) -> None:
    rng = random.Random(seed)
    graph = nx.gnp_random_graph(7, 0.45, seed=seed)
    pairs = rng.sample(list(itertools.combinations(range(7), 2)), 6)
    slow, fast = pairs[: rng.randint(1, 3)], pairs[3:]
    links = {node: list(graph[node]) for node in graph}

    def on_paths(pair: tuple[int, int]) -> list[set[frozenset[int]]]:
        if not nx.has_path(graph, *pair):
            return []
        return [set(map(frozenset, itertools.pairwise(path))) for path in nx.all_shortest_paths(graph, *pair)]

    unions = [set[frozenset[int]]().union(*on_paths(pair)) for pair in slow]
    suspects = unions[0]
    for union in unions[1:]:
        suspects = suspects & union
    for pair in fast:
        if paths := on_paths(pair):
            suspects = {link for link in suspects if not all(link in path for path in paths)}
    expected = None
    if len(suspects) == 1:
        a, b = sorted(next(iter(suspects)))
        expected = f"x/d0/s0/c{a}--x/d0/s0/c{b}"
    assert suspected_link(links, [transfer(*pair) for pair in slow], [transfer(*pair) for pair in fast]) == expected


def test_collectives_and_transfers_elsewhere_point_to_no_link() -> None:
    links = {0: [1], 1: [0]}
    away = transfer(0, 1)._replace(peer="x/d0/s1/c1")
    assert suspected_link(links, runs([1]), []) is None
    assert suspected_link(links, [away], []) is None
    assert suspected_link(links, [transfer(0, 0)], []) is None
    assert suspected_link(links, [transfer(0, 1), away], []) is None
    assert suspected_link(links, [transfer(0, 1)], []) == "x/d0/s0/c0--x/d0/s0/c1"
