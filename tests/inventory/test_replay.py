"""What the events lead to is what there is: a hand that changed one without the other is noticed."""

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, select, text
from tampering import tamper, triggers_off

from conftest import BACKENDS, Databases, mostly_slow, seed_everything
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.event_fold import event_spans, fold_events
from trninv.inventory.state.history_start import record_start
from trninv.inventory.state.replay import unverifiable
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

D = "u-trn2x64/d0"
CHIP = "(SELECT chip.id FROM chip JOIN node ON node.id = chip.id JOIN server ON server.id = chip.server_id "
CHIP += "JOIN domain ON domain.id = server.domain_id JOIN cluster ON cluster.id = domain.cluster_id "
CHIP += "WHERE slug = 'u-trn2x64' AND server.ordinal = 2 AND chip.ordinal = 7)"


def _down(engine: Engine, *addresses: str, state: str = "down") -> None:
    with write_transaction(engine) as connection:
        set_state(connection, addresses, Condition.from_user(state), why="a test", who="tester")


def _faults(engine: Engine) -> list[str]:
    with read_transaction(engine) as connection:
        return [
            f"{one.table}: {one.kind} {one.detail}"
            for one in verify_history(connection, hash_chain.verify_chain(connection))
        ]


def _live(url: str) -> None:
    """Chips down, a job that runs, one that moved and one that ended, and a closed server."""
    with temporary_engine(url) as engine:
        _down(engine, f"{D}/s3/c0-3")
        with write_transaction(engine) as connection:
            allocate(connection, "a", [f"{D}/s0/c0-3"], who="ann", spares=[f"{D}/s0/c10"])
            allocate(connection, "b", [f"{D}/s1"], who="ann")
            cordon(connection, [f"{D}/s2"], who="ann", why="firmware")
        with write_transaction(engine) as connection:
            release(connection, "b")
        assert _faults(engine) == []


def _seeded_and_lived(url: str) -> None:
    seed_everything(url)
    _live(url)


@pytest.fixture(params=BACKENDS)
def lived(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, _seeded_and_lived)) as engine:
        yield engine


