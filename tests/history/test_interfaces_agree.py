"""As-of, incidents and availability of a random history: the command line, GraphQL, SQL and Python say the same."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lived import seed_two
from queries import run_query
from sqlalchemy import Connection, text, update

import trninv
from conftest import Ask, Databases, Run, both_ways, is_quick
from trninv.cli.output import encode
from trninv.database.engine import temporary_engine
from trninv.database.tables import STATES, TABLES
from trninv.inventory.address.lookup import resolve
from trninv.placement.placement_fleet import Fleet
from trninv.reports.query_compiler import compile_query

T0 = datetime(2026, 3, 1, 8, tzinfo=UTC)
U, T = "u-trn2x64", "trn2-16.48xlarge"
CHANGES = 20
PARTS = [
    *(f"{U}/d0/s{server}{chip}" for server in range(3) for chip in ("", "/c0", "/c5", "/c15", "/efa3")),
    *(f"{U}/d0/s{server}/c0--{U}/d0/s{server}/c1" for server in range(3)),
    *(f"{T}/d{domain}/s0{chip}" for domain in range(3) for chip in ("", "/c1", "/efa0")),
    f"{T}/fabric/t3/n0",
]
VIEWS = ("server", "chip", "nic", "network_node", "link")
INCIDENT = (
    "id rule severity place causes causeCount parts { kind state count } independentFailures startedAt who why source"
)


@dataclass(frozen=True)
class Lived:
    """A fleet with a history, how to ask it, and times of which something is known."""

    fleet: Fleet
    ask: Ask
    url: str
    times: list[datetime]

    def sql(self, query: str, at: datetime | None = None) -> list[tuple[Any, ...]]:
        engine = (self.fleet.at(at) if at else self.fleet).engine
        found = run_query(engine, compile_query(query, engine.dialect.name), seconds=60)
        assert not found.truncated
        return [tuple(row) for row in found.rows]


@pytest.fixture(
    scope="module",
    params=[
        ("sqlite", 1),
        *(pytest.param(each, marks=pytest.mark.slow) for each in (("postgresql", 2), ("sqlite", 3))),
    ],
    ids=str,
)
def lived(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Lived]:
    """Two clusters of which twenty random changes are known, some of several parts at once, minutes apart."""
    backend, seed = request.param
    dice, url = random.Random(seed), databases.copied(backend, seed_two)
    times = [T0]
    with temporary_engine(url) as engine:
        with engine.begin() as connection:
            connection.execute(text("UPDATE cluster SET known_since = :at"), {"at": _written(T0)})
        for number in range(CHANGES):
            times.append(times[-1] + timedelta(minutes=dice.randint(1, 9), microseconds=dice.randrange(10**6)))
            with engine.begin() as connection:
                _change(connection, dice, times[-1], f"change {number}")
    with trninv.open(url) as fleet:
        between = [time + timedelta(seconds=30) for time in dice.sample(times, 2 if is_quick() else 4)]
        yield Lived(fleet, both_ways(fleet), url, [*between, times[-1]])


def _change(connection: Connection, dice: random.Random, at: datetime, why: str) -> None:
    state, said = dice.choice([*STATES, "up"]), {"at": _written(at), "who": dice.choice(["ann", "bob"]), "why": why}
    by = "INSERT INTO _change (id, at, who, why, source) VALUES (1, :at, :who, :why, 'command')"
    connection.execute(text(by), said)
    for address in dice.sample(PARTS, dice.choice([1, 1, 3])):
        place = resolve(connection, address)
        table = TABLES[place.level if place.level in ("server", "link") else "node"]
        new = {"state": state, "factor_ppm": 250_000 if state == "degraded" else None}
        connection.execute(update(table).where(table.c.id == place.id).values(new))
    connection.execute(text("DELETE FROM _change"))


def _written(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


@pytest.mark.slow
def test_states_as_of_a_time(lived: Lived, run: Run) -> None:
    views = " UNION ALL ".join(f"SELECT address, state FROM v_{name} WHERE state <> 'up'" for name in VIEWS)
    fields = {"server": "servers", "chip": "chips", "nic": "nics", "network_node": "networkNodes", "link": "links"}
    lists = " ".join(
        f"{name}(first: 1000, filter: {{state: {{ne: UP}}}}) {{ nodes {{ address state }} }}"
        for name in fields.values()
    )
    seen = set[int]()
    for at in lived.times:
        sql = sorted(lived.sql(views, at))
        _, out, _ = run(
            "report", "unhealthy", "--at", _written(at), "--limit", "1000", "--format", "json", database=lived.url
        )
        assert sorted((row["address"], row["state"]) for row in json.loads(out)["rows"]) == sql
        data = lived.ask(
            f'{{ asOf(time: "{_written(at)}") {{ {lists} memoryPool(scope: "{U}/d0/s3/c0") {{ chips }} }} }}'
        )["data"]["asOf"]
        nodes = [node for name in fields.values() for node in data[name]["nodes"]]
        assert sorted((node["address"], node["state"].lower()) for node in nodes) == sql
        then = lived.fleet.at(at)
        members = [(member.address, member.condition.state) for each in then.incidents() for member in each.members]
        assert sorted(members) == sql
        _, out, _ = run("pool", f"{U}/d0/s3/c0", "--at", _written(at), "--format", "json", database=lived.url)
        chips = then.memory_pool(f"{U}/d0/s3/c0").chips
        assert chips == json.loads(out)["chips"] == data["memoryPool"]["chips"]
        seen.add(len(sql))
    assert len(seen) > 1


@pytest.mark.slow
def test_incidents_as_of_a_time(lived: Lived, run: Run) -> None:
    query = "SELECT address, kind, state, change FROM v_unhealthy"
    for at in lived.times:
        python = lived.fleet.at(at).incidents()
        written = [encode(each) for each in python]
        _, out, _ = run("incidents", "--at", _written(at), "--format", "json", database=lived.url)
        assert json.loads(out) == written
        data = lived.ask(
            f'{{ asOf(time: "{_written(at)}") {{ incidents(first: 100) {{ totalCount nodes {{ {INCIDENT} }} }} }} }}'
        )
        found = data["data"]["asOf"]["incidents"]
        assert found["totalCount"] == len(python)
        assert found["nodes"] == [{name: each[name] for name in found["nodes"][0]} for each in written]
        rows = {address: row for address, *row in lived.sql(query, at)}
        when = dict(lived.sql("SELECT event, at FROM v_event", at))
        assert sorted(rows) == sorted(member.address for each in python for member in each.members)
        for each in python:
            ours = [rows[member.address] for member in each.members]
            counted = Counter((kind, state) for kind, state, _ in ours)
            assert counted == {(part.kind, part.state): part.count for part in each.parts}
            first = min(change for *_, change in ours)
            assert (str(first), when[first]) == (each.id, each.started_at)


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [U, T])
def test_availability(lived: Lived, run: Run, cluster: str) -> None:
    events = lived.sql(
        f"SELECT kind, address, at, until, before, state FROM v_event WHERE address LIKE '{cluster}/%' ORDER BY event"
    )
    for since, until in ((T0, lived.times[-1]), sorted(lived.times[:2])):
        python = lived.fleet.availability(cluster, _written(since), _written(until))
        times = "--since", _written(since), "--until", _written(until)
        _, out, _ = run("availability", cluster, *times, "--format", "json", database=lived.url)
        assert json.loads(out)["kinds"] == encode(python)["kinds"]
        field = f'availability(scope: "{cluster}", since: "{_written(since)}", until: "{_written(until)}")'
        shares = "kind parts up degraded down maintenance failures repairs ongoing"
        data = lived.ask(f"{{ {field} {{ kinds {{ {shares} mtbf {{ seconds lower }} mttr {{ seconds }} }} }} }}")[
            "data"
        ]
        for graphql, kind in zip(data["availability"]["kinds"], encode(python)["kinds"], strict=True):
            assert graphql == {name: kind[name] for name in graphql if name not in ("mtbf", "mttr")} | {
                "mtbf": {name: kind["mtbf"][name] for name in ("seconds", "lower")},
                "mttr": {"seconds": kind["mttr"]["seconds"]},
            }
        for kind in python.kinds:
            ours = [row for row in events if row[0] == kind.kind]
            ((parts,),) = lived.sql(f"SELECT count(*) FROM v_{kind.kind} WHERE cluster = '{cluster}'")
            spent = Counter[str]()
            for *_, at, ended, _, state in ours:
                spent[state] += max(_span(max(at, _written(since)), min(ended or _written(until), _written(until))), 0)
            whole = parts * (until - since) / timedelta(microseconds=1)
            for state in ("degraded", "down", "maintenance"):
                assert getattr(kind, state) == pytest.approx(spent[state] / whole, rel=1e-12)
            assert kind.parts == parts
            if kind.kind in (
                "server",
                "link",
            ):  # of what is in a server, v_event has what the server leaves of its state
                down = [row for row in ours if _written(since) < row[2] <= _written(until) and "down" in row[4:]]
                assert (kind.failures, kind.repairs) == (
                    sum(state == "down" != before for *_, before, state in down),
                    sum(before == "down" != state for *_, before, state in down),
                )


def _span(since: str, until: str) -> int:
    return (datetime.fromisoformat(until) - datetime.fromisoformat(since)) // timedelta(microseconds=1)
