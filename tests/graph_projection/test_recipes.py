"""Questions in Cypher whose answers are those of SQL, or of trninv's own questions, over the same fleet."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from irregular import irregular, make
from populating import populate
from queries import run_query

import trninv
from conftest import BACKENDS, Databases, mostly_slow
from trninv import Fleet
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.reports.query_compiler import compile_query

pytestmark = pytest.mark.slow_on_postgresql

CHIP, SWITCHED = "u-trn2x64/d0/s0/c0", "trn3-gen2/d0/s0/c0"
CARRIES = "(r, n | WHERE r.state IN ['up', 'degraded'] AND n.state IN ['up', 'degraded'])"


def _populate(url: str) -> None:
    populate(url)
    make(url, {"lab": irregular({"trn1.32xlarge": 2, "u-trn2x64": 1}, 5)})
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, ["lab/d2/s1"], Condition("down"), why="test", who="test")
        set_state(connection, ["lab/d0/s0/efa2"], Condition("degraded", 500_000), why="test", who="test")
        for job, place in ("x", "lab/d0/s0/c0"), ("y", "lab/d0/s0/c8"), ("z", "lab/d1/s0"):
            allocate(connection, job, [place], who="test")


@pytest.fixture(scope="module", params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    """A fleet with things of every kind and a fabric."""
    url = databases.copied(request.param, _populate)
    with trninv.open(url) as opened:
        yield opened


def _sql(text: str) -> Callable[[Fleet], Any]:
    def answer(fleet: Fleet) -> Any:
        return run_query(fleet.engine, compile_query(text, fleet.engine.dialect.name), seconds=60).rows

    return answer


def _path(source: str, target: str) -> Callable[[Fleet], Any]:
    def answer(fleet: Fleet) -> Any:
        path = fleet.path(source, target)
        return [(path.paths[0].hops, path.tied_paths)]

    return answer


def _shortest(source: str, target: str) -> str:
    return (
        f"MATCH (a:Chip {{address: '{source}'}})-[l:SCALE_UP* ALL SHORTEST 1..16 {CARRIES}]-(b:Chip) "
        f"WITH b.address AS target, length(l) AS hops WHERE target = '{target}' RETURN hops, count(*) AS paths"
    )


def _pool(fleet: Fleet) -> Any:
    pool = fleet.memory_pool(CHIP, max_hops=2)
    return [(pool.chips, int(pool.memory) >> 30)]


def _ring_sizes(fleet: Fleet) -> Any:
    sizes: dict[int, int] = {}
    for ring in fleet.memory_pool(CHIP).by_hops:
        sizes[ring.hops] = len(ring.reached)
    return [(hops, size) for hops, size in sizes.items() if hops]


RECIPES: dict[str, tuple[str, Callable[[Fleet], Any]]] = {
    "clusters with their chips": (
        "MATCH (c:Chip) RETURN c.cluster, count(*) AS chips, sum(c.hbm_gib) AS hbm",
        _sql("SELECT address, chips, hbm_gib FROM v_cluster"),
    ),
    "chips by state": (
        "MATCH (c:Chip) RETURN c.state, count(*) AS chips",
        _sql("SELECT state, count(*) FROM v_chip GROUP BY state"),
    ),
    "a chip and the places that contain it": (
        f"MATCH (c:Chip {{address: '{CHIP}'}})-[:PART_OF]->(s:Server)-[:PART_OF]->(p) RETURN s.address, p.address",
        _sql(
            f"SELECT server, rack FROM v_chip WHERE address = '{CHIP}' "
            f"UNION ALL SELECT server, domain FROM v_chip WHERE address = '{CHIP}'"
        ),
    ),
    "neighbours by technology": (
        (
            f"MATCH (c:Chip {{address: '{CHIP}'}})-[l:SCALE_UP|EFA]-(o) RETURN l.technology, count(*) AS links, "
            "sum(l.bandwidth_gb_per_s) AS now"
        ),
        _sql(
            f"SELECT technology, count(*), sum(bandwidth_gb_per_s) FROM v_link WHERE a = '{CHIP}' OR b = '{CHIP}' "
            "GROUP BY technology"
        ),
    ),
    "links that are not healthy": (
        (
            "MATCH (a)-[l:SCALE_UP|EFA]-(b) WHERE a.address < b.address AND l.bandwidth_gb_per_s < l.nominal_gb_per_s "
            "RETURN a.address, b.address, l.state, l.factor, l.bandwidth_gb_per_s"
        ),
        _sql(
            "SELECT CASE WHEN a < b THEN a ELSE b END, CASE WHEN a < b THEN b ELSE a END, state, factor, "
            "bandwidth_gb_per_s FROM v_link WHERE bandwidth_gb_per_s < nominal_gb_per_s"
        ),
    ),
    "links by technology, scope and state": (
        "MATCH ()-[l:SCALE_UP|EFA]->() RETURN l.technology, l.scope, l.state, count(*) AS n, sum(l.cables) AS cables",
        _sql("SELECT technology, scope, state, count(*), sum(cables) FROM v_link GROUP BY technology, scope, state"),
    ),
    "shortest paths around failures": (
        _shortest(CHIP, "u-trn2x64/d0/s3/c10"),
        _path(CHIP, "u-trn2x64/d0/s3/c10"),
    ),
    "shortest paths inside a server": (
        _shortest("lab/d0/s0/c0", "lab/d0/s0/c10"),
        _path("lab/d0/s0/c0", "lab/d0/s0/c10"),
    ),
    "shortest paths over switches": (
        _shortest(SWITCHED, "trn3-gen2/d0/s30/c3"),
        _path(SWITCHED, "trn3-gen2/d0/s30/c3"),
    ),
    "memory within two hops": (
        (
            f"MATCH (a:Chip {{address: '{CHIP}'}})-[l:SCALE_UP* SHORTEST 1..2 {CARRIES}]-(b:Chip) "
            "WHERE b.state IN ['up', 'degraded'] WITH a, collect(DISTINCT b) AS others "
            "RETURN 1 + size(others) AS chips, a.hbm_gib * (1 + size(others)) AS hbm"
        ),
        _pool,
    ),
    "chips by distance": (
        (
            f"MATCH (a:Chip {{address: '{CHIP}'}})-[l:SCALE_UP* SHORTEST 1..16 {CARRIES}]-(b:Chip) "
            f"WHERE b.state IN ['up', 'degraded'] AND b.address <> '{CHIP}' RETURN length(l) AS hops, count(*) AS chips"
        ),
        _ring_sizes,
    ),
    "blast radius of a switch": (
        (
            "MATCH (w:Switch {address: 'trn3-gen1/d0/sw1'})-[l:SCALE_UP]-(c:Chip) "
            "RETURN count(DISTINCT c) AS chips, sum(l.bandwidth_gb_per_s) AS lost"
        ),
        _sql(
            "SELECT count(*), sum(bandwidth_gb_per_s) FROM v_link "
            "WHERE a = 'trn3-gen1/d0/sw1' OR b = 'trn3-gen1/d0/sw1'"
        ),
    ),
    "chips below each network node": (
        "MATCH (n:NetworkNode)<-[:EFA*1..8]-(s:Nic) RETURN n.address, count(DISTINCT s.address) AS nics",
        _sql(
            "WITH RECURSIVE below(address, top) AS (SELECT address, address FROM v_network_node UNION "
            "SELECT link.a, below.top FROM below JOIN v_link AS link ON link.b = below.address "
            "WHERE link.scope = 'fabric') SELECT top, count(*) FROM below WHERE address LIKE '%/efa%' GROUP BY top"
        ),
    ),
    "EFA devices without an uplink": (
        "MATCH (n:Nic) WHERE NOT EXISTS { MATCH (n)-[:EFA]->(:NetworkNode) } RETURN n.cluster, count(*) AS nics",
        _sql(
            "SELECT cluster, count(*) FROM v_nic WHERE NOT EXISTS (SELECT 1 FROM v_link WHERE v_link.a = v_nic.address "
            "AND v_link.scope = 'fabric') GROUP BY cluster"
        ),
    ),
    "jobs below a network node": (
        "MATCH (n:NetworkNode {tier: 1})<-[:EFA*1..8]-(c:Chip)<-[:ALLOCATED]-(j:Job) RETURN DISTINCT j.name",
        _sql("SELECT DISTINCT job FROM v_allocation WHERE cluster = 'lab' AND ended_at IS NULL"),
    ),
    "chips of running jobs by role": (
        "MATCH (j:Job)-[a:ALLOCATED]->(c:Chip) RETURN j.name, a.role, count(*) AS chips",
        _sql("SELECT job, role, count(*) FROM v_allocation WHERE ended_at IS NULL GROUP BY job, role"),
    ),
    "failed chips of jobs": (
        (
            "MATCH (j:Job) OPTIONAL MATCH (j)-[:ALLOCATED]->(c:Chip) WHERE c.state IN ['down', 'maintenance'] "
            "RETURN j.name, count(c) AS failed"
        ),
        _sql("SELECT name, failed_chips FROM v_job WHERE state = 'running'"),
    ),
    "jobs that share a rack": (
        (
            "MATCH (j:Job)-[:ALLOCATED]->(c:Chip), (k:Job)-[:ALLOCATED]->(d:Chip) "
            "WHERE c.rack = d.rack AND j.name < k.name RETURN DISTINCT j.name, k.name, c.rack"
        ),
        _sql(
            "WITH used AS (SELECT DISTINCT v_allocation.job, v_chip.rack FROM v_allocation JOIN v_chip "
            "ON v_chip.address = v_allocation.address WHERE v_allocation.ended_at IS NULL) "
            "SELECT one.job, other.job, one.rack FROM used AS one JOIN used AS other "
            "ON one.rack = other.rack AND one.job < other.job"
        ),
    ),
    "chips with no instance": (
        (
            "MATCH (c:Chip)-[:PART_OF]->(s:Server) WHERE NOT EXISTS { MATCH (:Instance)-[:RUNS_ON]->(s) } "
            "RETURN c.cluster, count(*) AS chips"
        ),
        _sql(
            "SELECT cluster, count(*) FROM v_chip WHERE server NOT IN "
            "(SELECT address FROM v_binding WHERE ended_at IS NULL) GROUP BY cluster"
        ),
    ),
    "instances and their servers": (
        "MATCH (i:Instance)-[:RUNS_ON]->(s:Server) RETURN i.instance, s.address, i.confidence",
        _sql("SELECT instance, address, confidence FROM v_binding WHERE ended_at IS NULL"),
    ),
    "free chips": (
        (
            "MATCH (c:Chip)-[:PART_OF]->(s:Server) WHERE c.state IN ['up', 'degraded'] AND NOT s.cordoned "
            "AND NOT EXISTS { MATCH (:Job)-[:ALLOCATED]->(c) } RETURN c.address"
        ),
        _sql("SELECT address FROM v_free_chip"),
    ),
    "capacity between racks": (
        (
            "MATCH (a:Chip)-[l:SCALE_UP]->(b) WHERE a.cluster = 'trn3-gen2' AND a.rack <> b.rack "
            "RETURN count(*) AS links, sum(l.nominal_gb_per_s) AS capacity"
        ),
        _sql("SELECT count(*), sum(nominal_gb_per_s) FROM v_link WHERE cluster = 'trn3-gen2' AND scope = 'domain'"),
    ),
    "racks with their servers": (
        "MATCH (s:Server)-[:PART_OF]->(r:Rack) RETURN r.address, r.rack_units, count(*) AS servers",
        _sql("SELECT address, rack_units, servers FROM v_rack WHERE servers > 0"),
    ),
    "domains by wiring": (
        "MATCH (d:Domain)-[:PART_OF]->(c:Cluster) RETURN c.address, d.wiring, d.model, count(*) AS domains",
        _sql("SELECT cluster, wiring, model_slug, count(*) FROM v_domain GROUP BY cluster, wiring, model_slug"),
    ),
}


def _comparable(rows: Any) -> list[tuple[str, ...]]:
    """Rows in any order; numbers of either database as equal texts."""

    def text(cell: Any) -> str:
        return f"{float(cell):.9g}" if isinstance(cell, int | float) else str(cell)

    return sorted(tuple(map(text, row)) for row in rows)


@pytest.mark.parametrize("name", mostly_slow(RECIPES, 12))
def test_cypher_gives_the_answer_of_trninv(fleet: Fleet, name: str) -> None:
    query, answer = RECIPES[name]
    rows = fleet.cypher(query).rows
    assert rows
    assert _comparable(rows) == _comparable(answer(fleet))


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_an_earlier_time_has_the_answers_of_that_time(fleet: Fleet) -> None:
    middle = fleet.events(limit=1)[0].event - 60
    earlier = fleet.at(middle)
    query = "MATCH (c:Chip) RETURN c.cluster, c.state, count(*) AS chips"
    with earlier.connect() as connection:
        sql = "SELECT cluster.slug, node.state, count(*) FROM node JOIN cluster ON cluster.id = node.cluster_id "
        rows = connection.exec_driver_sql(f"{sql} WHERE node.kind = 'chip' GROUP BY cluster.slug, node.state").all()
    assert _comparable(earlier.cypher(query).rows) == _comparable(rows)
    assert _comparable(rows) != _comparable(fleet.cypher(query).rows)