NO_PAIRS = '{"parts":[1],"jobs":[],"closed":[],"last_job":0}'
NONE, ONE = """'"parts":[]'""", """'"parts":[["chip",1,"down",null,null,null]]'"""
HISTORY = ("state_event", "event_seal", "history_start")
REPRODUCTIONS = {
    "all events and seals deleted, while chips are down": (
        "DELETE FROM event_seal; DELETE FROM state_event",
        HISTORY,
        [
            "node: changed 4 rows: u-trn2x64/d0/s3/c0 is down, but up by its events; ",
            "job: changed 2 rows: job a has no event",
        ],
    ),
    "all events, seals and starts deleted": (
        "DELETE FROM event_seal; DELETE FROM state_event; DELETE FROM history_start",
        HISTORY,
        ["history_start: missing no start of its history is recorded"],
    ),
    "the tail of job events cut off": (
        "DELETE FROM event_seal WHERE id > 6; DELETE FROM state_event WHERE id > 6",
        HISTORY,
        [
            "job: changed 1 row: job b has ended, but not by its events",
            "cordon: changed 1 row: u-trn2x64/d0/s2 is cordoned, but not by",
        ],
    ),
    "all seals deleted and an event edited": (
        "DELETE FROM event_seal; UPDATE state_event SET who = 'nobody' WHERE id = 2",
        HISTORY,
        ["event_seal: missing 5 of the changes made by trninv have no seal: those that ended with event 4, 5, "],
    ),
    "one seal deleted": ("DELETE FROM event_seal WHERE id = 5", HISTORY, ["event_seal: missing 1 of the changes"]),
    "a part set down with its trigger off": (
        f"UPDATE node SET state = 'down' WHERE id = {CHIP}",
        ["node"],
        ["node: changed 1 row: u-trn2x64/d0/s2/c7 is down, but up by its events"],
    ),
    "a part set up with its trigger off": (
        "UPDATE node SET state = 'up'",
        ["node"],
        ["node: changed 4 rows: u-trn2x64/d0/s3/c0 is up, but down by its events; "],
    ),
    "a server set down with its trigger off": (
        "UPDATE server SET state = 'maintenance' WHERE id = 1",
        ["server", "node"],
        ["server: changed 1 row: trn1.2xlarge/d0/s0 is maintenance, but up by its events"],
    ),
    "a link degraded with its trigger off": (
        "UPDATE link SET state = 'degraded', factor_ppm = 250000 WHERE id = 1",
        ["link"],
        ["link: changed 1 row: trn1.2xlarge/d0/s0/c0--trn1.2xlarge/d0/s0/efa0 is degraded to 0.25, but up by its"],
    ),
    "an own state alone": (
        f"UPDATE node SET own_state = 'down' WHERE id = {CHIP}",
        ["node"],
        ["node: changed 1 row: u-trn2x64/d0/s2/c7 is up (its own state: down), but up by its events"],
    ),
    "other chips of allocations": (
        "UPDATE allocation SET chip_id = chip_id + 5",
        ["allocation"],
        ["allocation: changed 1 row: job a has chips ", "allocation: changed 20 rows: job a has no row for chip "],
    ),
    "another role": (
        "UPDATE allocation SET role = 'work' WHERE role = 'spare'",
        ["allocation"],
        ["allocation: changed 1 row: job a has chips "],
    ),
    "an allocation ended": (
        "UPDATE allocation SET ended_at = '2026' WHERE ended_at IS NULL AND role = 'spare'",
        ["allocation"],
        ["allocation: changed 1 row: job a has chips "],
    ),
    "the rows of what ended deleted": (
        "DELETE FROM allocation WHERE ended_at IS NOT NULL; DELETE FROM job WHERE ended_at IS NOT NULL",
        ["allocation", "job"],
        ["job: changed 1 row: job b is gone"],
    ),
    "another name of a job": (
        "UPDATE job SET name = 'other'",
        ["job"],
        ["job: changed 2 rows: job other is called a in its events; job other is called b in its events"],
    ),
    "a job that ended later": (
        "UPDATE job SET ended_at = '2026-11-01T00:00:00.000000+00:00' WHERE name = 'b'",
        ["job"],
        ["job: changed 1 row: job b ended at 2026-11-01T00:00:00.000000+00:00, but at "],
    ),
    "a job elsewhere": (
        "UPDATE job SET place = 'u-trn2x64' WHERE name = 'a'",
        ["job"],
        ["job: changed 1 row: job a is at u-trn2x64, but at u-trn2x64/d0/s0 by its events"],
    ),
    "a closed server opened": (
        "UPDATE cordon SET ended_at = '2026'",
        ["cordon"],
        ["cordon: changed 1 row: u-trn2x64/d0/s2 is not cordoned, but is by its events"],
    ),
    "a beginning put off": (
        "UPDATE cluster SET known_from = 4 WHERE slug = 'u-trn2x64'",
        ["cluster"],
        ["cluster: changed its history starts at event 4, but the recorded start is at event 0"],
    ),
    "a start put off": (
        "UPDATE cluster SET known_from = 4; UPDATE history_start SET event = 4",
        ["cluster", "history_start"],
        ["state_event: changed events 1 to 4 are not as they were sealed", "node: changed 4 rows"],
    ),
    "a start that says more": (
        f"UPDATE history_start SET state = replace(state, {NONE}, {ONE})",
        ["history_start"],
        [
            "state_event: changed events 1 to 4 are not as they were sealed",
            "node: changed 1 row: trn1.2xlarge/d0/s0/c0 is up",
        ],
    ),
    "a start deleted": (
        "DELETE FROM history_start WHERE cluster = 'trn3-gen1'",
        ["history_start"],
        ["state_event: changed start ", "history_start: missing no start of its history is recorded"],
    ),
}


