"""Views, reports and exports: the same on both databases, using indexes, read back in full."""

import csv
import errno
import io
import json
import os
from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Self

import duckdb
import pytest
from measuring import MEASUREMENT_ROW, OBSERVATION_ROW
from queries import run_query, snapshot_of
from sqlalchemy import insert, text
from starlette.testclient import TestClient

import trninv
from conftest import Databases, Run, wear
from trninv import units
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, SqlError, UnknownReportError, UnreachableError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state import bindings, condition, hash_chain, state_change
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.reserve import reserve
from trninv.reports.query_compiler import compile_query
from trninv.reports.report_library import Report, ReportChart, find_report, read_reports
from trninv.reports.table_export import TABLES_AND_VIEWS, export_tables, property_graph_sql
from trninv.reports.views import VIEWS
from trninv.reports.views.view_descriptions import describe_view
from trninv.routing.fleet import BaseFleet
from trninv.service.application import create_app
from trninv.settings import Settings

REPORTS = sorted(read_reports())


LINK_BY_LINK = """
SELECT
    model.slug || CASE WHEN model.technology = 'EFA' THEN ', ' || link.scope ELSE '' END AS kind,
    CAST(sum(link.nominal_gb_per_s - link.bandwidth_gb_per_s) AS DOUBLE PRECISION) AS gb_per_s_lost,
    sum(CASE WHEN link.bandwidth_gb_per_s = 0 THEN 1 ELSE 0 END) AS idle,
    sum(CASE WHEN link.state = 'up' THEN 0 ELSE 1 END) AS unhealthy,
    CAST(sum(link.bandwidth_gb_per_s) AS DOUBLE PRECISION) AS gb_per_s_now,
    CAST(sum(link.nominal_gb_per_s) AS DOUBLE PRECISION) AS gb_per_s, count(*) AS links,
    CAST(model.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS gb_per_s_a_cable, sum(link.cables) AS cables,
    model.lanes, link.scope, link.technology,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'bandwidth' AND picked = 'yes')
        AS cable_disputed, model.slug AS model,
    round(
        CAST(sum(link.nominal_gb_per_s - link.bandwidth_gb_per_s) / sum(link.nominal_gb_per_s) AS DOUBLE PRECISION), 9
    ) AS share_lost,
    sum(CASE WHEN link.bandwidth_gb_per_s > 0 AND link.bandwidth_gb_per_s < link.nominal_gb_per_s THEN 1 ELSE 0 END)
        AS slower
FROM v_link AS link
JOIN link_model AS model ON model.slug = link.model
WHERE link.cluster = :cluster OR :cluster = ''
GROUP BY link.technology, link.scope, model.slug, model.technology, model.bandwidth_bytes_per_s, model.lanes
ORDER BY share_lost DESC, gb_per_s_lost DESC, unhealthy DESC,
    gb_per_s_a_cable DESC, model.slug, link.scope
"""
"""What the report on bandwidth says, counted by looking at each link's end."""


USE_BY_CHIP = """
SELECT cluster, count(*) AS chips, sum(CASE WHEN state IN ('up', 'degraded') THEN 1 ELSE 0 END) AS chips_working,
    (SELECT count(*) FROM v_free_chip WHERE v_free_chip.cluster = v_chip.cluster) AS chips_free
FROM v_chip
GROUP BY cluster
"""
"""The same of the report on capacity."""


CHIP_BY_CHIP = """
SELECT domain AS domain, sum(hbm_gib) AS hbm_gib_up, count(*) AS chips_up, model, cluster,
    (SELECT dispute FROM v_fact WHERE subject = v_chip.model AND attribute = 'device_memory' AND picked = 'yes')
        AS hbm_of_a_chip_disputed
FROM v_chip
WHERE state IN ('up', 'degraded')
GROUP BY domain, cluster, domain_ordinal, model
ORDER BY hbm_gib_up DESC, cluster, domain_ordinal
LIMIT :top
"""
"""The same of the report on pools."""


