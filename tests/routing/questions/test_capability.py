"""What a domain can do before and after a change: a scenario, an incident and the other questions say the same."""

import pytest

import trninv
from conftest import BACKENDS, Databases, both_ways
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.placement_fleet import Fleet
from trninv.routing.questions.capability import CapabilityAnswer

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"
T = "trn2-16.48xlarge/d0"


def _numbers(answer: CapabilityAnswer) -> tuple[object, ...]:
    return answer.chips, answer.idle_links, answer.pool, answer.halves, answer.all_gather


@pytest.mark.parametrize(
    "down",
    [
        [f"{U}/s0/c3"],
        [f"{U}/s0/c3--{U}/s0/c7"],
        [f"{U}/s1"],
        [f"{U}/s1/efa2"],
        [f"{U}/s0/c3", f"{U}/s0/c3--{U}/s0/c7", f"{U}/s2/efa0"],
        [f"{T}/s0/c{ordinal}" for ordinal in range(16)],
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_incident_costs_what_its_scenario_said(databases: Databases, backend: str, down: list[str]) -> None:
    with trninv.open(databases.seeded(backend)) as fleet:
        domain = down[0].split("/s")[0]
        would = fleet.what_if(down).capability(domain)
        assert would.baseline is not None
        assert would.difference is not None
        with write_transaction(fleet.engine) as connection:
            set_state(connection, down, Condition("down"), why="a test", who="tests")
        assert _numbers(fleet.capability(domain)) == _numbers(would)
        (incident,) = fleet.incidents()
        (cost,) = fleet.impact(incident).domains
        assert (cost.chips_before, cost.chips_now) == (would.baseline.chips, would.chips)
        assert (cost.idle_links_before, cost.idle_links_now) == (would.baseline.idle_links, would.idle_links)
        assert (cost.pool_before, cost.pool_now) == (would.baseline.pool, would.pool)
        assert (cost.bisection_before, cost.bisection_now) == (would.baseline.halves, would.halves)
        assert (cost.all_gather_before, cost.all_gather_now) == (would.baseline.all_gather, would.all_gather)
        assert cost.incomparable == would.difference.incomparable
        idle = f'{{ links(filter: {{ domain: {{ eq: "{domain}" }}, bandwidth: {{ eq: {{ bytesPerSecond: "0" }} }} }}) '
        counted = both_ways(fleet)(f"{idle} {{ totalCount }} }}")["data"]["links"]["totalCount"]
        assert counted == would.idle_links


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_idle_links_of_a_server_are_those_that_its_incident_counts(databases: Databases, backend: str) -> None:
    """32 between its chips, 32 to other servers, and those of 16 NICs to chips and to the network."""
    url = databases.migrated(backend)
    with trninv.open(url) as fleet:
        with write_transaction(fleet.engine) as connection:
            system = default_systems().get("u-trn2x64").resized(16)
            cluster_seeding.seed(connection, default_catalog(), system, name="lab")
            set_state(connection, ["lab/d7/s2"], Condition("down"), why="a test", who="tests")
        (impact,) = fleet.impact(fleet.incidents()[0]).domains
        ends = 'domain: { eq: "lab/d7" }, address: { contains: "lab/d7/s2/" }'
        idle = f'{ends}, bandwidth: {{ eq: {{ bytesPerSecond: "0" }} }}'
        lists = (
            f"{name}: links(filter: {{ {tests} }}) {{ totalCount }}" for name, tests in (("all", ends), ("idle", idle))
        )
        links = both_ways(fleet)(f"{{ {' '.join(lists)} }}")["data"]
        assert impact.idle_links_now - impact.idle_links_before == links["idle"]["totalCount"] == 96
        assert links["all"]["totalCount"] == 96
    databases.drop(url)


def test_it_agrees_with_the_questions_it_sums_up(fleet: Fleet) -> None:
    one = fleet.what_if(f"{U}/s0/c0")
    able, half = one.capability(U), one.bisection(U)
    assert (able.halves.lower, able.halves.upper) == (half.lower, half.upper) == (1_984 * GB, 1_984 * GB)
    assert able.all_gather.upper == one.collectives(U).all_gather.upper
    assert able.pool == one.memory_pool(f"{U}/s1/c0").memory
    assert able.difference is not None
    assert half.difference is not None
    assert able.difference.bytes_per_second == half.difference.bytes_per_second == -64 * GB
    assert able.difference.incomparable == half.difference.incomparable == "63 chips are halved instead of 64"


def test_bisections_of_as_many_chips_compare(fleet: Fleet) -> None:
    difference = fleet.what_if(f"{U}/s0/c0--{U}/s1/c0").bisection(U).difference
    assert difference is not None
    assert (difference.bytes_per_second, difference.incomparable) == (-64 * GB, None)


def test_a_domain_without_a_chip_can_do_nothing(fleet: Fleet) -> None:
    able = fleet.what_if("trn1.2xlarge/d0/s0/c0").capability("trn1.2xlarge")
    assert (able.chips, int(able.pool), int(able.halves.upper), int(able.all_gather.upper)) == (0, 0, 0, 0)
