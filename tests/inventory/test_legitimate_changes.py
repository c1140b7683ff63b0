"""Whatever legitimately changes a fleet, verify is clean; and no longer after any change by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lived import seed_two
from living import Life
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError
from tampering import triggers_off

from conftest import BACKENDS, Databases, is_quick, seeds
from trninv.database.engine import read_transaction
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain

LIVE = (
    "(SELECT max(allocation.id) FROM allocation JOIN job ON job.id = job_id "
    "WHERE job.ended_at IS NULL AND chip_ids <> '')"
)
FREE = "(SELECT max(id) FROM chip WHERE id NOT IN (SELECT chip_id FROM allocation))"
LAST = "(SELECT max(cordon.id) FROM cordon)"
START = "(SELECT max(start.id) FROM history_start AS start JOIN cluster ON cluster.id = cluster_id AND slug = cluster)"
TAMPERINGS = {
    "a part": ("UPDATE {part} SET state = CASE state WHEN 'down' THEN 'up' ELSE 'down' END WHERE id = {id}", ["part"]),
    "a factor": ("UPDATE node SET factor_ppm = coalesce(factor_ppm, 1) % 999999 + 1 WHERE id = {id}", ["node"]),
    "chips": (f"UPDATE allocation SET chip_id = {FREE} WHERE id = {LIVE}", ["allocation"]),
    "an allocation": (f"DELETE FROM allocation WHERE id = {LIVE}", ["allocation"]),
    "a name": ("UPDATE job SET name = name || 'x' WHERE ended_at IS NULL", ["job"]),
    "a job": ("UPDATE job SET ended_at = '2026' WHERE ended_at IS NULL", ["job"]),
    "a closing": (
        f"UPDATE cordon SET ended_at = CASE WHEN ended_at IS NULL THEN '2026' END WHERE id = {LAST}",
        ["cordon"],
    ),
    "an event": (
        "UPDATE state_event SET why = why || '.' WHERE id = (SELECT max(id) FROM event_seal)",
        ["state_event"],
    ),
    "the last seal": ("DELETE FROM event_seal WHERE id = (SELECT max(id) FROM event_seal)", ["event_seal"]),
    "all seals": ("DELETE FROM event_seal", ["event_seal"]),
    "a start": (f"DELETE FROM history_start WHERE id = {START}", ["history_start"]),
    "a binding": ("UPDATE binding SET server_id = server_id + 100000 WHERE ended_at IS NULL", ["binding"]),
    "an old binding": (
        "DELETE FROM binding WHERE id = (SELECT min(id) FROM binding WHERE id < (SELECT max(id) FROM binding))",
        ["binding"],
    ),
}
"""Statements, and the tables whose triggers are off."""


@pytest.fixture
def life(
    request: pytest.FixtureRequest, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Life]:
    backend, seed = request.param
    made = Life(databases, databases.copied(backend, seed_two), seed, tmp_path, monkeypatch)
    yield made
    made.end()


def _faults(connection: Connection) -> list[str]:
    return [
        f"{one.cluster} {one.table}: {one.detail}"
        for one in verify_history(connection, hash_chain.verify_chain(connection))
    ]


def _both() -> list[object]:
    return [
        pytest.param((backend, each.values[0] if hasattr(each, "values") else each), marks=getattr(each, "marks", ()))
        for backend in BACKENDS
        for each in seeds(3, quick=int(backend == "sqlite"))
    ]


@pytest.mark.parametrize("life", _both(), indirect=True, ids=str)
def test_whatever_is_done_is_what_the_events_lead_to_until_a_hand_changes_it(life: Life) -> None:
    for _ in range(15 if is_quick() else 25):
        life.step()
        with read_transaction(life.engine) as connection:
            assert _faults(connection) == [], life.done
    tampered = [what for what in TAMPERINGS if _tampered(life, what)]
    assert len(tampered) >= 3, life.done  # the others had no row to change


def _tampered(life: Life, what: str) -> bool:
    """Change something by hand, have it noticed, and undo it; whether there was anything to change."""
    statement, (table, *more) = TAMPERINGS[what]
    part = life.dice.choice(["server", "node", "link"]) if table == "part" else table
    with life.engine.connect() as connection:
        ids = connection.scalars(text("SELECT id FROM node" if part == "node" else f"SELECT id FROM {part}")).all()
        of = {"part": part, "id": life.dice.choice(ids)} if ids else {}
        connection.rollback()
        if not ids:
            return False
        try:
            with triggers_off(connection, part, *more):
                changed = connection.execute(text(statement.format(**of))).rowcount
        except IntegrityError:  # another constraint refuses it
            return False
        faults = _faults(connection)
        connection.rollback()
    assert not changed or faults, (what, of, life.done)
    return bool(changed)
