"""A service's fleet answers as the database's: each declared question, change and list, by its own example."""

import re
import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio import run as run_async

import trninv
from conftest import BACKENDS, Databases, seed_everything, wear
from remoting import URL, Command, command, service
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import SqlError, TrninvError, UnknownAddressError, UsageError
from trninv.inventory.change import Change
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.bindings import bind
from trninv.placement import questions as placement_questions
from trninv.placement.changes import all_changes
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.release import release
from trninv.placement.placement_fleet import Fleet
from trninv.reconcile.latest_observations import pinned_binding
from trninv.remote.async_fleet import AsyncFleet
from trninv.remote.call_builder import CallBuilder
from trninv.remote.http_clients import AsyncHttpClient
from trninv.remote.json_codec import decode, encode
from trninv.remote.remote_fleet import RemoteFleet
from trninv.remote.remote_method import find_method, readings
from trninv.routing.picture import Highlight
from trninv.routing.question import Question
from trninv.routing.questions import all_questions
from trninv.routing.tabular import RowList
from trninv.service.application import create_app
from trninv.settings import Settings

__all__ = ["command"]  # a fixture
pytestmark = pytest.mark.slow_on_postgresql

_DECLARED: tuple[Any, ...] = (*all_questions(), *placement_questions.all_questions(), *all_changes())
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:]+(\.\d+)?")
_REQUEST = re.compile(r" \(request [0-9a-f]{16}\)")
_HERE = {"sweep", "make-room --apply, drain-impact --apply", "replace --apply"}
"""Commands of what a service does otherwise, or which ask a question first."""
_NOW = ("--at", "2026-11-22T02:00:00Z")
_FILES = {"rates.toml": "history"}


def _populate(url: str) -> None:
    seed_everything(url)
    wear(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for name, system, domains in (("lab", "u-trn2x64", 1), ("rainier", "rainier", 2)):
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(system).resized(domains), name)
        bind(connection, [pinned_binding(connection, "lab/d0/s1", "i-0123456789abcdef0")], who="tests")
        allocate(connection, "train-7b", ["rainier/d0/s0", "rainier/d1/s0"], who="tests")
        allocate(connection, "train-70b", ["u-trn2x64/d0/s1"], who="tests")


class Pair:
    """A database and a service of it."""

    def __init__(self, url: str, local: Fleet, connect: Callable[..., RemoteFleet]) -> None:
        self.url, self.local, self.connect, self.remote = url, local, connect, connect()


@pytest.fixture(scope="module", params=BACKENDS)
def pair(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Pair]:
    url = databases.copied(request.param, _populate)
    with service(url) as connect, trninv.open(url) as local:
        yield Pair(url, local, connect)
    databases.drop(url)


def _examples() -> Iterator[Any]:
    for declared in _DECLARED:
        if declared.field and declared.command not in _HERE:
            more = ("--dry-run",) if isinstance(declared, Change) else _NOW if declared.reads_clock else ()
            for number, example in enumerate(declared.examples):
                words = [_FILES.get(word, word) for word in shlex.split(example)]
                yield pytest.param([*words, *more], id=example, marks=[pytest.mark.slow] if number else [])


