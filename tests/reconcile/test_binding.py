"""Bindings: one open a slot, an instance and a host, also under races; kept, ended once, and told by name."""

import asyncio
import json
import threading
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from printed import node, text
from sqlalchemy import Engine, event, insert
from sqlalchemy import text as sql
from sqlalchemy.exc import DBAPIError, IntegrityError

import trninv
from conftest import Databases, Run, services
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import AddressError, InvalidArgumentError, UnknownAddressError, UsageError, WrongLevelError
from trninv.graphql.document_request import Request
from trninv.importers.ingestion import ImportFile, import_files
from trninv.inventory.address.lookup import resolve, resolve_place
from trninv.inventory.address.syntax import is_link, level_of
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.bindings import Binding, ProposedBinding, bind, list_bindings, unbind
from trninv.reconcile.identification import identify
from trninv.reconcile.latest_observations import pinned_binding

pytestmark = pytest.mark.slow_on_postgresql

SLOT = "u-trn2x64/d0/s{}"
BINDING = TABLES["binding"]


def keep(engine: Engine, *nodes: Any, hours: int = 0) -> None:
    with write_transaction(engine) as connection:
        files = [ImportFile("nodes", BytesIO(b"\n".join(map(text, nodes))))]
        import_files(
            connection, "kubernetes", files, taken_at=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=hours)
        )


def stand(engine: Engine, server: int, name: str) -> tuple[Binding, ...]:
    with write_transaction(engine) as connection:
        return bind(connection, [pinned_binding(connection, SLOT.format(server), name)], who="anna").ended


def standing(engine: Engine, scope: str | None = None, *, ended: bool = False) -> list[Binding]:
    with read_transaction(engine) as connection:
        return list(list_bindings(connection, scope and resolve_place(connection, scope), ended=ended))  # type: ignore[arg-type]


def places(engine: Engine) -> dict[str, tuple[str | None, str | None]]:
    return {each.address[-2:]: (each.instance, each.host) for each in standing(engine)}


def ring(number: int, **more: Any) -> dict[str, Any]:
    labels = {"neuron.amazonaws.com/ultraserver-node-id-4": str(number)}
    return node(f"n{number}", f"i-{number}", labels=labels, **more)


def test_a_person_binds_an_instance_and_its_host(engine: Engine) -> None:
    keep(engine, node("n0", "i-0a"))
    assert stand(engine, 0, "i-0A") == ()
    (found,) = standing(engine)
    assert (found.address, found.instance, found.host) == ("u-trn2x64/d0/s0", "i-0a", "n0")
    assert (found.method, found.confidence, found.who, found.ended_at) == ("pin", "certain", "anna", None)
    assert stand(engine, 0, "n0") == ()
    assert standing(engine) == [found]


def test_what_stood_there_and_where_it_stood_ends(engine: Engine) -> None:
    for server, name in enumerate(("i-0", "i-1")):
        stand(engine, server, name)
    ended = stand(engine, 1, "i-0")
    assert {(each.address[-2:], each.instance, each.ending) for each in ended} == {
        ("s1", "i-1", "replaced"),
        ("s0", "i-0", "moved"),
    }
    assert places(engine) == {"s1": ("i-0", None)}
    assert [each.ending for each in standing(engine, "u-trn2x64/d0", ended=True)] == ["moved", "replaced", None]


