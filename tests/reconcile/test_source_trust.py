"""A source is declared once: what its declaration says, imports, names of hosts, drift and coverage heed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, cast

import pytest
from drifting import MINUTES, START, alive_fleet, found
from printed import neuron_ls, text
from sqlalchemy import Engine, select

from conftest import Databases
from fleet_outputs import machines
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.importers.import_report import ImportResult, MissingField
from trninv.importers.ingestion import ImportFile, import_files
from trninv.importers.input_file import InputFile
from trninv.importers.list_response import read_items
from trninv.importers.records import ObservedChip, ObservedRecord, ObservedServer
from trninv.importers.source_declaration import SourceDeclaration
from trninv.importers.source_register import all_sources
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.reconcile.latest_observations import Machine, load_latest_observations
from trninv.reconcile.machine_groups import instance_type_of

pytestmark = pytest.mark.slow_on_postgresql

PLAIN = machines()[13]
EXPECTED = {"zone": "rack.zone"}


@pytest.fixture(params=["sqlite", "postgresql"])
def alive(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, alive_fleet)) as engine:
        yield engine


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated(request.param)) as engine:
        yield engine


def read(source: InputFile) -> Iterator[ObservedRecord]:
    for value in source.values():
        for row in read_items(value, "rows"):
            fields: dict[str, Any] = {"zone": "z"} | row.raw
            fields["chips"] = tuple(map(ObservedChip, fields.get("chips", ())))
            yield ObservedServer(row.where, **fields, expected=EXPECTED)


class Rack:
    """A program of which only its declaration says what it is."""

    def __init__(self, patch: pytest.MonkeyPatch, **declared: Any) -> None:
        declaration = SourceDeclaration(
            name="rack-agent", commands="`rack`", content="racks", read=read, expected=EXPECTED, **declared
        )
        patch.setitem(cast("dict[str, SourceDeclaration]", all_sources()), declaration.name, declaration)

    def keep(self, engine: Engine, *rows: dict[str, Any], at: datetime = START + 10 * MINUTES) -> ImportResult:
        with write_transaction(engine) as connection:
            files = [ImportFile("rack.json", BytesIO(text({"rows": rows})))]
            return import_files(connection, "rack-agent", files, taken_at=at)[0]


def known(engine: Engine) -> dict[str, Machine]:
    with read_transaction(engine) as connection:
        return dict(load_latest_observations(connection).machines)


def rules(engine: Engine) -> set[str]:
    return {finding.rule for finding in found(engine, START + 11 * MINUTES).findings}


@pytest.mark.parametrize("is_manager", [True, False])
def test_only_a_manager_gives_a_host_its_name_against_a_machine(
    empty: Engine, monkeypatch: pytest.MonkeyPatch, is_manager: bool
) -> None:
    rack = Rack(monkeypatch, is_manager=is_manager)
    with write_transaction(empty) as connection:
        line = {"host": "h0", "neuron_ls": neuron_ls("i-0b"), "sysfs": {}}
        import_files(connection, "neuron-ls", [ImportFile("x.json", BytesIO(text(line)))], taken_at=START)
    rack.keep(empty, {"instance": "i-0a", "host": "h0"})
    seen = known(empty)
    assert (seen["i-0a"].host, seen["i-0b"].host) == ("h0" if is_manager else None, None)


@pytest.mark.parametrize(("rank", "host"), [(0, "of-rack"), (9, "of-slurm")])
def test_of_two_managers_names_that_of_the_lower_rank_is_used(
    empty: Engine, monkeypatch: pytest.MonkeyPatch, rank: int, host: str
) -> None:
    rack = Rack(monkeypatch, is_manager=True, host_name_rank=rank)
    with write_transaction(empty) as connection:
        page = {"nodes": [{"name": "of-slurm", "instance_id": "i-0a", "state": ["IDLE"]}]}
        import_files(connection, "slurm", [ImportFile("x.json", BytesIO(text(page)))], taken_at=START)
    rack.keep(empty, {"instance": "i-0a", "host": "of-rack"})
    assert known(empty)["i-0a"].host == host


@pytest.mark.parametrize(("is_manager", "speaker"), [(True, None), (False, "i-0a")])
def test_only_a_machine_speaks_for_itself(
    empty: Engine, monkeypatch: pytest.MonkeyPatch, is_manager: bool, speaker: str | None
) -> None:
    Rack(monkeypatch, is_manager=is_manager).keep(empty, {"instance": "i-0a"})
    with read_transaction(empty) as connection:
        assert connection.scalar(select(TABLES["observation"].c.speaker)) == speaker


def test_what_it_should_report_is_missed(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"instance": "i-0a", "instance_type": "trn2.48xlarge", "zone": None}
    assert Rack(monkeypatch).keep(empty, row).missing_fields == (MissingField("zone", "rack.zone", 1),)


def test_an_inexact_type_is_used_only_if_there_is_no_other(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    rack = Rack(monkeypatch, inexact_facts=frozenset({"instance_type"}))
    rack.keep(empty, {"instance": "i-0a", "instance_type": "trn1.2xlarge"}, {"instance": "i-0b", "instance_type": "x"})
    with write_transaction(empty) as connection:
        devices = neuron_ls("i-0a", kind="trn2.48xlarge")
        import_files(connection, "neuron-ls", [ImportFile("x.json", BytesIO(text(devices)))], taken_at=START)
    seen = known(empty)
    assert (instance_type_of(seen["i-0a"]), instance_type_of(seen["i-0b"])) == ("trn2.48xlarge", "x")


@pytest.mark.parametrize(
    ("declared", "row", "rule"),
    [
        ({"is_manager": True}, {"chip_count": 15}, "chip-missing"),
        ({"lists_every_chip": True}, {"chips": [0, 1], "is_partial": True}, "view-partial"),
        ({"failure_states": frozenset({"down"})}, {"state": "down"}, "health-condition"),
    ],
)
def test_drift_trusts_it_as_far_as_it_is_declared(
    alive: Engine, monkeypatch: pytest.MonkeyPatch, declared: dict[str, Any], row: dict[str, Any], rule: str
) -> None:
    row = {"instance": PLAIN.instance, "zone": None, **row}
    Rack(monkeypatch).keep(alive, row)
    assert rule not in rules(alive)
    Rack(monkeypatch, **declared)
    assert rule in rules(alive)


def test_an_inexact_type_is_not_compared(alive: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    Rack(monkeypatch).keep(alive, {"instance": PLAIN.instance, "zone": None, "instance_type": "trn1.2xlarge"})
    assert "conflict-between-sources" in rules(alive)
    Rack(monkeypatch, inexact_facts=frozenset({"instance_type"}))
    assert "conflict-between-sources" not in rules(alive)


def test_only_a_scheduler_says_that_a_server_is_up_after_all(alive: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with write_transaction(alive) as connection:
        set_state(connection, ["trn2-16.48xlarge/d1/s0"], Condition.from_user("down"), why="test", who="tests")
    Rack(monkeypatch).keep(alive, {"instance": PLAIN.instance, "zone": None, "state": "up"})

    def differs() -> bool:
        shown = found(alive, START + 11 * MINUTES).findings
        return any(finding.rule == "state-differs" and "rack-agent" in (finding.observed or "") for finding in shown)

    assert not differs()
    Rack(monkeypatch, is_scheduler=True)
    assert differs()


def test_what_an_unknown_version_imported_is_trusted_as_a_machine(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    Rack(monkeypatch, is_manager=True).keep(empty, {"instance": "i-0a", "host": "h0"}, at=datetime.now(UTC))
    monkeypatch.undo()
    assert known(empty)["i-0a"].host == "h0"
