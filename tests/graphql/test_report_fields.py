"""Reports and trays in GraphQL."""

import pytest
from queries import run_query

from conftest import Ask
from trninv.reports.report_library import read_reports
from trninv.routing.fleet import BaseFleet


def test_every_report_is_listed(ask: Ask) -> None:
    found = ask("{ reports { name title summary parameters { name default description } } }")["data"]["reports"]
    assert [each["name"] for each in found] == list(read_reports())
    assert {each["name"]: [of["name"] for of in each["parameters"]] for each in found} == {
        name: [of.name for of in report.parameters] for name, report in read_reports().items()
    }


@pytest.mark.parametrize("name", ["bandwidth", "capacity", "pools", "ratios"])
def test_a_chart_names_columns_that_its_report_has(ask: Ask, name: str) -> None:
    listed = ask("{ reports { name chart { x y by } } }")["data"]["reports"]
    (chart,) = (each["chart"] for each in listed if each["name"] == name)
    columns = ask("query ($n: String!) { report(name: $n) { columns } }", n=name)["data"]["report"]["columns"]
    assert set(chart.values()) - {None} <= set(columns)


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize("name", read_reports())
def test_rows_are_those_of_the_report(ask: Ask, fleet: BaseFleet, name: str) -> None:
    found = ask("query ($name: String!) { report(name: $name) { columns rows truncated } }", name=name)["data"][
        "report"
    ]
    expected = run_query(fleet.engine, read_reports()[name].sql(fleet.engine.dialect.name, {}), seconds=30)
    assert found == {
        "columns": list(expected.columns),
        "rows": [list(row) for row in expected.rows],
        "truncated": False,
    }


def test_values_narrow_a_report(ask: Ask) -> None:
    rows = ask('{ report(name: "capacity", values: [{name: "generation", value: "trn3"}]) { rows } }')["data"]
    assert [row[0] for row in rows["report"]["rows"]] == ["trn3-gen2", "trn3-gen1"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ('name: "nothing"', "UNKNOWN_REPORT", "no report 'nothing'"),
        ('name: "capacity", values: [{name: "x", value: "1"}]', "ARGUMENT", "has no parameter 'x'"),
        ('name: "free-units", values: [{name: "least", value: "x"}]', "ARGUMENT", "not a whole number"),
        (
            'name: "capacity", values: [{name: "generation", value: "a"}, {name: "generation", value: "b"}]',
            "ARGUMENT",
            "set twice",
        ),
    ],
)
def test_what_is_no_report_is_told(ask: Ask, arguments: str, code: str, says: str) -> None:
    (error,) = ask(f"{{ report({arguments}) {{ rows }} }}")["errors"]
    assert says in error["message"]
    assert code in error["extensions"]["code"]


def test_trays_hold_every_chip_that_documents_place(ask: Ask) -> None:
    found = ask(
        '{ resolve(address: "u-trn2x64/d0/s3") { ... on Server { trays { ordinal kind rackUnits } '
        "chips { nodes { tray } } } } }"
    )["data"]["resolve"]
    assert [tray["kind"] for tray in found["trays"]] == ["HEAD"] + ["COMPUTE"] * 8
    assert {tray["rackUnits"] for tray in found["trays"]} == {2}
    assert sorted(chip["tray"] for chip in found["chips"]["nodes"]) == sorted([*range(1, 9)] * 2)