def test_a_name_that_another_keeps_is_not_taken_from_it(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        for server, instance in enumerate(("i-0", "i-1")):
            place = resolve_place(connection, SLOT.format(server))
            bind(connection, [ProposedBinding(place.id, place.address, instance, "n0", "pin", "certain")], who="anna")
    assert places(engine) == {"s0": ("i-0", "n0"), "s1": ("i-1", None)}


@pytest.mark.parametrize("slot", ["u-trn2x64", "u-trn2x64/d0", "u-trn2x64/d0/s0/c0", "u-trn2x64/r0"])
def test_an_instance_stands_in_a_server_alone(engine: Engine, slot: str) -> None:
    with write_transaction(engine) as connection, pytest.raises(WrongLevelError):
        pinned_binding(connection, slot, "i-0")


@pytest.mark.parametrize("name", ["a[1-9]", "a,b", "a b", "a\nNodeName=x", "", "-", "a" * 254, "é", "a;b", "\x1b[31m"])
def test_names_that_would_harm_others_are_refused(engine: Engine, name: str) -> None:
    with pytest.raises(UsageError):
        stand(engine, 0, name)
    with read_transaction(engine) as connection, pytest.raises((AddressError, UnknownAddressError)):
        resolve(connection, f"@{name}/c5")


def test_who_is_named(engine: Engine) -> None:
    with write_transaction(engine) as connection, pytest.raises(InvalidArgumentError):
        bind(connection, [pinned_binding(connection, SLOT.format(0), "i-0")], who=" ")


def test_two_open_ones_are_impossible_whoever_writes(engine: Engine) -> None:
    columns = {column.name: None for column in BINDING.c}
    one = columns | {"id": 1, "server_id": 1, "address": "a", "instance": "i-0", "host": "n0"}
    one |= {"started_at": "t", "method": "pin", "confidence": "certain", "who": "x"}
    with engine.begin() as connection:
        connection.execute(insert(BINDING).values(one))
    for same in ("server_id", "instance", "host"):
        other = one | {"id": 2, "server_id": 2, "instance": "i-1", "host": "n1"} | {same: one[same]}
        with pytest.raises(IntegrityError), engine.begin() as connection:
            connection.execute(insert(BINDING).values(other))
    with engine.begin() as connection:
        connection.execute(sql("UPDATE binding SET ended_at = 't', ending = 'undone', ended_by = 'x' WHERE id = 1"))
        connection.execute(insert(BINDING).values(one | {"id": 2}))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE binding SET instance = 'i-9'",
        "UPDATE binding SET server_id = 9",
        "UPDATE binding SET evidence = 'x'",
        "DELETE FROM binding",
        "UPDATE finding SET severity = 'info'",
        "DELETE FROM finding",
    ],
)
def test_history_is_kept(engine: Engine, change: str) -> None:
    stand(engine, 0, "i-0")
    finding = "INSERT INTO finding (id, rule, severity, first_seen, last_seen) VALUES (1, 'stale', 'info', 't', 't')"
    with engine.begin() as connection:
        connection.execute(sql(finding))
        connection.execute(sql("UPDATE finding SET last_seen = 'u'"))
    with pytest.raises(DBAPIError, match="is append only"), engine.begin() as connection:
        connection.execute(sql(change))


@pytest.mark.parametrize(("table", "closes"), [("binding", "ended_at"), ("finding", "cleared_at")])
def test_what_is_over_stays_over(engine: Engine, table: str, closes: str) -> None:
    stand(engine, 0, "i-0")
    finding = "INSERT INTO finding (id, rule, severity, first_seen, last_seen) VALUES (1, 'stale', 'info', 't', 't')"
    with engine.begin() as connection:
        connection.execute(sql(finding))
        connection.execute(sql(f"UPDATE {table} SET {closes} = 'u'"))
    with pytest.raises(DBAPIError, match="is append only"), engine.begin() as connection:
        connection.execute(sql(f"UPDATE {table} SET {closes} = NULL"))


def test_of_two_writers_the_second_sees_what_the_first_bound(engine: Engine) -> None:
    """Both bind one slot; whoever comes second ends what the first wrote, and none is lost."""
    ready, failed = threading.Barrier(2), list[BaseException]()

    def write(name: str) -> None:
        try:
            ready.wait(30)
            stand(engine, 0, name)
        except BaseException as error:  # noqa: BLE001 # told below
            failed.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("i-0", "i-1")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    found = standing(engine, ended=True)
    assert [each.ending for each in found] == ["replaced", None]
    assert {each.instance for each in found} == {"i-0", "i-1"}


def test_unseeding_ends_the_bindings_of_its_slots(engine: Engine) -> None:
    stand(engine, 0, "i-0")
    with write_transaction(engine) as connection:
        cluster_seeding.unseed(connection, resolve_place(connection, "u-trn2x64").cluster_id)
    assert standing(engine) == []
    (found,) = standing(engine, ended=True)
    assert (found.address, found.ending, found.ended_by) == ("u-trn2x64/d0/s0", "unseeded", "trninv unseed")
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("u-trn2x64"))
    stand(engine, 0, "i-0")
    assert [each.ending for each in standing(engine, "u-trn2x64/d0/s0", ended=True)] == ["unseeded", None]


