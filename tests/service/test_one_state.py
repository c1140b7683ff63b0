"""One document reads one state of the database and says which, whatever is written meanwhile."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import Engine, event, text
from starlette.testclient import TestClient

import trninv
from conftest import Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

A, B = "u-trn2x64/d0/s0", "u-trn2x64/d0/s1"
CHIP = f"{A}/c3"
FLOWS = 6


def _toggle(engine: Engine, state: str) -> None:
    with write_transaction(engine) as connection:
        set_state(connection, [CHIP], Condition(state), why="test", who="test")


@contextmanager
def toggling(url: str) -> Iterator[None]:
    """A chip goes down and comes up all the while."""
    done = Event()

    def run() -> None:
        with temporary_engine(url) as engine:
            while not done.is_set():
                for state in ("down", "up"):
                    _toggle(engine, state)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _answer(api: Api, document: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asyncio.run(api.run(Request(document))).body)
    assert "errors" not in found, found
    return found


@pytest.mark.parametrize("documents", [4, pytest.param(15, marks=pytest.mark.slow)])
def test_a_flow_asked_for_many_times_in_one_document_is_always_the_same(seeded: str, documents: int) -> None:
    """In both directions, beside what the compiled fields say of the chip; more than one state is seen."""
    ways = [(A, B), (B, A)] * (FLOWS // 2)
    flow = "maximumFlow { bytesPerSecond }"
    fields = [f'f{n}: bandwidth(from: "{a}", to: "{b}") {{ {flow} }}' for n, (a, b) in enumerate(ways)]
    fields.insert(2, f'chips(filter: {{address: {{eq: "{CHIP}"}}, state: {{eq: DOWN}}}}) {{ totalCount }}')
    seen = set()
    with trninv.open(seeded) as fleet, toggling(seeded):
        api = Api(fleet, Settings(database_url=seeded))
        for _ in range(documents):
            data = _answer(api, "{" + " ".join(fields) + "}")["data"]
            flows = {data[f"f{n}"]["maximumFlow"]["bytesPerSecond"] for n in range(FLOWS)}
            assert len(flows) == 1
            seen.add((flows.pop(), data["chips"]["totalCount"]))
    assert len({flow for flow, _ in seen}) == len({down for _, down in seen}) == len(seen)


def test_an_answer_says_which_state_it_was_read_from(seeded: str) -> None:
    """The same revision for the same state, in each way in which a document is answered and on every other route."""
    documents = [
        "{ clusters { nodes { slug } } }",
        f'{{ memoryPool(scope: "{CHIP}") {{ chips }} }}',
        f'{{ chips(filter: {{address: {{eq: "{CHIP}"}}}}) {{ totalCount }} memoryPool(scope: "{CHIP}") {{ chips }} }}',
        "{ sources { slug } }",
    ]

    with TestClient(
        create_app(seeded, Settings(database_url=seeded, log="off")), base_url="http://127.0.0.1"
    ) as client:

        def told() -> list[str]:
            found = [client.post("/graphql", json={"query": each}).json() for each in documents]
            names = [each["extensions"]["asOf"]["revision"] for each in found]
            paths = ("/chips/u-trn2x64", "/reports/capacity.json", "/export/v_rack.csv")
            answers = [client.get(path) for path in paths]
            if seeded.startswith("sqlite"):  # PostgreSQL wants a login of its own
                answers.append(client.post("/sql", json={"sql": "SELECT count(*) FROM v_chip"}))
            for answer in answers:
                assert answer.status_code == HTTPStatus.OK, answer.text
            return names + [each.headers["X-As-Of"].partition("; revision=")[2] for each in answers]

        before = told()
        with temporary_engine(seeded) as engine:
            _toggle(engine, "down")
        after = told()
    assert len(set(before)) == len(set(after)) == 1
    assert before[0]
    assert after[0]
    assert before[0] != after[0]


@pytest.mark.quick_on_postgresql
def test_routes_know_their_revision_while_others_write(seeded: str) -> None:
    """On PostgreSQL always, as one snapshot is read; on SQLite at least nothing wrong is said."""
    paths = {f"/reports/unhealthy.csv?cluster={A[:9]}": CHIP, "/export/v_unhealthy.csv?columns=address": CHIP}
    with TestClient(
        create_app(seeded, Settings(database_url=seeded, log="off")), base_url="http://127.0.0.1"
    ) as client:
        seen = set[bool]()
        is_down = dict[str, bool]()
        with toggling(seeded):
            for path, what in list(paths.items()) * 10:
                answer = client.get(path)
                revision = answer.headers["X-As-Of"].partition("; revision=")[2]
                assert revision or seeded.startswith("sqlite")
                seen.add(what in answer.text)
                assert is_down.setdefault(revision, what in answer.text) == (what in answer.text) or not revision
    assert seen == {True, False}


def test_a_mutation_answers_from_the_state_that_it_made(seeded: str) -> None:
    """What is read after each change has it, and the answer's state is the last."""
    change = (
        '%s: setState(input: {addresses: ["%s"], state: %s, why: "test", who: "test"}) '
        "{ changes { target { ... on Chip { state server { chips { nodes { state } } } } } } }"
    )
    document = f"mutation {{ {change % ('a', CHIP, 'DOWN')} {change % ('b', CHIP, 'UP')} }}"
    with trninv.open(seeded) as fleet:
        found = _answer(Api(fleet, Settings(database_url=seeded)), document)
        for name, state in (("a", "DOWN"), ("b", "UP")):
            (changed,) = found["data"][name]["changes"]
            assert changed["target"]["state"] == state
            assert changed["target"]["server"]["chips"]["nodes"][3]["state"] == state
        with fleet.snapshot() as one:
            one.memory_pool(CHIP)
            assert (now := one.as_of()) is not None
            assert now.revision == found["extensions"]["asOf"]["revision"]


