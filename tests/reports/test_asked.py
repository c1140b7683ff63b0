"""What a report's parameter names must be there, on every way to ask; and a report says what its SQL does."""

from contextlib import closing
from pathlib import Path

import pytest
from queries import run_query
from starlette.testclient import TestClient

from conftest import Ask, Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.query_result import QueryResult
from trninv.errors import SqlError, UnknownValueError
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.reports.report_library import Report, find_report, read_reports, run_report
from trninv.routing.fleet import BaseFleet
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

NAMING = [(each.name, of.name) for each in read_reports().values() for of in each.parameters if of.source_column]


def _found(fleet: BaseFleet, of: Report, **given: str) -> QueryResult:
    with closing(fleet.shared_snapshot()) as snapshot:
        return run_report(snapshot, of, given, seconds=30)


def test_every_parameter_that_is_a_text_names_something() -> None:
    texts = [(each.name, of.name) for each in read_reports().values() for of in each.parameters if of.default == ""]
    assert texts
    assert set(texts) <= set(NAMING)


@pytest.mark.parametrize(("name", "parameter"), NAMING)
def test_a_value_that_names_nothing_is_refused(fleet: BaseFleet, name: str, parameter: str) -> None:
    with pytest.raises(UnknownValueError, match=f"there is no {parameter} 'trn3-gen3': did you mean trn3"):
        _found(fleet, find_report(name), **{parameter: "trn3-gen3"})
    with pytest.raises(UnknownValueError, match=f"there is no {parameter}"):
        _found(fleet, find_report(name), **{parameter: "' OR 1=1 --"})


def test_a_name_that_is_there_is_found_even_where_the_report_has_nothing_to_say_of_it(fleet: BaseFleet) -> None:
    assert _found(fleet, find_report("unhealthy"), cluster="trn3-gen1").rows == []
    assert _found(fleet, find_report("disputed"), subject="h100").rows == []
    assert _found(fleet, find_report("capacity"), generation="").rows == _found(fleet, find_report("capacity")).rows
    rows = _found(fleet, find_report("capacity"), generation="trn2").records()
    assert {row["generation"] for row in rows} == {"trn2"}


def test_in_graphql(ask: Ask) -> None:
    (error,) = ask('{ report(name: "bandwidth", values: [{name: "cluster", value: "trn3-gen3"}]) { rows } }')["errors"]
    assert error["extensions"]["code"] == "UNKNOWN_VALUE"
    assert "did you mean trn3-gen2?" in error["message"]


def test_on_the_command_line(run: Run) -> None:
    status, out, err = run("report", "unhealthy", "--set", "cluster=u-trn2x46")
    assert (status, out) == (1, "")
    assert err == "trninv: there is no cluster 'u-trn2x46': did you mean u-trn2x64?\n"


def test_over_http(lite: str) -> None:
    settings = Settings(database_url=lite, log="off")
    with TestClient(create_app(lite, settings), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        answer = client.get("/reports/free-units.csv", params={"cluster": "u-trn2x46"})
        assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (404, "UNKNOWN_VALUE")
        assert client.get("/reports/free-units.csv", params={"cluster": "u-trn2x64"}).status_code == 200


def test_a_users_report_may_name_what_it_likes_of_what_may_be_read(fleet: BaseFleet, tmp_path: Path) -> None:
    def of(names: str) -> Report:
        file = tmp_path / "mine.sql"
        file.write_text(f"-- parameter: rack = '' of {names} — which\nSELECT :rack AS rack")
        return find_report("mine", tmp_path)

    assert _found(fleet, of("v_rack.address"), rack="trn3-gen1/r1").rows == [("trn3-gen1/r1",)]
    with pytest.raises(UnknownValueError, match="did you mean trn3-gen1/r1"):
        _found(fleet, of("v_rack.address"), rack="trn3-gen1/r9")
    with pytest.raises(SqlError, match="the table token is refused"):
        _found(fleet, of("token.name"), rack="x")


@pytest.mark.quick_on_postgresql
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_network_nodes_that_are_down_are_not_up(databases: Databases, backend: str) -> None:
    with temporary_engine(databases.migrated(backend)) as engine:
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("rainier").resized(2), name="few")
            set_state(connection, ["few/fabric/t3/n0"], Condition.from_user("down", None), why="test", who="tests")
        found = run_query(engine, find_report("unhealthy").sql(backend, {}), seconds=30)
    (row,) = found.records()
    assert (row["address"], row["state"], row["kind"]) == ("few/fabric/t3/n0", "down", "network node")
    assert (row["why"], row["who"], row["factor"]) == ("test", "tests", None)


@pytest.mark.quick_on_postgresql
def test_domains_by_hbm_do_not_ask_what_their_links_carry(seeded: str) -> None:
    """The report says so, and leaves what a chip reaches to trninv pool."""
    pools = find_report("pools")
    assert "connected or not" in pools.summary
    with temporary_engine(seeded) as engine:
        before = run_query(engine, pools.sql(engine.dialect.name, {}), seconds=30)
        with write_transaction(engine) as connection:
            switches = [f"trn3-gen1/d0/sw{ordinal}" for ordinal in range(6)]
            set_state(connection, switches, Condition.from_user("down", None), why="test", who="tests")
        assert run_query(engine, pools.sql(engine.dialect.name, {}), seconds=30) == before


def test_disputed_figures_are_marked_with_what_others_say(fleet: BaseFleet) -> None:
    def column(name: str, wanted: str) -> dict[str, object]:
        found = _found(fleet, find_report(name))
        key = {"capacity": "cluster", "cost": "cluster", "pools": "cluster", "ratios": "generation"}.get(name, "model")
        return {record[key]: record[wanted] for record in found.records()}

    tflops = "625 TFLOPS; other sources: 650 TFLOPS; 667 TFLOPS; 668.75 TFLOPS; 655 TFLOPS"
    for name in ("capacity", "cost"):
        assert column(name, "bf16_of_a_chip_disputed")["u-trn2x64"] == tflops
        assert column(name, "bf16_of_a_chip_disputed")["trn3-gen2"] is None
    assert column("pools", "hbm_of_a_chip_disputed")["u-trn2x64"] == "96 GiB; other sources: 512 GiB"
    assert column("pools", "hbm_of_a_chip_disputed")["trn1.32xlarge"] is None  # GB and GiB: the same
    assert column("pools", "hbm_of_a_chip_disputed")["trn3-gen1"] is None  # 9,216 GiB and 9 TB
    links = "1,024 GB/s; other sources: 704 GB/s; 1,280 GB/s; 1,200 GB/s"
    assert column("ratios", "neuronlink_disputed")["trn3"] == links
    cables = column("bandwidth", "cable_disputed")
    assert cables["efa-200"] == "25 GB/s; other sources: 100 GB/s"
    assert cables["efa-trn1.2xlarge"] == "3.125 GB/s, derived from disputed facts"
    assert cables["neuronlink-v4-rack"] == "320 GB/s, derived from disputed facts"
    assert cables["efa-100"] is cables["neuronlink-v3-ring"] is None
    documented = {(row[0], row[1], row[4]): row[7] for row in _found(fleet, find_report("documented")).rows}
    assert documented["trn3-gen2", "device_memory", 20_480 * 2**30] == "yes"
    assert documented["u-trn2x64", "servers", 4] == "no"