class _Then(datetime):
    """A clock that has stopped."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2026, 1, 2, 3, 4, 5, tzinfo=tz)


@pytest.fixture(scope="session")
def two(databases: Databases) -> dict[str, str]:
    """URLs of the same worn fleet on both databases."""
    urls = {backend: databases.seeded(backend) for backend in ("sqlite", "postgresql")}
    few = default_systems().get("rainier").resized(2)
    for url in urls.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hash_chain, "datetime", _Then)
            wear(url)
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                allocate(connection, "tune", ["u-trn2x64/d0/s1"], who="tests")
                allocate(connection, "done", ["trn3-gen2/d0/s7"], who="tests")
                release(connection, "done")
                begin = "2126-01-01T00:00:00Z"
                reserve(connection, "patch", ["u-trn2x64/d0/s3"], from_=begin, until="12h", who="tests")
                state_change.set_state(
                    connection, ["u-trn2x64/d0/s1/c9"], condition.Condition("down"), why="HBM", who="tests"
                )
        with temporary_engine(url) as engine, write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), few, name="few")
        _stand_there(url)
    return urls


def _stand_there(url: str) -> None:
    """Bind an instance, and find something."""
    with (
        pytest.MonkeyPatch.context() as patch,
        temporary_engine(url) as engine,
        write_transaction(engine) as connection,
    ):
        patch.setattr(units, "datetime", _Then)
        place = resolve_place(connection, "few/d0/s0")
        standing = bindings.ProposedBinding(place.id, place.address, "i-0a", "n0", "pin", "certain")
        bindings.bind(connection, [standing], who="tests")
        columns = "id, rule, severity, first_seen, last_seen"
        connection.execute(text(f"INSERT INTO finding ({columns}) VALUES (1, 'stale', 'info', 't', 't')"))
        connection.execute(insert(TABLES["observation"]), OBSERVATION_ROW)
        connection.execute(insert(TABLES["measurement"]), MEASUREMENT_ROW | {"id": 1, "address": "few/d0/s0"})
        sweep = "INSERT INTO sweep (id, arguments, started_at, renewed) VALUES (1, '{}', 't', 0)"
        connection.execute(text(sweep))
        connection.execute(text("UPDATE cluster SET known_since = '2026-01-02T03:04:05.000000+00:00'"))


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
@pytest.mark.parametrize("cluster", ["", "few", "trn1.32xlarge", "trn2-16.48xlarge", "no-such"])
def test_bandwidth_by_kind_is_that_of_the_links_one_by_one(two: dict[str, str], backend: str, cluster: str) -> None:
    with temporary_engine(two[backend]) as engine:
        slow = run_query(engine, compile_query(LINK_BY_LINK, backend, {"cluster": cluster}), seconds=30)
        fast = run_query(engine, find_report("bandwidth").sql(backend, {"cluster": cluster}), seconds=30)
    assert (fast.columns, _rounded(fast.rows)) == (slow.columns, _rounded(slow.rows))
    assert bool(fast.rows) == (cluster != "no-such")
    healthy, cables, rate = (fast.columns.index(name) for name in ("gb_per_s", "cables", "gb_per_s_a_cable"))
    assert all(row[healthy] == pytest.approx(row[cables] * row[rate]) for row in fast.rows)
    idle = fast.columns.index("idle")
    assert cluster or sum(row[idle] for row in fast.rows) > sum(row[idle + 1] for row in fast.rows)  # ends are down
    assert cluster or sum(row[fast.columns.index("slower")] for row in fast.rows)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_capacity_counts_the_chips_that_are_up_and_free(databases: Databases, backend: str) -> None:
    url = databases.seeded(backend)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "tune", ["u-trn2x64/d0/s1", "u-trn2x64/d0/s2/c2"], who="tests")
        down = condition.Condition("down")
        state_change.set_state(connection, ["u-trn2x64/d0/s1/c9", "u-trn2x64/d0/s2/c1"], down, why="HBM", who="tests")
        cordon(connection, ["u-trn2x64/d0/s1", "u-trn2x64/d0/s2"], why="firmware", who="tests")
    with temporary_engine(url) as engine:
        slow = run_query(engine, compile_query(USE_BY_CHIP, backend, {}), seconds=30)
        fast = run_query(engine, find_report("capacity").sql(backend, {}), seconds=30)
    assert fast.columns[:4] == slow.columns
    assert sorted(row[:4] for row in fast.rows) == sorted(slow.rows)
    chips, up, free = next(row[1:4] for row in fast.rows if row[0] == "u-trn2x64")
    assert chips > up > free > 0


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_pools_are_those_of_the_chips_one_by_one(two: dict[str, str], backend: str) -> None:
    with temporary_engine(two[backend]) as engine:
        slow = run_query(engine, compile_query(CHIP_BY_CHIP, backend, {"top": 20}), seconds=30)
        fast = run_query(engine, find_report("pools").sql(backend, {}), seconds=30)
    assert (fast.columns, fast.rows) == (slow.columns, slow.rows)
    assert len({row[2] for row in fast.rows if row[4] in ("few", "u-trn2x64")}) > 1


def _rounded(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows with floats to twelve digits: two databases may divide in another order."""
    return [tuple(float(f"{value:.12g}") if isinstance(value, float) else value for value in row) for row in rows]


