"""Every chip at once: states and pools against the graph of each domain."""

import random
import re
import struct
from collections import Counter

import networkx as nx
import pytest
from irregular import MIXED, irregular, make

import trninv
from conftest import BACKENDS, SYSTEMS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import STATES
from trninv.drawing.fleet_map import draw_fleet
from trninv.errors import UnknownAddressError
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.cluster_overview import MAGIC, ClusterOverview, read_overview
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql


def of(fleet: BaseFleet, cluster: str) -> ClusterOverview:
    with read_transaction(fleet.engine) as connection:
        return read_overview(connection, cluster)


def expected_pools(fleet: BaseFleet, seen: ClusterOverview) -> bytes:
    """Sizes of the components of what is up, domain by domain."""
    pools = dict.fromkeys(map(seen.address, range(seen.chips)), 0)
    for domain in range(seen.domains):
        graph = fleet.graph(f"{seen.cluster}/d{domain}")
        wiring = graph.subgraph([node for node, data in graph.nodes(data=True) if data["kind"] != "nic"])
        for component in nx.connected_components(wiring):
            chips = [node for node in component if wiring.nodes[node]["kind"] == "chip"]
            pools |= dict.fromkeys(chips, len(chips))
    return bytes(pools.values())


@pytest.mark.parametrize("slug", [system.slug for system in SYSTEMS])
def test_a_healthy_cluster_is_all_up(lite_fleet: BaseFleet, slug: str) -> None:
    seen = of(lite_fleet, slug)
    assert seen.states == bytes(seen.chips)
    (part,) = seen.ranges
    assert seen.pool_sizes == bytes([part.chips_per_domain]) * seen.chips
    with read_transaction(lite_fleet.engine) as connection:
        racks: dict[str, str] = dict(
            connection.exec_driver_sql("SELECT address, rack FROM v_server WHERE cluster = '" + slug + "'").fetchall()
        )
    chips = range(0, seen.chips, part.chips_per_server)
    rack_of = {
        seen.address(chip).rsplit("/", 1)[0]: chip // part.chips_per_server // part.servers_per_rack for chip in chips
    }
    assert {server: f"{slug}/r{rack}" for server, rack in rack_of.items()} == racks


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("slug", ["trn2-16.48xlarge", pytest.param("trn3-gen1", marks=pytest.mark.slow)])
def test_states_and_pools_of_a_worn_cluster(databases: Databases, backend: str, slug: str) -> None:
    chance = random.Random(slug)
    url = databases.empty(backend)
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(slug).resized(5), name="lab")
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(slug).resized(2), name="other")
    with trninv.open(url) as fleet:
        for _ in range(4):
            links = [f"{a}--{b}" for a, b in fleet.graph(f"lab/d{chance.randrange(5)}").edges]
            switches = [f"lab/d1/sw{chance.randrange(6)}"] if slug == "trn3-gen1" else []
            chips = [f"lab/d{chance.randrange(5)}/s0/c{chance.randrange(16)}" for _ in range(3)]
            alike = [f"lab/d{domain}/s0/c{chance.randrange(16)}" for domain in (0, 4)]
            alike += [alike[0].replace("d0", "d4"), alike[1].replace("d4", "d0")]
            broken = [*{*chance.sample(links, 12), *switches, *chips, *alike}, "other/d1/s0/c1"]
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                condition = chance.choice([Condition.from_user("down", None), Condition.from_user("degraded", 0.5)])
                set_state(connection, broken, condition, why="test", who="tests")
            seen = of(fleet, "lab")
            assert seen.pool_sizes == expected_pools(fleet, seen)
            with read_transaction(fleet.engine) as connection:
                rows = connection.exec_driver_sql("SELECT address, state FROM v_chip WHERE cluster = 'lab'").fetchall()
            assert {seen.address(at): STATES[state] for at, state in enumerate(seen.states)} == dict(map(tuple, rows))


@pytest.mark.parametrize("chip", ["u-trn2x64/d0/s1/c6", "trn3-gen1/d0/s2/c7"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_chip_without_links_pools_alone(databases: Databases, backend: str, chip: str) -> None:
    url, cluster = databases.seeded(backend), chip.split("/", maxsplit=1)[0]
    with trninv.open(url) as fleet:
        links = [f"{a}--{b}" for a, b in fleet.graph(cluster).edges(chip) if "efa" not in b]
        with temporary_engine(url) as engine, write_transaction(engine) as connection:
            set_state(connection, links, Condition.from_user("down", None), why="test", who="tests")
        seen = of(fleet, cluster)
        pools = {seen.address(at): pool for at, pool in enumerate(seen.pool_sizes)}
        assert seen.states == bytes(seen.chips)
        assert pools.pop(chip) == 1
        assert set(pools.values()) == {seen.chips - 1}
        assert seen.pool_sizes == expected_pools(fleet, seen)


def test_the_packed_form_says_its_sizes(lite_fleet: BaseFleet) -> None:
    packed = of(lite_fleet, "trn3-gen2").to_bytes()
    assert struct.unpack_from("<4s5I", packed) == (MAGIC, 1, 144, 4, 36, 18)
    assert len(packed) == 24 + 2 * 144


def test_a_cluster_of_several_models(databases: Databases) -> None:
    url = make(databases.migrated("sqlite"), {"lab": irregular(MIXED, 2)})
    broken = ["lab/d0/s0/c0", "lab/d2/s0/c4", "lab/d7/s3/c5", "lab/d9/s1/c2", "lab/d5/s0/c1--lab/d5/s0/c2"]
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, broken, Condition.from_user("down", None), why="test", who="tests")
    with trninv.open(url) as fleet:
        seen = of(fleet, "lab")
        assert seen.pool_sizes == expected_pools(fleet, seen)
        with read_transaction(fleet.engine) as connection:
            rows = connection.exec_driver_sql("SELECT address, state FROM v_chip").fetchall()
            racks = dict(
                map(tuple, connection.exec_driver_sql("SELECT address, rack_ordinal FROM v_server").fetchall())
            )
    assert {seen.address(at): STATES[state] for at, state in enumerate(seen.states)} == dict(map(tuple, rows))
    for part in seen.ranges:
        for server in range(part.domains * part.servers_per_domain):
            chip = seen.address(part.first_chip + server * part.chips_per_server)
            assert racks[chip.rsplit("/", 1)[0]] == part.first_rack + server // part.servers_per_rack
    sizes = [(1, 1, 1, 1), (3, 1, 16, 1), (2, 1, 16, 2), (3, 4, 16, 2), (1, 4, 16, 2)]
    assert [part.sizes for part in seen.ranges] == sizes
    packed = seen.to_bytes()
    assert struct.unpack_from("<4s23I", packed) == (MAGIC, 2, seen.chips, 5, *(n for size in sizes for n in size))
    assert len(packed) == 96 + 2 * seen.chips
    drawn = re.findall(r'<path fill="([^"]*)" d="([^"]*)"', draw_fleet(seen, "rack"))
    shown = ((seen.address(chip).rsplit("/", 1)[0], STATES[state]) for chip, state in enumerate(seen.states))
    expected = Counter(racks[server] % 2 if state == "up" else state for server, state in shown)
    assert sorted(path.count("h1v1") for _, path in drawn) == sorted(expected.values())


def test_an_unknown_cluster_is_told(lite_fleet: BaseFleet) -> None:
    with pytest.raises(UnknownAddressError, match="no cluster nothing"):
        of(lite_fleet, "nothing")