@pytest.mark.parametrize("words", [*_examples()])
def test_an_example_prints_the_same_and_its_answers_are_equal(
    pair: Pair, command: Command, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    answers: dict[type[Fleet], list[Any]] = {Fleet: [], RemoteFleet: []}

    def record(kind: type[Fleet]) -> None:
        ask = kind.ask

        def recorded(fleet: Fleet, question: Question, *arguments: Any, **keywords: Any) -> Any:
            answer = ask(fleet, question, *arguments, **keywords)
            answers[kind].append((question, answer))
            return answer

        monkeypatch.setattr(kind, "ask", recorded)

    words = [_TIME.sub(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}", word) for word in words]
    record(Fleet)
    local = command("--database", pair.url, *words, "--format", "json")
    expected = list(answers[Fleet])
    record(RemoteFleet)  # in the same process, the service calls Fleet.ask
    monkeypatch.setattr(trninv, "connect", pair.connect)
    remote = command("--service", URL, *words, "--format", "json")
    assert _without_times(remote) == _without_times(local)
    assert len(answers[RemoteFleet]) == len(expected)
    for (question, answer), (_, here) in zip(answers[RemoteFleet], expected, strict=True):
        assert type(answer) is type(here) is question.answer_type
        assert answer == here
        assert decode(encode(here), type(here)) == here


def _without_times(value: object) -> str:
    """A text without the times and the ids of requests, which differ from call to call."""
    return _REQUEST.sub("", _TIME.sub("", str(value)))


_ENDS = ("u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c1")
_LISTS: dict[str, dict[str, Any]] = {
    "instances": {"servers": ["lab/d0/s1", "lab/d0/s0"]},
    "graph": {"scope": "u-trn2x64"},
    "draw": {"scope": "u-trn2x64", "highlight": Highlight([frozenset(_ENDS)], _ENDS, is_cut=True, caption="a & <b>")},
    "events": {"scope": "u-trn2x64", "limit": 3, "kind": "chip"},
    "impact": {},
    "describe": {"address": "u-trn2x64/d0/s0/c3"},
    "draw_timeline": {"scope": "lab", "since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"},
    "topology": {"scope": "lab", "output_format": "gexf", "coarse": True, "check": True},
}
"""Arguments of readings that need some."""


_MAY_BE_EMPTY = {"unclaimed_types", "closed_incidents", "cordons", "drift", "drift_compared_at", "unapplied_findings"}


@pytest.mark.parametrize("name", [*readings()])
def test_a_list_is_equal(pair: Pair, name: str) -> None:
    arguments = _LISTS.get(name, {})
    if name == "impact":
        arguments = {"incident": pair.local.incidents()[0]}
    local, remote = (_outcome(partial(getattr(one, name), **arguments)) for one in (pair.local, pair.remote))
    if isinstance(local, RowList):
        assert remote.row_type is local.row_type
    if name == "graph":
        local, remote = ((dict(one.nodes), dict(one.edges)) for one in (local, remote))
    assert remote == local
    assert local or name in _MAY_BE_EMPTY


def _outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or how it fails."""
    try:
        return call()
    except TrninvError as error:
        return type(error), str(error), error.code


def test_a_scenario_and_a_time_are_those_of_the_database(pair: Pair) -> None:
    down: dict[str, Any] = {"down": ["u-trn2x64/d0/s1"], "derate": {"u-trn2x64/d0/s3/c0": 0.5}}
    local, remote = (one.what_if(**down).bisection("u-trn2x64") for one in (pair.local, pair.remote))
    assert remote == local
    assert remote.baseline
    jobs: dict[str, Any] = {"with_": {"new": ["u-trn2x64/d0/s3"]}, "without": ["train-70b"]}
    assert pair.remote.what_if(**jobs).free("u-trn2x64") == pair.local.what_if(**jobs).free("u-trn2x64")
    (first, *_) = pair.local.events(limit=1, after=0)
    assert pair.remote.at(first.event).incidents() == pair.local.at(first.event).incidents()
    with pair.remote.at(first.event).snapshot() as snapshot, pair.local.at(first.event).snapshot() as there:
        assert snapshot.as_of() is None
        assert snapshot.incidents() == there.incidents()
        read, expected = snapshot.as_of(), there.as_of()
    assert read
    assert expected
    assert (read.time, bool(read.revision)) == (expected.time, True)
    assert pair.remote.revision() is not None


@pytest.mark.parametrize(
    "call",
    [
        lambda fleet: fleet.path("nowhere/d0/s0/c0", "u-trn2x64/d0/s0/c1"),
        lambda fleet: fleet.path("u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c1", k=0),
        lambda fleet: fleet.path("u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c1", by="beauty"),
        lambda fleet: fleet.memory_pool("u-trn2x64/d0/s0/c0", min_bandwidth="1 GB"),
        lambda fleet: fleet.at("2020-01-01").bisection("u-trn2x64"),
        lambda fleet: fleet.at("2020-01-01T00:00:00Z").bisection("u-trn2x64"),
        lambda fleet: fleet.what_if(down=["nowhere/d0"]).bisection("u-trn2x64"),
        lambda fleet: fleet.what_if(down=[]),
        lambda fleet: fleet.release("no-such-job", who="tests"),
        lambda fleet: fleet.set_state("u-trn2x64/d0/s0/c9", "down", why="", who="tests"),
        lambda fleet: fleet.cordon([], who="tests", why="x"),
        lambda fleet: fleet.events("u-trn2x64", kind="gpu"),
    ],
)
def test_a_failure_has_the_same_class_message_and_code(pair: Pair, call: Callable[[Fleet], Any]) -> None:
    (kind, message, code), remote = (_outcome(partial(call, fleet)) for fleet in (pair.local, pair.remote))
    assert remote == (kind, message, code)


def test_a_failure_names_its_request(pair: Pair) -> None:
    with pytest.raises(UnknownAddressError) as caught:
        pair.remote.bisection("nowhere")
    assert re.fullmatch("[0-9a-f]{16}", caught.value.request_id)


def test_changes_are_made_and_moves_are_carried_out(databases: Databases) -> None:
    url = databases.copied("sqlite", _populate)
    with service(url) as connect, connect() as remote, trninv.open(url) as local:
        (change,) = remote.set_state("u-trn2x64/d0/s3/c9", "down", why="ticket", who="tests", dry_run=True)
        assert [event.why for event in local.events(limit=1)] != ["ticket"]
        assert remote.set_state("u-trn2x64/d0/s3/c9", "down", why="ticket", who="tests") == [change]
        (event,) = local.events(limit=1)
        assert (event.why, event.who, event.source) == ("ticket", "tests", "api")
        assert remote.make_room("4x4x1", "u-trn2x64").moves == local.make_room("4x4x1", "u-trn2x64").moves
        plan = remote.make_room(scope="rainier", domains=2)
        jobs = remote.move_jobs(plan.scope, plan.moves, plan.revision, who="tests", dry_run=True)
        assert [job.name for job in jobs] == [move.job for move in plan.moves]
        job = remote.allocate("new", ["lab/d0/s0"], who="tests")
        assert job in local.jobs()
        released, again = (remote.release("new", who="tests") for _ in range(2))
        assert (released.name, released.had_ended, again) == ("new", False, released)
        assert [*release.render(again)] == [f"new: ended already at {released.ended_at}"]
        with pytest.raises(UsageError, match="past"):
            remote.at(1).release("train-7b", who="tests")
    databases.drop(url)


def test_sql_is_a_table_of_arrow(pair: Pair) -> None:
    query = "SELECT address, cores FROM v_chip ORDER BY address LIMIT 3"
    if pair.local.engine.dialect.name == "postgresql":  # for which a service needs a login of its own
        with pytest.raises(SqlError, match="TRNINV_SQL_URL"):
            pair.remote.sql(query)
        return
    assert pair.remote.sql(query) == pair.local.sql(query)
    assert pair.remote.at(1).sql(query) == pair.local.at(1).sql(query)
    with pytest.raises(SqlError, match="more than 2 rows"):
        pair.remote.sql(query, max_rows=2)
    with pytest.raises(SqlError, match="DELETE"):
        pair.remote.sql("DELETE FROM chip")
    with pytest.raises(UsageError, match="scenario"):
        pair.remote.what_if(down="u-trn2x64/d0").sql(query)


def test_a_graph_is_compared_and_an_answer_is_drawn_as_in_the_database(pair: Pair) -> None:
    graph = pair.local.graph("lab/d0")
    graph.remove_edge("lab/d0/s0/c0", "lab/d0/s0/c1")
    assert pair.remote.check_against(graph) == pair.local.check_against(graph)
    local, remote = (one.bisection("u-trn2x64")._repr_html_() for one in (pair.local, pair.remote))
    assert remote == local
    assert "<svg" in local


def test_what_needs_the_database_says_so(pair: Pair, tmp_path: Path) -> None:
    fleet = pair.remote
    for call in (
        lambda: fleet.engine,
        lambda: fleet.connect().__enter__(),
        lambda: fleet.open_snapshot().__enter__(),
        lambda: fleet.import_jobs("slurm", []),
        lambda: fleet.create_token("x", who="tests"),
        lambda: fleet.adopt("x"),
    ):
        with pytest.raises(UsageError, match="needs the database itself"):
            call()
    assert not hasattr(fleet, "_repr_png_")
    with pytest.raises(UsageError, match="omit journal"):
        fleet.sweep("u-trn2x64", journal=tmp_path / "journal")


def test_the_asynchronous_fleet_gives_equal_answers(databases: Databases) -> None:
    url = databases.copied("sqlite", _populate)
    application = create_app(url, Settings(database_url=url, log="off"))

    async def compare() -> None:
        transport = httpx2.ASGITransport(app=application)
        async with AsyncFleet(CallBuilder(URL), AsyncHttpClient("", 60, transport)) as remote:
            assert await remote.bisection("u-trn2x64") == local.bisection("u-trn2x64")
            assert await remote.what_if(down="u-trn2x64/d0/s1").free("u-trn2x64") == local.what_if(
                down="u-trn2x64/d0/s1"
            ).free("u-trn2x64")
            assert await remote.at(1).incidents() == local.at(1).incidents()
            assert list(await remote.jobs()) == local.jobs()
            assert await remote.cordon("lab/d0/s0", who="tests", why="fan") == local.cordons()
            assert remote.as_of()
            assert (await remote.check_against(local.graph("lab/d0"))).is_equal
            with pytest.raises(UnknownAddressError):
                await remote.path("nowhere", "u-trn2x64")

    with trninv.open(url) as local:
        run_async(compare)
    application.state.shared.close()
    databases.drop(url)


def test_every_question_change_and_list_is_a_remote_method() -> None:
    names = {declared.name for declared in _DECLARED if declared.field} | readings().keys()
    assert {name for name in names if find_method(name) is None} == set()
    assert find_method("create_token") is None
    assert find_method("engine") is None
    assert find_method("__init__") is None
