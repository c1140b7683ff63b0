"""Clusters seeded one after the other: an earlier moment has those that were known then, and nothing of the others."""

import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from queries import run_query
from sqlalchemy import func, select, text
from starlette.testclient import TestClient

import trninv
from conftest import Databases, Run, both_ways
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.database.tables import STATES, TABLES
from trninv.errors import InvalidTimeError
from trninv.history.events import last_event_number
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.reports.query_compiler import compile_query
from trninv.reports.report_library import find_report
from trninv.routing.cluster_overview import read_overview
from trninv.routing.fleet import BaseFleet
from trninv.service.application import create_app

NAMES = ("trn1.32xlarge", "trn1.2xlarge", "trn2-16.48xlarge")
OF_CLUSTERS = (
    *("cluster", "domain", "rack", "server", "tray", "node", "chip", "switch", "nic", "network_node", "core", "link"),
)


@pytest.fixture(params=["sqlite", "postgresql"])
def grown(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """A fleet without clusters."""
    url = databases.migrated(request.param)
    with trninv.open(url) as fleet:
        yield fleet
    databases.drop(url)


def _seed(fleet: BaseFleet, name: str) -> None:
    with write_transaction(fleet.engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get(name))


def _set(fleet: BaseFleet, address: str, state: str) -> None:
    factor = 0.5 if state == "degraded" else None
    with write_transaction(fleet.engine) as connection:
        set_state(connection, [address], Condition.from_user(state, factor), why="chance", who="dice")


def _step(fleet: BaseFleet, known: list[str], left: list[str], dice: random.Random) -> None:
    if left and (not known or dice.random() < 0.4):
        known.append(left.pop(dice.randrange(len(left))))
        _seed(fleet, known[-1])
        return
    server = f"{dice.choice(known)}/d0/s0"
    _set(fleet, dice.choice([server, f"{server}/c0", f"{server}/efa0"]), dice.choice(STATES))
    if dice.random() < 0.5:
        with fleet.engine.begin() as connection:
            connection.execute(text(f"UPDATE link SET state = '{dice.choice(['up', 'down'])}' WHERE id % 13 = 5"))


def _answers(present: BaseFleet, known: list[str], at: str | None = None) -> dict[str, Any]:
    """Lists of everything, and of each cluster that is known a picture, a pool, a list and a report."""
    fleet = present if at is None else present.at(at)
    dialect, found = fleet.engine.dialect.name, dict[str, Any]()
    with fleet.connect() as connection:
        for name in OF_CLUSTERS:
            found[name] = connection.scalar(select(func.count()).select_from(TABLES[name]))
        for slug in known:
            found[f"/chips/{slug}"] = read_overview(connection, slug).to_bytes()
    lists = ["clusters { totalCount nodes { address } }"]
    for slug in known:
        found[f"pool of {slug}"] = fleet.memory_pool(f"{slug}/d0/s0/c0")
        narrow = f'filter: {{cluster: {{eq: "{slug}"}}, state: {{in: [DEGRADED, DOWN, MAINTENANCE]}}}}'
        name = re.sub(r"\W", "_", slug)
        lists += (
            f"{of}_{name}: {of}({narrow}) {{ totalCount nodes {{ address state }} }}" for of in ("chips", "links")
        )
    document = " ".join(lists)
    asked = both_ways(present)(f"{{ {document} }}" if at is None else f'{{ asOf(time: "{at}") {{ {document} }} }}')
    assert asked["errors"] == []
    found["lists"] = asked["data"] if at is None else asked["data"]["asOf"]
    views = ("v_cluster", "v_domain", "v_rack", "v_server", "v_chip")
    every = " UNION ALL ".join(f"SELECT '{view}' AS view, address FROM {view}" for view in views)
    reports = find_report("capacity").sql(dialect, {}), find_report("unhealthy").sql(dialect, {"cluster": known[0]})
    for sql in (compile_query(f"{every} ORDER BY 1, 2", dialect), *reports):
        found[sql] = run_query(fleet.engine, sql, seconds=60).rows
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_moment_is_a_database_that_was_stopped_then(grown: BaseFleet, seed: int) -> None:
    dice, known, left = random.Random(seed), list[str](), list(NAMES)
    kept = list[tuple[int, datetime, list[str], dict[str, Any]]]()
    while left or len(kept) < 6:
        _step(grown, known, left, dice)
        with grown.connect() as connection:
            event = last_event_number(connection)
        answers = _answers(grown, known)
        kept.append((event, datetime.now(UTC), [*known], answers))
    assert len({len(clusters) for _, _, clusters, _ in kept}) == len(NAMES)
    newest = {event: at for at, (event, *_) in enumerate(kept)}
    for at, (event, time, clusters, answers) in dice.sample(list(enumerate(kept)), 3):
        moment = str(event) if newest[event] == at and dice.random() < 0.5 else time.isoformat()
        found = _answers(grown, clusters, moment)
        assert {name: found[name] == answers[name] for name in answers} == dict.fromkeys(answers, True)
        for slug in set(NAMES) - set(clusters):
            with pytest.raises(InvalidTimeError, match=f"the history of {slug} starts at 20"):
                grown.at(moment).memory_pool(f"{slug}/d0/s0/c0")


@pytest.mark.slow_on_postgresql
def test_what_is_not_known_is_said(grown: BaseFleet, run: Run) -> None:
    nothing = datetime.now(UTC)
    _seed(grown, "trn1.32xlarge")
    _set(grown, "trn1.32xlarge/d0/s0/c0", "down")
    first = datetime.now(UTC).isoformat()
    _seed(grown, "trn1.2xlarge")
    with pytest.raises(InvalidTimeError, match=r"the history of trn1\.32xlarge starts at .*, from event 0 on"):
        grown.at(nothing)
    url = str(grown.engine.url.render_as_string(hide_password=False))
    status, out, err = run("report", "unhealthy", "--at", first, "--format", "json", database=url)
    assert (status, len(json.loads(out)["rows"])) == (0, 1)
    assert "omitted: the history of trn1.2xlarge starts at" in err
    for command in (["show", "trn1.2xlarge"], ["topology", "trn1.2xlarge", "--as", "slurm-nodes"]):
        status, _, err = run(*command, "--at", first, database=url)
        assert status == 2
        assert "the history of trn1.2xlarge starts at" in err
    assert "omitted" not in run("show", "trn1.32xlarge", "--at", first, database=url)[2]
    with TestClient(create_app(url), base_url="http://127.0.0.1") as client:
        assert client.get("/chips/trn1.32xlarge", params={"at": first}).status_code == 200
        refused = client.get("/chips/trn1.2xlarge", params={"at": first})
        assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (400, "BAD_TIME")
        found = client.post("/graphql", json={"query": "{ clusters { nodes { address } } }", "at": first}).json()
        assert found["data"] == {"clusters": {"nodes": [{"address": "trn1.32xlarge"}]}}
        since = err.partition("trn1.2xlarge starts at ")[2].partition(", from event")[0]
        left_out = {"cluster": "trn1.2xlarge", "knownSince": since}
        assert found["extensions"]["omittedClusters"] == [{"path": [], **left_out}]
        both = f'{{ then: asOf(time: "{first}") LIST later: asOf(time: "{datetime.now(UTC)}") LIST }}'
        found = client.post("/graphql", json={"query": both.replace("LIST", "{ chips { totalCount } }")}).json()
        assert found["data"] == {"then": {"chips": {"totalCount": 16}}, "later": {"chips": {"totalCount": 17}}}
        assert found["extensions"]["omittedClusters"] == [{"path": ["then"], **left_out}]
        narrow = '{ chips(filter: {cluster: {eq: "trn1.2xlarge"}}) { totalCount } }'
        found = client.post("/graphql", json={"query": both.replace("LIST", narrow)}).json()
        assert found["data"] == {"then": None, "later": {"chips": {"totalCount": 1}}}
        assert [(each["path"], each["extensions"]["code"]) for each in found["errors"]] == [
            (["then", "chips"], "BAD_TIME")
        ]
        assert found["errors"][0]["message"].startswith("the history of trn1.2xlarge starts at")
        for path in ("/reports/unhealthy.json", "/export/chip.csv"):
            assert client.get(path, params={"at": first}).headers["X-Omitted-Clusters"] == "trn1.2xlarge"
            assert "X-Omitted-Clusters" not in client.get(path).headers
    with pytest.raises(InvalidTimeError, match=r"trn1\.2xlarge starts at .*; name a later time, or another cluster"):
        grown.diff(first)
    assert grown.diff(first, scope="trn1.32xlarge").kinds == ()
    with pytest.raises(InvalidTimeError, match=r"trn1\.2xlarge starts at"):
        grown.diff(first, scope="trn1.2xlarge")
