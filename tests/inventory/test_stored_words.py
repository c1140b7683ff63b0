"""Schema version 0035 rewords the evidence of bindings and renames an index: nothing else changes."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from printed import node, text
from sqlalchemy import Engine, event, inspect
from sqlalchemy import text as sql

from conftest import Run
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.migration import data_loss, migrate, schema_differences, schema_version
from trninv.importers.ingestion import ImportFile, import_files
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state.bindings import ProposedBinding, bind, unbind
from trninv.reconcile.identification import identify
from trninv.reconcile.latest_observations import pinned_binding

pytestmark = [pytest.mark.slow, pytest.mark.slow_on_postgresql]  # migrations over many versions
D = "u-trn2x64/d0"
WORDS = {  # as 0035 and as earlier versions have it
    "UltraServer ab; position 2; i-0 is in lab/d0": "UltraServer ab; place 2; i-0 stands in lab/d0",
    "UltraServer place 3; position 12; in order": "UltraServer place 3; place 12; in order",
    "capacity block cb is in x; n0.ec2.internal is in lab/d17": (
        "capacity block cb is in x; n0.ec2.internal stands in lab/d17"
    ),
    "UltraServer a position 2 b; network node nn-1": "UltraServer a position 2 b; network node nn-1",
    "host lab-d0-s1": "host lab-d0-s1",
    "position 3; no other domain": "place 3; no other domain",
    "in order": "in order",
}


@pytest.fixture(scope="module")
def before() -> str:
    """The schema version before 0035."""
    former = ScriptDirectory.from_config(migration._config()).get_revision("0035").down_revision
    assert isinstance(former, str)
    return former


@pytest.fixture
def engine(seeded: str) -> Iterator[Engine]:
    """A database with inferred bindings, one of which a person undid, and with every form of evidence."""
    with temporary_engine(seeded) as made:
        with write_transaction(made) as connection:
            labels = [{"neuron.amazonaws.com/ultraserver-node-id-4": str(number)} for number in range(4)]
            nodes = [node(f"n{number}", f"i-{number}", labels=labels[number]) for number in range(4)]
            import_files(connection, "kubernetes", [ImportFile("n", BytesIO(b"\n".join(map(text, nodes))))])
            bind(connection, [pinned_binding(connection, f"{D}/s0", "i-0")], who="anna")
            bind(connection, identify(connection).proposed_bindings, who="anna")
            unbind(connection, f"{D}/s3", who="anna")
            for number, evidence in enumerate(WORDS):
                slot = resolve_place(connection, f"trn3-gen2/d0/s{number}")
                inferred = "in-order", "likely", evidence
                bind(connection, [ProposedBinding(slot.id, slot.address, f"i-a{number}", None, *inferred)], who="anna")
        yield made


def _evidence(engine: Engine) -> list[str | None]:
    with engine.connect() as connection:
        return list(connection.scalars(sql("SELECT evidence FROM binding ORDER BY id")))


def _bindings(engine: Engine) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sql("SELECT * FROM binding ORDER BY id"))]


def _indexes(engine: Engine) -> set[str]:
    return {str(index["name"]) for index in inspect(engine).get_indexes("state_event")}


def test_evidence_and_index_are_renamed_back_and_forth(engine: Engine, run: Run, before: str) -> None:
    now, rows = _evidence(engine), _bindings(engine)
    assert "UltraServer 00000000000000ab; position 2; i-0 is in u-trn2x64/d0" in now
    assert data_loss(engine, before) == []
    migrate(engine, before)
    former = _evidence(engine)
    assert former[-len(WORDS) :] == list(WORDS.values())
    assert "UltraServer 00000000000000ab; place 2; i-0 stands in u-trn2x64/d0" in former
    assert ("ix_state_event_lost" in _indexes(engine), "ix_state_event_unhealthy" in _indexes(engine)) == (True, False)
    migrate(engine)
    assert (_evidence(engine), _bindings(engine)) == (now, rows)
    assert ("ix_state_event_lost" in _indexes(engine), "ix_state_event_unhealthy" in _indexes(engine)) == (False, True)
    assert schema_differences(engine) is None
    with read_transaction(engine) as connection:
        left = {machine.name: machine.why for machine in identify(connection).unassigned}
    assert left["i-3"] == "this binding was undone before; bind it by hand", "it is known by its evidence of today"
    assert run("verify", database=engine.url.render_as_string(hide_password=False))[0] == 0


@pytest.mark.parametrize("at_statement", ["UPDATE binding", "INDEX ix_state_event_", "UPDATE alembic_version"])
def test_what_is_interrupted_leaves_all_as_it_was_and_is_done_again(
    engine: Engine, at_statement: str, before: str
) -> None:
    now = _bindings(engine)

    def interrupt(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if at_statement in statement:
            raise KeyboardInterrupt

    for target in (before, "head"):
        rows, indexes = _bindings(engine), _indexes(engine)
        with engine.connect() as connection:
            version = schema_version(connection)
        event.listen(engine, "before_cursor_execute", interrupt)
        with pytest.raises(KeyboardInterrupt):
            migrate(engine, target)
        event.remove(engine, "before_cursor_execute", interrupt)
        assert (_bindings(engine), _indexes(engine)) == (rows, indexes)
        with engine.connect() as connection:
            assert schema_version(connection) == version
        migrate(engine, target)
    assert _bindings(engine) == now
    assert schema_differences(engine) is None


def test_more_bindings_than_a_batch_are_reworded(engine: Engine, before: str) -> None:
    count = 10_001  # two batches and one
    migrate(engine, before)
    with engine.begin() as connection:
        columns = "server_id, address, started_at, ended_at, method, confidence, who, ending, ended_by"
        first = connection.scalar(sql("SELECT max(id) FROM binding")) or 0
        connection.execute(
            sql(
                f"INSERT INTO binding (id, instance, evidence, {columns}) "
                f"SELECT :id, :instance, :evidence, {columns} FROM binding WHERE ended_at IS NOT NULL LIMIT 1"
            ),
            [
                {
                    "id": first + number,
                    "instance": f"i-{number}",
                    "evidence": f"UltraServer a; place {number}; in order",
                }
                for number in range(1, count + 1)
            ],
        )
    migrate(engine)
    assert _evidence(engine)[-count:] == [
        f"UltraServer a; position {number}; in order" for number in range(1, count + 1)
    ]
