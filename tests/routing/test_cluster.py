"""Across the EFA fabric: two domains and a slice of it against the whole graph, the quotient against every split."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select, update

import trninv
from conftest import BACKENDS, Databases, examples
from graphs import seed_clusters, whole
from oracles import brute_force
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import ScopeTooLargeError, UnknownAddressError, WrongLevelError
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing import cluster_islands, hubs
from trninv.routing.domain_failures import read_uplinks
from trninv.routing.fleet import BaseFleet
from trninv.routing.path_cache import PathCache
from trninv.routing.questions.bisection import BisectionAnswer
from trninv.routing.scope import Scope
from trninv.routing.wiring import link_ref, load_wiring
from trninv.solvers import quotient
from trninv.solvers.graph import Graph, weighted_edges
from trninv.solvers.islands import Island
from trninv.solvers.quotient import bisect_quotient

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
CLUSTERS = {"trn1": 20, "trn2": 3, "u-trn2x64": 9, "trn3-gen1": 2, "trn3-gen2": 2, "trn1.2xlarge": 6}
SOME = [
    "trn1",
    "trn3-gen1",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("trn2", "u-trn2x64", "trn3-gen2")),
]


Opened = Callable[[str], BaseFleet]


@pytest.fixture(scope="module")
def opened(databases: Databases) -> Iterator[Opened]:
    """A fleet on a backend or, as "damaged", one with some of everything out of service: chips, NICs, links, nodes."""
    with ExitStack() as stack:

        @cache
        def open_(kind: str) -> BaseFleet:
            url = seed_clusters(databases.migrated("sqlite" if kind == "damaged" else kind), CLUSTERS)
            if kind == "damaged":
                _damage(url)
            return stack.enter_context(trninv.open(url))

        yield open_


@pytest.fixture(scope="module", params=BACKENDS)
def fleet(request: pytest.FixtureRequest, opened: Opened) -> BaseFleet:
    return opened(request.param)


@pytest.fixture(scope="module")
def damaged(opened: Opened) -> BaseFleet:
    return opened("damaged")


@pytest.fixture(scope="module", params=[*BACKENDS, "damaged"])
def asked(request: pytest.FixtureRequest, opened: Opened) -> BaseFleet:
    return opened(request.param)


def _pairs(fleet: BaseFleet) -> int:
    """How many pairs are asked about; on PostgreSQL only whether it is read alike remains to be seen."""
    return 12 if fleet.engine.dialect.name == "sqlite" else 3


def _damage(url: str) -> None:
    chance = random.Random(7)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for table, share in (("node", 0.05), ("link", 0.05)):
            _break(connection, table, chance, share)


def _break(connection: Connection, table: str, chance: random.Random, share: float) -> None:
    rows = TABLES[table]
    ids = connection.scalars(select(rows.c.id).order_by(rows.c.id)).all()
    lost = chance.sample(list(ids), int(len(ids) * share))
    connection.execute(update(rows).where(rows.c.id.in_(lost)).values(state="down"))


@pytest.mark.parametrize("system", SOME)
def test_two_domains_and_a_slice_answer_as_the_whole_graph_does(asked: BaseFleet, system: str) -> None:
    graph = whole(asked, f"c-{system}")
    number = {of["address"]: node for node, of in graph.nodes(data=True)}
    chips = [address for address, node in number.items() if graph.nodes[node]["kind"] == "chip"]
    chance = random.Random(system)
    for _ in range(_pairs(asked)):
        a, b = chance.sample(chips, 2)
        if a.split("/")[1] == b.split("/")[1]:
            continue
        answer = asked.path(a, b)
        reachable = nx.has_path(graph, number[a], number[b])
        assert answer.reachable == reachable
        if not reachable:
            continue
        assert answer.paths[0].hops == nx.shortest_path_length(graph, number[a], number[b])
        assert {s.address.split("/")[1] for s in answer.paths[0].steps if s.kind == "chip"} <= {
            a.split("/")[1],
            b.split("/")[1],
        }
        flow = asked.bandwidth(a, b)
        assert flow.maximum_flow == nx.maximum_flow_value(graph, number[a], number[b])
        assert sum(link.bandwidth for link in flow.minimum_cut) == flow.maximum_flow
        assert flow.widest
        assert flow.widest.bandwidth == max(
            min(graph.edges[edge]["capacity"] for edge in nx.utils.pairwise(path))
            for path in [nx.shortest_path(nx.maximum_spanning_tree(graph, "capacity"), number[a], number[b])]
        )


@pytest.mark.parametrize("by", ["hops", "bandwidth"])
@pytest.mark.parametrize("system", [*SOME, "trn1.2xlarge"])
def test_what_is_remembered_of_two_domains_answers_as_their_graph_does(
    asked: BaseFleet, system: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{system} {by}")
    with read_transaction(asked.engine) as connection:
        named = node_addresses().where(TABLES["node"].c.kind == "chip")
        chips = [row.address for row in connection.execute(named) if row.address.startswith(f"c-{system}/")]
    pairs = [chance.sample(chips, 2) for _ in range(_pairs(asked))]
    domain = pairs[0][0].split("/s")[0]
    pairs += [chance.choices([chip for chip in chips if chip.startswith(f"{domain}/")], k=2) for _ in pairs]
    remembered = [asked.path(a, b, by) for a, b in pairs]
    monkeypatch.setattr(PathCache, "path", lambda *_: None)
    assert remembered == [asked.path(a, b, by) for a, b in pairs]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_remembered_is_never_stale(databases: Databases, backend: str) -> None:
    url = seed_clusters(databases.migrated(backend), {"trn2": 3})
    ends, node = ("c-trn2/d0/s0/c0", "c-trn2/d1/s0/c0"), TABLES["node"]
    with trninv.open(url) as opened, temporary_engine(url) as other:
        for address in ("c-trn2/d1/s0/efa0", "c-trn2/d0/s0/efa0", "c-trn2/fabric/t3/n0"):
            before = opened.path(*ends)
            assert before == opened.path(*ends)
            with write_transaction(other) as connection:
                lost = resolve_place(connection, address).id
                connection.execute(update(node).where(node.c.id == lost).values(state="down"))
            after = opened.path(*ends)
            assert after != before
            with trninv.open(url) as fresh:
                assert after == fresh.path(*ends)
        with write_transaction(other) as connection:
            cluster_seeding.unseed(connection, resolve_place(connection, "c-trn2").id)
        with pytest.raises(UnknownAddressError):
            opened.path(*ends)


def test_chips_of_one_domain_keep_to_its_scale_up_links(fleet: BaseFleet) -> None:
    answer = fleet.path("c-u-trn2x64/d3/s0/c0", "c-u-trn2x64/d3/s2/c10")
    assert (answer.paths[0].hops, answer.tied_paths) == (6, 720)
    assert fleet.memory_pool("c-u-trn2x64/d3/s0/c0").chips == 64


@pytest.mark.parametrize("system", ["trn1", "trn2", "u-trn2x64", "trn3-gen1"])
def test_the_latency_of_efa_counts_half_at_either_host(fleet: BaseFleet, system: str) -> None:
    """15 us from HBM to HBM, however many tiers are between, and then the bytes at the narrowest link."""
    message, ends = 10**6, (f"c-{system}/d0/s0/c0", f"c-{system}/d1/s0/c0")
    for a, b in (ends, reversed(ends)):
        (path, *_) = fleet.path(a, b, "time", message=message).paths
        assert [step.kind for step in path.steps if step.kind in ("chip", "nic")] == ["chip", "nic", "nic", "chip"]
        assert path.time
        assert path.bandwidth
        assert path.time.nanoseconds == 15_000 + -(-message * 10**9 // path.bandwidth.bytes_per_second)


def test_clusters_are_not_joined(fleet: BaseFleet) -> None:
    answer = fleet.path("c-trn1/d0/s0/c0", "c-trn2/d0/s0/c0")
    assert (answer.reachable, answer.reason) == (False, "they are in different clusters, which no links join")


def test_avoiding_a_network_node_parts_what_is_below_it(fleet: BaseFleet) -> None:
    ends = "c-u-trn2x64/d0/s0/c0", "c-u-trn2x64/d8/s0/c0"
    assert fleet.path(*ends).paths[0].hops == 6
    assert not fleet.path(*ends, avoid="c-u-trn2x64/fabric/t2/n0").reachable
    with pytest.raises(WrongLevelError, match="is a network node"):
        fleet.path(ends[0], "c-u-trn2x64/fabric/t2/n0")


@pytest.mark.parametrize(
    ("system", "value", "split"),
    [
        ("trn1", 10 * 100, 0),
        ("trn2", 24 * 25 + 1_024, 8),  # an odd number of domains: one is split
        ("u-trn2x64", 4 * 1_600 + 32 * 25 + 2_048, 32),
        ("trn3-gen1", 1_600, 0),
        ("trn3-gen2", 144 * 25, 0),
        ("trn1.2xlarge", None, 0),
    ],
)
def test_bisection_of_clusters(fleet: BaseFleet, system: str, value: int | None, split: int) -> None:
    answer = fleet.bisection(f"c-{system}")
    assert answer.exact
    assert value is None or answer.upper == value * GB
    assert sum(link.bandwidth for link in answer.cut) == answer.upper
    assert answer.cut_size == len(answer.cut)
    assert abs(answer.side_a - answer.side_b) <= 1
    assert sum("/c" in chip.split("/", 1)[1] for chip in answer.chips_a) == split


def test_bisection_of_a_damaged_cluster_holds_its_bounds(damaged: BaseFleet) -> None:
    for system in CLUSTERS.keys() - {"u-trn2x64"}:  # below, with fewer kinds of damage
        _holds_its_bounds(damaged.bisection(f"c-{system}"))


def _holds_its_bounds(answer: BisectionAnswer) -> None:
    assert 0 <= answer.lower <= answer.upper
    assert sum(link.bandwidth for link in answer.cut) == answer.upper
    assert answer.nominal is None or answer.nominal.lower <= answer.nominal.upper <= answer.upper


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_domain_without_healthy_chips_is_on_no_side(databases: Databases, backend: str) -> None:
    with trninv.open(seed_clusters(databases.migrated(backend), {"trn2": 3})) as opened:
        opened.set_state("c-trn2/d1/s0", "down", who="tests", why="it is dead")
        answer = opened.bisection("c-trn2")
    assert {*answer.chips_a, *answer.chips_b} == {"c-trn2/d0", "c-trn2/d2"}
    assert (answer.side_a, answer.side_b) == (16, 16)


def test_a_domain_wired_otherwise_is_not_taken_for_its_like(databases: Databases) -> None:
    url, link = seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 4}), TABLES["link"]
    with trninv.open(url) as opened, temporary_engine(url) as engine:
        assert opened.bisection("c-u-trn2x64").upper == 3_200 * GB
        with write_transaction(engine) as connection:
            nics = select(TABLES["nic"].c.id).join(TABLES["server"], TABLES["server"].c.id == TABLES["nic"].c.server_id)
            slow = nics.where(TABLES["server"].c.domain_id == resolve_place(connection, "c-u-trn2x64/d2").id)
            connection.execute(update(link).where(link.c.a_id.in_(slow)).values(bandwidth_bytes_per_s=GB))
        answer = opened.bisection("c-u-trn2x64")
    assert (answer.upper, answer.exact) == ((1_600 + 64) * GB, True)
    assert "c-u-trn2x64/d2" in answer.chips_a


def test_alike_damage_is_read_once_and_counted_as_often_as_it_is_there(databases: Databases) -> None:
    url = seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 7})
    broken = ["d1/s0/c3", "d4/s0/c3", "d2/s1/c5", "d2/s1/c6", "d5/s2/efa9"]
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [f"c-u-trn2x64/{part}" for part in broken], Condition("down"), why="test", who="test")
        link = "c-u-trn2x64/d3/s0/c0--c-u-trn2x64/d3/s0/c1"
        set_state(connection, [link], Condition("degraded", 500_000), why="test", who="test")
    with trninv.open(url) as opened:
        answer = opened.bisection("c-u-trn2x64")
        with opened.open_snapshot() as reader:
            scope = Scope.resolve(reader, "c-u-trn2x64")
            shared = cluster_islands.read_domain_classes(reader, scope)
            single = [
                cluster_islands.read_domain_classes(reader, replace(scope, domains=[domain]))[0]
                for domain in scope.domains
            ]
        assert sorted(len(kind.domains) for kind in shared) == [1, 1, 1, 2, 2]
        for lost in (0, 4):
            half = (7 * 64 - 4 + lost) // 2
            found, wanted = (cluster_islands.bisect_classes(kinds, half - lost, half) for kinds in (shared, single))
            assert (found.lower, found.upper) == (wanted.lower, wanted.upper)
        assert answer.side_a + answer.side_b == 7 * 64 - 4
        assert answer.nominal is not None
        _holds_its_bounds(answer)


def _noted(asked: list[str], name: str, read: Callable[..., object], *given: object) -> object:
    asked.append(name)
    return read(*given)


def test_every_link_is_looked_at_once_in_a_state(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for module, name in ((cluster_islands, "_irregular_domains"), (hubs, "_read_fabric")):
        monkeypatch.setattr(module, name, partial(_noted, asked, name, getattr(module, name)))
    url = seed_clusters(databases.migrated("sqlite"), {"trn1": 4})
    with trninv.open(url) as opened:
        first = opened.bisection("c-trn1").upper
        opened.collectives("c-trn1")
        opened.what_if(down=["c-trn1/d0/s0/c0"]).bisection("c-trn1")
        opened.what_if(down=["c-trn1/fabric/t3/n0"]).bisection("c-trn1")
        assert sorted(asked) == ["_irregular_domains", "_read_fabric"]
        with temporary_engine(url) as engine, write_transaction(engine) as connection:
            connection.execute(
                update(TABLES["link"]).values(bandwidth_bytes_per_s=TABLES["link"].c.bandwidth_bytes_per_s / 2)
            )
        assert opened.bisection("c-trn1").upper == first / 2


def _as_read(kind: cluster_islands.DomainClass) -> tuple[object, ...]:
    """What of a kind does not depend on which domain's ids it has."""
    island = kind.island
    parts = (
        island.chip_count,
        island.exit_capacity,
        sorted(island.private_exits or ()),
        island.exit_ratio,
        island.network_node is None,
        kind.failed_count,
        len(island.graph),
    )
    return (*parts, sorted(carries for _, _, carries in weighted_edges(island.graph)))