def _both(two: dict[str, str], query: Callable[[str], str]) -> list[tuple[Any, ...]]:
    found = []
    for backend, url in two.items():
        with temporary_engine(url) as engine:
            result = run_query(engine, query(backend), seconds=60, max_rows=100_000)
        found.append((result.columns, _rounded(result.rows)))
    assert found[0][0] == found[1][0]
    for rows in (found[0][1], found[1][1]):
        rows.sort(key=repr)
    assert found[0][1] == found[1][1]
    return found[0][1]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_says_the_same_on_both_databases(two: dict[str, str], view: str) -> None:
    rows = _both(two, lambda backend: compile_query(f"SELECT * FROM {view}", backend))
    assert rows


def test_views_agree_with_the_graphql_api(worn: BaseFleet) -> None:
    """Every chip and link by address: state, and what a link carries now."""
    from conftest import both_ways  # noqa: PLC0415

    ask = both_ways(worn)
    chips = ask("{ chips(first: 1000) { nodes { address state memory { gibibytes } } } }")["data"]["chips"]["nodes"]
    links: list[dict[str, Any]] = []
    after = None
    while True:
        page = ask(
            "query ($a: String) { links(first: 1000, after: $a) { nodes { address state bandwidth { bytesPerSecond } } "
            "pageInfo { hasNextPage endCursor } } }",
            a=after,
        )["data"]["links"]
        links += page["nodes"]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    seen = {
        row[0]: row[1:] for row in run_query(worn.engine, "SELECT address, state, hbm_gib FROM v_chip", seconds=30).rows
    }
    assert seen == {chip["address"]: (chip["state"].lower(), int(chip["memory"]["gibibytes"])) for chip in chips}
    found = run_query(
        worn.engine, "SELECT address, state, bandwidth_gb_per_s, nominal_gb_per_s FROM v_link", seconds=30
    )
    assert {row[0]: (row[1], str(round(row[2] * 10**9))) for row in found.rows} == {
        link["address"]: (link["state"].lower(), link["bandwidth"]["bytesPerSecond"]) for link in links
    }
    assert all(now <= nominal for *_, now, nominal in found.rows)
    assert {now == nominal for *_, now, nominal in found.rows} == {True, False}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_answers_the_same_on_both_databases(two: dict[str, str], name: str) -> None:
    made = find_report(name)
    assert made.title
    assert made.summary.endswith("?")
    rows = _both(two, lambda backend: made.sql(backend, {}))
    assert rows


def test_reports_that_are_asked_for() -> None:
    assert set(REPORTS) >= {
        "capacity", "bandwidth", "documented", "disputed", "unhealthy", "free-units", "cost", "ratios", "pools"
    }  # fmt: skip


def test_wounded_jobs_and_free_blocks_are_told(two: dict[str, str]) -> None:
    wounded = _both(two, lambda backend: find_report("jobs-with-failed-chips").sql(backend, {}))
    assert [row[:3] for row in wounded] == [("tune", "u-trn2x64/d0/s1/c9", "down")]
    (free,) = _both(two, lambda backend: find_report("free-blocks").sql(backend, {"cluster": "u-trn2x64"}))
    assert (*free[:3], free[5]) == ("u-trn2x64", 1, 1, "u-trn2x64")
    servers = _both(two, lambda backend: find_report("free-servers").sql(backend, {"cluster": "u-trn2x64"}))
    assert [row[0] for row in servers] == ["u-trn2x64"] * len(servers)
    assert {row[1] * row[2] for row in servers} == {row[3] for row in servers}
    assert sum(row[3] for row in servers) == free[3]


def test_fragmentation_is_what_the_question_answers(two: dict[str, str]) -> None:
    rows = _both(two, lambda backend: find_report("fragmentation").sql(backend, {}))
    with trninv.open(two["sqlite"]) as fleet:
        clusters = sorted({row[0] for row in rows})
        assert {"u-trn2x64", "trn1.32xlarge", "trn3-gen1", "trn3-gen2", "few"} <= set(clusters)
        asked = {slug: fleet.fragmentation(slug) for slug in clusters}
    assert sorted(rows) == [
        (slug, each.chips, each.jobs, each.unusable, answer.free)
        for slug, answer in asked.items()
        for each in answer.sizes
    ]


