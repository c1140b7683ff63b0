"""What incidents take away, and the order of incidents that follows from it."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from adopting import keep
from past_changes import change
from seen import nodes
from sqlalchemy import text

import trninv
from conftest import BACKENDS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.placement.placement_fleet import Fleet
from trninv.reconcile.adoption import adopt

pytestmark = pytest.mark.slow_on_postgresql

U, G = "u-trn2x64/d0", "trn3-gen1/d0"


@pytest.fixture(params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    with trninv.open(databases.seeded(request.param)) as opened:
        yield opened


def fail(fleet: Fleet, state: str, *addresses: str, factor: float | None = None) -> None:
    fleet.set_state(addresses, state, factor=factor, who="tests", why="x")


def carried(fleet: Fleet) -> int:
    """The bandwidth of all NeuronLinks and EFA links now, from the view alone."""
    with fleet.connect() as connection:
        query = "SELECT sum(bandwidth_gb_per_s) FROM v_link WHERE scope <> 'host'"
        return round(10**9 * (connection.scalar(text(query)) or 0))


def test_the_worse_loss_ranks_higher_however_late_it_was(fleet: Fleet) -> None:
    fail(fleet, "down", f"{U}/s2")
    for chip in (f"{U}/s0/c0", f"{G}/s0/c0"):
        fail(fleet, "down", chip)
    fail(fleet, "down", "trn3-gen2/d0/sw37")
    fail(fleet, "maintenance", "trn2-16.48xlarge/d0/s0")
    places = [incident.place for incident in fleet.incidents()]
    assert places == ["trn3-gen2/d0/sw37", f"{U}/s2", f"{G}/s0/c0", f"{U}/s0/c0", "trn2-16.48xlarge/d0/s0"]
    assert [incident.chips_lost for incident in fleet.incidents()] == [0, 16, 1, 1, 16]
    assert [incident.severity.name for incident in fleet.incidents()] == ["HIGH", "HIGH", "MEDIUM", "MEDIUM", "INFO"]


C0 = f"{U}/s0/c0"
LINKS = [f"{C0}--{U}/s0/{chip}" for chip in ("c1", "c3", "c4", "c12")]
"""The links of a chip within its server: a fifth of its bandwidth each, and those to other servers a tenth."""
OUTWARD = [f"{C0}--{U}/{server}/c0" for server in ("s1", "s3")]


@pytest.mark.parametrize(
    ("state", "parts", "severity"),
    [
        ("down", [f"{U}/s0/c{chip}" for chip in range(4)], "HIGH"),
        ("down", [f"{U}/s0/c{chip}" for chip in range(3)], "MEDIUM"),
        ("maintenance", [f"{U}/s0"], "INFO"),
        ("down", [*LINKS, *OUTWARD], "MEDIUM"),
        ("down", [*LINKS, OUTWARD[0]], "LOW"),
        ("degraded", [C0], "LOW"),
    ],
)
@pytest.mark.parametrize("job", [False, True])
def test_severity_counts_chips_bandwidth_and_jobs(
    fleet: Fleet, state: str, parts: list[str], severity: str, *, job: bool
) -> None:
    """At each bound: four chips, one chip, and all of a chip's links or all but one."""
    if job:
        fleet.allocate("a", [C0], who="tests")
    fail(fleet, state, *parts, factor=0.5 if state == "degraded" else None)
    (incident,) = fleet.incidents()
    hit = {"MEDIUM": "HIGH", "LOW": "MEDIUM"}
    assert incident.severity.name == (hit.get(severity, severity) if job else severity)


