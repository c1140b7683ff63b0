"""Notes and events of tokens that somebody edits by plain SQL: `verify` reports them, and the seals prove them."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, text
from tampering import tamper, triggers_off

import trninv
from conftest import BACKENDS, Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.inventory.access.bearer_tokens import create_token, revoke_token
from trninv.inventory.seeding.cluster_seeding import seed
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

CHIP = "trn1.32xlarge/d0/s0/c0"


def _record(url: str) -> None:
    """Write two notes and three events of tokens, which the change after them seals."""
    with trninv.open(url) as fleet:
        with write_transaction(fleet.engine) as connection:
            seed(connection, default_catalog(), default_systems().get("trn1.32xlarge"))
        fleet.set_state(CHIP, "down", who="kim", why="hot")
        for note in ("ordered", "swapped ✓"):
            fleet.note_incident("1", note, who="kim")
        with write_transaction(fleet.engine) as connection:
            create_token(connection, "a", "read", None)
            create_token(connection, "b", "admin", None)
            revoke_token(connection, "a")
        fleet.set_state(CHIP, "up", who="kim", why="swapped")


@pytest.fixture(params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    with trninv.open(databases.copied(request.param, _record)) as opened:
        yield opened


def problems(connection: Connection) -> list[str]:
    found = verify_history(connection, hash_chain.verify_chain(connection))
    return [f"{mismatch.table}: {mismatch.detail}" for mismatch in found]


def problems_now(fleet: Fleet) -> list[str]:
    with fleet.connect() as connection:
        return problems(connection)


EDITS = (
    "UPDATE incident_note SET text = text || '.' WHERE id = 1",
    "UPDATE incident_note SET who = 'ann' WHERE id = 2",
    "DELETE FROM incident_note WHERE id = 2",
    "DELETE FROM incident_note",
    "UPDATE token_event SET who = 'kim' WHERE id = 3",
    "UPDATE token_event SET detail = '' WHERE id = 1",
    "DELETE FROM token_event WHERE id = 3",
    "DELETE FROM token_event WHERE id < 3",
)
"""Statements of plain SQL; seals cover two notes and three events of tokens."""


def test_an_edited_or_removed_row_is_reported(fleet: Fleet) -> None:
    assert problems_now(fleet) == []
    for statement in EDITS:
        table, last = ("incident_note", 2) if "incident_note" in statement else ("token_event", 3)
        with fleet.engine.connect() as connection:
            with triggers_off(connection, table):
                connection.execute(text(statement))
            reported = problems(connection)
            connection.rollback()
        assert reported == [f"{table}: rows up to {last} are not as they were sealed"], statement
    assert problems_now(fleet) == []


def test_a_later_seal_does_not_hide_an_edit(fleet: Fleet) -> None:
    tamper(fleet.engine, "DELETE FROM incident_note WHERE id = 1", "incident_note")
    fleet.note_incident("1", "later", who="kim")
    fleet.set_state(CHIP, "degraded", factor=0.5, who="kim", why="x")
    assert problems_now(fleet) == ["incident_note: rows up to 3 are not as they were sealed"]


def test_verify_exits_with_one_and_a_stored_seal_proves_what_it_covers(fleet: Fleet, run: Run) -> None:
    url = fleet.engine.url.render_as_string(hide_password=False)
    with fleet.connect() as connection:
        seal = hash_chain.newest_seal(connection)
    anchor = f"{seal.id}:{seal.sha256}"
    tamper(fleet.engine, "UPDATE incident_note SET text = 'forged' WHERE id = 1", "incident_note")
    status, out, _ = run("verify", database=url)
    assert (status, "rows up to 2 are not as they were sealed" in out) == (1, True)
    # its owner seals everything again, as if nothing had been edited
    tamper(fleet.engine, "DELETE FROM event_seal", "event_seal")
    with write_transaction(fleet.engine) as connection:
        hash_chain.lock_events(connection)
        hash_chain.seal_events(connection)
    assert "the history up to it was changed" in run("verify", "--sealed", anchor, database=url)[1]


def test_an_older_schema_version_could_not_verify_the_seals(fleet: Fleet, run: Run) -> None:
    url = fleet.engine.url.render_as_string(hide_password=False)
    for words in ((), ("--yes",)):  # not: add --yes
        status, _, error = run("migrate", "--to", "0102", *words, database=url)
        assert (status, "restore a backup from before" in error) == (1, True)
    assert problems_now(fleet) == []


def test_rows_after_the_last_seal_belong_to_the_next(fleet: Fleet) -> None:
    fleet.note_incident("1", "unsealed", who="kim")
    tamper(fleet.engine, "UPDATE incident_note SET text = 'edited' WHERE id = 3", "incident_note")
    assert problems_now(fleet) == []
    fleet.cordon("trn1.32xlarge/d0/s0", who="kim", why="x")
    tamper(fleet.engine, "UPDATE incident_note SET text = 'again' WHERE id = 3", "incident_note")
    assert problems_now(fleet) == ["incident_note: rows up to 3 are not as they were sealed"]


def test_a_copy_without_tokens_is_whole_and_goes_on(fleet: Fleet) -> None:
    """As a dump by trninv_read is."""
    tamper(fleet.engine, "DELETE FROM token_event; DELETE FROM _token_digest; DELETE FROM token", "token_event")
    assert problems_now(fleet) == []
    with write_transaction(fleet.engine) as connection:
        create_token(connection, "c", "read", None)
        assert connection.scalars(text("SELECT id FROM token_event")).all() == [4]
    fleet.set_state(CHIP, "down", who="kim", why="x")
    assert problems_now(fleet) == []
    tamper(fleet.engine, "UPDATE token_event SET who = 'kim'", "token_event")
    assert problems_now(fleet) == ["token_event: rows up to 4 are not as they were sealed"]


def test_seals_of_before_stay_valid(fleet: Fleet) -> None:
    """Of a database without sealed rows, as an earlier release left it."""
    with fleet.connect() as connection:
        seals = connection.execute(text("SELECT id, sealed_rows FROM event_seal ORDER BY id")).all()
    assert [rows is None for _, rows in seals] == [True, False]