@pytest.mark.slow_on_postgresql
def test_fragmentation_counts_sets_with_every_link(seeded: str) -> None:
    lost = [
        "u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c1",
        "u-trn2x64/d0/s2/c3--u-trn2x64/d0/s3/c3",
        "trn1.32xlarge/d0/s0/c3--trn1.32xlarge/d0/s0/c7",
        "trn3-gen1/d0/sw1",
        "trn3-gen2/d0/s0/c0--trn3-gen2/d0/s18/c0",
        "trn3-gen2/d0/s2/c1--trn3-gen2/d0/sw2",
    ]
    with trninv.open(seeded) as fleet:
        slugs = sorted({address.partition("/")[0] for address in lost})
        whole = {slug: fleet.free(slug).concurrent_jobs for slug in slugs}
        with write_transaction(fleet.engine) as connection:
            state_change.set_state(connection, lost, condition.Condition("down"), why="cut", who="tests")
        query = find_report("fragmentation").sql(fleet.engine.dialect.name, {})
        rows = [row for row in run_query(fleet.engine, query, seconds=60, max_rows=1_000).rows if row[0] in slugs]
        asked = {slug: fleet.fragmentation(slug) for slug in slugs}
        left = {slug: fleet.free(slug).concurrent_jobs for slug in slugs}
    assert all(left[slug] != whole[slug] for slug in slugs)
    assert [each.jobs for each in asked["u-trn2x64"].sizes] == [64, 15, 7, 3, 0, 0]
    assert rows == [
        (slug, each.chips, each.jobs, each.unusable, answer.free)
        for slug, answer in asked.items()
        for each in answer.sizes
    ]


def test_what_is_not_up_is_what_was_set(two: dict[str, str]) -> None:
    rows = _both(two, lambda backend: find_report("unhealthy").sql(backend, {"cluster": "trn1.32xlarge"}))
    said = "2026-01-02T03:04:05.000000+00:00", "worn", "tests"
    assert sorted(row[:7] for row in rows) == [
        ("trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1", "degraded", *said, 0.123456, "link"),
        ("trn1.32xlarge/d0/s0/efa1", "down", *said, None, "nic"),
    ]
    assert all(row[7] == row[0] and row[8] for row in rows)  # each is its own cause, by a known change


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_the_worst_and_the_largest_come_first(two: dict[str, str], backend: str) -> None:
    def column(report: str, name: str) -> list[Any]:
        result = run_query(engine, find_report(report).sql(backend, {}), seconds=60, max_rows=10_000)
        at = result.columns.index(name)
        return [row[at] for row in result.rows]

    with temporary_engine(two[backend]) as engine:
        for report, name in (
            ("capacity", "chips"),
            ("free-servers", "free_chips"),
            ("free-blocks", "free_servers"),
            ("incidents", "parts"),
        ):
            assert column(report, name) == sorted(column(report, name), reverse=True), report
        for report, name in (("availability", "share_up"), ("documented", "agrees")):
            assert column(report, name) == sorted(column(report, name)), report
        losses = [
            round((healthy - now) / healthy, 9)
            for healthy, now in zip(column("bandwidth", "gb_per_s"), column("bandwidth", "gb_per_s_now"), strict=True)
        ]
        assert losses == sorted(losses, reverse=True)
        assert losses[0] > 0
        kinds = dict.fromkeys(zip(column("unhealthy", "state"), column("unhealthy", "kind"), strict=True))
        assert list(dict.fromkeys(state for state, _ in kinds)) == ["down", "degraded", "maintenance"]
        ranks = ["server", "switch", "network node", "chip", "link", "nic"]
        down = [kind for state, kind in kinds if state == "down"]
        assert len(down) > 1
        assert down == sorted(down, key=ranks.index)
        assert column("cost", "usd")[0] == max(price for price in column("cost", "usd") if price)


def test_the_price_is_the_documented_one(two: dict[str, str]) -> None:
    rows = _both(two, lambda backend: find_report("cost").sql(backend, {}))
    (domain,) = [row for row in rows if row[0] == "u-trn2x64"]
    assert domain[1:5] == (256_000, 1_472_000, 4_000, 23_000)