def test_an_undone_inference_is_not_made_again_by_the_same(engine: Engine) -> None:
    keep(engine, *map(ring, range(4)))
    stand(engine, 0, "i-0")

    def infer() -> dict[str, str]:
        with write_transaction(engine) as connection:
            found = identify(connection, resolve_place(connection, "u-trn2x64"))
            return {
                each.instance or "": each.address
                for each in bind(connection, found.proposed_bindings, who="anna").created
            }

    assert infer() == {f"i-{n}": SLOT.format(n) for n in (1, 2, 3)}
    assert infer() == {}
    with write_transaction(engine) as connection:
        assert unbind(connection, "@i-2", who="bert").ended_by == "bert"
    assert infer() == {}
    with read_transaction(engine) as connection:
        (left,) = identify(connection, resolve_place(connection, "u-trn2x64")).unassigned
    assert (left.name, left.candidates) == ("i-2", (SLOT.format(2),))
    stand(engine, 2, "i-2")
    with write_transaction(engine) as connection, pytest.raises(UnknownAddressError):
        unbind(connection, "trn1.32xlarge/d0/s0", who="bert")


def test_a_new_instance_in_the_place_of_one_that_is_gone_takes_its_slot(engine: Engine) -> None:
    keep(engine, *map(ring, range(4)))
    for number in range(4):
        stand(engine, number, f"i-{number}")
    new = node("n3", "i-new", labels={"neuron.amazonaws.com/ultraserver-node-id-4": "3"})
    keep(engine, *map(ring, range(3)), new, hours=1)
    with write_transaction(engine) as connection:
        bound = bind(
            connection, identify(connection, resolve_place(connection, "u-trn2x64")).proposed_bindings, who="anna"
        )
    assert [(each.instance, each.host, each.address) for each in bound.created] == [("i-new", "n3", SLOT.format(3))]
    assert [(each.instance, each.ending) for each in bound.ended] == [("i-3", "replaced")]


def test_an_inference_that_is_broken_off_leaves_nothing(engine: Engine) -> None:
    keep(engine, *map(ring, range(4)))
    stand(engine, 0, "i-0")

    def broken() -> None:
        with write_transaction(engine) as connection:
            bind(connection, identify(connection).proposed_bindings, who="anna")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert places(engine) == {"s0": ("i-0", "n0")}


def test_names_are_addresses(engine: Engine) -> None:
    keep(engine, *(node(f"{name}.ec2.internal", f"i-{n}") for n, name in enumerate(("xn--a", "ip-1"))))
    for server in (0, 1):
        stand(engine, server, f"i-{server}")
    expected = {
        "@i-0": "u-trn2x64/d0/s0",
        " @I-0/C5 ": "u-trn2x64/d0/s0/c5",
        "@xn--a.ec2.internal": "u-trn2x64/d0/s0",
        "@xn--a/c5/nc3": "u-trn2x64/d0/s0/c5/nc3",
        "@ip-1/efa2": "u-trn2x64/d0/s1/efa2",
        "@xn--a/c5--@xn--a/c6": "u-trn2x64/d0/s0/c5--u-trn2x64/d0/s0/c6",
        "@i-0/c5--u-trn2x64/d0/s1/c5": "u-trn2x64/d0/s0/c5--u-trn2x64/d0/s1/c5",
        "u-trn2x64/d0/s1/c5--@xn--a/c5": "u-trn2x64/d0/s0/c5--u-trn2x64/d0/s1/c5",
    }
    with read_transaction(engine) as connection:
        assert {name: resolve(connection, name).address for name in expected} == expected
        for name, address in expected.items():
            assert is_link(name) == is_link(address)
            assert level_of(name) == level_of(address) == resolve(connection, name).level


