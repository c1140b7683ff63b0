"""History as files: nothing is lost or doubled whenever a run ends, and what is removed is known to be there."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.exc import DBAPIError
from tampering import tamper

import trninv
from apart import killed_at
from archives import at, happen, live, state
from archives import run as archived
from conftest import BACKENDS, Databases, Run
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import BusyError, InvalidFileError, InvalidTimeError, UnreachableError
from trninv.history.archive import archive_pruner
from trninv.history.archive.archive_pruner import PruneResult, prune_events
from trninv.history.archive.archive_store import MANIFEST, ArchiveStore, open_for_writing, open_read_only
from trninv.history.archive.archive_writer import _OBSERVATION_COLUMNS as OBSERVATION
from trninv.history.archive.archive_writer import _check_same_database, archive_history
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.inventory.transfer import copy_database
from trninv.setting_parsers import LEAST_OBSERVATIONS

pytestmark = pytest.mark.slow_on_postgresql

EVENT = TABLES["state_event"]
U = "u-trn2x64/d0"


def _live(url: str, *clusters: str) -> None:
    with temporary_engine(url) as engine:
        for slug in clusters:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), default_systems().get(slug))
        live(engine)


def _several(url: str) -> None:
    _live(url, "trn1.2xlarge", "u-trn2x64", "trn3-gen1")


def _one_server(url: str) -> None:
    _live(url, "trn1.32xlarge")


@pytest.fixture(params=BACKENDS)
def lived(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.copied(request.param, _several)) as engine:
        yield engine


@pytest.fixture
def small(databases: Databases) -> Iterator[Engine]:
    """The same of one server; files do not depend on the kind of database."""
    with temporary_engine(databases.copied("sqlite", _one_server)) as engine:
        yield engine


def _tree(directory: Path) -> dict[str, bytes]:
    files = (file for file in directory.rglob("*") if file.is_file() and file.name != ".lock")
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


def _asked(directory: Path, sql: str) -> list[tuple[object, ...]]:
    return duckdb.connect().execute(sql.replace("FROM ", f"FROM '{directory}/", 1)).fetchall()


def _ids(directory: Path) -> list[tuple[object, ...]]:
    return _asked(directory, "SELECT day, id FROM events/*/*.parquet' ORDER BY id")


def _numbers(engine: Engine) -> list[int]:
    with read_transaction(engine) as connection:
        return list(connection.scalars(select(EVENT.c.id).order_by(EVENT.c.id)))


def test_every_event_is_under_its_day_once_and_a_second_run_changes_nothing(lived: Engine, tmp_path: Path) -> None:
    made = archived(lived, tmp_path)
    assert made.rows["events"] == 6
    assert [(str(day)[-2:], number) for day, number in _ids(tmp_path)] == [
        *(("01", 1), ("01", 2), ("02", 3), ("02", 4), ("04", 5), ("04", 6))
    ]
    before = _tree(tmp_path)
    assert archived(lived, tmp_path).rows == {}
    assert _tree(tmp_path) == before
    assert list(open_read_only(tmp_path).integrity_errors()) == []
    row = _asked(
        tmp_path, 'SELECT "at", time, kind, part_id, before, state, clock_went_back FROM events/*/*.parquet\' LIMIT 1'
    )
    assert row == [(at(1, 8), datetime(2026, 1, 1, 8), "chip", 1, "up", "down", False)]  # noqa: DTZ001 # UTC without zone


def test_days_have_their_states_parts_their_places_and_observations_what_they_said(
    lived: Engine, tmp_path: Path
) -> None:
    made = archived(lived, tmp_path)
    lost = _asked(tmp_path, "SELECT day(day), kind, part_id, state FROM states/*/*.parquet' ORDER BY ALL")
    two = [("chip", 3, "down"), ("nic", 2, "down")]
    one = [two[0], ("link", 1, "maintenance")]
    assert lost == [(day, *each) for day, of in ((2, two), (3, two), (4, one), (5, one)) for each in of]
    with read_transaction(lived) as connection:
        sizes = [
            connection.scalar(select(func.count()).select_from(TABLES[name])) or 0
            for name in ("server", "node", "link")
        ]
    assert made.rows["parts"] == sum(sizes)
    chip = _asked(
        tmp_path, f"SELECT kind, cluster, rack, model, state, since FROM parts/*/*.parquet' WHERE address = '{U}/s1/c5'"
    )
    assert chip == [("chip", "u-trn2x64", "u-trn2x64/r0", "trainium2", "up", datetime(2026, 1, 1, 6))]  # noqa: DTZ001
    said = f"FROM observation/*/*.parquet' AS o JOIN '{tmp_path}/observed_server/*/*.parquet' AS s "
    said += f"ON s.observation_id = o.id JOIN '{tmp_path}/observed_chip/*/*.parquet' AS c "
    said += "ON c.observed_server_id = s.id"
    assert _asked(tmp_path, f"SELECT o.name, s.instance, c.ordinal, day(o.day) {said}") == [("a.json", "i-a", 0, 1)]


def test_an_event_that_comes_late_becomes_a_further_file_of_its_day(small: Engine, tmp_path: Path) -> None:
    """The clock went back: event 8 is of a day that is archived. No file that is there is touched."""
    archived(small, tmp_path)
    before = _tree(tmp_path)
    happen(small, at(2, 23), state("down", 9))
    assert archived(small, tmp_path).rows == {"events": 1}
    after = _tree(tmp_path)
    assert {name: after[name] for name in before if name != MANIFEST} | {MANIFEST: before[MANIFEST]} == before
    assert after[MANIFEST].startswith(before[MANIFEST])
    (new,) = after.keys() - before.keys()
    assert new == "events/day=2026-01-02/part-000000000008-000000000008.parquet"
    assert [number for _, number in _ids(tmp_path)] == [1, 2, 3, 4, 5, 6, 8]


class _KilledError(BaseException):
    """As if by kill -9: nothing is done after it."""


class _Left:
    """Steps until then."""

    def __init__(self, steps: int) -> None:
        self.steps, self._unlink = steps, Path.unlink

    def last(self, _number: int) -> None:
        self.steps -= 1
        if self.steps <= 0:
            raise _KilledError

    def unlink(self) -> Callable[..., None]:
        def unlink(path: Path, *, missing_ok: bool = False) -> None:
            if self.steps > 0:
                self._unlink(path, missing_ok=missing_ok)

        return unlink


@pytest.mark.slow
def test_whenever_a_run_ends_the_next_one_leaves_what_one_run_would_have(
    small: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every moment at which a file, a name or a line of the manifest begins to last."""
    monkeypatch.setattr(os, "fsync", lambda _number: None)
    archived(small, tmp_path / "whole", at(2, 0))
    wanted, step = _tree(tmp_path / "whole"), 0
    while True:
        step += 1
        directory, left = tmp_path / str(step), _Left(step)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", left.last)
            patched.setattr(Path, "unlink", left.unlink())
            try:
                archived(small, directory, at(2, 0))
            except _KilledError:
                pass
            else:
                break
        archived(small, directory, at(2, 0))
        assert {name: content for name, content in _tree(directory).items() if ".unlisted-" not in name} == wanted, step
    assert step > 25