@pytest.mark.parametrize(
    ("given", "error"), [({"nothing": "1"}, "did you mean|known"), ({"top": "many"}, "not a whole number")]
)
def test_a_wrong_parameter_is_refused(given: dict[str, str], error: str) -> None:
    with pytest.raises(InvalidArgumentError, match=error):
        find_report("pools").sql("sqlite", given)


def test_a_parameter_is_a_value_and_nothing_else(two: dict[str, str]) -> None:
    assert _both(two, lambda backend: find_report("capacity").sql(backend, {"generation": "' OR 1=1 --"})) == []


@pytest.mark.parametrize(
    ("header", "chart"),
    [
        ("-- chart: n by cluster", ReportChart("n", None, "cluster")),
        ("--chart:  n , m   by cluster ", ReportChart("n", "m", "cluster")),
        ("", None),
    ],
)
def test_a_report_may_have_a_chart(tmp_path: Path, header: str, chart: ReportChart | None) -> None:
    (tmp_path / "mine.sql").write_text(f"{header}\nSELECT 1 AS n, 2 AS m, 'a' AS cluster\n")
    assert read_reports(tmp_path)["mine"].chart == chart


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("-- chart: n", "write a chart as COLUMN by NAMES .*, not 'n'"),
        ("-- chart:", "write a chart as"),
        ("-- chart: n, m, o by cluster", "for points, not 'n, m, o by cluster'"),
        ("-- chart: <img src=x> by cluster", "write a chart as"),
        ("-- chart: " + "n " * 100_000, "write a chart as"),
        ("-- chart: n by a\n-- chart: m by a", "one chart, not 2"),
    ],
)
def test_a_chart_that_is_not_one_is_refused(tmp_path: Path, header: str, says: str) -> None:
    (tmp_path / "mine.sql").write_text(f"{header}\nSELECT 1 AS n\n")
    with pytest.raises(InvalidArgumentError, match=rf"^mine\.sql: .*{says}"):
        read_reports(tmp_path)


def test_a_users_own_reports(tmp_path: Path) -> None:
    (tmp_path / "mine.sql").write_text(
        "-- title: Mine\n-- answers: How many?\n-- parameter: least = 5\n"
        "SELECT count(*) AS n FROM v_chip WHERE ordinal >= :least\n"
    )
    (tmp_path / "bad.sql").write_text("DROP TABLE chip")
    (tmp_path / "worse.sql").write_text("-- parameter: what\nSELECT 1")
    with pytest.raises(InvalidArgumentError, match=r"worse\.sql"):
        read_reports(tmp_path)
    (tmp_path / "worse.sql").unlink()
    known = read_reports(tmp_path)
    assert {"mine", "capacity"} <= set(known)
    assert "ordinal >= 7" in known["mine"].sql("sqlite", {"least": "7"})
    with pytest.raises(SqlError, match="DROP"):
        known["bad"].sql("sqlite", {})
    with pytest.raises(UnknownReportError, match="did you mean mine"):
        find_report("min", tmp_path)
    assert isinstance(known["mine"], Report)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM v_chip WHERE address = 'many/d17/s2/c5'",
        "SELECT * FROM v_chip WHERE cluster = 'many' AND domain_ordinal = 17",
        "SELECT * FROM v_chip WHERE domain = 'many/d17'",
        "SELECT * FROM v_server WHERE address = 'many/d17/s2'",
        "SELECT * FROM v_core WHERE address = 'many/d17/s2/c5/nc3'",
        "SELECT * FROM v_core WHERE chip = 'many/d17/s2/c5'",
        "SELECT * FROM v_link WHERE cluster = 'many' AND domain_ordinal = 17",
        "SELECT * FROM v_link WHERE a = 'many/d17/s2/c5'",
        "SELECT * FROM v_nic WHERE address = 'many/d17/s2/efa3'",
        "SELECT * FROM v_rack WHERE address = 'many/r9'",
        "SELECT * FROM v_domain WHERE address = 'many/d17'",
    ],
)
def test_a_view_by_cluster_domain_or_address_uses_indexes(big: dict[str, str], backend: str, query: str) -> None:
    """No table of the fleet's size is read from end to end."""
    with temporary_engine(big[backend]) as engine, read_transaction(engine) as connection:
        sql = compile_query(query, backend)
        if backend == "postgresql":
            connection.exec_driver_sql(
                "SET LOCAL enable_seqscan = off"
            )  # so that small tables are by their indexes too
        explain = "EXPLAIN QUERY PLAN " if backend == "sqlite" else "EXPLAIN "
        plan = "\n".join(" ".join(map(str, row)) for row in connection.exec_driver_sql(explain + sql).all())
    for table in ("chip", "core", "server", "nic", "node", "domain", "link"):
        assert f"SCAN {table}\n" not in plan + "\n", plan
        assert f"Seq Scan on {table} " not in plan, plan


