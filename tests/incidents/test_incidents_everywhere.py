"""Incidents on the command line, in GraphQL, SQL and Python are the same, now and at a time."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert

import trninv
from conftest import Databases, Run, both_ways
from trninv.cli.output import encode
from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES
from trninv.incidents import impact
from trninv.incidents.model import Incident
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state.bindings import ProposedBinding, bind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql

T = "trn2-16.48xlarge/d0/s0"
HOSTILE = "<script>alert(1)</script> '; DROP TABLE node; -- %s {{ why }} \u202e\x1b[2J \N{CROSS MARK}"
DOCUMENT = """query ($scope: Address) { incidents(scope: $scope, first: 2) { totalCount nodes {
    id rule severity place causes causeCount parts { kind state count } independentFailures startedAt who why source
    lastChange { event time who why source } instances { server instance host } findings { id rule address observed }
    truncated chipsLost bandwidthLost { ...r } jobs jobCount notes { incident writtenAt who source text }
    impact { chips cores memory { bytes gibibytes } jobs { name system externalId chips affectedChips who }
    jobCount reservations { name kind fromAt untilAt hasBegun chips affectedChips }
        domains { domain chipsBefore chipsNow poolBefore { bytes gibibytes } poolNow { bytes gibibytes }
            bisectionBefore { ...b } bisectionNow { ...b } idleLinksBefore idleLinksNow incomparable
            allGatherBefore { ...b } allGatherNow { ...b } }
        domainCount truncated } } } }
    fragment b on Bounds { lower { ...r } upper { ...r } exact }
    fragment r on Bandwidth { bytesPerSecond gigabytesPerSecond gigabitsPerSecond }"""


def _set(fleet: Fleet, why: str, state: str, *addresses: str) -> None:
    with write_transaction(fleet.engine) as connection:
        set_state(connection, addresses, Condition.from_user(state), why=why, who="anna", source="api")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def broken(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    """A chip of a job that drift found missing is down with a link of it; something else is in maintenance."""
    with trninv.open(databases.seeded(request.param)) as fleet:
        fleet.allocate("train-7b", [T], who="anna")
        with write_transaction(fleet.engine) as connection:
            place = resolve_place(connection, T)
            bind(
                connection, [ProposedBinding(place.id, place.address, "i-0a", "n0", "pin", "certain", None)], who="anna"
            )
            seen = dict.fromkeys(("first_seen", "last_seen"), "2020-01-01T00:00:00+00:00")
            found = {"rule": "chip-missing", "severity": "high", "address": f"{T}/c5", "observed": "not there"}
            connection.execute(insert(TABLES["finding"]).values(id=7, **found, **seen))
        _set(fleet, HOSTILE, "down", f"{T}/c5")
        _set(fleet, "its end is gone", "down", f"{T}/c4--{T}/c5")
        _set(fleet, "new firmware", "maintenance", "trn1.2xlarge/d0/s0")
        fleet.note_incident("2", HOSTILE.replace("\x1b", "").replace("\u202e", ""), who="bob")
        yield fleet


def _url(fleet: Fleet) -> str:
    return fleet.engine.url.render_as_string(hide_password=False)


def _encoded(fleet: Fleet, found: list[Incident]) -> list[Any]:
    return [encode(each) | {"impact": encode(fleet.impact(each))} for each in found]


def test_the_command_graphql_and_python_agree(broken: Fleet, run: Run) -> None:
    python = _encoded(broken, broken.incidents())
    _, out, _ = run("incidents", "--impact", "--format", "json", database=_url(broken))
    assert json.loads(out) == python
    data = both_ways(broken)(DOCUMENT)["data"]["incidents"]
    assert data["nodes"] == python
    chip, server = python
    assert (chip["rule"], chip["severity"], chip["place"], chip["why"]) == ("END", "HIGH", f"{T}/c5", HOSTILE)
    assert chip["instances"] == [{"server": T, "instance": "i-0a", "host": "n0"}]
    assert chip["findings"] == [{"id": 7, "rule": "chip-missing", "address": f"{T}/c5", "observed": "not there"}]
    assert chip["lastChange"]["why"] == "its end is gone"
    assert (chip["chipsLost"], chip["jobs"], [note["who"] for note in chip["notes"]]) == (1, ["train-7b"], ["bob"])
    (job,) = chip["impact"]["jobs"]
    assert (job["name"], job["chips"], job["affectedChips"]) == ("train-7b", 16, 1)
    assert job["who"] == "anna"
    assert (chip["impact"]["chips"], chip["impact"]["memory"]["gibibytes"]) == (1, 96.0)
    (domain,) = chip["impact"]["domains"]
    assert (domain["chipsBefore"], domain["chipsNow"]) == (16, 15)
    assert domain["incomparable"] == "15 chips are halved instead of 16"
    healthy, now = broken.at(0), broken
    for name, fleet in (("Before", healthy), ("Now", now)):
        split, gathered = fleet.bisection(T), fleet.collectives(T).all_gather
        assert domain[f"bisection{name}"]["upper"] == encode(split.upper)
        assert domain[f"allGather{name}"]["upper"] == encode(gathered.upper)
        assert domain[f"pool{name}"] == encode(fleet.memory_pool(f"{T}/c0").memory)
    assert (server["rule"], server["severity"], server["impact"]["jobs"]) == ("CONTAINMENT", "INFO", [])


def test_at_a_time_they_are_as_they_were(broken: Fleet, run: Run) -> None:
    """The link was up; drift and the instance were there, and the job held its chips."""
    then = broken.at(2)
    (one,) = then.incidents()
    assert (one.rule.name, one.parts[0].count, [each.id for each in one.findings]) == ("SINGLE", 1, [7])
    _, out, _ = run("incidents", "--at", "2", "--impact", "--format", "json", database=_url(broken))
    assert json.loads(out) == _encoded(then, [one])
    asked = both_ways(broken)('{ asOf(time: "2") { incidents { nodes { id rule causes } } } }')
    assert asked["data"]["asOf"]["incidents"]["nodes"] == [{"id": "2", "rule": "SINGLE", "causes": [f"{T}/c5"]}]
    assert broken.at(1).incidents() == []
    status, out, _ = run("incidents", "--at", "1", database=_url(broken))
    assert status == 0
    assert out.startswith("everything is up; 1 high finding of drift on parts that are up: ")  # it was found before


def test_reports_say_why_who_and_since(broken: Fleet, run: Run) -> None:
    found = broken.incidents()
    _, out, _ = run("report", "unhealthy", "--format", "json", database=_url(broken))
    rows = {row["address"]: row for row in json.loads(out)["rows"]}
    assert sorted(rows) == sorted(part.address for each in found for part in each.members)
    assert rows[f"{T}/c5"] == {
        "kind": "chip",
        "address": f"{T}/c5",
        "state": "down",
        "factor": None,
        "since": found[0].started_at,
        "who": "anna",
        "why": HOSTILE,
        "cause": f"{T}/c5",
        "change": int(found[0].id),
    }
    ours = "--set", "cluster=trn2-16.48xlarge", "--format", "json"
    _, out, _ = run("report", "incidents", *ours, database=_url(broken))
    (row,) = json.loads(out)["rows"]
    assert (row["change"], row["since"], row["who"], row["why"]) == (
        *(int(found[0].id), found[0].started_at, found[0].who, found[0].why),
    )
    assert (row["causes"], row["parts"], row["first_cause"]) == (1, 2, f"{T}/c5")


def test_a_terminal_obeys_no_reason(broken: Fleet, run: Run) -> None:
    _, out, _ = run("incidents", "--impact", database=_url(broken))
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert f"{T}/c5 (i-0a, n0)" in out
    assert "  job train-7b (anna): 1 of its 16 chips" in out
    shown = json.loads(run("show", f"{T}/c5", "--format", "json", database=_url(broken))[1])["attributes"]
    assert (shown["instance"], shown["host"]) == ("i-0a", "n0")


def test_the_instances_of_several_causes_are_listed_with_the_impact(databases: Databases, run: Run) -> None:
    url = databases.seeded("sqlite")
    for server in range(2):
        run("bind", f"u-trn2x64/d0/s{server}", f"i-{server}", database=url)
    run("set", "u-trn2x64/d0/s0", "u-trn2x64/d0/s1", "down", "--why", "shelf", database=url)
    assert "(i-0)" not in run("incidents", database=url)[1]
    listed = "  instances: u-trn2x64/d0/s0 (i-0), u-trn2x64/d0/s1 (i-1)\n"
    assert listed in run("incidents", "--impact", database=url)[1]


def test_a_document_of_many_impacts_is_too_dear(broken: Fleet) -> None:
    document = "{ incidents(first: 1000) { nodes { impact { chips } } } }"
    (told,) = both_ways(broken)(document)["errors"]
    assert told["extensions"]["code"] == "COST_LIMIT"


def test_of_many_domains_the_first_are_solved(databases: Databases, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is said that others were left out."""
    monkeypatch.setattr(impact, "MAX_DOMAINS", 1)
    with trninv.open(databases.seeded("sqlite")) as fleet:
        _set(fleet, "a test", "down", "trn1.2xlarge/d0/s0/c0", "trn3-gen1/d0/sw0")
        (one,) = fleet.incidents()
        cost = fleet.impact(one)
        assert (one.rule.name, one.place, one.causes[0]) == ("CHANGE", None, "trn1.2xlarge/d0/s0/c0")
        assert (len(cost.domains), cost.domain_count, cost.truncated) == (1, 2, True)
        assert "  omitted: 1 of 2 domains, 0 of 0 jobs" in run("incidents", "--impact", database=_url(fleet))[1]
