"""trninv_free_slots of /metrics: as `trninv free` counts; only domains that changed are counted again."""

import random
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.dialects import sqlite

import trninv
from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.revision import RevisionTracker
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.candidates import free_blocks
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.reserve import reserve
from trninv.placement.changes.uncordon import uncordon
from trninv.placement.changes.unreserve import unreserve
from trninv.routing.fleet import BaseFleet
from trninv.service import changed_domains, fleet_metrics, free_slots
from trninv.service.fleet_metrics import FleetMetrics
from trninv.units import format_timestamp

pytestmark = pytest.mark.slow_on_postgresql
Lines = list[str]


class Watched:
    """A scraper that is kept, and one that is new each time: both must print the same."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.tracker = engine, RevisionTracker(engine)
        self.kept = FleetMetrics(self.tracker)

    def slots(self) -> Lines:
        """The lines of what is counted by domain, which a new scraper prints too."""
        kept, new = (_lines(each.render(self.engine)) for each in (self.kept, FleetMetrics(self.tracker)))
        assert kept == new
        return kept


def _lines(printed: bytes) -> Lines:
    wanted = "trninv_free_slots{", "trninv_domains_impaired{"
    return [line for line in printed.decode().splitlines() if line.startswith(wanted)]


@pytest.fixture
def watched(seeded: str) -> Iterator[Watched]:
    with temporary_engine(seeded) as engine:
        made = Watched(engine)
        yield made
        made.tracker.close()


def _slots(lines: Lines, cluster: str) -> dict[int, int]:
    return {
        int(line.split('chips="')[1].split('"')[0]): int(float(line.split()[-1]))
        for line in lines
        if line.startswith("trninv_free_slots") and f'"{cluster}"' in line
    }


def _seed(engine: Engine, system: str, domains: int, name: str) -> None:
    with write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get(system).resized(domains), name)


def _unseed(engine: Engine, name: str) -> None:
    with write_transaction(engine) as connection:
        cluster_seeding.unseed(connection, resolve_place(connection, name).cluster_id)


def _state(engine: Engine, address: str, state: str, factor: float | None = None) -> None:
    with write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user(state, factor), why="so", who="tester")


def test_whatever_changes_is_counted_at_once(watched: Watched, engine: Engine) -> None:
    """Each kind of change, by another connection, one after the other."""
    later = format_timestamp(datetime.now(UTC) + timedelta(days=1))
    changes: list[Callable[[], object]] = [
        lambda: _state(engine, "u-trn2x64/d0/s0/c3", "down"),
        lambda: _state(engine, "u-trn2x64/d0/s1", "maintenance"),
        lambda: _state(engine, "trn3-gen1/d0/sw1", "down"),
        lambda: _state(engine, "trn2-16.48xlarge/d0/s0/c1--trn2-16.48xlarge/d0/s0/c2", "down"),
        lambda: allocate.run(engine, name="a", places=["u-trn2x64/d0/s2"], who="me"),
        lambda: cordon.run(engine, places=["u-trn2x64/d0/s3", "trn3-gen2/d0/s4"], why="new", who="me"),
        lambda: reserve.run(engine, name="r", places=["trn3-gen2/d0/s0"], until=later, who="me"),
        lambda: _state(engine, "u-trn2x64/d0/s1", "up"),
        lambda: release.run(engine, name="a", who="me"),
        lambda: uncordon.run(engine, places=["u-trn2x64/d0/s3"], who="me"),
        lambda: unreserve.run(engine, name="r", who="me"),
        lambda: _state(engine, "trn3-gen1/d0/sw1", "up"),
    ]
    before = watched.slots()
    for number, change in enumerate(changes):
        change()
        after = watched.slots()
        assert after != before, number
        before = after


def test_plain_sql_that_writes_no_event_is_counted(watched: Watched, engine: Engine) -> None:
    allocate.run(engine, name="a", places=["u-trn2x64/d0/s0"], who="me")
    before = watched.slots()
    table = TABLES["allocation"]
    with engine.begin() as connection:
        key = connection.scalars(select(table.c.id).where(table.c.ended_at.is_(None))).first()
        events = connection.scalar(text("SELECT max(id) FROM state_event"))
        connection.execute(text(f"UPDATE allocation SET ended_at = '2126-01-01' WHERE id = {key}"))
        assert connection.scalar(text("SELECT max(id) FROM state_event")) == events
    after = watched.slots()
    assert _slots(after, "u-trn2x64")[1] == _slots(before, "u-trn2x64")[1] + 1


def test_only_changed_domains_are_counted_again(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = list[int]()

    def count(capacity: Any, legal_sets: Any) -> Any:
        counted.append(len(capacity.ordinals))
        return real(capacity, legal_sets)

    real = free_blocks.jobs_by_domain
    monkeypatch.setattr(free_slots, "jobs_by_domain", count)
    with temporary_engine(tables) as engine:
        _seed(engine, "u-trn2x64", 4, "lab")
        _state(engine, "lab/d0/s0/c0", "down")  # before the first event, no event says what has changed since
        watched = Watched(engine)

        def scraped() -> list[int]:
            counted.clear()
            watched.kept.render(engine)
            return list(counted)

        assert scraped() == [4]
        assert scraped() == []
        _state(engine, "lab/d2/s0/c0", "down")
        assert scraped() == [1]
        allocate.run(engine, name="a", places=["lab/d0/s1", "lab/d3/s0"], who="me")
        assert scraped() == [2]
        release.run(engine, name="a", who="me")
        cordon.run(engine, places=["lab/d2/s1"], why="so", who="me")
        assert scraped() == [3]
        monkeypatch.setattr(changed_domains, "MAX_EVENTS", 1)
        _state(engine, "lab/d1/s0", "down")  # some 40 events: any domain may have changed
        assert scraped() == [4]
        monkeypatch.setattr(free_slots, "MAX_CHANGED_DOMAINS", 1)
        allocate.run(engine, name="b", places=["lab/d0/s1", "lab/d3/s0"], who="me")
        assert scraped() == [4]
        watched.tracker.close()


def test_reservations_begin_and_end_without_a_write(
    watched: Watched, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    start, end = now + timedelta(hours=1), now + timedelta(hours=3)
    before = watched.slots()
    reserve.run(
        engine,
        name="r",
        places=["u-trn2x64/d0/s1"],
        from_=format_timestamp(start),
        until=format_timestamp(end),
        who="me",
    )
    tick = timedelta(microseconds=1)
    free = _slots(before, "u-trn2x64")[16]
    for time, expected in ((now, free), (start - tick, free), (start, free - 1), (end - tick, free - 1), (end, free)):
        clock = type("Clock", (datetime,), {"now": classmethod(lambda _cls, _zone, time=time: time)})
        monkeypatch.setattr(fleet_metrics, "datetime", clock)
        for module in ("trninv.service.free_slots", "trninv.placement.candidates.reserved_chips"):
            monkeypatch.setattr(f"{module}.current_time", lambda _connection, time=time: time)
        assert _slots(watched.slots(), "u-trn2x64")[16] == expected, time


def test_clusters_that_come_and_go(tables: str) -> None:
    """A removed cluster that is seeded again has the same ids, the same events and no failures."""
    with temporary_engine(tables) as engine:
        _seed(engine, "u-trn2x64", 2, "lab")
        _state(engine, "lab/d0/s0/c0", "down")
        watched = Watched(engine)
        assert _slots(watched.slots(), "lab")[1] == 127
        _unseed(engine, "lab")
        assert watched.slots() == []
        for _ in range(2):  # without a scrape between
            _seed(engine, "u-trn2x64", 2, "lab")
            _unseed(engine, "lab")
        _seed(engine, "u-trn2x64", 2, "lab")
        assert _slots(watched.slots(), "lab")[1] == 128
        _state(engine, "lab/d1/s0/c0", "down")
        assert _slots(watched.slots(), "lab")[1] == 127
        _seed(engine, "trn1.32xlarge", 1, "other")
        assert _slots(watched.slots(), "other")[1] == 16
        watched.tracker.close()


def test_a_file_put_in_place_is_counted_anew(tmp_path: Path, databases: Databases) -> None:
    """A backup of the same fleet with as many events, of which the last is another one."""
    first, second = (tmp_path / name for name in ("fleet.db", "backup.db"))
    source = databases.seeded("sqlite")
    for path, address in ((first, "u-trn2x64/d0/s0/c0"), (second, "trn1.32xlarge/d0/s0/c0")):
        shutil.copy(source.removeprefix("sqlite:///"), path)
        with temporary_engine(f"sqlite:///{path}") as engine:
            _state(engine, address, "down")
    with temporary_engine(f"sqlite:///{first}") as engine:
        watched = Watched(engine)
        assert (_slots(watched.slots(), "u-trn2x64")[1], _slots(watched.slots(), "trn1.32xlarge")[1]) == (63, 16)
        second.replace(first)
        engine.dispose()
        assert (_slots(watched.slots(), "u-trn2x64")[1], _slots(watched.slots(), "trn1.32xlarge")[1]) == (64, 15)
        watched.tracker.close()


def test_a_scrape_that_fails_loses_no_change(watched: Watched, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.slots()
    _state(engine, "u-trn2x64/d0/s0/c3", "down")
    with monkeypatch.context() as broken:
        broken.setattr(fleet_metrics, "read_seal", lambda _connection: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            watched.kept.render(watched.engine)
    watched.slots()


def test_random_changes(watched: Watched, engine: Engine, seeded: str) -> None:
    """Against the question `free`, in the middle and at the end of random changes."""
    generator = random.Random(7)
    names = list[str]()
    with trninv.open(seeded) as fleet:
        for number in range(24):
            server = f"trn3-gen2/d0/s{generator.randrange(36)}"
            match generator.randrange(4):
                case 0:
                    _state(engine, f"{server}/c{generator.randrange(4)}", generator.choice(["down", "up"]))
                case 1:
                    _state(engine, server, generator.choice(["down", "up", "maintenance"]))
                case 2:
                    try:
                        allocate.run(engine, name=f"j{number}", places=[server], who="me")
                        names.append(f"j{number}")
                    except trninv.TrninvError:
                        pass
                case 3 if names:
                    release.run(engine, name=names.pop(), who="me")
            if number % 6 == 5:
                slots = _slots(watched.slots(), "trn3-gen2")
                assert slots == {each.chips: each.jobs for each in fleet.free("trn3-gen2").concurrent_jobs}


def test_clusters_of_several_models_are_left_out(watched: Watched, engine: Engine, seeded: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE cluster SET domain_model_id = NULL WHERE slug = 'trn3-gen1'"))
    assert _slots(watched.slots(), "trn3-gen1") == {}
    with trninv.open(seeded) as fleet, pytest.raises(InvalidArgumentError):
        fleet.free("trn3-gen1")


def test_the_events_before_the_last_scrape_are_not_read(lite_fleet: BaseFleet) -> None:
    """A plan that reads all events of a kind would take longer the older the fleet is."""
    query = changed_domains._CHANGED_DOMAINS  # its plan is what this is about
    text_ = str(query.compile(dialect=sqlite.dialect(paramstyle="named")))
    with lite_fleet.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text_}", {"event": 1, "newest": 2}).all()
    steps = [row[3] for row in rows if "state_event" in row[3]]
    assert steps == ["SEARCH state_event USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"] * 3