@pytest.fixture(scope="session")
def big(databases: Databases) -> dict[str, str]:
    """A cluster that is worth an index, on both databases."""
    urls = {backend: databases.seeded(backend) for backend in ("sqlite", "postgresql")}
    system = default_systems().get("u-trn2x64").resized(20)
    for backend, url in urls.items():
        with temporary_engine(url) as engine:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), system, name="many")
            if backend == "postgresql":
                with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.exec_driver_sql("ANALYZE")
    return urls


@pytest.fixture(scope="module")
def contents(two: dict[str, str]) -> dict[tuple[str, str], tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Columns and rows, as texts, of every table and view on both databases."""
    found = {}
    for backend, url in two.items():
        with temporary_engine(url) as engine, read_transaction(engine) as connection:
            for name in TABLES_AND_VIEWS:
                rows = connection.exec_driver_sql(f"SELECT * FROM {name}")
                found[backend, name] = tuple(rows.keys()), _texts([tuple(row) for row in rows])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "style", ["parquet", *(pytest.param(style, marks=pytest.mark.slow) for style in ("csv", "ndjson"))]
)
def test_an_export_read_back_is_the_database(
    two: dict[str, str],
    contents: dict[tuple[str, str], tuple[tuple[str, ...], list[tuple[str, ...]]]],
    tmp_path: Path,
    style: str,
) -> None:
    counts = {}
    for backend, url in two.items():
        with temporary_engine(url) as engine, snapshot_of(engine) as snapshot:
            counts[backend] = dict(export_tables(snapshot, tmp_path / backend, style))
            assert snapshot.as_of
            assert snapshot.as_of.revision
        for name in TABLES_AND_VIEWS:
            columns, back = _read(tmp_path / backend / f"{name}.{style}", style)
            wanted, rows = contents[backend, name]
            assert columns == wanted or not rows
            assert _texts(back) == rows
    assert set(counts["sqlite"]) == set(TABLES_AND_VIEWS)
    for number in counts.values():
        number.pop("part_count", 0)  # rows that count nothing any more depend on the order of changes
    assert counts["sqlite"] == counts["postgresql"]


def _read(file: Path, style: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """A file as DuckDB reads it; NDJSON as any reader does, since DuckDB guesses at dates."""
    if style == "ndjson":
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        return tuple(lines[0]) if lines else (), [tuple(line.values()) for line in lines]
    options = "" if style == "parquet" else ", all_varchar = true, header = true"
    back = duckdb.sql(f"SELECT * FROM read_{style}('{file}'{options})")
    assert back is not None
    return tuple(back.columns), back.fetchall()


def _texts(rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(_text(value) for value in row) for row in rows)


def _text(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if value in ("True", "False"):
        return str(int(value == "True"))
    try:
        return f"{float(value):.12g}"
    except ValueError:
        return str(value)


def test_what_is_written_in_part_has_no_name(lite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Path.write_text

    def write_half(file: Path, text: str, **how: Any) -> int:
        whole(file, text[: len(text) // 2], **how)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))

    monkeypatch.setattr(Path, "write_text", write_half)
    with (
        temporary_engine(lite) as engine,
        snapshot_of(engine) as snapshot,
        pytest.raises(UnreachableError, match="No space left"),
    ):
        list(export_tables(snapshot, tmp_path / "out", "csv"))
    assert list((tmp_path / "out").iterdir()) == []


def test_the_token_table_is_not_exported() -> None:
    assert not [name for name in TABLES_AND_VIEWS if "token" in name]
    assert "token" not in property_graph_sql()


def test_the_property_graph_names_what_is_there() -> None:
    text = property_graph_sql()
    assert text.startswith("CREATE PROPERTY GRAPH fleet\nVERTEX TABLES (")
    for name in ("node", "chip", "server", "cluster", "core", "link"):
        assert f"{name} KEY (id)" in text
    assert "chip_in_server" in text


@pytest.mark.slow
def test_reports_on_the_command_line(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("report")
    assert status == 0
    assert all(name in out for name in REPORTS)
    status, out, _ = run("report", "capacity", "--set", "generation=trn3", "--format", "csv")
    assert [row["cluster"] for row in csv.DictReader(io.StringIO(out))] == ["trn3-gen2", "trn3-gen1"]
    status, out, err = run("sql", "SELECT address FROM v_chip", "--limit", "2", "--format", "json")
    assert (json.loads(out)["truncated"], len(json.loads(out)["rows"])) == (True, 2)
    assert "truncated" in err
    assert run("sql", "DROP TABLE chip")[0] == 2
    assert run("report", "nothing")[0] == 1
    assert run("report", "capacity", "--set", "generation")[0] == 2
    status, out, _ = run("export", str(tmp_path / "out"), "--format", "ndjson")
    assert status == 0
    assert f"{tmp_path}/out/v_chip.ndjson: 305 rows" in out
    status, _, err = run("export", "/dev/null/x")
    assert (status, "can't write" in err) == (1, True)


def test_reports_over_http(lite: str, tmp_path: Path) -> None:
    (tmp_path / "mine.sql").write_text("SELECT 1 AS one")
    settings = Settings(database_url=lite, log="off", reports=tmp_path)
    with TestClient(create_app(lite, settings), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        listed = client.get("/reports").json()
        assert {each["name"] for each in listed} == {*REPORTS, "mine"}
        assert {tuple(each) for each in listed} == {("name", "title", "summary", "parameters")}
        parameters = [parameter for each in listed for parameter in each["parameters"]]
        assert {tuple(parameter) for parameter in parameters} == {("name", "default", "description")}
        found = client.get("/reports/capacity.json", params={"generation": "trn2"}).json()
        assert {row["generation"] for row in found["rows"]} == {"trn2"}
        assert client.get("/reports/mine.csv").text == "one\n1"
        assert client.get("/reports/mine.ndjson").json() == {"one": 1}
        assert client.post("/sql", json={"sql": "SELECT count(*) AS n FROM v_chip"}).json()["rows"] == [{"n": 305}]
        for answer, status, code in (
            (client.get("/reports/none.json"), 404, "UNKNOWN_REPORT"),
            (client.get("/reports/mine.xml"), 400, "BAD_REQUEST"),
            (client.get("/reports/capacity.json", params={"x": "1"}), 400, "BAD_ARGUMENT"),
            (client.post("/sql", json={"sql": "DELETE FROM chip"}), 400, "BAD_SQL"),
            (client.post("/sql", json={}), 400, "BAD_REQUEST"),
            (client.post("/sql", content="SELECT 1", headers={"Content-Type": "text/plain"}), 400, "BAD_REQUEST"),
            (client.get("/export/token.csv"), 404, "NOT_FOUND"),
            (client.get("/export/_token_digest.csv"), 404, "NOT_FOUND"),
            (client.get("/export/chip.exe"), 404, "NOT_FOUND"),
            (client.get("/export/v_chip.csv", params={"columns": "nothing"}), 400, "BAD_SQL"),
        ):
            assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (status, code)
        lines = client.get("/export/v_chip.ndjson", params={"columns": "address,state", "cluster": "u-trn2x64"}).text
        chips = [json.loads(line) for line in lines.splitlines()]
        assert len(chips) == 64
        assert list(chips[0]) == ["address", "state"]


def test_every_column_of_a_view_is_described(two: dict[str, str]) -> None:
    with temporary_engine(two["sqlite"]) as engine, read_transaction(engine) as connection:
        for view in VIEWS:
            columns = connection.exec_driver_sql(f"SELECT * FROM {view} LIMIT 0").keys()
            assert sorted(describe_view(view).column_names()) == sorted(columns), view
            assert describe_view(view).row, view


@pytest.mark.slow
def test_every_example_of_a_view_finds_something(two: dict[str, str]) -> None:
    for view in VIEWS:
        assert _both(two, partial(compile_query, describe_view(view).example)), view


SAME = {
    "SELECT count(*) AS n FROM v_chip WHERE address LIKE 'U-TRN%'": [(0,)],
    "SELECT count(*) AS n FROM v_chip WHERE address ILIKE 'U-TRN%'": [(64,)],
    "SELECT upper('straße é') AS a, lower('ÉA') AS b": [("STRAßE é", "Éa")],
    "SELECT round(2.5) AS a, round(-0.5) AS b, round(0.125, 2) AS c, CAST(2.5 AS INT) AS d": [(3.0, -1.0, 0.13, 3)],
    "SELECT stddev(x) AS a, variance(x) AS b FROM (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 4) AS t": [
        (1.52752523165, 2.33333333333)
    ],
    "SELECT stddev(ordinal) AS a FROM v_chip WHERE address = 'nothing'": [(None,)],
    "SELECT concat('a', NULL, 1, 2.0) AS a, 'a' || 2.0 AS b, CAST(0.5 AS TEXT) AS c": [("a12", "a2", "0.5")],
    "SELECT concat(999999999999999e0) AS a, concat(1e15) AS b, concat(1234567890123456e0) AS c, concat(-2.5e99) AS d": [
        ("999999999999999", "1e+15", "1.234567890123456e+15", "-2.5e+99")
    ],
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ordinal) AS a FROM v_chip WHERE cluster = 'u-trn2x64'": [
        (7.5,)
    ],
    "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY ordinal) AS a, percentile_cont(0.9) WITHIN GROUP "
    "(ORDER BY ordinal DESC) AS b, percentile_cont(0) WITHIN GROUP (ORDER BY ordinal) AS c, percentile_cont(1) "
    "WITHIN GROUP (ORDER BY ordinal) AS d FROM v_chip WHERE cluster = 'trn2-16.48xlarge'": [(13.5, 1.5, 0.0, 15.0)],
    "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY x) AS a FROM (SELECT 10 AS x UNION ALL SELECT 20 "
    "UNION ALL SELECT NULL) AS t": [(19.0,)],
    "SELECT total(ordinal) AS a FROM v_chip WHERE address = 'nothing'": [(0.0,)],
    "SELECT strpos('abc', 'c') AS a, greatest(1, NULL, 3) AS b, least(2, 1) AS c": [(3, 3, 1)],
    "SELECT string_agg(x, '-' ORDER BY x DESC) AS a FROM (SELECT 'a' AS x UNION ALL SELECT 'b') AS t": [("b-a",)],
    "SELECT x FROM (SELECT 1 AS x UNION ALL SELECT NULL) AS t ORDER BY x DESC LIMIT 1": [(None,)],
    "SELECT 1 / 0 AS a, 7 / 2 AS b, 7 / 2.0 AS c, 5 % 0 AS d": [(None, 3, 3.5, None)],
    "SELECT 'a\\b' LIKE 'a\\b' AS a, 'a%' LIKE 'a!%' ESCAPE '!' AS b, disputed AS c FROM fact WHERE disputed LIMIT 1": [
        (1, 1, 1)
    ],
    "SELECT 0.1 + 0.2 AS a, ceil(7 / 2.0) AS b, power(2, 3) AS c, 1.5 * 2 AS d": [(0.3, 4.0, 8.0, 3.0)],
    "SELECT count(*) AS n FROM v_event WHERE at < now() - INTERVAL '7 days' AND state = 'down' AND until IS NULL": [
        (4,)
    ],
    "SELECT (epoch('2026-01-09') - epoch('2026-01-02T12:00:00+00:00')) / 86400.0 AS days": [(6.5,)],
    "SELECT CAST(1 = 1 AS BIGINT) AS a, CAST((1 > 2 OR NOT 1 IN (2)) AS INT) AS b, CAST(NULL IS NULL AS TEXT) AS c, "
    "CAST(EXISTS (SELECT 1) AS DOUBLE PRECISION) AS d, CAST(CASE WHEN 1 = 2 THEN true ELSE false END AS BIGINT) AS e": [
        (1, 1, "1", 1.0, 0)
    ],
    "SELECT CAST(clock_went_back AS BIGINT) AS a, CAST(coalesce(x, false) AS BIGINT) AS b, CAST(id AS BIGINT) AS c "
    "FROM (SELECT id, clock_went_back, id = 1 AS x FROM state_event) AS e WHERE id <= 2": [
        (0, 0, 2),
        (0, 1, 1),
    ],
    "SELECT CAST(at AS DATE) AS day FROM v_event WHERE at < current_date LIMIT 1": [("2026-01-02",)],
}


@pytest.mark.parametrize("query", SAME)
def test_the_same_sql_means_the_same(two: dict[str, str], query: str) -> None:
    assert _both(two, lambda backend: compile_query(query, backend)) == SAME[query]