@pytest.mark.slow
def test_kill_9_loses_nothing_and_doubles_nothing(small: Engine, tmp_path: Path) -> None:
    """Again and again in the same directory, in processes that are killed."""
    url, kills = small.url.render_as_string(hide_password=False), 0
    for step in (9, 10, 12):
        kills += killed_at(step, url, str(tmp_path / "killed"))
    assert kills == 3
    for directory in ("killed", "whole"):
        with open_for_writing(tmp_path / directory) as store:
            archive_history(small, store, at(3, 0))
    assert [number for _, number in _ids(tmp_path / "killed")][:4] == [1, 2, 3, 4]
    assert list(open_read_only(tmp_path / "killed").integrity_errors()) == []


def test_what_has_no_line_in_the_manifest_is_set_aside(small: Engine, tmp_path: Path) -> None:
    """A run that was killed before its line, and after which more events came, left a file of fewer."""
    archived(small, tmp_path)
    before, day = _tree(tmp_path), tmp_path / "events/day=2026-01-01"
    name = "part-000000000001-000000000001.parquet"
    for content in (b"half", b"half", b"more"):
        for each in (name, f".{name}.7"):
            (day / each).write_bytes(content)
        archived(small, tmp_path)
    aside = _unlisted(tmp_path)
    assert sorted(aside.values()) == [b"half", b"more"]
    assert all(each.startswith(f"events/day=2026-01-01/{name}.unlisted-") for each in aside)
    assert _tree(tmp_path) == before | aside


def _unlisted(directory: Path) -> dict[str, bytes]:
    return {name: content for name, content in _tree(directory).items() if ".parquet.unlisted-" in name}


