"""An adopted cluster that grows: as if all had been adopted at once, but for the numbers, and what it had stays."""

import random
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from adopting import adopted, keep, standing
from past_changes import change
from printed import node
from seen import TOP, below, instance
from seen import fleet as fleet_of_all
from sqlalchemy import Engine, text

from conftest import BACKENDS, Databases, Run, seeds
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.id_blocks import BLOCK_CAPACITY
from trninv.errors import AdoptionError, InvalidTimeError
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import open_for_writing
from trninv.history.archive.archive_writer import archive_history
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify
from trninv.inventory.state.bindings import ProposedBinding, bind, unbind
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.placement_fleet import Fleet
from trninv.reconcile.adoption import adopt
from trninv.topology.fabric_tree import FabricTree

pytestmark = pytest.mark.slow_on_postgresql

Page = list[dict[str, Any]]
_PLAIN = ("trn1.32xlarge", "trn2.48xlarge")
_JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
_PARTS = ("s1", "s2/c0", "s0/c1", "s1/c3")


@pytest.fixture
def engine(databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated("sqlite")) as made:
        yield made


def ultra(*numbers: int, block: str = "cb-1", way: str = "a b c") -> Page:
    return [below(instance(number, "trn2u.48xlarge", block), *way.split()) for number in numbers]


def plain(*numbers: int, kind: str = "trn2.48xlarge", way: str = "a b c") -> Page:
    return [below(instance(number, kind), *way.split()) for number in numbers]


def fleet(seed: int) -> tuple[Page, Page]:
    """UltraServers, whole or not, and plain servers below a random tree; those that came first, and all."""
    chance, numbers, page = random.Random(seed), iter(range(1, 99)), Page()
    tiers, tops = chance.randint(2, 4), chance.randint(1, 2)

    def way() -> str:
        found = [f"nn-{chance.randrange(tops)}"]
        while len(found) < tiers:
            found.append(f"{found[-1]}{chance.choice('ab')}")
        return " ".join(found)

    for block in range(2):
        page += ultra(*(next(numbers) for _ in range(chance.randint(1, 4))), block=f"cb-{block}", way=way())
    for _ in range(3):
        page += plain(next(numbers), kind=chance.choice(_PLAIN), way=way())
    first = chance.sample(page, chance.randint(2, len(page) - 2))
    return first, page


def _differences(engine: Engine) -> list[object]:
    with read_transaction(engine) as connection:
        return list(verify(connection, default_catalog(), default_systems()))


def _mates(engine: Engine) -> set[frozenset[str]]:
    """Which instances share a domain."""
    found: dict[str, set[str]] = {}
    for address, name in standing(engine).items():
        found.setdefault(address.rpartition("/")[0], set()).add(name)
    return set(map(frozenset, found.values()))


def _fabric(engine: Engine) -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    """Each network node with the one above it and its uplink, and the one above each instance; by their names."""
    nodes = """
        SELECT low.vendor_id, low.tier, high.vendor_id, bandwidth_bytes_per_s, cables, technology
        FROM network_node AS low LEFT JOIN link ON a_id = low.id LEFT JOIN network_node AS high ON high.id = b_id
        WHERE low.vendor_id IS NOT NULL"""
    servers = """
        SELECT instance, vendor_id, count(*) FROM binding JOIN nic ON nic.server_id = binding.server_id
        JOIN link ON a_id = nic.id JOIN network_node ON network_node.id = b_id WHERE ended_at IS NULL GROUP BY 1, 2"""
    with engine.connect() as connection:
        one, other = ({tuple(row) for row in connection.execute(text(query))} for query in (nodes, servers))
        return one, other


def _answers(engine: Engine, names: Iterable[str]) -> dict[tuple[str, str], Any]:
    """Hops and bandwidth of the way from each instance to the next."""
    found = dict[tuple[str, str], Any]()
    with Fleet(engine) as asked:
        for one, other in pairwise(sorted(names)[:4]):
            ends = f"@{one}/c0", f"@{other}/c0"
            found[one, other] = [path.hops for path in asked.path(*ends).paths], asked.bandwidth(*ends).maximum_flow
    return found


_SLOW = [pytest.param("sqlite", seed, marks=pytest.mark.slow) for seed in range(2)]