def test_names_that_mean_nothing_say_what_there_is(engine: Engine) -> None:
    keep(engine, *(node(f"n{n}.ec2.internal", f"i-0a{n}") for n in range(3)), node("n1.other", "i-0b1"))
    for server, name in enumerate(("i-0a0", "i-0a1", "i-0b1")):
        stand(engine, server, name)
    said = {
        "@i-0a7": "no instance or host i-0a7 is bound to a slot: did you mean i-0a1?",
        "@i-0a2": "@i-0a2 was observed but is bound to no slot: run trninv bind SLOT i-0a2",
        "@n1": "@n1 matches several hosts: @n1.ec2.internal, @n1.other; write one in full",
        "@zzz": "no instance or host zzz is bound to a slot: trninv bindings lists those that are",
        "i-0a0": "no cluster i-0a0: did you mean @i-0a0?",
        "n0.ec2.internal/d0": "no cluster n0.ec2.internal: did you mean @n0.ec2.internal?",
        "n1": "no cluster n1: known: trn1.2xlarge, trn1.32xlarge, trn2-16.48xlarge, trn3-gen1, trn3-gen2, u-trn2x64",
        "@i-0a0/c99": "no u-trn2x64/d0/s0/c99: u-trn2x64/d0/s0 has c0 to c15",
    }
    with read_transaction(engine) as connection:
        for name, message in said.items():
            with pytest.raises((AddressError, UnknownAddressError)) as told:
                resolve(connection, name)
            assert str(told.value) == message


@pytest.mark.parametrize(
    ("count", "listed"), [(2, "@n.d0, @n.d1;"), (3, "@n.d0, @n.d1, @n.d2;"), (4, "@n.d0, @n.d1, @n.d2, …;")]
)
def test_hosts_that_are_not_listed_are_hinted_at(engine: Engine, count: int, listed: str) -> None:
    for server in range(count):
        stand(engine, server, f"n.d{server}")
    with read_transaction(engine) as connection, pytest.raises(AddressError, match=f"several hosts: {listed}"):
        resolve(connection, "@n")


def test_an_instance_is_meant_before_a_host_of_its_name(engine: Engine) -> None:
    """A machine that calls itself as another's instance does not take that one's address."""
    keep(engine, node("i-0", "i-bad"), node("n0", "i-0"))
    stand(engine, 0, "i-bad")
    stand(engine, 1, "i-0")
    assert places(engine) == {"s0": ("i-bad", None), "s1": ("i-0", "n0")}
    with read_transaction(engine) as connection:
        assert resolve_place(connection, "@i-0").address == "u-trn2x64/d0/s1"


def test_an_inference_of_many_takes_few_statements(databases: Databases) -> None:
    statements: dict[int, int] = {}
    for domains in (2, 40):
        with temporary_engine(databases.migrated("sqlite")) as engine:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(
                    connection, default_catalog(), default_systems().get("u-trn2x64").resized(domains), "lab"
                )
            hosts = [(f"lab-d{d}-s{s}", f"i-{d}x{s}") for d in range(domains) for s in range(4)]
            label = "neuron.amazonaws.com/ultraserver-"
            keep(
                engine,
                *(
                    node(host, instance, labels={f"{label}server-id-4": f"u{n // 4}", f"{label}node-id-4": str(n % 4)})
                    for n, (host, instance) in enumerate(hosts)
                ),
            )
            count = list[str]()
            event.listen(engine, "before_cursor_execute", lambda *given, count=count: count.append(given[2]))
            with write_transaction(engine) as connection:
                made = bind(connection, identify(connection).proposed_bindings, who="anna").created
            assert len(made) == 4 * domains
            statements[domains] = len(count)
    assert statements[2] == statements[40]


