"""What was seen is kept once, all of a set of files or nothing, on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from printed import SYSFS, instance_topology, instances, listed, neuron_ls, node, resource_slice, text, ultraserver
from sqlalchemy import Engine, func, select
from sqlalchemy import text as sql
from sqlalchemy.exc import DBAPIError

from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import BusyError, InvalidArgumentError, InvalidFileError
from trninv.importers.import_report import ImportResult, MissingField, render_unreported
from trninv.importers.ingestion import ImportFile, import_files, parse_files
from trninv.importers.ingestion import store_import as kept
from trninv.inventory.transfer import copy_database
from trninv.inventory.triggers.guards import GUARDS

pytestmark = pytest.mark.slow_on_postgresql

OURS = [name for name in GUARDS if name.startswith("observ")]


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated(request.param)) as engine:
        yield engine


def files(*documents: object) -> list[ImportFile]:
    return [ImportFile(f"f{number}.json", BytesIO(text(each))) for number, each in enumerate(documents)]


def keep(engine: Engine, kind: str, *documents: object, **more: Any) -> list[ImportResult]:
    with write_transaction(engine) as connection:
        return import_files(connection, kind, files(*documents), **more)


def counts(engine: Engine) -> list[int]:
    with read_transaction(engine) as connection:
        return [connection.scalar(select(func.count()).select_from(TABLES[name])) or 0 for name in OURS]


def test_what_is_seen_is_kept(engine: Engine) -> None:
    made = keep(engine, "neuron-ls", neuron_ls("i-a"), neuron_ls("i-b", chips=[4, 7]))
    assert made == [
        ImportResult("f0.json", 1, 16, is_duplicate=False),
        ImportResult("f1.json", 1, 2, is_duplicate=False),
    ]
    assert counts(engine) == [2, 2, 18, 0]
    with read_transaction(engine) as connection:
        chip = connection.execute(select(TABLES["observed_chip"]).where(TABLES["observed_chip"].c.ordinal == 5)).one()
    assert (chip.bdf, chip.memory_bytes, chip.cores, chip.neighbours) == ("0000:58:00.0", 96 << 30, 8, "1 4 6 9")


def test_the_same_file_again_is_only_seen_again(engine: Engine) -> None:
    keep(engine, "ec2", instance_topology(["i-a", "i-b"]), taken_at=datetime(2026, 1, 1, tzinfo=UTC))
    before = counts(engine)
    with write_transaction(engine) as connection:
        connection.execute(sql("UPDATE observation SET seen_at = '2026-01-01T00:00:00+00:00'"))
    assert keep(engine, "ec2", instance_topology(["i-a", "i-b"])) == [ImportResult("f0.json", 2, 0, is_duplicate=True)]
    assert counts(engine) == before
    with read_transaction(engine) as connection:
        kept = connection.execute(select(TABLES["observation"])).one()
    assert kept.seen_at > kept.taken_at == "2026-01-01T00:00:00.000000+00:00"


def test_an_old_file_again_is_no_newer_than_it_was(engine: Engine) -> None:
    for month in (6, 1, 3):
        keep(engine, "ec2", instance_topology(["i-a"]), taken_at=datetime(2026, month, 1, tzinfo=UTC))
    with read_transaction(engine) as connection:
        kept = connection.execute(select(TABLES["observation"])).one()
    assert kept.seen_at == kept.taken_at == "2026-06-01T00:00:00.000000+00:00"


def test_files_are_read_while_others_write(engine: Engine) -> None:
    class Read(BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            keep(engine, "ec2", instance_topology(["i-b"]))
            return super().readline(size)

    files = [ImportFile("f", Read(text(neuron_ls())))]
    with (
        read_transaction(engine) as source,
        parse_files(source, "neuron-ls", files) as found,
        write_transaction(engine) as connection,
    ):
        assert kept(connection, found) == [ImportResult("f", 1, 16, is_duplicate=False)]
    assert counts(engine) == [2, 2, 16, 0]


def test_an_import_names_the_fields_that_files_do_not_report(engine: Engine) -> None:
    moved = SYSFS.replace("stats/hardware", "stats/health").replace("info/serial_number", "info/uuid")
    missing = (
        MissingField("ecc_uncorrected", "stats/hardware/*_ecc_uncorrected", 1),
        MissingField("serial", "info/serial_number", 1),
    )
    for is_known in (False, True):
        made = keep(engine, "neuron-sysfs", SYSFS, moved)
        assert [each.missing_fields for each in made] == [(), missing]
        assert [each.is_duplicate for each in made] == [is_known] * 2
    assert list(render_unreported(made)) == [
        "not reported: ecc_uncorrected (stats/hardware/*_ecc_uncorrected) for 1 of 2 servers",
        "not reported: serial (info/serial_number) for 1 of 2 servers",
    ]
    server = TABLES["observed_server"]
    with read_transaction(engine) as connection:
        assert connection.scalars(select(server.c.missing_fields).order_by(server.c.id)).all() == [
            None,
            "serial ecc_uncorrected",
        ]


def test_a_machine_counts_once_however_many_records_a_file_has_of_it(engine: Engine) -> None:
    """A Node and its ResourceSlices are one machine, and a field that neither reports is missing once."""
    nodes = [node(name, f"i-{name}") for name in ("n0", "n1")]
    del nodes[1]["spec"]["providerID"]
    for each in nodes:
        del each["metadata"]["labels"]["node.kubernetes.io/instance-type"]
    slices = [resource_slice(name) for name in ("n0", "n1", "n2")]
    for device in (device for each in slices for device in each["spec"]["devices"]):
        del device["attributes"]["instanceType"]
    for is_known in (False, True):
        (made,) = keep(engine, "kubernetes", {"kind": "List", "items": [*nodes, *slices]})
        assert (made.servers, made.chips, made.is_duplicate) == (3, 48, is_known)
        counts_by_field = {each.field: each.servers for each in made.missing_fields}
        assert (counts_by_field["instance_type"], counts_by_field["instance"]) == (3, 1)
    with read_transaction(engine) as connection:
        assert connection.scalar(select(TABLES["observation"].c.servers)) == 3
        assert connection.scalar(select(func.count()).select_from(TABLES["observed_server"])) == 5


def test_what_comes_twice_at_once_is_kept_once(engine: Engine) -> None:
    made = keep(engine, "neuron-ls", neuron_ls("i-a"), neuron_ls("i-a"), neuron_ls("i-b"))
    assert [each.is_duplicate for each in made] == [False, True, False]
    assert counts(engine) == [2, 2, 32, 0]


def test_what_was_known_and_went_meanwhile_is_to_be_imported_again(engine: Engine, databases: Databases) -> None:
    keep(engine, "neuron-ls", neuron_ls())
    empty = databases.migrated("sqlite")
    with (
        read_transaction(engine) as source,
        parse_files(source, "neuron-ls", files(neuron_ls())) as found,
        temporary_engine(empty) as other,
        write_transaction(other) as connection,
        pytest.raises(BusyError, match=r"^f0\.json was imported before, but newer"),
    ):
        kept(connection, found)


def test_of_files_with_a_fault_nothing_is_kept_and_every_fault_is_told(engine: Engine) -> None:
    with pytest.raises(InvalidFileError, match=r"^2 errors; nothing was imported$") as told:
        keep(engine, "neuron-ls", neuron_ls(), "[", neuron_ls("i-c", chips=[0]) * 2)
    assert told.value.errors == [
        "f1.json:1:2: is not JSON: expecting value",
        "f2.json:1: lists a device twice, or more than 128",
    ]
    assert counts(engine) == [0, 0, 0, 0]


def test_sides_and_blocks_are_kept(engine: Engine) -> None:
    keep(engine, "kubernetes", listed(node(), ultraserver(linkStatusHorizontal="down")))
    keep(engine, "ec2", {"CapacityBlockStatuses": [{"CapacityBlockId": "cb-0", "InterconnectStatus": "ok"}]})
    link = TABLES["observed_link"]
    with read_transaction(engine) as connection:
        found = connection.execute(select(link.c.host, link.c.capacity_block, link.c.part, link.c.state)).all()
    assert set(found) == {("n0", None, "H", "down"), ("n0", None, "V", "up"), (None, "cb-0", "interconnect", "ok")}


def test_a_file_that_names_no_instance_wants_to_be_trusted(engine: Engine) -> None:
    with pytest.raises(InvalidFileError) as told:
        keep(engine, "neuron-ls", neuron_ls(None))
    assert told.value.errors == [
        "f0.json:1: names no instance and no host; --trust-host-names takes the host from the file name"
    ]
    keep(engine, "neuron-ls", neuron_ls(None), trust_host_names=True)
    with read_transaction(engine) as connection:
        assert connection.execute(select(TABLES["observed_server"].c.host)).scalar_one() == "f0"


@pytest.mark.parametrize(
    ("file", "instance", "host"),
    [
        ("n0.json", None, "n0"),
        ("n0.ndjson.gz", None, "n0"),
        ("N0.JSON", None, "N0"),
        ("ip-10-0-0-1.us-west-2.compute.internal", None, "ip-10-0-0-1.us-west-2.compute.internal"),
        ("ip-10-0-0-1.ec2.internal.txt", None, "ip-10-0-0-1.ec2.internal"),
        ("i-0abc0123456789def.txt", "i-0abc0123456789def", None),
        ("i-0abc0123456789def", "i-0abc0123456789def", None),
        ("i-0abc0123456789def.us-west-2.compute.internal.log", None, "i-0abc0123456789def.us-west-2.compute.internal"),
        ("i-zebra.json", "i-zebra", None),
    ],
)
def test_a_file_speaks_for_the_machine_that_its_name_gives(
    engine: Engine, file: str, instance: str | None, host: str | None
) -> None:
    server = TABLES["observed_server"]
    with write_transaction(engine) as connection:
        import_files(connection, "neuron-ls", [ImportFile(file, BytesIO(text(neuron_ls(None))))], trust_host_names=True)
        assert connection.execute(select(server.c.instance, server.c.host)).one() == (instance, host)


@pytest.mark.parametrize(
    "file", ["a b.json", "a\nSwitchName=x.json", "a\u202eb", "a\x1b[31m.txt", f"{'a' * 254}.json", "\udcff"]
)
def test_a_file_name_that_is_no_machine_s_is_a_fault(engine: Engine, file: str) -> None:
    with pytest.raises(InvalidFileError), write_transaction(engine) as connection:
        import_files(connection, "neuron-ls", [ImportFile(file, BytesIO(text(neuron_ls(None))))], trust_host_names=True)
    assert counts(engine) == [0, 0, 0, 0]


def test_two_hosts_that_print_the_same_are_two(engine: Engine) -> None:
    def files_of(*hosts: str) -> list[ImportFile]:
        return [ImportFile(f"{host}.json", BytesIO(text(neuron_ls(None)))) for host in hosts]

    for hosts, known in ((("a", "b"), [False, False]), (("b", "c"), [True, False])):
        with write_transaction(engine) as connection:
            made = import_files(connection, "neuron-ls", files_of(*hosts), trust_host_names=True)
        assert [each.is_duplicate for each in made] == known
    with read_transaction(engine) as connection:
        assert set(connection.scalars(select(TABLES["observed_server"].c.host))) == {"a", "b", "c"}


def test_a_file_that_names_its_instance_is_the_same_by_any_name(engine: Engine) -> None:
    keep(engine, "neuron-ls", neuron_ls("i-a"))
    with write_transaction(engine) as connection:
        other = [ImportFile("moved.json", BytesIO(text(neuron_ls("i-a"))))]
        assert import_files(connection, "neuron-ls", other, trust_host_names=True)[0].is_duplicate


@pytest.mark.parametrize(
    ("listing", "error"),
    [
        (instances(), "lists no instances; add --allow-empty if there are none"),
        (
            instances("i-0a", "i-0b", state="terminated"),
            "lists only terminated instances (2); add --allow-empty if there are no others",
        ),
    ],
)
def test_a_whole_listing_without_an_instance_is_refused_unless_allowed(
    engine: Engine, listing: dict[str, Any], error: str
) -> None:
    with pytest.raises(InvalidFileError) as told:
        keep(engine, "ec2", listing)
    assert told.value.errors == [f"f0.json: {error}"]
    keep(engine, "ec2", listing, allow_empty=True)
    with read_transaction(engine) as connection:
        assert connection.execute(select(TABLES["observation"].c.is_whole)).scalar_one()


@pytest.mark.parametrize("taken_at", [datetime(2026, 1, 1), datetime.now(UTC) + timedelta(days=1)])  # noqa: DTZ001
def test_a_time_without_a_zone_or_ahead_is_refused(engine: Engine, taken_at: datetime) -> None:
    with pytest.raises(InvalidArgumentError, match="give a time with its zone that is not in the future"):
        keep(engine, "neuron-ls", neuron_ls(), taken_at=taken_at)


@pytest.mark.parametrize("table", OURS)
def test_what_was_seen_is_never_changed(engine: Engine, table: str) -> None:
    keep(engine, "kubernetes", listed(node(), ultraserver()))
    keep(engine, "neuron-ls", neuron_ls())
    for statement in (f"UPDATE {table} SET id = id + 1", f"DELETE FROM {table}"):
        with pytest.raises(DBAPIError, match=f"{table} is append only"), engine.begin() as connection:
            connection.execute(sql(statement))


def test_a_copy_has_what_was_seen(engine: Engine, databases: Databases) -> None:
    keep(engine, "kubernetes", listed(node(), ultraserver()))
    keep(engine, "neuron-ls", neuron_ls())
    other = "postgresql" if engine.dialect.name == "sqlite" else "sqlite"
    with temporary_engine(databases.migrated(other)) as copy:
        for replace in (False, True):
            with read_transaction(engine) as source, write_transaction(copy) as target:
                copy_database(source, target, replace=replace)
            assert counts(copy) == counts(engine)