@pytest.mark.parametrize(("backend", "seed"), [("sqlite", 3), ("postgresql", 4), *_SLOW])
def test_to_grow_is_as_to_adopt_all_at_once(databases: Databases, backend: str, seed: int) -> None:
    first, page = fleet(seed)
    with temporary_engine(databases.migrated(backend)) as grown, temporary_engine(databases.migrated(backend)) as whole:
        adopted(grown, *first)
        with write_transaction(grown) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1").resized(2), "after")
        before = standing(grown)
        more = adopted(grown, *page)
        adopted(whole, *page)
        assert more.is_extended
        assert _differences(grown) == []
        assert standing(grown).items() >= before.items()
        assert sorted(standing(grown).values()) == sorted(standing(whole).values())
        assert _mates(grown) == _mates(whole)
        assert _fabric(grown) == _fabric(whole)
        known = [key for mates in _mates(whole) for key in sorted(mates)[:1]]
        assert _answers(grown, known) == _answers(whole, known)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_cluster_has_stays_as_it_is(databases: Databases, backend: str) -> None:
    with temporary_engine(databases.migrated(backend)) as engine, ExitStack() as stack:
        adopted(engine, *ultra(1, 2), *plain(10))
        with write_transaction(engine) as connection:
            keep(connection, "ec2", {"Instances": ultra(1, 2, 3) + plain(10, 11, way="a d e")})
            set_state(
                connection, ["lab/d1/s0/c5", "lab/fabric/t2/n0"], Condition("degraded", 500_000), why="w", who="me"
            )
        asked = stack.enter_context(Fleet(engine))
        asked.allocate("job", ["lab/d0"], who="me")
        rows = {
            name: f"SELECT * FROM {name} ORDER BY 1"  # names of ours
            for name in ("domain", "server", "node", "link", "allocation", "binding", "state_event", "network_node")
        }
        with engine.connect() as connection:
            before = {name: connection.execute(text(query)).all() for name, query in rows.items()}
            known = asked.revision()
            time = str(connection.scalar(text("SELECT known_since FROM cluster")))
        would = asked.adopt("lab", dry_run=True)
        assert {name: len(of) for name, of in before.items()} == {name: _count(engine, name) for name in before}
        with write_transaction(engine) as connection:
            found = adopt(connection, default_catalog(), default_systems(), "lab")
        assert found == would
        assert (found.filled_slots, found.tiers, found.models[0].domains) == (("lab/d1/s2",), (0, 1, 1), 1)
        assert asked.revision() != known
        with engine.connect() as connection:
            after = {name: set(connection.execute(text(query)).all()) for name, query in rows.items()}
        changed = {name: [row for row in of if row not in after[name]] for name, of in before.items()}
        slot = next(row for row in before["server"] if row.state == "down")
        assert {name for name, of in changed.items() if of} <= {"server", "node"}
        assert [row.id for row in changed["server"]] == [slot.id]
        assert [each.chips for each in asked.jobs()] == [16]
        with pytest.raises(InvalidTimeError, match="the history of lab starts at"):
            asked.at(time)
        with engine.connect() as connection:
            since = str(connection.scalar(text("SELECT known_since FROM cluster")))
        told = asked.availability("lab", time)  # of parts that came and parts that were there, since all are known
        assert (told.since, told.requested_since) == (since, time)
        with pytest.raises(
            InvalidTimeError, match=f"the history of lab starts at {re.escape(since)}; use a later --until"
        ):
            asked.availability("lab", time, since)
        assert len(standing(engine)) == 5
        assert _differences(engine) == []


def _count(engine: Engine, name: str) -> int:
    with engine.connect() as connection:
        return int(connection.scalar(text(f"SELECT count(*) FROM {name}")) or 0)  # names of ours


def test_an_empty_slot_is_below_the_node_that_its_instance_names(engine: Engine) -> None:
    adopted(engine, *ultra(1, 2))
    found = adopted(engine, *ultra(1, way="a b d"), *ultra(2), *ultra(3, way="a b d"))
    assert (found.filled_slots, found.tiers, found.models) == (("lab/d0/s2",), (0, 0, 1), ())
    _, servers = _fabric(engine)
    assert {name[-1]: node for name, node, _ in servers} == {"1": "c", "2": "c", "3": "d"}  # 1 moved: that is drift
    assert _differences(engine) == []


def test_an_empty_slot_that_is_closed_to_jobs_is_still_filled(databases: Databases) -> None:
    for backend in BACKENDS:
        with temporary_engine(databases.migrated(backend)) as engine:
            adopted(engine, *ultra(1))
            with Fleet(engine) as fleet_:
                fleet_.cordon(["lab/d0/s1"], who="me", why="firmware")
            assert adopted(engine, *ultra(1, 2)).filled_slots == ("lab/d0/s1",)
            with engine.connect() as connection:
                assert connection.scalar(text("SELECT count(*) FROM server WHERE state = 'up'")) == 2


def test_what_does_not_fit_is_left_out_and_told_why(engine: Engine) -> None:
    adopted(engine, *ultra(1, 2, 3, 4), *plain(10))
    page = ultra(1, 2, 3, 4, 5) + plain(10, 11, way="") + [below(instance(12, "m5.large"))]
    found = adopted(engine, *page)
    why = {left.name[-1]: left.why for left in found.skipped}
    assert (found.models, found.filled_slots) == ((), ())
    assert "capacity block cb-1 has 5 instances, but its domain has 4 servers" in why["5"]
    assert "no source reports its network nodes" in why["b"]
    assert "its type m5.large" in why["c"]
    assert adopted(engine, *page) == found