@pytest.fixture(params=BACKENDS)
def mixed(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    """A Trn1, four Trn2, two Trn2 UltraServers and a Trn3 UltraServer, all of them up."""
    listed = nodes()
    partial = ('"cb-2"', '"cb-31"', '"trn1.2xlarge"')
    listed["items"] = [node for node in listed["items"] if not any(each in json.dumps(node) for each in partial)]
    url = databases.migrated(request.param)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        keep(connection, "kubernetes", listed)
        adopt(connection, default_catalog(), default_systems(), "prod")
    with trninv.open(url) as opened:
        yield opened


def bandwidth_by_domain(fleet: Fleet, condition: str) -> dict[str | None, int]:
    with fleet.connect() as connection:
        query = f"SELECT domain, sum(bandwidth_gb_per_s) FROM v_link WHERE scope <> 'host' AND {condition} GROUP BY 1"
        return {domain: round(10**9 * bandwidth) for domain, bandwidth in connection.execute(text(query))}


def test_bandwidth_is_measured_by_a_chip_of_its_own_domain(mixed: Fleet) -> None:
    """Whichever model was adopted first, now and when the incident has closed."""
    with mixed.connect() as connection:
        domains = list(connection.scalars(text("SELECT address FROM v_domain ORDER BY ordinal")))
        parts = {
            kind: list(connection.scalars(text(f"SELECT address FROM v_{kind} ORDER BY address")))
            for kind in ("chip", "link", "nic", "network_node", "switch")
        }
    measures = {
        domain: bandwidth_by_domain(mixed, f"'{domain}/s0/c0' IN (a, b) AND scope <> 'fabric'")[domain]
        for domain in domains
    }
    assert list(dict.fromkeys(measures.values())) == [each * 10**9 for each in (192, 512, 640, 704)]
    measures_with_fabric: dict[str | None, int] = measures | {None: max(measures.values())}
    chosen, severities = random.Random(7), set[str]()
    cases = [["prod/d1/s0/c0", "prod/d1/s0/c1"]]
    cases += [chosen.sample(parts[kind], chosen.randint(1, 5)) for kind in parts for _ in range(2)]
    for number, failed in enumerate(cases):
        at = datetime(2026, 1, 1 + number, tzinfo=UTC)  # else failures in a rack would be of one incident
        before = bandwidth_by_domain(mixed, "true")
        change(mixed, at, "down", *failed)
        now = bandwidth_by_domain(mixed, "true")
        lost = defaultdict[int, int](int)
        for domain, bandwidth in before.items():
            lost[measures_with_fabric[domain]] += bandwidth - now.get(domain, 0)
        worth = sum(1_000 * bandwidth // measure for measure, bandwidth in lost.items())
        (incident,) = mixed.incidents()
        assert incident.millichips == max(worth, 1_000 * incident.chips_lost), failed
        expected = ("LOW", "MEDIUM", "MEDIUM", "MEDIUM", "HIGH")[min(incident.millichips // 1_000, 4)]
        assert incident.severity.name == expected, failed
        severities.add(expected)
        change(mixed, at, "up", *failed)
        assert mixed.closed_incidents()[0].severity.name == expected, failed
    assert severities == {"LOW", "MEDIUM", "HIGH"}


def test_what_is_in_maintenance_is_planned(fleet: Fleet) -> None:
    """One incident, of which only a NIC failed."""
    fail(fleet, "down", f"{U}/s0/efa3")
    fail(fleet, "maintenance", f"{U}/s0")
    (incident,) = fleet.incidents()
    assert (incident.severity.name, incident.chips_lost) == ("LOW", 16)


def test_each_link_counts_once(fleet: Fleet) -> None:
    before = carried(fleet)
    fail(fleet, "down", f"{U}/s2")
    (server,) = fleet.incidents()
    assert server.bandwidth_lost == before - carried(fleet) == 6_144 * 10**9
    fail(fleet, "down", f"{U}/s1")  # with links to the other server
    fail(fleet, "degraded", "trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1", factor=0.25)
    fail(fleet, "degraded", f"{G}/sw0", factor=0.5)
    fail(fleet, "down", "trn2-16.48xlarge/d0/s0/efa0")
    assert sum(incident.bandwidth_lost for incident in fleet.incidents()) == before - carried(fleet)


def test_jobs_are_those_of_its_chips_and_at_its_links_switches_and_nics(fleet: Fleet) -> None:
    for name, place in (("a", f"{U}/s0"), ("b", f"{U}/s1"), ("c", f"{G}/s0"), ("d", "trn2-16.48xlarge/d0/s0")):
        fleet.allocate(name, [place], who="tests")
    fail(fleet, "down", f"{U}/s0/c0--{U}/s1/c0")
    fail(fleet, "down", f"{G}/sw0")
    fail(fleet, "down", "trn2-16.48xlarge/d0/s0/efa3")
    assert {incident.place: incident.jobs for incident in fleet.incidents()} == {
        f"{U}/s0/c0--{U}/s1/c0": ("a", "b"),
        f"{G}/sw0": ("c",),
        "trn2-16.48xlarge/d0/s0/efa3": ("d",),
    }
    moment = max(int(incident.id) for incident in fleet.incidents())
    fleet.release("a", who="tests")
    assert {job for incident in fleet.incidents() for job in incident.jobs} == {"b", "c", "d"}
    assert {job for incident in fleet.at(moment).incidents() for job in incident.jobs} == {"a", "b", "c", "d"}


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_a_job_that_an_incident_does_not_hit_is_as_fast_as_before(fleet: Fleet) -> None:
    """So a domain's lower limits concern only jobs of the incident, and those that start."""
    gen2 = "trn3-gen2/d0"
    jobs = {
        "half": [f"{U}/s0", f"{U}/s1"],
        "server": [f"{U}/s2"],
        "block": [f"{U}/s3/c0", f"{U}/s3/c1", f"{U}/s3/c4", f"{U}/s3/c5"],
        "left": [f"{gen2}/s0"],
        "both racks": [f"{gen2}/s1", f"{gen2}/s18"],
        "old": [f"{G}/s0"],
    }
    for name, places in jobs.items():
        fleet.allocate(name, places, who="tests")

    def limits() -> dict[str, object]:
        domains = {name: "/".join(places[0].split("/")[:2]) for name, places in jobs.items()}
        return {name: fleet.collectives(domains[name], chips=jobs[name]).all_gather for name in jobs}

    with fleet.connect() as connection:
        query = (
            f"SELECT address FROM v_{{}} WHERE address LIKE '{U}/%' OR address LIKE '{gen2}/%' OR address LIKE '{G}/%'"
        )
        parts = [
            address for kind in ("chip", "switch", "link") for address in connection.scalars(text(query.format(kind)))
        ]
    near = [part for part in parts if part.startswith(tuple(place for places in jobs.values() for place in places))]
    chosen, before, slower = random.Random(7), limits(), set[str]()
    for number in range(40):
        part = chosen.choice(near if number % 2 else parts)
        state = chosen.choice(["down", "degraded"])
        fail(fleet, state, part, factor=0.5 if state == "degraded" else None)
        hit = {job for incident in fleet.incidents() for job in incident.jobs}
        changed = {name for name, limit in limits().items() if limit != before[name]}
        assert changed <= hit, part
        slower |= changed
        fail(fleet, "up", part)
    assert slower, "some part matters"