def test_a_manifest_that_is_lost_costs_no_file(small: Engine, tmp_path: Path) -> None:
    """After --delete the files are the only copy of the events."""
    with open_for_writing(tmp_path) as store:
        archive_history(small, store, at(3, 0))
        earlier = (tmp_path / MANIFEST).read_bytes()
    _remove(small, tmp_path)
    before, (line, *_) = _tree(tmp_path), earlier.splitlines(keepends=True)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(InvalidFileError, match=r"has files but no manifest\.ndjson; restore it from a copy"):
        archived(small, tmp_path)
    for older in (b"", line, earlier, line[:-1]):
        (tmp_path / MANIFEST).write_bytes(older)
        with pytest.raises(
            InvalidFileError, match=r"manifest\.ndjson lacks events up to 6, which the database no longer has"
        ):
            archived(small, tmp_path)
        assert _tree(tmp_path) == before | {MANIFEST: older}
    moved = tmp_path.with_name("moved")
    tmp_path.rename(moved)
    archived(small, moved)
    kept = {name.partition(".unlisted")[0]: content for name, content in _tree(moved).items() if name != MANIFEST}
    assert {name: kept[name] for name in before if name.startswith("events/")} == {
        name: content for name, content in before.items() if name.startswith("events/")
    }


def test_a_last_line_without_its_end_of_line_is_one(small: Engine, tmp_path: Path) -> None:
    _remove(small, tmp_path)
    before = _tree(tmp_path)
    (tmp_path / MANIFEST).write_bytes(before[MANIFEST][:-1])
    assert archived(small, tmp_path).rows == {}
    assert _tree(tmp_path) == before


def test_a_line_that_was_not_written_to_its_end_is_none(small: Engine, tmp_path: Path) -> None:
    archived(small, tmp_path)
    before, manifest = _tree(tmp_path), tmp_path / MANIFEST
    manifest.write_bytes(before[MANIFEST] + b'{"dataset":"ev')
    archived(small, tmp_path)
    assert _tree(tmp_path) == before
    manifest.write_bytes(b"no\n" + before[MANIFEST])
    with pytest.raises(InvalidFileError, match="line 1: invalid entry"):
        archived(small, tmp_path)


def test_a_file_that_changed_went_or_came_is_told(small: Engine, tmp_path: Path, run: Run) -> None:
    url = small.url.render_as_string(hide_password=False)
    assert run("archive", str(tmp_path), "--before", at(6, 0), database=url)[0] == 0
    assert run("archive", str(tmp_path), "--check", database=url)[1].startswith("no differences: ")
    one, two = sorted((tmp_path / "events").rglob("*.parquet"))[:2]
    one.write_bytes(one.read_bytes()[:-1])
    two.rename(two.with_name("part-000000000009-000000000009.parquet"))
    status, out, _ = run("archive", str(tmp_path), "--check", "--format", "json", database=url)
    told = [fault.rpartition("parquet ")[2] for fault in json.loads(out)["faults"]]
    assert (status, told) == (
        1,
        ["has changed since it was written", "is missing", "is not in the manifest; the next run renames it"],
    )
    with (
        open_for_writing(tmp_path) as store,
        pytest.raises(InvalidFileError, match="has changed since it was written; nothing was removed"),
    ):
        prune_events(small, store, "tester")
    assert run("archive", str(tmp_path), "--check", "--delete", database=url)[0] == 2
    assert run("archive", str(tmp_path / "none"), "--check", database=url)[2].endswith("run trninv archive first\n")


def test_two_runs_at_once_or_of_two_databases_are_refused(small: Engine, tmp_path: Path, databases: Databases) -> None:
    with open_for_writing(tmp_path) as store:
        archive_history(small, store, at(6, 0))
        with pytest.raises(BusyError), open_for_writing(tmp_path):
            pass
    with (
        temporary_engine(databases.seeded("sqlite")) as other,
        pytest.raises(InvalidFileError, match="of another database"),
    ):
        archived(other, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UnreachableError, match=r"can't read or write .*file/below"):
        archived(small, tmp_path / "file" / "below")