def test_two_new_instances_at_one_position_fill_no_slot(engine: Engine) -> None:
    adopted(engine, *ultra(1))

    def place(number: int, position: int) -> dict[str, Any]:
        label = {"neuron.amazonaws.com/ultraserver-node-id-4": str(position)}
        return node(f"n{number}", f"i-{number:017x}", labels=label)

    with write_transaction(engine) as connection:
        keep(connection, "kubernetes", place(1, 0), place(2, 2), place(3, 2))
    found = adopted(engine, *ultra(1, 2, 3))
    assert (found.filled_slots, len(found.skipped)) == ((), 2)
    assert {left.why for left in found.skipped} == {"UltraServer 00000000000000ab has several instances at position 2"}
    with write_transaction(engine) as connection:
        keep(connection, "kubernetes", place(3, 1))
    assert len(adopted(engine, *ultra(1, 2, 3)).filled_slots) == 2


def test_what_a_person_undid_is_not_done_again(engine: Engine) -> None:
    adopted(engine, *ultra(1))
    assert adopted(engine, *ultra(1, 2)).filled_slots == ("lab/d0/s1",)
    with write_transaction(engine) as connection:
        unbind(connection, "lab/d0/s1", who="me")
    found = adopted(engine, *ultra(1, 2))
    assert [left.why for left in found.skipped] == ["this binding was undone before; bind it by hand"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_machine_that_is_gone_does_not_come_back_by_the_name_of_a_bound_host(
    databases: Databases, backend: str
) -> None:
    """The host of the bound instance had been that of another, of which no source has spoken for days."""
    with temporary_engine(databases.migrated(backend)) as engine:
        first, other = plain(10, 11)
        adopted(engine, first)
        with write_transaction(engine) as connection:
            slot = resolve_place(connection, "lab/d0/s0")
            pinned = ProposedBinding(slot.id, slot.address, first["InstanceId"], "n0", "pin", "certain")
            bind(connection, [pinned], who="tests")
            past = datetime.now(UTC) - timedelta(days=3)
            keep(connection, "ec2", {"Instances": [other], "NextToken": "x"}, taken_at=past)
            named = {"InstanceId": other["InstanceId"], "PrivateDnsName": "n0"}
            keep(connection, "ec2", {"Reservations": [{"Instances": [named]}], "NextToken": "x"}, taken_at=past)
        assert adopted(engine, first).models == ()
        assert standing(engine) == {"lab/d0/s0": first["InstanceId"]}


def test_a_cluster_that_cannot_grow_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    adopted(engine, *plain(10))
    with pytest.raises(AdoptionError, match="network node b is in tier 2 below a and in tier 2 below x"):
        adopted(engine, *plain(10), *plain(11, way="x b c"))
    with monkeypatch.context() as changed:
        changed.setitem(BLOCK_CAPACITY, "server", 1)
        with pytest.raises(AdoptionError, match=r"the cluster has too many rows \(2 in server\)"):
            adopted(engine, *plain(10, 11))
    assert _count(engine, "domain") == 1
    adopted(engine, *plain(20, way=""), name="alone")
    found = adopted(engine, *plain(20, 21), name="alone")
    assert {left.why.partition(";")[0] for left in found.skipped} == {
        "the cluster has no fabric because no network nodes were known"
    }


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cluster_of_an_earlier_build_fills_its_slots_and_leaves_domains_to_another(
    databases: Databases, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with temporary_engine(databases.migrated(backend)) as engine:
        first, page = ultra(1) + plain(11, way="a d e"), ultra(1, 2) + plain(11, way="a d e")
        page += ultra(3, way="a d e") + ultra(4, way="a b x")
        with monkeypatch.context() as older:
            older.setattr(
                "trninv.reconcile.adoption_plan.extend_fabric",
                lambda fabric, network_paths: _dense(fabric.with_network_paths(network_paths)),
            )
            adopted(engine, *first)
        found = adopted(engine, *page, *plain(12))
        assert (found.filled_slots, found.models) == (("lab/d1/s1", "lab/d1/s2", "lab/d1/s3"), ())
        ((name, why),) = found.skipped
        assert name.endswith("c")
        assert why == (
            "the cluster was adopted by an earlier trninv and can't get more domains; adopt it under another "
            "name, or run trninv unseed and adopt the cluster again"
        )
        _, servers = _fabric(engine)
        below = {instance[-1]: node for instance, node, _ in servers}
        assert below == {"1": "c", "2": "c", "3": "e", "4": "c", "b": "e"}  # x has no room: 4 is below what was assumed
        assert standing(engine).items() >= {"lab/d1/s3": f"i-{4:017x}"}.items()
        assert adopted(engine, *page, *plain(12), name="more").models[0].domains == 1
        assert _differences(engine) == []
        with write_transaction(engine) as connection:
            for name in ("lab", "more"):
                cluster_seeding.unseed(connection, resolve_place(connection, name).id)
        assert adopted(engine, *page, *plain(12), *plain(13)).skipped == ()
        assert adopted(engine, *page, *plain(12, 13, 14)).models[0].domains == 1
        assert _differences(engine) == []


def _dense(fabric: FabricTree) -> FabricTree:
    """As versions before this one numbered it."""
    local = {node.local: number for number, node in enumerate(fabric.nodes_by_number)}
    return FabricTree(
        tuple(node._replace(local=local[node.local]) for node in fabric.nodes_by_number),
        {local[low]: local[high] for low, high in fabric.parents.items()},
        {slot: local[node] for slot, node in fabric.server_parents.items()},
        is_dense=True,
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", seeds(8))
def test_incidents_are_those_of_a_cluster_that_never_grew(
    databases: Databases, tmp_path: Path, backend: str, seed: int
) -> None:
    """Both follow a removed cluster that had the same ids, and have older events archived and removed."""
    draw, pages = random.Random(seed), [ultra(*range(4 * at, 4 * at + 4), block=f"cb-{at}") for at in (1, 2, 3)]
    with ExitStack() as stack:
        fleets = [Fleet(stack.enter_context(temporary_engine(databases.migrated(backend)))) for _ in range(2)]
        grown = fleets[0]
        for opened in fleets:
            with write_transaction(opened.engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"))
            for state in ("down", "up"):
                change(opened, _JANUARY, state, *(f"u-trn2x64/d0/{part}" for part in _PARTS), why="former")
            with write_transaction(opened.engine) as connection:
                cluster_seeding.unseed(connection, resolve_place(connection, "u-trn2x64").id)
            adopted(opened.engine, *chain(*pages[: 1 if opened is grown else 3]))
        domains = 1
        for step in range(1, 11):
            if domains < 3 and draw.random() < 0.4:
                domains += 1
                assert adopted(grown.engine, *chain(*pages[:domains])).is_extended
            time, state = _JANUARY + timedelta(days=step), draw.choice(["down", "degraded", "up"])
            part = f"lab/d{draw.randrange(domains)}/{draw.choice(_PARTS)}"
            for opened in fleets:
                change(opened, time, state, part, why=f"{step}")
                if step == 7:
                    with open_for_writing(tmp_path / str(fleets.index(opened))) as store:
                        archive_history(opened.engine, store, _JANUARY + timedelta(days=5))
                        assert prune_events(opened.engine, store, "me").events
            found, expected = ((opened.incidents(), opened.closed_incidents()) for opened in fleets)
            assert found == expected
            assert "former" not in {incident.why for incidents in found for incident in incidents}


def test_the_command_tells_what_was_added(engine: Engine, run: Run) -> None:
    adopted(engine, *ultra(1, 2), *plain(10))
    with write_transaction(engine) as connection:
        keep(connection, "ec2", {"Instances": ultra(1, 2, 3) + plain(10) + plain(11, 12, way="x y z")})
    url = engine.url.render_as_string(hide_password=False)
    would, done, again = (run("adopt", "lab", *words, database=url)[1] for words in (["--dry-run"], [], []))
    assert would == done
    assert done.startswith("lab: extended, filled lab/d1/s2\nmodel")
    assert "Trn2-16.48xlarge  2          2            0" in done
    assert "network nodes: 1 in tier 1, 1 in tier 2, 1 in tier 3" in done
    assert "no imported node connects the network nodes in tier 1" in done
    assert again == "lab: already adopted\n"


def test_the_page_says_what_is_printed(engine: Engine, run: Run) -> None:
    instances, topology = fleet_of_all()
    url = engine.url.render_as_string(hide_password=False)
    with write_transaction(engine) as connection:
        keep(connection, "ec2", instances, topology)
        adopt(connection, default_catalog(), default_systems(), "prod")
        last = below(instance(11, "trn2u.48xlarge", "cb-2"), TOP, "nn-aaaaaaa1", "nn-bbbbbbb2")
        keep(connection, "ec2", {"Instances": [last, *plain(50, 51, way=f"{TOP} nn-aaaaaaa0 nn-ccccccc0")]})
    printed = run("adopt", "prod", database=url)[1].splitlines()
    page = {line.strip() for line in Path("docs/how-to/adopt-a-fleet.md").read_text().splitlines()}
    assert [line for line in printed if line.strip() not in page] == []
    assert printed[0] == "prod: extended, filled prod/d8/s3"
    assert {"prod/d9/s0", "prod/d10/s0"} <= standing(engine).keys()
    assert _differences(engine) == []
