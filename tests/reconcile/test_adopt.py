"""A cluster out of what was imported: which domains, which slots, which network nodes; and what is left out, why."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from adopting import adopted, keep, standing
from printed import listed, neuron_ls, node, slurm, slurm_node
from seen import TOP, below, fleet, instance, nodes
from sqlalchemy import Engine, text

from conftest import BACKENDS, Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.cli.output import encode
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import AddressError, AdoptionError, ClusterExistsError, SeveralModelsError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify
from trninv.inventory.state.bindings import ProposedBinding, bind, list_bindings
from trninv.placement.placement_fleet import Fleet
from trninv.reconcile.adoption import adopt
from trninv.reconcile.drift import detect_drift

pytestmark = pytest.mark.slow_on_postgresql


@pytest.fixture
def engine(databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated("sqlite")) as made:
        yield made


def ultra(*numbers: int, block: str = "cb-1", node: str = "nn-c") -> Iterator[dict[str, Any]]:
    return (below(instance(number, "trn2u.48xlarge", block), "nn-a", "nn-b", node) for number in numbers)


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_types_of_one_machine_are_said(databases: Databases, run: Run, backend: str) -> None:
    """A source can have them in two records, such as an instance and its place in the topology."""
    url = databases.migrated(backend)
    first, second = instance(1, "trn2.48xlarge"), instance(2, "trn2.48xlarge")
    topology = {"Instances": [below(each, TOP, "nn-b") for each in (first | {"InstanceType": "trn2.3xlarge"}, second)]}
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        keep(connection, "ec2", {"Reservations": [{"Instances": [first, second]}]}, topology)
    said = run("adopt", "prod", "--dry-run", database=url)[1]
    types = "trn2.48xlarge counts, not trn2.3xlarge", "trn2.3xlarge counts, not trn2.48xlarge"
    name = first["InstanceId"]
    assert any(f"1 machine with several instance types in its records: {name} ({each})" in said for each in types)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mixed_fleet_is_one_import_and_one_cluster(databases: Databases, backend: str) -> None:
    with temporary_engine(databases.migrated(backend)) as engine:
        with write_transaction(engine) as connection:
            keep(connection, "ec2", *fleet())
        would = Fleet(engine).adopt("prod", dry_run=True)
        with write_transaction(engine) as connection:
            assert connection.scalar(text("SELECT count(*) FROM cluster")) == 0
            found = adopt(connection, default_catalog(), default_systems(), "prod")
        assert would == found
        assert {each.model: (each.domains, each.machines, each.empty_slots) for each in found.models} == {
            "Trn1.2xlarge": (1, 1, 0),
            "Trn1.32xlarge": (1, 1, 0),
            "Trn2-16.48xlarge": (4, 4, 0),
            "Trn2 UltraServer": (3, 11, 1),
        }
        assert found.tiers == (1, 3, 4)
        assert [left.name for left in found.skipped] == ["i-00000000000000028"]
        assert len(standing(engine)) == 17
        with read_transaction(engine) as connection:
            assert list(verify(connection, default_catalog(), default_systems())) == []
            down = connection.execute(text("SELECT address, state, why FROM state_event WHERE kind = 'server'")).all()
            node = resolve_place(connection, "prod/fabric/t1/n0").id
            vendor_id = text("SELECT vendor_id FROM network_node WHERE id = :node")
            assert connection.scalar(vendor_id, {"node": node}) == TOP
        assert [tuple(row) for row in down] == [("prod/d8/s3", "down", "no instance")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_domains_of_a_mixed_fleet_answer_as_those_that_are_seeded(databases: Databases, backend: str) -> None:
    models = {"d6": "u-trn2x64", "d9": "trn3-gen1"}
    with temporary_engine(databases.migrated(backend)) as engine:
        with write_transaction(engine) as connection:
            keep(connection, "kubernetes", nodes())
            adopt(connection, default_catalog(), default_systems(), "prod")
            for domain, slug in models.items():
                cluster_seeding.seed(connection, default_catalog(), default_systems().get(slug), domain)
            assert detect_drift(connection).findings == ()
        with read_transaction(engine) as connection:
            assert list(verify(connection, default_catalog(), default_systems())) == []
        with Fleet(engine) as asked:
            for domain in models:
                one, other = (asked.bisection(of) for of in (f"prod/{domain}", f"{domain}/d0"))
                assert (one.lower, one.upper, one.side_a) == (other.lower, other.upper, other.side_a)
                assert one.lower == one.upper
            ends = "prod/d9/s3/c1", "prod/d1/s0/c0"
            assert [asked.path("prod/d9/s0/c0", end).paths[0].hops for end in ends] == [3, 7]
            whole = asked.bisection("prod")
            assert (whole.lower, whole.side_a + whole.side_b) == (whole.upper, 333)


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_jobs_of_a_mixed_fleet_are_placed_among_domains_of_one_model(
    databases: Databases, backend: str, grows: bool
) -> None:
    """The UltraServers are below other models, and with `grows` between them; in the cluster "one" they are alone."""
    with temporary_engine(databases.migrated(backend)) as engine, Fleet(engine) as placing:
        for step in range(3 if grows else 0):
            numbers = range(8 * step + 1, 8 * step + (4 if step == 2 else 5))
            others = (instance(8 * step + each, "trn1.32xlarge") for each in (6, 7))
            adopted(
                engine, *ultra(*numbers, block=f"cb-{step}"), *(below(each, "nn-a") for each in others), name="prod"
            )
        with write_transaction(engine) as connection:
            if not grows:
                keep(connection, "ec2", *fleet())
                adopt(connection, default_catalog(), default_systems(), "prod")
            system = default_systems().by_name["u-trn2x64"].resized(3)
            cluster_seeding.seed(connection, default_catalog(), system, "one")
        ordinals = (2, 5, 8) if grows else (6, 7, 8)
        places = {"prod": [f"prod/d{ordinal}" for ordinal in ordinals], "one": ["one/d0", "one/d1", "one/d2"]}
        placing.set_state(["one/d2/s3"], "down", who="me", why="no instance")  # as prod/d8/s3
        for cluster, (first, middle, last) in places.items():
            placing.allocate(f"{cluster}-a", [first], who="me")
            placing.allocate(f"{cluster}-b", [f"{middle}/s0"], who="me")
            placing.cordon([f"{last}/s0"], who="me", why="x")
            placing.reserve(f"{cluster}-r", [f"{middle}/s1/c0"], until="2h", who="me")
            placing.set_state([f"{middle}/s3/c5"], "down", who="me", why="x")
            placing.set_state([f"{last}/s1/c2--{last}/s1/c3"], "down", who="me", why="x")

        def answers(cluster: str) -> Iterator[object]:
            first, middle, last = places[cluster]
            yield from (placing.free(middle), placing.free(last), placing.fragmentation(last))
            yield from (placing.placements(place, chips=chips, k=50) for place in (middle, last) for chips in (4, 16))
            yield placing.make_room(scope=middle, servers=4)
            yield from map(placing.drain_impact, (f"{middle}/s0", middle, f"{first}/s1/c3"))
            yield placing.drain_impact(f"{last}/s1/c0--{last}/s1/c1")
            yield placing.replacement(f"{cluster}-b", f"{middle}/s0")
            yield placing.what_if(down=f"{middle}/s2/c1").placements(middle, chips=16)
            yield placing.what_if(without=f"{cluster}-b").drain_impact(first)

        def renumbered(answer: object) -> str:
            number = {str(ordinal): at for at, ordinal in enumerate(ordinals)}
            text = re.sub(r"prod/d(\d)", lambda match: f"one/d{number[match[1]]}", json.dumps(encode(answer)))
            return re.sub(r'"revision": "\w+"|20\d\d-[-:.\dTZ ]+', "", text.replace("prod", "one"))

        for mixed, alone in zip(answers("prod"), answers("one"), strict=True):
            assert renumbered(mixed) == renumbered(alone)
        for ask in (placing.free, placing.fragmentation, partial(placing.placements, chips=4)):
            with pytest.raises(SeveralModelsError, match=r"such as prod/d0 \([\w.-]+\) or .*, or allocate chips by"):
                ask("prod")
        with pytest.raises(SeveralModelsError, match="prod has domains of several models"):
            placing.drain_impact("prod/fabric/t2/n0")
        assert placing.placements("prod/d3", chips=4).placements[0].places[0].startswith("prod/d3/")


def test_a_drain_of_a_mixed_fleet_is_carried_out_across_domains(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        keep(connection, "ec2", *fleet())
        adopt(connection, default_catalog(), default_systems(), "prod")
    with Fleet(engine) as placing:
        placing.allocate("big", ["prod/d6"], who="me")
        placing.allocate("ev", ["prod/d7/s3/c0-3"], who="me")
        placing.cordon(["prod/d8"], who="me", why="x")
        impact = placing.drain_impact("prod/d6/s0")
        assert [(move.job, move.must_stop) for move in impact.moves] == [("ev", False), ("big", True)]
        placing.move_jobs("prod", impact.moves, impact.revision, who="me")
        assert placing.free("prod/d7").allocated == 64
        assert placing.drain_impact("prod/d6/s0").jobs == ()


def test_a_job_on_two_models_moves_nowhere(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        keep(connection, "ec2", *fleet())
        adopt(connection, default_catalog(), default_systems(), "prod")
    with Fleet(engine) as placing:
        placing.allocate("both", ["prod/d5/s0/c0", "prod/d6/s2"], who="me")
        placing.allocate("one", ["prod/d6/s0"], who="me")  # of two neighboring servers, one is now always in use
        assert [move.job for move in placing.make_room(scope="prod/d6", chips=32).moves] == ["one"]
        assert placing.make_room(scope="prod/d6", chips=32, pinned=["one"]).possible is False
        impact = placing.drain_impact("prod/d6")
        assert {job.job: job.outcome.name for job in impact.jobs} == {"both": "NOWHERE", "one": "ELSEWHERE"}
        assert [job.name for job in placing.move_jobs("prod", impact.moves, impact.revision, who="me")] == ["one"]


def test_places_in_the_ring_are_the_servers(engine: Engine) -> None:
    page = list(ultra(1, 2, 3, 4))
    with write_transaction(engine) as connection:
        keep(connection, "ec2", {"Instances": page})
        for number, position in ((1, 3), (2, 0), (3, 1)):
            name = f"i-{number:017x}"
            label = "neuron.amazonaws.com/ultraserver-"
            labels = {f"{label}server-id-4": "00000000000000ab", f"{label}node-id-4": str(position)}
            node = {"kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}, "status": {}}
            node["spec"] = {"providerID": f"aws:///us-west-2d/{name}"}
            keep(connection, "kubernetes", {"kind": "List", "items": [node]})
        found = adopt(connection, default_catalog(), default_systems(), "lab")
    assert standing(engine) == {f"lab/d0/s{at}": f"i-{number:017x}" for at, number in enumerate((2, 3, 4, 1))}
    assert found.models[0].placed_by_order == 1
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT address FROM binding WHERE confidence = 'interchangeable'"))
        assert [row.address for row in rows] == ["lab/d0/s2"]


@pytest.mark.parametrize(("kind", "count"), [("trn2.48xlarge", 1), ("trn2u.48xlarge", 4)])
def test_a_position_that_no_server_has_is_none(engine: Engine, kind: str, count: int) -> None:
    label = "neuron.amazonaws.com/ultraserver-"
    with write_transaction(engine) as connection:
        for number in range(count):
            labels = {"node.kubernetes.io/instance-type": kind, f"{label}node-id-4": str(number + 1)}
            keep(connection, "kubernetes", node(f"n{number}", f"i-{number}", labels=labels))
        found = adopt(connection, default_catalog(), default_systems(), "lab")
    assert (found.models[0].machines, found.skipped) == (count, ())


def test_a_capacity_block_names_a_domain_of_ultraservers_alone(engine: Engine) -> None:
    plain = (below(instance(number, "trn2.48xlarge", "cb-9"), "nn-a", "nn-b", "nn-c") for number in (10, 11))
    found = adopted(engine, *ultra(1, 2), *plain)
    assert [(each.model, each.domains) for each in found.models] == [("Trn2-16.48xlarge", 2), ("Trn2 UltraServer", 1)]


@pytest.mark.parametrize(
    ("instances", "why"),
    [
        ([instance(9, "trn3p.48xlarge")], "no model in the catalog has its type trn3p.48xlarge"),
        ([instance(9, "inf2.xlarge")], "inf2.xlarge has no EFA device and can't join others"),
        ([instance(9, "g5.xlarge", "cb-2")], "no model in the catalog has its type g5.xlarge"),
        ([instance(9, "trn3.48xlarge", "cb-2")], "its number of chips would decide"),
        ([instance(9, "trn2u.48xlarge")], "no source reports which Trn2 UltraServer it is in"),
        (
            [instance(n, "trn2u.48xlarge", "cb-5") for n in range(20, 25)],
            "cb-5 has 5 machines, but one Trn2 UltraServer has 4",
        ),
    ],
)
def test_what_fits_no_domain_is_left_out_and_told_why(
    engine: Engine, instances: list[dict[str, Any]], why: str
) -> None:
    found = adopted(engine, *ultra(1, 2), *(below(each, "nn-a", "nn-b", "nn-d") for each in instances))
    assert [left.name for left in found.skipped] == [each["InstanceId"] for each in instances]
    assert all(why in left.why for left in found.skipped)
    assert set(standing(engine)) == {"lab/d0/s0", "lab/d0/s1"}


def test_chips_tell_the_models_of_trn3_apart(engine: Engine) -> None:
    def chips(name: str, count: int) -> list[dict[str, Any]]:
        return [{"instance_id": name, "neuron_device": at, "bdf": f"0000:{at:02x}:00.0"} for at in range(count)]

    pages = [
        below(instance(number, "trn3.48xlarge", f"cb-{number // 10}"), "nn-a", "nn-b") for number in (10, 11, 20, 21)
    ]
    with write_transaction(engine) as connection:
        keep(connection, "ec2", {"Instances": pages})
        for number, count in ((10, 16), (11, 16), (20, 4), (21, 4)):
            keep(connection, "neuron-ls", chips(f"i-{number:017x}", count))
        found = adopt(connection, default_catalog(), default_systems(), "lab")
    assert [(each.model, each.machines, each.empty_slots) for each in found.models] == [
        ("Trn3 Gen1 UltraServer", 2, 2),
        ("Trn3 Gen2 UltraServer", 2, 34),
    ]


def test_a_machine_below_no_network_node_is_left_out_beside_others(engine: Engine) -> None:
    alone = below(instance(9, "trn1.32xlarge"))
    found = adopted(engine, *ultra(1), alone)
    assert [left.why.split(";")[0] for left in found.skipped] == ["no source reports its network nodes"]
    with write_transaction(engine) as connection:
        assert adopt(connection, default_catalog(), default_systems(), "single").tiers == ()  # alone it needs no fabric


def test_servers_of_a_domain_may_hang_below_several_network_nodes(engine: Engine) -> None:
    found = adopted(engine, *ultra(1, 2, node="nn-c"), *ultra(3, node="nn-d"))
    assert found.tiers == (1, 1, 2)
    query = """
        SELECT DISTINCT server.ordinal, network_node.vendor_id FROM nic JOIN server ON server.id = nic.server_id
        JOIN link ON link.a_id = nic.id JOIN network_node ON network_node.id = link.b_id ORDER BY server.ordinal"""
    with engine.connect() as connection:
        assert [row.vendor_id for row in connection.execute(text(query))] == ["nn-c", "nn-c", "nn-d", "nn-c"]


def test_a_network_node_in_two_places_is_refused(engine: Engine) -> None:
    other = below(instance(9, "trn1.32xlarge"), "nn-x", "nn-b")
    with pytest.raises(AdoptionError, match="network node nn-b is in tier 2 below nn-"):
        adopted(engine, *ultra(1), other)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM cluster")) == 0


def test_a_machine_that_was_not_seen_for_long_is_gone(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        keep(connection, "ec2", {"Instances": list(ultra(1, 2, 3))})
        old = (datetime.now(UTC) - timedelta(days=3)).isoformat(timespec="microseconds")
        connection.execute(text("UPDATE observation SET seen_at = :old"), {"old": old})
    assert adopted(engine, *ultra(2, 3)).models[0].machines == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_machine_has_a_slot_if_a_binding_is_its_own(databases: Databases, backend: str) -> None:
    """Not if another instance is bound that had its host's name; but by a short name of its host.

    A host that is called like an instance can't be bound, and keeps no other from it.
    """
    labels = {"node.kubernetes.io/instance-type": "trn2.48xlarge"}
    nodes = [node(name, instance, labels=labels) for name, instance in (("n0", "i-0b"), ("n1.lan", "i-0c"))]
    with temporary_engine(databases.migrated(backend)) as engine, write_transaction(engine) as connection:
        system = default_systems().get("trn2-16.48xlarge").resized(2)
        cluster_seeding.seed(connection, default_catalog(), system, "seeded")
        for domain, (instance_id, host) in enumerate((("i-0a", "n0"), (None, "n1"))):
            slot = resolve_place(connection, f"seeded/d{domain}/s0")
            pinned = ProposedBinding(slot.id, slot.address, instance_id, host, "pin", "certain")
            bind(connection, [pinned], who="tests")
        keep(connection, "kubernetes", listed(*nodes))
        keep(connection, "slurm", slurm(slurm_node("n1") | {"instance_id": ""}))
        keep(connection, "neuron-ls", {"host": "i-0d", "neuron_ls": neuron_ls(None, "trn2.48xlarge")})
        adopt(connection, default_catalog(), default_systems(), "lab")
        bindings = [(entry.address, entry.instance) for entry in list_bindings(connection)]
    assert bindings == [("seeded/d0/s0", "i-0a"), ("seeded/d1/s0", None), ("lab/d0/s0", "i-0b")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_again_it_changes_nothing(databases: Databases, backend: str) -> None:
    with temporary_engine(databases.migrated(backend)) as engine:
        adopted(engine, *ultra(1, 2))
        before = standing(engine)
        assert adopted(engine, *ultra(1, 2)).is_extended
        assert standing(engine) == before
        again = adopted(engine, *ultra(1, 2), *ultra(7, block="cb-2"), name="more")
        assert (again.models[0].machines, again.models[0].empty_slots) == (1, 3)
        with read_transaction(engine) as connection:
            assert list(verify(connection, default_catalog(), default_systems())) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_incidents_outlive_the_growth_of_their_cluster(databases: Databases, backend: str) -> None:
    with temporary_engine(databases.migrated(backend)) as engine:
        adopted(engine, *ultra(1, 2, 3, 4))
        fleet = Fleet(engine)
        fleet.set_state(["lab/d0/s3"], "down", who="ana", why="HBM")
        fleet.set_state(["lab/d0/s3"], "up", who="ana", why="swapped")
        fleet.set_state(["lab/d0/s1"], "down", who="ben", why="ticket 1")
        (found,) = fleet.incidents()
        fleet.note_incident(found.id, "spare ordered", who="tests")
        before = fleet.incidents(), fleet.closed_incidents()
        assert (before[0][0].why, before[1][0].why) == ("ticket 1", "HBM")
        assert adopted(engine, *ultra(1, 2, 3, 4), *ultra(7, 8, 9, 10, block="cb-2")).is_extended
        assert (fleet.incidents(), fleet.closed_incidents()) == before
        told = fleet.sql("SELECT DISTINCT change, since, who, why FROM v_unhealthy").to_pylist()
        assert told == [{"change": int(found.id), "since": found.started_at, "who": "ben", "why": "ticket 1"}]


def test_a_slot_that_was_empty_is_up_again_once_an_instance_stands_there(engine: Engine) -> None:
    adopted(engine, *ultra(1, 2))
    with write_transaction(engine) as connection:
        slot = resolve_place(connection, "lab/d0/s3")
        bind(connection, [ProposedBinding(slot.id, slot.address, "i-0f", None, "pin", "certain")], who="tests")
        found = adopt(connection, default_catalog(), default_systems(), "lab")
        states = connection.execute(text("SELECT ordinal, state FROM server ORDER BY ordinal")).all()
    assert found.filled_slots == ("lab/d0/s3",)
    assert [row.state for row in states] == ["up", "up", "down", "up"]


def test_names_are_checked_and_clusters_of_documents_kept(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1"))
        with pytest.raises(ClusterExistsError, match=r"trn1.32xlarge already exists, as trn1.32xlarge"):
            adopt(connection, default_catalog(), default_systems(), "trn1.32xlarge")
        with pytest.raises(AddressError):
            adopt(connection, default_catalog(), default_systems(), "a b")
        with pytest.raises(AdoptionError, match="no machine was imported"):
            adopt(connection, default_catalog(), default_systems(), "lab")


def test_an_id_that_would_inject_lines_is_not_written_to_a_schedulers_files(engine: Engine, run: Run) -> None:
    ways = [("nn-a,Nodes=x[0-9999]", "nn-0123456789abcdef0"), ("nn-a,Nodes=x[0-9999]", "SwitchName=b")]
    adopted(engine, *(below(instance(at, "trn1.32xlarge"), *way) for at, way in enumerate(ways)))
    for form in ("slurm-tree", "topograph", "kubernetes", "aws"):
        status, out, _ = run("topology", "lab", "--as", form, database=str(engine.url))
        assert (status, "x[" in out, "=b" in out) == (0, False, False)
    assert '"NetworkNodes": ["nn-trninv-lab-t1-n0", "nn-0123456789abcdef0"]' in out


def _lines(told: str) -> Iterable[str]:
    return (line.strip() for line in told.splitlines())


def test_the_command_tells_what_it_made(run: Run, databases: Databases, tmp_path: Path) -> None:
    url = databases.migrated("sqlite")
    pages = []
    for at, page in enumerate(fleet()):
        pages.append(str(tmp_path / f"{at}.json"))
        Path(pages[-1]).write_text(json.dumps(page))
    assert run("import", "ec2", *pages, database=url)[0] == 0
    status, out, _ = run("adopt", "prod", "--dry-run", database=url)
    assert (status, out.startswith("prod: adopted\n")) == (0, True)
    status, out, _ = run("adopt", "prod", database=url)
    assert status == 0
    assert "network nodes: 1 in tier 1, 3 in tier 2, 4 in tier 3; each uplink is assumed to carry" in out
    assert "11 instances of UltraServers placed in the order of their ids" in out
    assert "omitted: 1 machine (i-00000000000000028): no model in the catalog has its type m5.large" in out
    assert run("verify", database=url)[1].startswith("matches the catalog: prod\nhistory: ")
    assert run("adopt", "prod", database=url)[1].startswith("prod: already adopted\nomitted: 1 machine")
    shown = run("show", "prod/fabric/t2/n0", database=url)[1]
    assert any(line.startswith("vendor's id") and line.endswith("nn-aaaaaaa0") for line in _lines(shown))
    tree = run("topology", "prod", "--as", "slurm-tree", "--check", "-o", str(tmp_path / "tree.conf"), database=url)
    assert tree[0] == 0
    assert "SwitchName=nn-aaaaaaa5 Switches=prod-d[0-1]" in (tmp_path / "tree.conf").read_text()
    aws = run("topology", "prod", "--as", "aws", "--check", database=url)
    assert f'"NetworkNodes": ["{TOP}", "nn-aaaaaaa5"]' in aws[1]
