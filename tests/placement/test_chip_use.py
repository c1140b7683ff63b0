"""A chip is allocated, free or unusable: each is one of these, and every interface counts them alike."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from queries import run_query
from sqlalchemy import text
from starlette.testclient import TestClient

import trninv
from conftest import Ask, Run, both_ways, seeds
from trninv.database.engine import write_transaction
from trninv.errors import ConflictError
from trninv.inventory.state.chip_use import CHIP_USE_MEANINGS
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.allocations.allocation_map import read_allocation_map
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions.free import FreeCapacityAnswer
from trninv.reports.report_library import find_report
from trninv.service.application import create_app

pytestmark = pytest.mark.slow_on_postgresql

CLUSTERS = ("u-trn2x64", "trn1.32xlarge", "trn3-gen1")
SCOPES = (*CLUSTERS, "u-trn2x64/d0/s1", "u-trn2x64/r1", "trn3-gen1/d0", "trn1.32xlarge/d0/s0/c3")
Uses = tuple[int, int, int]
"""How many chips are allocated, free and unusable."""


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


def change(own: Fleet, chance: random.Random) -> None:
    """Hold, release, close, open and set the state of anything, in any order; what is held may fail afterwards."""
    chips, servers = chips_of(own), sorted({row["server"] for row in chips_of(own).values()})
    for step in range(30):
        place = chance.choice([*chips, *servers, *servers])
        match chance.randrange(5):
            case 0 | 1:
                states = [Condition("down"), Condition("degraded", 500_000), Condition("maintenance"), Condition("up")]
                with write_transaction(own.engine) as connection:
                    set_state(connection, [place], chance.choice(states), why="any", who="tests")
            case 2 | 3:
                try:
                    own.allocate(f"job{step}", [place], who="tests")
                except ConflictError:
                    continue
            case _ if place in servers:
                (own.cordon if chance.random() < 0.7 else own.uncordon)([place], who="tests", why="any")
    if jobs := own.jobs():
        own.release(chance.choice(jobs).name)


def chips_of(own: Fleet) -> dict[str, dict[str, Any]]:
    """Row by row: state of each chip, whether a job holds it, and whether its server is closed."""
    with own.connect() as connection:
        held = set(connection.scalars(text("SELECT address FROM v_allocation WHERE ended_at IS NULL")))
        closed = {each.server for each in own.cordons()}
        rows = connection.execute(text("SELECT address, server, rack, cluster, state FROM v_chip")).mappings().all()
    wanted = (dict(row) for row in rows if row["cluster"] in CLUSTERS)
    return {row["address"]: row | {"held": row["address"] in held, "closed": row["server"] in closed} for row in wanted}


def use_of(chip: Mapping[str, Any]) -> str:
    works = chip["state"] in ("up", "degraded") and not chip["closed"]
    return "allocated" if chip["held"] else "free" if works else "unusable"


def counted(chips: Mapping[str, Mapping[str, Any]], scope: str) -> Uses:
    inside = [chip for address, chip in chips.items() if f"{address}/".startswith(f"{scope}/") or chip["rack"] == scope]
    uses = Counter(map(use_of, inside))
    assert sum(uses.values()) == len(inside)
    return uses["allocated"], uses["free"], uses["unusable"]


def answered(answer: FreeCapacityAnswer) -> Uses:
    found = answer.allocated, answer.free, answer.unusable
    assert sum(found) == answer.chips
    return found


def in_sql(own: Fleet, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in run_query(own.engine, query, seconds=60, max_rows=1_000).rows]


def in_reports(own: Fleet, name: str, cluster: str) -> Sequence[tuple[Any, ...]]:
    return in_sql(own, find_report(name).sql(own.engine.dialect.name, {"cluster": cluster}))


@pytest.mark.parametrize("seed", seeds(5))
def test_every_interface_has_the_same_three_numbers(own: Fleet, seeded: str, seed: int, run: Run) -> None:
    change(own, random.Random(seed))
    chips = chips_of(own)
    expected = {scope: counted(chips, scope) for scope in SCOPES}
    assert {scope: answered(own.free(scope)) for scope in SCOPES} == expected
    both = both_ways(own)
    assert {scope: in_graphql(both, scope) for scope in SCOPES} == expected
    for cluster in CLUSTERS:
        allocated, free, unusable = expected[cluster]
        assert in_list(both, cluster) == expected[cluster]
        sums = "coalesce(sum(allocated), 0), coalesce(sum(free), 0), coalesce(sum(unusable), 0)"
        assert in_sql(own, f"SELECT {sums} FROM v_domain_free WHERE cluster = '{cluster}'") == [expected[cluster]]
        assert in_sql(own, f"SELECT count(*) FROM v_free_chip WHERE cluster = '{cluster}'") == [(free,)]
        jobs = f"FROM v_job WHERE state = 'running' AND cluster = '{cluster}'"
        assert in_sql(own, f"SELECT coalesce(sum(chips + spares), 0) {jobs}") == [(allocated,)]
        assert {row[4] for row in in_reports(own, "fragmentation", cluster)} == {free}
        assert sum(row[3] for row in in_reports(own, "free-blocks", cluster)) == free
        assert sum(row[3] for row in in_reports(own, "free-servers", cluster)) == free
        with own.open_snapshot() as reader:
            assert sum(held for _, held in read_allocation_map(reader, cluster).jobs) == allocated
        fields = json.loads(run("free", cluster, "--format", "json", database=seeded)[1])
        assert (fields["allocated"], fields["free"], fields["unusable"]) == expected[cluster]
        shown = run("free", cluster, database=seeded)[1].splitlines()[1]
        assert shown.startswith(f"allocated {allocated}, free {free}")
        assert f", unusable {unusable} (" in shown
        drawing = run("draw", f"{cluster}/d0", "--jobs", "-o", "-", database=seeded)[1]
        assert drawing.count(", free</title>") == free
        assert f"{free} of {sum(expected[cluster])} chips free" in drawing
    with TestClient(create_app(seeded), base_url="http://127.0.0.1") as client:
        metrics = client.get("/metrics").text
    for cluster in CLUSTERS:
        for use, count in zip(CHIP_USE_MEANINGS, expected[cluster], strict=True):
            assert f'trninv_chips{{cluster="{cluster}",use="{use}"}} {count}.0\n' in metrics


def in_graphql(ask: Ask, scope: str) -> Uses:
    found = ask(f'{{ free(scope: "{scope}") {{ allocated free unusable }} }}')["data"]["free"]
    return found["allocated"], found["free"], found["unusable"]


def in_list(ask: Ask, cluster: str) -> Uses:
    lists = " ".join(
        f'{use}: chips(filter: {{use: {{eq: {use.upper()}}}, cluster: {{eq: "{cluster}"}}}}, first: 200) '
        "{ totalCount nodes { use } }"
        for use in CHIP_USE_MEANINGS
    )
    found = ask(f"{{ {lists} }}")["data"]
    for use in CHIP_USE_MEANINGS:
        assert {node["use"] for node in found[use]["nodes"]} <= {use.upper()}
    allocated, free, unusable = (found[use]["totalCount"] for use in CHIP_USE_MEANINGS)
    return allocated, free, unusable


@pytest.mark.parametrize("seed", seeds(6))
def test_what_is_supposed_is_a_partition_too(own: Fleet, seed: int) -> None:
    chance = random.Random(seed)
    change(own, chance)
    chips = chips_of(own)
    down = chance.sample(sorted(chips), 5)
    free = [address for address, chip in chips.items() if use_of(chip) == "free" and address.startswith("u-trn2x64/")]
    held = chance.sample(free, min(3, len(free)))
    gone = [job.name for job in own.jobs() if chance.random() < 0.5]
    there = own.what_if(down=down, with_={"new": held} if held else {}, without=gone)
    assert isinstance(there, Fleet)
    with own.connect() as connection:
        rows = connection.execute(text("SELECT address, job FROM v_allocation WHERE ended_at IS NULL")).all()
    released = {row.address for row in rows if row.job in gone}
    supposed = {
        address: chip
        | {"state": "down" if address in down else chip["state"]}
        | {"held": address in held or (chip["held"] and address not in released)}
        for address, chip in chips.items()
    }
    assert {scope: answered(there.free(scope)) for scope in SCOPES} == {
        scope: counted(supposed, scope) for scope in SCOPES
    }


def test_a_chip_that_a_job_holds_is_allocated_even_if_it_is_down_or_in_a_closed_server(own: Fleet) -> None:
    own.allocate("job", ["u-trn2x64/d0/s0/c0-1"], who="me")
    own.cordon(["u-trn2x64/d0/s0"], who="me", why="any")
    with write_transaction(own.engine) as connection:
        set_state(connection, ["u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s0/c2"], Condition("down"), why="any", who="me")
    answer = own.free("u-trn2x64/d0/s0")
    assert (answer.allocated, answer.free, answer.unusable, answer.cordoned, answer.allocated_on_cordoned) == (
        2,
        0,
        14,
        13,
        2,
    )
    assert own.free("u-trn2x64/d0/s0/c0").allocated == 1
    assert own.free("u-trn2x64/d0/s0/c2").unusable == 1
    listed = 'chips(filter: {server: {eq: "u-trn2x64/d0/s0"}}, first: 3, orderBy: [{ordinal: ASC}])'
    nodes = both_ways(own)(f"{{ {listed} {{ nodes {{ use job }} }} }}")["data"]["chips"]["nodes"]
    assert [(node["use"], node["job"]) for node in nodes] == [
        ("ALLOCATED", "job"),
        ("ALLOCATED", "job"),
        ("UNUSABLE", None),
    ]
