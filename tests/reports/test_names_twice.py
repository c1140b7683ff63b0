"""Columns that have one name are not lost where rows are objects."""

import pytest

from trninv.database.query_result import QueryResult
from trninv.errors import SqlError
from trninv.reports.row_formats import to_json, to_text

_TWICE = QueryResult(("a", "a"), [("u/d0", "up")], truncated=False)


def test_two_columns_of_one_name_are_refused_where_rows_are_objects() -> None:
    with pytest.raises(SqlError, match="two columns are called a; rename one"):
        to_json(_TWICE)
    with pytest.raises(SqlError, match="two columns are called a; rename one"):
        to_text(_TWICE, "ndjson")
    assert to_text(_TWICE, "csv") == "a,a\nu/d0,up"