def test_observations_that_were_superseded_since_are_no_sign_of_another_database(
    small: Engine, tmp_path: Path, databases: Databases
) -> None:
    row = {"source": "neuron-ls", "name": "a", "speaker": "i-a", "is_whole": False, "servers": 1, "chips": 1}
    row |= dict.fromkeys(("at", "taken_at", "seen_at"), at(2, 6))

    def add(first: int, last: int) -> None:
        rows = [row | {"id": key, "sha256": f"{key:064}"} for key in range(first, last + 1)]
        with small.begin() as connection:
            connection.execute(TABLES["observation"].insert(), rows)

    add(2, 3)
    assert archived(small, tmp_path).rows["observation"] == 3
    add(4, LEAST_OBSERVATIONS + 3)
    with small.begin() as connection:
        connection.execute(text("DELETE FROM observation WHERE id IN (2, 3)"))
    assert archived(small, tmp_path).rows["observation"] == LEAST_OBSERVATIONS
    other = temporary_engine(databases.migrated("sqlite"))
    another = pytest.raises(InvalidFileError, match="of another database")
    with open_for_writing(tmp_path) as store, other as empty, read_transaction(empty) as connection, another:
        _check_same_database(store, connection, "observation", OBSERVATION)
    with small.begin() as connection:
        connection.execute(TABLES["observation"].insert().values(row | {"id": 999, "sha256": "x"}))
    assert archived(small, tmp_path).rows["observation"] == 1


def test_a_time_that_is_none_becomes_no_directory(small: Engine, tmp_path: Path) -> None:
    happen(small, "../../../etc/x", state("down", 9))
    with pytest.raises(InvalidFileError, match="is not a day; correct the times"):
        archived(small, tmp_path)


def _remove(engine: Engine, directory: Path) -> PruneResult:
    with open_for_writing(directory) as store:
        archive_history(engine, store, at(6, 0))
        return prune_events(engine, store, "tester")


def test_what_is_archived_may_go_and_what_is_left_is_as_it_was(lived: Engine, tmp_path: Path) -> None:
    with trninv.open(lived.url.render_as_string(hide_password=False)) as fleet:
        then = fleet.at(6).memory_pool(f"{U}/s0/c0")
        assert _remove(lived, tmp_path) == PruneResult(6, 6, _at_of(lived, 7))
        assert _numbers(lived) == [7]
        with read_transaction(lived) as connection:
            found = hash_chain.verify_chain(connection)
            assert (found.events, found.sealed, found.unsealed, found.broken, found.archived) == (1, 7, 0, None, 6)
            assert list(verify_history(connection, found)) == []
        assert fleet.at(6).memory_pool(f"{U}/s0/c0") == then
        for asked in (5, at(4, 12)):
            with pytest.raises(InvalidTimeError, match=f"starts at .*; events up to 6 are in the archive {tmp_path}$"):
                fleet.at(asked)
    assert _remove(lived, tmp_path) == PruneResult(0)
    happen(lived, at(5, 0), state("down", 9))
    assert _numbers(lived) == [7, 8]
    assert archived(lived, tmp_path).rows == {"events": 1}
    with read_transaction(lived) as connection:
        assert hash_chain.verify_chain(connection).broken is None


def _at_of(engine: Engine, number: int) -> str:
    with read_transaction(engine) as connection:
        return str(connection.scalar(select(EVENT.c.at).where(EVENT.c.id == number)))


