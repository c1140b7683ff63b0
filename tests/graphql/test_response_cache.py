"""A repeated request gets the response that the revision had, and never one of another revision."""

import asyncio
import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from hearing import change
from sqlalchemy import insert

import trninv
from conftest import Databases
from trninv.database.snapshot import AsOf
from trninv.database.tables import TABLES
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.graphql.response_cache import MAX_RESPONSE_BYTES, Key, ResponseCache, request_key
from trninv.graphql.responses import Response
from trninv.graphql.statement_runner import StatementCounter, statement_counter
from trninv.routing.fleet import BaseFleet
from trninv.service.telemetry import count_statements
from trninv.settings import Settings
from trninv.units import format_timestamp

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

CHIP = "trn1.2xlarge/d0/s0/c0"
STATE = Request(query="{ chips(filter: {state: {ne: UP}}) { nodes { address state } } }")
AVAILABILITY = Request(query='{ availability(scope: "trn1.2xlarge") { until } }')
STATE_ID = "s"


def ask(api: Api, request: Request, scope: str = "admin") -> tuple[dict[str, Any], int]:
    """Return a response's data and the number of statements that it took."""
    counter = StatementCounter()

    async def run() -> Response:
        token = statement_counter.set(counter)
        try:
            return await api.run(request, scope=scope)
        finally:
            statement_counter.reset(token)

    body = json.loads(asyncio.run(run()).body)
    assert body["extensions"]["asOf"]["revision"]
    return body["data"], counter.count


def test_what_reads_the_clock_is_read_again(tables: str) -> None:
    """A target of discovery becomes late without a change of the database."""
    late = Request(query="{ discoveries { nodes { late } } }")
    time = datetime.now(UTC) + timedelta(seconds=2)
    row = {"id": 1, "target": "slurm", "every_seconds": 1, "started_at": "2026-01-01T00:00:00Z"}
    with trninv.open(tables) as fleet:
        with fleet.engine.begin() as connection:
            connection.execute(insert(TABLES["discovery"]), row | {"late_at": format_timestamp(time)})
        api = Api(fleet, Settings(database_url=tables))
        before, _ = ask(api, late)
        assert before == {"discoveries": {"nodes": [{"late": False}]}}
        sleep(max(0.0, (time - datetime.now(UTC)).total_seconds()) + 0.01)
        after, _ = ask(api, late)
        assert after == {"discoveries": {"nodes": [{"late": True}]}}


def test_a_repeated_request_runs_no_statement_until_something_changes(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        count_statements(fleet.engine)
        api = Api(fleet, Settings(database_url=seeded))
        healthy, _ = ask(api, STATE)
        again, statements = ask(api, STATE)
        assert (again, statements) == (healthy, 0)
        change(fleet.engine, CHIP)
        failed, statements = ask(api, STATE)
        assert {node["address"] for node in failed["chips"]["nodes"]} == {CHIP}
        assert statements
        assert ask(api, STATE) == (failed, 0)


def test_what_follows_from_the_clock_is_asked_again(fleet: BaseFleet) -> None:
    api = Api(fleet, Settings.load())
    assert ask(api, AVAILABILITY)[0] != ask(api, AVAILABILITY)[0]


def test_a_list_that_reads_the_clock_is_read_again(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        count_statements(fleet.engine)
        api = Api(fleet, Settings(database_url=seeded))
        for fields, statements in (("name", 0), ("name rowsThisHour", 1)):
            request = Request(query=f"{{ tokens {{ nodes {{ {fields} }} }} }}")
            ask(api, request)
            assert ask(api, request)[1] == statements


def test_a_replaced_file_is_another_revision(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    file = Path(url.removeprefix("sqlite:///"))
    backup = file.with_suffix(".backup")
    with trninv.open(url) as fleet:
        api = Api(fleet, Settings(database_url=url))
        healthy, _ = ask(api, STATE)
        shutil.copy(file, backup)
        change(fleet.engine, CHIP)
        assert ask(api, STATE)[0] != healthy
        backup.replace(file)
        assert ask(api, STATE)[0] == healthy


def test_requests_differ_by_scope_variables_operation_and_time() -> None:
    one = Request("query A { __typename } query B { __typename }", {"a": 1}, "A")
    others = [
        replace(one, query=f"{one.query} "),
        replace(one, variables={"a": 2}),
        replace(one, operation="B"),
        replace(one, document="A", query=None),
        replace(one, as_of="1"),
    ]
    assert (
        len({request_key(one, "read"), request_key(one, "admin"), *(request_key(each, "read") for each in others)}) == 7
    )
    assert request_key(replace(one, variables={"a": 1, "b": 2}), "") == request_key(
        replace(one, variables={"b": 2, "a": 1}), ""
    )


def test_what_follows_from_the_clock_or_from_no_revision_is_not_kept() -> None:
    cache, key = ResponseCache(), _key(STATE)
    kept = _response(b"{}")
    for response in (
        replace(kept, reads_clock=True),
        replace(kept, reads_clock=None),
        replace(kept, state=None),
    ):
        cache.add(key, response)
        assert key not in cache
    cache.add(key, kept)
    now = AsOf.latest("now")
    for states in set[str](), {"another"}:
        assert cache.get(key, now, states) is None
    found = cache.get(key, now, {"another", STATE_ID})
    assert found
    assert (found.body, found.as_of) == (b"{}", now)
    cache.add(key, replace(kept, state="another"))
    assert cache.get(key, now, {STATE_ID}) is None
    assert cache.get(key, now, {"another"})


def test_the_responses_used_longest_ago_are_dropped_beyond_the_limit() -> None:
    keys = [_key(Request(query=name)) for name in "abc"]
    cache = ResponseCache(max_bytes=2_400)
    for key in keys[:2]:
        cache.add(key, _response(bytes(600)))
    assert cache.get(keys[0], AsOf.latest(None), {STATE_ID})
    cache.add(keys[2], _response(bytes(600)))
    assert [key in cache for key in keys] == [True, False, True]
    cache.add(keys[1], _response(bytes(2_400)))
    assert keys[1] not in cache


def test_a_response_of_the_maximum_size_is_kept_and_a_longer_one_is_not() -> None:
    cache, key = ResponseCache(), _key(Request(query=""))
    overhead = 500 + sum(len(part or "") for part in key)
    cache.add(key, _response(bytes(MAX_RESPONSE_BYTES - overhead + 1)))
    assert key not in cache
    cache.add(key, _response(bytes(MAX_RESPONSE_BYTES - overhead)))
    assert key in cache


def _response(body: bytes) -> Response:
    return Response(body, reads_clock=False, state=STATE_ID)


def _key(request: Request) -> Key:
    key = request_key(request, "read")
    assert key
    return key
