"""Filters of lists read their rows through an index, whatever the fleet's size."""

import re
from typing import Any

import pytest
from plans import plan_of
from sqlalchemy import event

import trninv
from conftest import Databases
from trninv.routing.fleet import BaseFleet

UNHEALTHY = [
    *("{eq: DOWN}", "{eq: DEGRADED}", "{eq: MAINTENANCE}", "{ne: UP}"),
    *("{in: [DEGRADED, MAINTENANCE]}", "{in: [DOWN]}"),
]


@pytest.mark.parametrize(
    "condition",
    [
        *(f"state: {test}" for test in UNHEALTHY),
        "not: {state: {eq: UP}}",
        "not: {state: {in: [UP, DOWN]}}",
        "not: {state: {ne: DOWN}}",
        "or: [{state: {eq: DOWN}}, {not: {state: {in: [UP, DEGRADED]}}}]",
        "or: [{state: {eq: DOWN}}, {and: [{state: {ne: UP}}, {factor: {gt: 0.5}}]}]",
    ],
)
@pytest.mark.parametrize(("things", "table"), [("chips", "node"), ("links", "link"), ("servers", "server")])
def test_unhealthy_rows_are_found_by_their_index(
    fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, things: str, table: str, condition: str
) -> None:
    plan = plan_of(fleet, monkeypatch, f"{{ {things}(filter: {{{condition}}}, first: 5) {{ nodes {{ address }} }} }}")
    assert f"ix_{table}_unhealthy" in plan


@pytest.mark.parametrize(
    "condition",
    [
        *(f"state: {test}" for test in ("{eq: UP}", "{in: [UP, DOWN]}", "{ne: DOWN}")),
        "not: {state: {in: [UP, DOWN], ne: MAINTENANCE}}",
        "or: []",
    ],
)
def test_a_filter_that_healthy_parts_pass_reads_all_rows(
    fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    plan = plan_of(fleet, monkeypatch, f"{{ chips(filter: {{{condition}}}, first: 5) {{ nodes {{ address }} }} }}")
    assert "ix_node_unhealthy" not in plan


SCANS = {"sqlite": "SCAN t0_0", "postgresql": "Seq Scan on {table} "}


@pytest.mark.parametrize(
    ("things", "table", "condition"),
    [
        ("chips", "chip", 'cluster: {eq: "u-trn2x64"}'),
        ("chips", "chip", 'cluster: {in: ["u-trn2x64", "trn3-gen1"]}'),
        ("chips", "chip", 'server: {eq: "u-trn2x64/d0/s1"}'),
        ("chips", "chip", 'address: {eq: "u-trn2x64/d0/s1/c3"}'),
        ("chips", "chip", 'address: {in: ["u-trn2x64/d0/s1/c3", "u-trn2x64/d0/s2/c3"]}'),
        ("chips", "chip", 'address: {startsWith: "u-trn2x64/d0/s1/c"}'),
        ("chips", "chip", 'job: {eq: "slurm:7"}'),
        ("chips", "chip", 'job: {in: ["train", "slurm:7"]}'),
        ("chips", "chip", 'job: {startsWith: "slurm:"}'),
        ("servers", "server", 'cluster: {eq: "u-trn2x64"}'),
        ("servers", "server", 'address: {eq: "u-trn2x64/d0/s1"}'),
        ("servers", "server", 'instance: {eq: "i-0123"}'),
        ("servers", "server", 'instance: {in: ["i-0123", "i-4567"]}'),
        ("servers", "server", 'host: {eq: "ip-10-0-0-1"}'),
        ("links", "link", 'cluster: {eq: "u-trn2x64"}'),
        ("links", "link", 'domain: {eq: "u-trn2x64/d0"}'),
        ("links", "link", 'address: {eq: "u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c1"}'),
    ],
)
def test_places_jobs_and_instances_are_found_by_an_index(
    fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, things: str, table: str, condition: str
) -> None:
    plan = plan_of(fleet, monkeypatch, f"{{ {things}(filter: {{{condition}}}, first: 5) {{ nodes {{ address }} }} }}")
    assert SCANS[fleet.engine.dialect.name].format(table=table) not in plan


@pytest.mark.parametrize(
    ("listed", "index"),
    [
        ('chips(filter: {job: {eq: "slurm:7"}}, first: 5)', "uq_job_system_external_id_now"),
        ('jobs(filter: {name: {eq: "train"}}, first: 5)', "ix_job_name|uq_job_system_external_id_now"),
        ('jobs(filter: {name: {in: ["train", "x"]}}, includeEnded: true, first: 5)', "ix_job_name"),
        ('allocations(filter: {job: {eq: "train"}}, first: 5)', "ix_job_name"),
        ('events(filter: {job: {eq: "train"}}, first: 5)', "ix_state_event_job"),
    ],
)
def test_a_job_is_found_among_all_that_ever_ran(
    fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, listed: str, index: str
) -> None:
    for selection in ("totalCount", "nodes { __typename }"):
        assert re.search(index, plan_of(fleet, monkeypatch, f"{{ {listed} {{ {selection} }} }}"))


@pytest.mark.parametrize(
    "filter_", ["state: {eq: DOWN}", "not: {state: {eq: UP}}", 'job: {eq: "slurm:7"}', 'cluster: {eq: "u-trn2x64"}']
)
def test_generic_plans_use_the_indexes_too(fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, filter_: str) -> None:
    """PostgreSQL may plan a prepared statement without its values after five executions."""
    if fleet.engine.dialect.name == "sqlite":
        pytest.skip("plans a statement once, without its values")
    document = f"{{ chips(filter: {{{filter_}}}, first: 5) {{ nodes {{ address }} }} }}"
    plan = plan_of(fleet, monkeypatch, document, is_generic=True)
    assert "Seq Scan on chip " not in plan
    assert "ix_node_unhealthy" in plan or "state" not in filter_


def test_showing_a_cluster_finds_unhealthy_nodes_and_links_by_their_index(databases: Databases) -> None:
    statements = list[tuple[str, Any]]()

    def record(_connection: Any, _cursor: Any, sql: str, parameters: Any, *_: Any) -> None:
        statements.append((sql, parameters))

    with trninv.open(databases.seeded("sqlite")) as fleet:  # PostgreSQL's planner goes by the number of rows
        event.listen(fleet.engine, "before_cursor_execute", record)
        fleet.describe("u-trn2x64")
        event.remove(fleet.engine, "before_cursor_execute", record)
        with fleet.connect() as connection:
            plans = [
                str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters).all())
                for sql, parameters in statements
                if "state != 'up'" in sql
            ]
    assert len(plans) == 3  # of servers, nodes and links
    assert not [plan for plan in plans if re.search(r"SCAN (node|link)\b(?! USING)", plan)]