def test_graphql_and_python_infer_bindings_as_the_command_does(seeded: str) -> None:
    document = """mutation ($max: Float!) { inferBindings(input: {cluster: "u-trn2x64", who: "anna", maxAge: $max}) {
        created { instance method } ended { instance } unassigned { name why candidates count } unclaimedTypes { type }
    } }"""
    with trninv.open(seeded) as fleet:
        keep(fleet.engine, *(ring(number) for number in range(4)))

        def inferred(hours: float) -> Any:
            request = Request(document, {"max": hours})
            return json.loads(asyncio.run(services(fleet)["compiled"].run(request)).body)

        tried = fleet.infer_bindings("u-trn2x64", who="anna", dry_run=True)
        assert [binding.instance for binding in tried.created] == ["i-0", "i-1", "i-2", "i-3"]
        keep(fleet.engine, ring(4), hours=1)
        assert inferred(0)["data"]["inferBindings"] == {
            "created": [],
            "ended": [],
            "unassigned": [
                {
                    "name": "i-4",
                    "why": "its domain is known, but not its slot",
                    "candidates": [SLOT.format(server) for server in range(4)],
                    "count": 4,
                }
            ],
            "unclaimedTypes": [],
        }
        made = inferred(1)["data"]["inferBindings"]
        assert len(made["unassigned"]) == 5
        for hours in (-1, 1_000_001):
            assert "max_age" in inferred(hours)["errors"][0]["message"]
        with pytest.raises(InvalidArgumentError, match="max_age nan is out of range; use 0 to 1,000,000"):
            fleet.infer_bindings(who="anna", max_age=float("nan"))
        fleet.infer_bindings(who="anna", hostname="n" * 253)
        for template, fault in (("n" * 254, "use at most 253 characters"), ("{server.real}", "unknown placeholder")):
            with pytest.raises(UsageError, match=fault):
                fleet.infer_bindings(who="anna", hostname=template)


def test_nodes_of_slurm_that_are_called_after_slots_are_bound(run: Run, seeded: str, tmp_path: Path) -> None:
    file = tmp_path / "nodes.txt"
    file.write_text("".join(f"NodeName={name} State=IDLE\n" for name in ("u-trn2x64-d0-s0", "u-trn2x64-d0-s1", "head")))
    assert run("import", "slurm", str(file), database=seeded)[0] == 0
    said = run("infer-bindings", "trn1.2xlarge", database=seeded)[1]
    assert said == "no new bindings: 3 machines without a slot fit none of this cluster: trninv infer-bindings\n"
    made = run("infer-bindings", "u-trn2x64", "--who", "anna", database=seeded)[1]
    assert "host u-trn2x64-d0-s1" in made
    rows = json.loads(run("bindings", "--format", "json", database=seeded)[1])
    assert {(row["slot"], row["host"]) for row in rows} == {(SLOT.format(n), f"u-trn2x64-d0-s{n}") for n in (0, 1)}
    again = run("infer-bindings", "u-trn2x64", database=seeded)[1]
    assert again == "no new bindings: 1 machine without a slot fits none of this cluster: trninv infer-bindings\n"
    assert "no source reports its instance type" in run("infer-bindings", database=seeded)[1]


def test_the_command_line(run: Run, seeded: str, tmp_path: Path) -> None:
    file = tmp_path / "nodes.json"
    file.write_bytes(b"\n".join(text(ring(number)) for number in range(4)))
    assert run("import", "kubernetes", str(file), database=seeded)[0] == 0
    assert "n0" in run("bind", SLOT.format(0), "i-0", "--who", "anna", database=seeded)[1]
    dry = json.loads(run("infer-bindings", "u-trn2x64", "--dry-run", "--format", "json", database=seeded)[1])
    assert [each["instance"] for each in dry["created"]] == ["i-1", "i-2", "i-3"]
    assert len(json.loads(run("bindings", "--format", "json", database=seeded)[1])) == 1
    assert (
        "UltraServer 00000000000000ab; position 2; i-0 is in u-trn2x64/d0"
        in run("infer-bindings", "u-trn2x64", "--who", "anna", database=seeded)[1]
    )
    assert "no new bindings" in run("infer-bindings", database=seeded)[1]
    assert run("unbind", "@n3", database=seeded)[1].splitlines() == ["u-trn2x64/d0/s3: i-3 n3 is no longer bound"]
    assert len(run("bindings", "u-trn2x64/d0", "--ended", database=seeded)[1].splitlines()) == 6
    for wrong in (["bind"], ["bind", "a"], ["infer-bindings", "a", "b"], ["infer-bindings", "u-trn2x64/d0"]):
        assert run(*wrong, database=seeded)[0] == 2
    said = run("unseed", "u-trn2x64", database=seeded)[2]
    assert "removes u-trn2x64 and everything in it, and ends 3 bindings: add --yes" in said
    assert run("unseed", "u-trn2x64", "--yes", database=seeded)[1] == "removed u-trn2x64, and ended 3 bindings\n"
