"""NDJSON that a database writes is what Python would write of the same rows."""

import json
from typing import Any

import pytest
from queries import snapshot_of, stream_query
from sqlalchemy import Engine

from trninv.errors import SqlError
from trninv.reports import row_formats
from trninv.reports.row_formats import encode_lines, stream_rows
from trninv.reports.table_export import TABLES_AND_VIEWS
from trninv.routing.fleet import BaseFleet


def _written(engine: Engine, sql: str, style: str = "ndjson") -> bytes:
    with snapshot_of(engine) as snapshot, stream_rows(snapshot, sql, style, seconds=60) as found:
        return b"".join(found)


def _by_python(engine: Engine, sql: str, style: str = "ndjson") -> bytes:
    with stream_query(engine, sql, seconds=60) as found:
        return b"".join(encode_lines(found, style))


@pytest.mark.slow
@pytest.mark.parametrize("style", ["ndjson", "csv"])
def test_every_table_and_view_is_the_same(worn: BaseFleet, style: str) -> None:
    for name in TABLES_AND_VIEWS:
        query = f"SELECT * FROM {name}"  # a name of ours
        assert _written(worn.engine, query, style) == _by_python(worn.engine, query, style), name


@pytest.mark.parametrize(
    "values",
    [
        "0.333333 AS factor, 181.25 AS x_tflops, 99999.999999 AS x_gb_per_s, 1160000000.0 AS y_gb_per_s",
        "NULL AS factor, -5 AS n, 9007199254740993 AS exact, '' AS empty, 2900.0 AS x_gb_per_s",
        """'a "quoted" \\ text' AS a, 'é 漢 😀 / ' || char(9, 10, 1, 31, 127, 8232) AS b""",
        ", ".join(f"{number} AS c{number}" for number in range(60)),
    ],
)
def test_every_value_is_the_same(lite_fleet: BaseFleet, values: str) -> None:
    query = f"SELECT {values}"
    assert _written(lite_fleet.engine, query) == _by_python(lite_fleet.engine, query)


def test_a_long_fraction_is_the_same_number(lite_fleet: BaseFleet) -> None:
    """Its digits may be others: SQLite 3.53 writes 999999.99999999895 for 999999.999999999."""
    query = "SELECT 1160000000.1 AS x_gb_per_s, 123456789.123456789 AS x_tflops, 999999.999999999 AS y_gb_per_s"
    assert json.loads(_written(lite_fleet.engine, query)) == json.loads(_by_python(lite_fleet.engine, query))


@pytest.mark.parametrize(
    "values",
    [
        """'a "quoted" \\ text' AS a, concat('é 漢 😀 / ', chr(9), chr(10), chr(31), chr(127), chr(8232)) AS b""",
        "NULL AS nothing, -5 AS n, 9007199254740993 AS exact, '' AS empty, 2 > 1 AS yes, 'x'::varchar AS short",
        "0.1::float8 AS factor, 1160000000.1::float8 AS x_gb_per_s, 1.50 AS whole, 2.0 AS x_tflops",
        '1 AS "a b", 2 AS "quote""d", \'{"x": 1}\'::json AS object',
        ", ".join(f"{number} AS c{number}" for number in range(60)),
    ],
)
@pytest.mark.parametrize("fleet", ["postgresql"], indirect=True)
def test_every_value_is_the_same_on_postgresql(fleet: BaseFleet, values: str) -> None:
    query = f"SELECT {values}"
    assert _written(fleet.engine, query) == _by_python(fleet.engine, query)


def test_python_does_not_see_the_rows_that_a_database_writes(fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def see(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(row_formats, "encode_lines", see)
    assert len(_written(fleet.engine, "SELECT address, state FROM v_chip").splitlines()) > 200
    with pytest.raises(SqlError):
        _written(fleet.engine, "SELECT nothing FROM v_chip")
