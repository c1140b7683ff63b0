"""Return the statement to which a document is compiled, and how a database plans it."""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import event, text

from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.graphql.statement_runner import StatementRunner
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings


def run_compiled(
    fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, document: str
) -> tuple[Mapping[str, Any], str, Mapping[str, Any]]:
    """Run a document that is compiled to one statement; return its data, the statement and the parameters."""
    statements = list[tuple[str, Any]]()
    fetch_row = StatementRunner.fetch_row

    def record(runner: StatementRunner, sql: str, parameters: Mapping[str, Any]) -> Any:
        statements.append((sql, parameters))
        return fetch_row(runner, sql, parameters)

    def record_cursor(_connection: Any, _cursor: Any, sql: str, parameters: Any, *_: Any) -> None:
        if " AS r0" in sql:  # the first root field's column
            statements.append((sql, parameters))

    monkeypatch.setattr(StatementRunner, "fetch_row", record)
    event.listen(fleet.engine, "before_cursor_execute", record_cursor)
    response = asyncio.run(Api(fleet, Settings.load()).run(Request(query=document)))
    event.remove(fleet.engine, "before_cursor_execute", record_cursor)
    assert response.code is None, response.body
    ((sql, parameters),) = statements
    return json.loads(response.body)["data"], sql, parameters


def plan_of(fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, document: str, *, is_generic: bool = False) -> str:
    """Return the plan of a document's statement; PostgreSQL's as if the tables had many pages.

    is_generic: whether PostgreSQL plans it without the values of its parameters.
    """
    _, sql, parameters = run_compiled(fleet, monkeypatch, document)
    with fleet.connect() as connection:
        if fleet.engine.dialect.name == "sqlite":
            return "\n".join(map(str, connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters)))
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        if not is_generic:
            return "\n".join(map(str, connection.exec_driver_sql(f"EXPLAIN {sql}", parameters)))
        connection.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
        numbers = {name: f"${index}" for index, name in enumerate(parameters, 1)}
        prepared = re.sub(r"%\((\w+)\)s", lambda found: numbers[found[1]], sql).replace("%%", "%")
        cursor = connection.connection.cursor()
        cursor.execute(f"PREPARE asked AS {prepared}")
        values = ", ".join(f"'{value}'" for value in parameters.values())
        plan = cursor.execute(f"EXPLAIN EXECUTE asked ({values})").fetchall()
        cursor.execute("DEALLOCATE asked")
        return "\n".join(map(str, plan))