@pytest.mark.slow
def test_a_report_is_of_the_state_of_its_document(seeded: str) -> None:
    """Or the answer does not claim a revision: on SQLite, where a report has a process of its own."""
    count = f'chips(filter: {{address: {{eq: "{CHIP}"}}, state: {{eq: DOWN}}}}) {{ totalCount }}'
    document = f'{{ {count} viewer {{ name }} report(name: "unhealthy") {{ rows }} }}'
    seen, claimed = set(), 0
    with trninv.open(seeded) as fleet:
        api = Api(fleet, Settings(database_url=seeded))
        with toggling(seeded):
            for _ in range(20):
                answer = _answer(api, document)
                is_down, rows = answer["data"]["chips"]["totalCount"], answer["data"]["report"]["rows"]
                seen.add(is_down)
                if answer["extensions"]["asOf"]["revision"]:
                    claimed += 1
                    assert is_down == any(CHIP in row for row in rows)
        assert claimed == 20 or seeded.startswith("sqlite")
        alone = _answer(api, '{ report(name: "unhealthy") { rows } }')["extensions"]["asOf"]
        with fleet.snapshot() as one:
            one.memory_pool(CHIP)
            assert (now := one.as_of()) is not None
            assert alone["revision"] == now.revision
    assert seen == {0, 1}


def test_a_report_in_graphql_is_read_as_the_login_of_strangers(databases: Databases) -> None:
    url = databases.seeded("postgresql")
    with temporary_engine(url) as engine, engine.begin() as connection:
        connection.execute(text("DROP ROLE IF EXISTS reader_of_reports"))
        connection.execute(text("CREATE ROLE reader_of_reports LOGIN IN ROLE trninv_read"))
    asked = {"query": '{ report(name: "capacity") { rows truncated } }'}
    settings = Settings(url, log="off", sql_url=url.replace("trninv@", "reader_of_reports@"), answer_bytes=600)
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:
        logins = client.app.state.shared.readers.logins.values()  # type: ignore[attr-defined]
        used: list[object] = []
        for login in logins:
            event.listen(login, "checkout", lambda *given: used.append(given))
        found = client.post("/graphql", json=asked).json()
    assert used
    assert found["data"]["report"]["truncated"]
    assert found["extensions"]["asOf"]["revision"]
