"""What is done to jobs, and to servers for their sake, is told by the one history."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_events import CLUSTER, D, done, happened, is_sound
from listings import HOSTS, slurm, told
from queries import run_query
from sqlalchemy import Connection, Engine, select, text

import trninv
from archives import run as archived
from conftest import Databases, Run, examples, services
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import ConflictError, InvalidArgumentError, TrninvError
from trninv.graphql.document_request import Request
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.events import list_events
from trninv.inventory.state import hash_chain
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.inventory.transfer import copy_database
from trninv.placement.allocations import job_allocations, server_cordons
from trninv.placement.allocations.plan_revision import plan_revision
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.move_jobs import move_jobs
from trninv.placement.changes.release import release
from trninv.placement.changes.uncordon import uncordon
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions.make_room import JobMove
from trninv.reports.query_compiler import compile_query

pytestmark = pytest.mark.slow_on_postgresql


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened_:
        yield opened_


def asked(of: Fleet, query: str) -> list[tuple[Any, ...]]:
    with of.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def moved(connection: Connection, job: str, to: str, chips: int, why: str = "") -> None:
    key = connection.scalar(select(TABLES["cluster"].c.id).where(TABLES["cluster"].c.slug == CLUSTER))
    assert key
    going = JobMove(job, chips, (), (to,), must_stop=False)
    move_jobs(connection, CLUSTER, [going], plan_revision(connection, key), who="mover", why=why)


def test_each_is_told_once_with_who_and_why(own: Fleet) -> None:
    own.allocate("a", [f"{D}/s0/c0-3", f"{D}/s0/c8"], who="ann", why="first run", spares=[f"{D}/s1"])
    own.allocate("b", [f"{D}/s2/c7"], who="bob")
    own.cordon([D], who="ann", why="firmware")
    own.uncordon([f"{D}/s3"], who="eve")
    with write_transaction(own.engine) as connection:
        set_state(connection, [f"{D}/s2/c0"], Condition.from_user("down"), why="broke", who="eve")
        moved(connection, "b", f"{D}/s3/c0", 1, "room")
        release(connection, "b", who="bob", why="done", source="api")
    own.release("a")
    found = happened(own)
    assert done(found) == [
        ("allocate", "a", D),
        ("allocate", "b", f"{D}/s2/c7"),
        *(("cordon", None, f"{D}/s{server}") for server in range(4)),
        ("uncordon", None, f"{D}/s3"),
        (None, None, f"{D}/s2/c0"),
        ("move", "b", f"{D}/s2/c7"),
        ("move", "b", f"{D}/s3/c0"),
        ("release", "b", f"{D}/s3/c0"),
        ("release", "a", D),
    ]
    assert [each.event for each in found] == list(range(1, 13))
    assert [each.batch for each in found] == [1, 2, 3, 3, 3, 3, 7, 8, 9, 9, 11, 12]
    assert [(each.who, each.why) for each in (found[0], found[2], found[8], found[10], found[11])] == [
        ("ann", "first run"),
        ("ann", "firmware"),
        ("mover", "room"),
        ("bob", "done"),
        ("unknown", ""),
    ]
    assert {each.source for each in found} == {"command", "api"}
    assert {(each.kind, each.before, each.after) for each in found if each.action} == {(None, None, None)}
    is_sound(own.engine)


def test_what_changes_nothing_leaves_none_and_what_is_refused_nothing_at_all(own: Fleet) -> None:
    own.allocate("a", [f"{D}/s0"], who="ann")
    own.allocate("a", [f"{D}/s0"], who="bob")
    with write_transaction(own.engine) as connection:
        with pytest.raises(ConflictError, match="is allocated to job a"):
            allocate(connection, "b", [f"{D}/s1", f"{D}/s0/c3"], who="bob")
        with pytest.raises(InvalidArgumentError, match="source 'magic'"):
            allocate(connection, "b", [f"{D}/s1"], who="bob", source="magic")
        allocate(connection, "c", [f"{D}/s1"], who="bob")
    own.release("c")
    own.release("c")
    assert own.uncordon([D]) == []
    assert done(happened(own)) == [
        ("allocate", "a", f"{D}/s0"),
        ("allocate", "c", f"{D}/s1"),
        ("release", "c", f"{D}/s1"),
    ]
    is_sound(own.engine)


def test_plain_sql_leaves_them_too(own: Fleet) -> None:
    with own.engine.begin() as connection:
        cluster = connection.scalar(text(f"SELECT id FROM cluster WHERE slug = '{CLUSTER}'"))
        server = connection.scalar(text("SELECT min(id) FROM server WHERE domain_id IN (SELECT id FROM domain "
                                        f"WHERE cluster_id = {cluster})"))  # fmt: skip
        began = f"7, {cluster}, 'by hand', 'x', '7', '2026-01-01T00:00:00+00:00', 0, 'me'"
        connection.execute(
            text(
                f"INSERT INTO job (id, cluster_id, name, system, external_id, started_at, pinned, who) VALUES ({began})"
            )
        )
        connection.execute(text("UPDATE job SET pinned = 1"))
        connection.execute(text("UPDATE job SET ended_at = '2026-01-02T00:00:00+00:00'"))
        connection.execute(text(f"INSERT INTO cordon VALUES (1, {server}, '2026', NULL, 'me', 'fw')"))
        connection.execute(text("UPDATE cordon SET ended_at = '2027'"))
    found = happened(own)
    expected = [("allocate", "by hand", CLUSTER), ("release", "by hand", CLUSTER)]
    assert done(found) == [*expected, ("cordon", None, f"{D}/s0"), ("uncordon", None, f"{D}/s0")]
    assert {(each.source, each.why) for each in found} == {("sql", "plain SQL")}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("hold"), st.sampled_from("abc"), st.integers(0, 15), st.sampled_from([1, 2, 4, 17])),
        st.tuples(st.just("release"), st.sampled_from("abc")),
        st.tuples(st.just("move"), st.sampled_from("abc"), st.integers(0, 15)),
        st.tuples(st.sampled_from(["close", "open"]), st.integers(0, 3)),
        st.tuples(st.just("set"), st.integers(0, 15), st.sampled_from(["down", "up"])),
    ),
    max_size=25,
)


def _step(connection: Connection, action: str, *given: Any) -> None:
    chips = [f"{D}/s{at // 16}/c{at % 16}" for at in range(64)]
    match action, given:
        case "hold", (job, at, count):
            allocate(connection, job, chips[at : at + count], who="me")
        case "release", (job,):
            release(connection, job, who="me")
        case "move", (job, at):
            held = next(each for each in job_allocations.list_jobs(connection, None, 10) if each.name == job)
            to = JobMove(job, held.chips, (), tuple(chips[at + 16 : at + 16 + held.chips]), must_stop=False)
            cluster = connection.scalar(select(TABLES["job"].c.cluster_id).where(TABLES["job"].c.id == held.key))
            assert cluster
            move_jobs(connection, CLUSTER, [to], plan_revision(connection, cluster), who="me")
        case "close", (server,):
            cordon(connection, [f"{D}/s{server}"], who="me", why="x")
        case "open", (server,):
            uncordon(connection, [f"{D}/s{server}"], who="me")
        case "set", (at, state):
            set_state(connection, [chips[at]], Condition.from_user(state), why="x", who="me")


@examples(60)
@given(steps=STEPS)
def test_the_events_tell_who_holds_what_and_what_is_closed(lite_steps: Engine, steps: list[tuple[Any, ...]]) -> None:
    """Replayed, they end in what the tables have; and the events of a place are those of the jobs that were there."""
    with write_transaction(lite_steps) as connection, connection.begin_nested() as nothing:
        first = hash_chain.verify_chain(connection).events
        for each in steps:
            with suppress(TrninvError, StopIteration):
                _step(connection, *each)
        found = happened(connection, after=first)
        live, closed = dict[str, list[str]](), set[str]()
        for event in found[::-1]:
            assert event.batch
            match event.action, event.job:
                case "allocate" | "move" as action, str(job):
                    live[job] = [*(live.get(job, []) if action == "move" else []), event.address]
                case "release", str(job):
                    live.pop(job)
                case "cordon", None:
                    closed.add(event.address)
                case "uncordon", None:
                    closed.remove(event.address)
        jobs = job_allocations.list_jobs(connection, None, 10)
        assert {job.name for job in jobs} == live.keys()
        assert {each.server for each in server_cordons.list_cordons(connection, 10)} == closed
        for place in (D, f"{D}/s0", f"{D}/s1", f"{D}/s1/c3", f"{CLUSTER}/r0"):
            here = {job.name for job in job_allocations.list_jobs(connection, place, 100, include_ended=True)}
            assert {each.job for each in list_events(connection, place, limit=1_000) if each.job} == here
        assert hash_chain.verify_chain(connection).broken is None
        nothing.rollback()


@pytest.fixture(scope="module")
def lite_steps(databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.seeded("sqlite")) as engine:
        yield engine


def test_an_import_is_one_change_and_a_move_is_told_of_both_places(own: Fleet) -> None:
    with write_transaction(own.engine) as connection:
        told(connection, {"jobs": [slurm(1, HOSTS[0]), slurm(2, HOSTS[1]), slurm(3, f"{HOSTS[2]},{HOSTS[3]}")]})
    with write_transaction(own.engine) as connection:
        told(connection, {"jobs": [slurm(1, HOSTS[0]), slurm(2, HOSTS[2])]})
    found = happened(own)
    assert done(found) == [
        ("allocate", "job1", f"{D}/s0"),
        ("allocate", "job2", f"{D}/s1"),
        ("allocate", "job3", D),
        ("release", "job3", D),
        ("move", "job2", f"{D}/s1"),
        ("move", "job2", f"{D}/s2"),
    ]
    assert [(each.batch, each.who, each.source) for each in found] == [(1, "slurm", "import")] * 3 + [
        (4, "slurm", "import")
    ] * 3
    (job,) = (each for each in own.jobs() if each.name == "job2")
    assert job.moved_at
    assert job.moved_at >= job.started_at
    assert asked(own, "SELECT moved_at FROM v_job WHERE name = 'job2'") == [(job.moved_at,)]
    assert [each.name for each in own.at(3).jobs() if each.moved_at] == []
    is_sound(own.engine)


def test_a_move_says_which_place_the_job_left(own: Fleet, run: Run) -> None:
    with write_transaction(own.engine) as connection:
        told(connection, {"jobs": [slurm(1, HOSTS[0]), slurm(2, HOSTS[1])]})
    with write_transaction(own.engine) as connection:  # an import moves the job's row
        told(connection, {"jobs": [slurm(1, HOSTS[1]), slurm(2, HOSTS[0])]})
    own.allocate("b", [f"{D}/s2/c7"], who="bob")
    with write_transaction(own.engine) as connection:  # trninv ends the row and inserts another
        moved(connection, "b", f"{D}/s3/c0", 1)
    moves = [event for event in happened(own) if event.moved_from is not None]
    assert {(each.job, each.address, each.moved_from) for each in moves} == {
        ("job1", f"{D}/s0", True),
        ("job1", f"{D}/s1", False),
        ("job2", f"{D}/s1", True),
        ("job2", f"{D}/s0", False),
        ("b", f"{D}/s2/c7", True),
        ("b", f"{D}/s3/c0", False),
    }
    url = own.engine.url.render_as_string(hide_password=False)
    lines = run("events", "--job", "b", database=url)[1].splitlines()[2:]
    assert [line.split("  ")[-1] for line in lines] == ["moved to here: b", "moved from here: b", "allocate b"]
    listed = json.loads(run("events", "--job", "b", "--format", "json", database=url)[1])
    assert [(event["action"], event["movedFrom"]) for event in listed] == [
        ("move", False),
        ("move", True),
        ("allocate", None),
    ]


def test_where_a_job_was_and_when_it_had_moved_is_known_of_each_time(own: Fleet) -> None:
    for host in HOSTS[:3]:
        with write_transaction(own.engine) as connection:
            told(connection, {"jobs": [slurm(1, host)]})
    moves = [event for event in happened(own) if event.action == "move"]
    assert [each.event for each in moves] == [2, 3, 4, 5]
    ask = "SELECT job.place, v_job.moved_at FROM job JOIN v_job ON v_job.name = job.name"
    query = compile_query(ask, own.engine.dialect.name)
    seen = [list(run_query(own.at(number).engine, query, seconds=60).rows) for number in (1, 3, 5)]
    assert seen == [
        [(f"{D}/s0", None)],
        *([(f"{D}/s{server}", moves[2 * server - 1].at)] for server in (1, 2)),
    ]


def test_interfaces_agree(own: Fleet, run: Run) -> None:
    own.allocate("a", [f"{D}/s0", f"{D}/s1/c0"], who="ann", why="go <b>")
    with write_transaction(own.engine) as connection:
        set_state(connection, [f"{D}/s0"], Condition.from_user("down"), why="x", who="ann")
    own.cordon([f"{D}/s1"], who="ann", why="fw")
    own.release("a", who="ann")
    url = own.engine.url.render_as_string(hide_password=False)
    node = "event batch at who source kind action job movedFrom address before after why"
    api = services(own)["compiled"], services(own)["executed"]
    for scope in (None, D, f"{D}/s1", f"{D}/s0/c3", f"{CLUSTER}/r0", f"{D}/s2"):
        python = [each.to_json() for each in happened(own, scope)]
        of = f'scope: "{scope}", ' if scope else ""
        hidden = "filter: {cascaded: {eq: false}}, " if scope != f"{D}/s0/c3" else ""
        query = f"{{ events({of}{hidden}first: 100) {{ nodes {{ {node} }} }} }}"
        for each in api:
            answer = json.loads(asyncio.run(each.run(Request(query, {}), who="", scope="read")).body)
            nodes = answer["data"]["events"]["nodes"]
            for row in nodes:
                for name in ("source", "kind", "action", "before", "after"):
                    row[name] = row[name] and row[name].lower()
            assert nodes == [{name: row[name] for name in node.split()} for row in python], scope
        status, out, _ = run("events", *([scope] if scope else []), "--format", "json", database=url)
        assert (status, json.loads(out)[::-1]) == (0, python)
    assert {row["job"] for row in python} == {None} or python == []
    rows = asked(own, "SELECT event, action, job, state FROM v_event WHERE action IS NOT NULL ORDER BY event")
    told_ = [(each.event, each.action, each.job, None) for each in happened(own) if each.action]
    assert rows == told_
    assert [each.job for each in happened(own, job="a")] == ["a", "a"]
    assert done(happened(own, action="cordon")) == [("cordon", None, f"{D}/s1")]
    assert "last set" not in run("show", f"{D}/s1", database=url)[1]
    last = f'{{ resolve(address: "{D}/s1") {{ ... on Server {{ lastChange {{ event }} }} }} }}'
    answer = json.loads(asyncio.run(api[0].run(Request(last, {}), who="", scope="read")).body)
    assert answer["data"]["resolve"]["lastChange"] is None


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_they_go_into_the_archive_and_out_of_the_database(databases: Databases, kind: str, tmp_path: Path) -> None:
    with temporary_engine(databases.seeded(kind)) as engine:
        with engine.begin() as connection:
            said = {"id": 1, "at": "2026-01-01T12:00:00.000000+00:00", "who": "a", "why": "b", "source": "sql"}
            connection.execute(TABLES["_change"].insert().values(**said))
            connection.execute(text("UPDATE node SET state = 'down' WHERE id = 1"))
            cluster = connection.scalar(text("SELECT min(id) FROM cluster"))
            job = f"1, {cluster}, 'old', 'x', '7', '2026-01-01T00:00:00+00:00', 0, 'me'"
            names = "id, cluster_id, name, system, external_id, started_at, pinned, who"
            connection.execute(text(f"INSERT INTO job ({names}) VALUES ({job})"))
            connection.execute(TABLES["_change"].delete())
            hash_chain.seal_events(connection)
        with write_transaction(engine) as connection:
            release(connection, "x:7")
        archived(engine, tmp_path, "2026-01-05T00:00:00+00:00")
        with open_for_writing(tmp_path) as store:
            assert prune_events(engine, store, "me").events == 2
        is_sound(engine)
        assert [(each.action, each.job) for each in happened(engine)] == [("release", "old")]


def test_a_copy_of_a_database_has_them_once(databases: Databases) -> None:
    for one, other in (("sqlite", "postgresql"), ("postgresql", "sqlite")):
        with temporary_engine(databases.seeded(one)) as source, temporary_engine(databases.migrated(other)) as target:
            with write_transaction(source) as connection:
                allocate(connection, "a", [f"{D}/s1"], who="me")
                cordon(connection, [f"{D}/s2"], who="me", why="x")
            with read_transaction(source) as here, write_transaction(target) as there:
                copy_database(here, there)
            assert done(happened(target)) == done(happened(source))
            with write_transaction(target) as connection:
                release(connection, "a")
            is_sound(target)


def test_a_job_on_a_rack_is_where_its_chips_are(own: Fleet) -> None:
    own.allocate("a", [f"{CLUSTER}/r0"], who="ann")
    own.release("a")
    assert done(happened(own)) == [("allocate", "a", D), ("release", "a", D)]
    for place in (D, f"{D}/s0", f"{D}/s0/c15", f"{CLUSTER}/r0"):
        assert done(happened(own, place)) == done(happened(own))


def test_what_is_begun_again_by_plain_sql_is_told(own: Fleet) -> None:
    own.allocate("a", [f"{D}/s0"], who="ann")
    own.cordon([f"{D}/s1"], who="ann", why="fw")
    with own.engine.begin() as connection:
        for value in ("'2027-01-01T00:00:00+00:00'", "NULL"):
            connection.execute(text(f"UPDATE job SET ended_at = {value}"))
            connection.execute(text(f"UPDATE cordon SET ended_at = {value}"))
    assert done(happened(own))[2:] == [
        ("release", "a", f"{D}/s0"),
        ("uncordon", None, f"{D}/s1"),
        ("allocate", "a", f"{D}/s0"),
        ("cordon", None, f"{D}/s1"),
    ]