@pytest.mark.parametrize("what", mostly_slow(REPRODUCTIONS, len(REPRODUCTIONS) // 2))
def test_what_was_done_by_hand_is_noticed(lived: Engine, what: str) -> None:
    statements, tables, wanted = REPRODUCTIONS[what]
    tamper(lived, statements, *tables)
    faults = _faults(lived)
    for each in wanted:
        assert any(fault.startswith(each) for fault in faults), (each, faults)
    assert not any("triggers" in fault or "leave no events" in fault for fault in faults)


@pytest.mark.parametrize("chips", ["1,1", "2,1", ";1"])
def test_chips_that_a_job_never_had_are_a_difference_also_after_it(lived: Engine, chips: str) -> None:
    with lived.begin() as connection:
        connection.execute(text("UPDATE job SET chip_ids = :chips WHERE name = 'a'"), {"chips": chips})
    with write_transaction(lived) as connection:
        release(connection, "a")
    (fault,) = _faults(lived)
    assert fault.startswith("allocation: changed ")
    assert "job a has no row for chip 1, which it had by its events" in fault


def test_a_chip_that_no_event_gave_to_a_job_is_told_from_one_that_it_had(lived: Engine) -> None:
    tamper(lived, f"UPDATE allocation SET chip_id = {CHIP} WHERE role = 'spare'", "allocation")
    message = " ".join(_faults(lived))
    assert re.search(r"job a has a row for chip \d+, which it never had by its events", message)
    assert re.search(r"job a has no row for chip \d+, which it had by its events", message)


@pytest.mark.parametrize("chips", ["x", "1-9999999999999", f"1-{'9' * 30}", "5-1", "1;;2", "-", "1-2-3", "\u0661"])
def test_chips_that_plain_sql_writes_anyhow_are_a_difference(lived: Engine, chips: str) -> None:
    with lived.begin() as connection:
        connection.execute(text("UPDATE job SET chip_ids = :chips WHERE name = 'a'"), {"chips": chips})
    (fault,) = _faults(lived)
    assert fault.startswith("allocation: changed 1 row: job a has chips ")
    assert fault.endswith(f"but {chips} by its events")
    with write_transaction(lived) as connection:
        release(connection, "a")
    assert _faults(lived) == []
    with read_transaction(lived) as connection:
        assert list(unverifiable(connection)) == ["u-trn2x64: chips of 1 job that no event names"]


@pytest.mark.parametrize("state", ["x", "[]", "{}", "[" * 100_000, NO_PAIRS])
def test_a_start_that_cannot_be_read_is_a_difference(lived: Engine, state: str) -> None:
    with lived.begin() as connection, triggers_off(connection, "history_start"):
        connection.execute(text("UPDATE history_start SET state = :state"), {"state": state})
    faults = _faults(lived)
    assert "history_start: changed the start of trn1.2xlarge cannot be read" in faults
    assert any(fault.startswith("state_event: changed events 1 to 4 are not as they were sealed") for fault in faults)


def test_a_change_without_an_event_is_noticed_after_another_that_has_one(lived: Engine) -> None:
    tamper(lived, f"UPDATE node SET state = 'down' WHERE id = {CHIP}", "node")
    _down(lived, f"{D}/s2/c7", state="up")
    assert _faults(lived) == [
        f"state_event: changed 1 row: event 9 says that {D}/s2/c7 was down, which contradicts the history before it"
    ]


def test_nothing_is_lost_sight_of_where_a_start_says_that_something_was_down(lived: Engine) -> None:
    """A chip that was down when its cluster's history began anew comes up, with an event and without."""
    with write_transaction(lived) as connection:
        cluster = (
            connection.execute(select(TABLES["cluster"]).where(TABLES["cluster"].c.slug == "u-trn2x64"))
            .mappings()
            .one()
        )
        state = next(fold_events(connection, span) for span in event_spans(connection) if span.slug == "u-trn2x64")
        record_start(connection, cluster, "grow", 8, state)
        connection.execute(text("UPDATE cluster SET known_from = 8 WHERE slug = 'u-trn2x64'"))
    assert _faults(lived) == []
    _down(lived, f"{D}/s3/c0", state="up")
    assert _faults(lived) == []
    tamper(lived, "UPDATE node SET state = 'up'", "node")
    assert _faults(lived) == [
        "node: changed 3 rows: " + "; ".join(f"{D}/s3/c{chip} is up, but down by its events" for chip in (1, 2, 3))
    ]
    _down(lived, f"{D}/s3/c1")
    assert any("event 10 says that" in fault and "c1 was up" in fault for fault in _faults(lived))


def test_events_of_a_cluster_that_is_gone_are_of_no_other(tables: str) -> None:
    """Its ids follow those of the cluster before it, and are between those of the others or after all."""
    with temporary_engine(tables) as engine:
        for name in ("one", "two", "three"):
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2-16.48xlarge"), name)
        for name in ("two", "three"):
            _down(engine, f"{name}/d0/s0", f"{name}/d0/s0/c0--{name}/d0/s0/c1")
            with write_transaction(engine) as connection:
                cluster_seeding.unseed(connection, resolve_place(connection, name).id)
            assert _faults(engine) == []
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2-16.48xlarge"), "three")
        assert _faults(engine) == []