def test_only_what_is_archived_may_go(lived: Engine, tmp_path: Path) -> None:
    """Whoever says DELETE, and up to a seal: what plain SQL left unsealed stays with what comes after it."""
    _remove(lived, tmp_path)
    for statement in ("DELETE FROM state_event", "DELETE FROM event_seal", "DELETE FROM history_archive"):
        with pytest.raises(DBAPIError, match="append only"), lived.begin() as connection:
            connection.execute(text(statement))
    with pytest.raises(DBAPIError, match="append only"), lived.begin() as connection:
        connection.execute(text("UPDATE state_event SET who = 'me'"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_newest_event_stays_and_the_one_before_goes(databases: Databases, backend: str, tmp_path: Path) -> None:
    """Also where the archive has the newest one."""
    with temporary_engine(databases.seeded(backend)) as engine:
        for hour, what in ((8, "down"), (9, "up"), (10, "down")):
            happen(engine, at(1, hour), state(what, 1))
        assert _remove(engine, tmp_path).last_event == 2
        assert _numbers(engine) == [3]
        assert [number for _, number in _ids(tmp_path)] == [1, 2, 3]
        assert _remove(engine, tmp_path) == PruneResult(0)
        for statement in ("DELETE FROM state_event WHERE id = 3", "DELETE FROM event_seal WHERE id = 2"):
            with pytest.raises(DBAPIError, match="append only"), engine.begin() as connection:
                connection.execute(text(statement))
        happen(engine, at(1, 11), state("up", 1))
        assert _remove(engine, tmp_path).last_event == 3
        assert _numbers(engine) == [4]


def test_a_day_that_was_left_out_and_all_after_it_stay(lived: Engine, tmp_path: Path) -> None:
    happen(lived, at(2, 5), state("down", 9), sealed=False)
    happen(lived, at(2, 6), state("up", 9))
    with open_for_writing(tmp_path) as store:
        archive_history(lived, store, at(3, 0))
        assert prune_events(lived, store, "tester").last_event == 4
    assert _numbers(lived) == [5, 6, 7, 8, 9]


def test_an_archive_that_has_other_events_than_were_sealed_removes_nothing(lived: Engine, tmp_path: Path) -> None:
    with open_for_writing(tmp_path) as store:
        archive_history(lived, store, at(6, 0))
        tamper(lived, "UPDATE event_seal SET sha256 = 'no' WHERE id = 2", "event_seal")
        with pytest.raises(InvalidFileError, match="the events up to 2 do not match their seal"):
            prune_events(lived, store, "tester")
    assert len(_numbers(lived)) == 7


@pytest.mark.quick_on_postgresql
def test_of_two_that_remove_at_once_the_later_one_removes_nothing(
    lived: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into two directories, since one has a lock; the other's run comes between the look and the lock."""
    with open_for_writing(tmp_path / "late") as store:
        archive_history(lived, store, at(6, 0))
        compared = archive_pruner._last_deletable  # the moment between both

        def overtaken(connection: Connection, store: ArchiveStore) -> tuple[int, str]:
            found = compared(connection, store)
            monkeypatch.setattr(archive_pruner, "_last_deletable", compared)
            _remove(lived, tmp_path / "early")
            return found

        monkeypatch.setattr(archive_pruner, "_last_deletable", overtaken)
        with pytest.raises(BusyError, match="run it again"):
            prune_events(lived, store, "tester")
        assert prune_events(lived, store, "tester") == PruneResult(0)
    with read_transaction(lived) as connection:
        assert hash_chain.verify_chain(connection).broken is None


def test_a_beginning_that_was_edited_is_noticed(lived: Engine, tmp_path: Path) -> None:
    _remove(lived, tmp_path)
    with lived.begin() as connection:
        connection.execute(text("INSERT INTO history_archive VALUES (7, 'x', 'x', 'x', 'x', 'x')"))
    with read_transaction(lived) as connection:
        assert (
            hash_chain.verify_chain(connection).broken
            == "the seal of event 7, with which the history begins, is not as it was"
        )


def test_a_copy_of_what_is_left_can_be_verified(lived: Engine, tmp_path: Path, databases: Databases) -> None:
    _remove(lived, tmp_path)
    with temporary_engine(databases.migrated("sqlite")) as other:
        with read_transaction(lived) as ours, write_transaction(other) as theirs:
            copy_database(ours, theirs, replace=True)
        with read_transaction(other) as connection:
            assert (hash_chain.verify_chain(connection).broken, hash_chain.verify_chain(connection).archived) == (
                None,
                6,
            )


def test_parts_are_written_anew_where_the_fleet_is_another_and_keep_since_when_they_are_known(
    lived: Engine, tmp_path: Path, run: Run
) -> None:
    _remove(lived, tmp_path)
    assert run("unseed", "trn3-gen1", "--yes", database=lived.url.render_as_string(hide_password=False))[0] == 0
    assert archived(lived, tmp_path).rows["parts"] > 0
    known = "SELECT version, since, cluster FROM parts/*/*.parquet' WHERE cluster IN ('trn3-gen1', 'u-trn2x64')"
    since = datetime(2026, 1, 1, 6)  # noqa: DTZ001 # UTC without zone
    found = set(_asked(tmp_path, known))
    assert found == {(1, since, "trn3-gen1"), (1, since, "u-trn2x64"), (2, since, "u-trn2x64")}
    assert archived(lived, tmp_path).rows == {}


def test_the_command_says_what_it_did(small: Engine, tmp_path: Path, run: Run) -> None:
    url = small.url.render_as_string(hide_password=False)
    status, out, _ = run("archive", str(tmp_path), "--before", at(6, 0), "--delete", "--who", "me", database=url)
    assert (status, out.splitlines()[0]) == (0, "events: 6 rows")
    assert out.splitlines()[-1].startswith("deleted 6 events up to 6: history now starts at ")
    assert (
        "history: 1 event after 6, the last event that only an archive has, sealed up to 7 by "
        in run("verify", database=url)[1]
    )
    _, out, _ = run("archive", str(tmp_path), "--before", at(6, 0), "--delete", database=url)
    assert out.splitlines() == [
        "nothing new before 2026-01-06: a day is archived after it ends, in UTC",
        "deleted nothing: events are deleted only up to a seal, and only once all of them are archived",
    ]
    assert run("archive", str(tmp_path), "--before", "2999-01-01T00:00:00Z", database=url)[0] == 2