@pytest.mark.parametrize(
    "system", ["trn1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("u-trn2x64", "trn1.2xlarge"))]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_wear_leaves_of_a_domain_is_what_the_tables_say(databases: Databases, backend: str, system: str) -> None:
    url, chance = seed_clusters(databases.migrated(backend), {system: 12}), random.Random(system)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        key = TABLES["domain"].c.id
        intact = connection.scalars(select(key).order_by(key).limit(3)).all()
        for table in ("node", "link"):
            rows = TABLES[table]
            within = select(rows.c.id).where(rows.c.domain_id.is_not(None), rows.c.domain_id.not_in(intact))
            ids = connection.scalars(within.order_by(rows.c.id)).all()
            for lost in chance.sample(list(ids), 9):
                state, factor = chance.choice([("down", None), ("degraded", 333_333)])
                connection.execute(update(rows).where(rows.c.id == lost).values(state=state, factor_ppm=factor))
    with trninv.open(url) as opened, opened.open_snapshot() as reader:
        scope = Scope.resolve(reader, f"c-{system}")
        kinds = {domain: kind for kind in cluster_islands.read_domain_classes(reader, scope) for domain in kind.domains}
        assert sum(kind.is_degraded for kind in kinds.values()) > 4
        for domain, kind in kinds.items():
            (alone,) = cluster_islands.read_domain_classes(reader, replace(scope, domains=[domain]))
            assert not alone.is_degraded
            assert _as_read(kind) == _as_read(alone)
            up = read_uplinks(reader.connection, [domain]).get(domain, [])
            graph, above = alone.island.graph, alone.island.network_node
            refs = [] if above is None else [link_ref(graph.nodes, graph.adj, nic, above) for nic in graph[above]]
            assert up == sorted(refs, key=lambda link: link.id)


@pytest.mark.slow
def test_bisection_of_single_chips_against_every_split(databases: Databases) -> None:
    chance = random.Random(3)
    url = seed_clusters(databases.migrated("sqlite"), {"trn1.2xlarge": 7})
    for _ in range(6):
        with temporary_engine(url) as engine, write_transaction(engine) as connection:
            for table in ("node", "link"):
                connection.execute(update(TABLES[table]).values(state="up"))
                _break(connection, table, chance, 0.1)
        with trninv.open(url) as opened:
            graph = whole(opened, "c-trn1.2xlarge")
            ends = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]
            answer = opened.bisection("c-trn1.2xlarge")
        assert answer.lower <= brute_force.bisection(graph, ends) <= answer.upper


def test_named_chips_of_several_domains(fleet: BaseFleet) -> None:
    answer = fleet.bisection("c-u-trn2x64", ["c-u-trn2x64/d0/s0", "c-u-trn2x64/d1/s0"])
    assert (answer.upper, answer.exact, answer.side_a) == (16 * 25 * GB, True, 16)


def test_too_many_domains_at_once_are_refused(fleet: BaseFleet) -> None:
    with read_transaction(fleet.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(TABLES["domain"])) == sum(CLUSTERS.values())
        with pytest.raises(ScopeTooLargeError):
            load_wiring(connection, range(65))


ABOVE = 999


@st.composite
def _islands(draw: st.DrawFn) -> list[tuple[Graph, list[int]]]:
    """Small islands, each its own graph, whose chips leave by NICs of up to four of them, some of them dead."""
    made = []
    for island in range(draw(st.integers(1, 3))):
        graph, first = Graph(), island * 10
        chips = list(range(first, first + draw(st.integers(1, 4))))
        graph.add_nodes_from(chips, kind="chip", position=None)
        graph.add_node(ABOVE, kind="network_node", position=None)
        for a in chips:
            for b in chips:
                if a < b and draw(st.booleans()):
                    graph.add_edge(a, b, capacity=draw(st.integers(1, 5)))
        share = draw(st.integers(1, 4))
        for chip in chips:
            nic = 100 + first + (chip - first) // share
            graph.add_node(nic, kind="nic", position=None)
            graph.add_edge(chip, nic, capacity=draw(st.integers(1, 4)))
            if up := draw(st.integers(0, 4)):
                graph.add_edge(nic, ABOVE, capacity=up)
        made.append((graph, chips))
    return made


def _least_flow(islands: list[tuple[Graph, list[int]]]) -> int:
    """Between any halves of all chips; a NIC lets chips send up and receive from above, nothing else."""
    ways: nx.DiGraph[object] = nx.DiGraph()
    for graph, _ in islands:
        for a, b, of in graph.edges(data=True):
            for one, other in ((a, b), (b, a)):
                up = graph.nodes[one]["kind"] == "chip" or graph.nodes[other]["kind"] == "network_node"
                places = [(end, up) if graph.nodes[end]["kind"] == "nic" else end for end in (one, other)]
                ways.add_edge(*places, capacity=of["capacity"])
    ends = [chip for _, chips in islands for chip in chips]
    return brute_force.least_flow(ways, ends)


@examples(40)
@given(_islands())
def test_a_small_cluster_is_exact(islands: list[tuple[Graph, list[int]]]) -> None:
    ends = [chip for _, chips in islands for chip in chips]
    assume(len(ends) > 1)
    kinds = [(Island.from_graph(graph, chips, ABOVE), 1) for graph, chips in islands]
    found = bisect_quotient(kinds, len(ends) // 2, len(ends) - len(ends) // 2)
    assert found.lower == found.upper == _least_flow(islands)


@examples(30)
@given(_islands())
def test_a_large_cluster_is_bounded(islands: list[tuple[Graph, list[int]]]) -> None:
    """The way of those whose islands are too many to look at one by one."""
    ends = [chip for _, chips in islands for chip in chips]
    assume(len(ends) > 1)
    kinds = [(Island.from_graph(graph, chips, ABOVE), 1) for graph, chips in islands]
    found = quotient._bisect_by_ratios(kinds, len(ends) // 2, len(ends) - len(ends) // 2)
    assert found.lower <= _least_flow(islands) <= found.upper
