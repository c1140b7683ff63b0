"""What stays of jobs: rows that end are kept, and what ends with a cluster is told."""

import itertools
from collections.abc import Iterator

import pytest
from job_events import CLUSTER, D, done, happened, is_sound
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

import trninv
from conftest import Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


def test_rows_that_end_are_not_deleted(own: Fleet) -> None:
    own.allocate("a", [f"{D}/s0"], who="ann")
    own.cordon([f"{D}/s1"], who="ann", why="fw")
    verbs = ["DELETE FROM"] if own.engine.dialect.name == "sqlite" else ["DELETE FROM", "TRUNCATE"]
    for table, verb in itertools.product(("allocation", "job", "cordon"), verbs):
        with pytest.raises(DBAPIError, match="rows are kept: set"), own.engine.begin() as connection:
            connection.execute(text(f"{verb} {table}{' CASCADE' * (verb == 'TRUNCATE')}"))
    assert [job.chips for job in own.jobs()] == [16]
    is_sound(own.engine)


def test_unseeding_gives_back_what_jobs_held(own: Fleet, seeded: str, run: Run) -> None:
    own.allocate("a", [f"{D}/s0"], who="ann")
    own.allocate("b", [f"{D}/s2"], who="ann")
    own.release("b")
    own.cordon([f"{D}/s1"], who="ann", why="fw")
    was = done(happened(own))
    assert "everything in it, and ends 1 job: add --yes" in run("unseed", CLUSTER, database=seeded)[2]
    assert done(happened(own)) == was
    assert run("unseed", CLUSTER, "--yes", database=seeded)[1] == f"removed {CLUSTER}, and ended 1 job\n"
    found = happened(own)
    assert done(found) == [*was, ("release", "a", f"{D}/s0"), ("uncordon", None, f"{D}/s1")]
    assert [(each.who, each.source, each.batch) for each in found[-2:]] == [
        ("trninv unseed", "command", found[-2].event)
    ] * 2
    is_sound(own.engine)


def test_a_job_is_not_taken_for_one_of_a_cluster_that_is_gone(own: Fleet) -> None:
    own.allocate("old", [f"{D}/s0", f"{D}/s1"], who="ann")
    with write_transaction(own.engine) as connection:
        cluster = connection.scalar(text(f"SELECT id FROM cluster WHERE slug = '{CLUSTER}'"))
        assert cluster
        cluster_seeding.unseed(connection, cluster)
        cluster_seeding.seed(connection, default_catalog(), default_systems().get(CLUSTER))
    own.allocate("new", [f"{D}/s2", f"{D}/s3"], who="ann")
    assert done(happened(own, f"{D}/s2")) == [("allocate", "new", D)]


def test_a_rack_has_no_events_of_one_that_is_gone(tables: str) -> None:
    with trninv.open(tables) as own:
        with write_transaction(own.engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(CLUSTER), "gone")
        own.cordon(["gone/d0/s0"], who="me", why="firmware")
        with write_transaction(own.engine) as connection:
            set_state(connection, ["gone/d0/s0"], Condition.from_user("down"), why="x", who="me")
            cluster_seeding.unseed(connection, connection.scalars(select(TABLES["cluster"].c.id)).one())
            cluster_seeding.seed(connection, default_catalog(), default_systems().get(CLUSTER))
        own.cordon([f"{D}/s0"], who="me", why="firmware")
        own.allocate("a", [f"{D}/s1"], who="me")
        assert done(happened(own, f"{CLUSTER}/r0")) == [("cordon", None, f"{D}/s0"), ("allocate", "a", f"{D}/s1")]
