"""Revisions have a common key if nothing but this process's observations was stored between them, and only then."""

import asyncio
import itertools
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from printed import neuron_ls
from sqlalchemy import Connection, Engine, event, func, insert, select

import trninv
from conftest import BACKENDS, Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.revision import RevisionTracker
from trninv.database.tables import TABLES
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.graphql.statement_runner import StatementCounter, statement_counter
from trninv.importers.import_report import ImportResult
from trninv.importers.report_batches import PostedReport, ReportLimits, store_reports
from trninv.inventory.access.bearer_tokens import Principal, create_token
from trninv.inventory.access.quota import Quota
from trninv.inventory.state import observation_commits
from trninv.inventory.state.observation_commits import TABLES_WRITTEN, ObservationCommits
from trninv.setting_parsers import LEAST_OBSERVATIONS
from trninv.settings import Settings

ATTEMPTS = 5
"""PostgreSQL's own transactions, such as autovacuum's, change the key too."""
numbers = itertools.count()


@pytest.fixture(params=BACKENDS)
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated(request.param)) as made:
        yield made


def _url(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def store(engine: Engine, commits: ObservationCommits, token: str = "") -> None:
    """Store an observation that nobody has stored before."""
    devices = neuron_ls("i-0a", chips=[0, 1])
    devices[0]["memory_size"] = next(numbers)
    content = json.dumps({"host": "n0", "neuron_ls": devices, "sysfs": {}}).encode()
    report = PostedReport(content, datetime.now(UTC), None if token else Principal("", "admin"), token)
    limits = ReportLimits(Quota(10_000, 1 << 20), LEAST_OBSERVATIONS)
    (outcome,) = store_reports(engine, "neuron-ls", [report], limits, commits)
    assert isinstance(outcome, ImportResult), outcome


class Commits:
    """The commits of a process, the keys that it gives, and what it stores."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.tracker = engine, RevisionTracker(engine)
        self.known = ObservationCommits(self.tracker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.tracker.close()

    def key(self) -> Any:
        return self.known.key(self.tracker.current())

    def store(self, token: str = "") -> None:
        store(self.engine, self.known, token)


@pytest.fixture
def commits(engine: Engine) -> Iterator[Commits]:
    with Commits(engine) as made:
        yield made


def change(connection: Connection) -> None:
    """Change something that is no observation."""
    row = {"id": next(numbers), "target": f"t{next(numbers)}", "started_at": "2026-01-01T00:00:00Z"}
    connection.execute(insert(TABLES["discovery"]), [row])


def test_a_batch_keeps_the_key(commits: Commits) -> None:
    for _ in range(ATTEMPTS):
        before, revision = commits.key(), commits.tracker.current()
        commits.store()
        if commits.key() == before:
            break
    assert commits.key() == before
    assert commits.tracker.current() != revision
    assert before != revision, "it is no revision, which has what reads observations too"


def test_another_change_gives_another_key(commits: Commits) -> None:
    for is_observation in (False, True):
        before = commits.key()
        commits.store()
        if is_observation:
            with Commits(commits.engine) as other_process:
                other_process.store()
        else:
            with write_transaction(commits.engine) as connection:
                change(connection)
        commits.store()
        assert commits.key() != before


def test_a_batch_that_another_commit_follows_at_once_is_not_alone(
    commits: Commits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other commits before the batch's revision is read."""
    before, end = commits.key(), commits.known.end

    def commit_and_end(connection: Connection) -> None:
        with (
            temporary_engine(_url(commits.engine)) as other,
            write_transaction(other) as theirs,
        ):
            change(theirs)
        end(connection)

    monkeypatch.setattr(commits.known, "end", commit_and_end)
    commits.store()
    assert commits.key() != before


def test_a_batch_that_fails_is_none(commits: Commits, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = commits.known.begin

    def begin_and_fail(connection: Connection) -> None:
        begin(connection)
        raise ZeroDivisionError

    monkeypatch.setattr(commits.known, "begin", begin_and_fail)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        commits.store()
    monkeypatch.setattr(commits.known, "begin", begin)
    before = commits.key()
    with write_transaction(commits.engine) as connection:
        change(connection)
    assert commits.key() != before


def test_old_batches_are_forgotten(commits: Commits, monkeypatch: pytest.MonkeyPatch) -> None:
    """That matters if nobody asked for the key meanwhile."""
    monkeypatch.setattr(observation_commits, "_MAX_KNOWN", 2)
    for _ in range(ATTEMPTS):
        before = commits.key()
        keys = set[Any]()
        for _ in range(4):
            commits.store()
            keys.add(commits.key())
        if keys == {before}:
            break
    assert keys == {before}
    for _ in range(3):
        commits.store()
    assert len(commits.known._keys) + len(commits.known._batches) == 2
    if commits.engine.dialect.name == "postgresql":
        assert commits.key() != before, "three batches were stored since, of which two are known"


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[int, frozenset[int]]:
    end = draw(st.integers(1, 12))
    return end, draw(st.frozensets(st.integers(1, end - 1))) if end > 1 else frozenset()


@example(one=(1, frozenset()), other=(6, frozenset()), batches=frozenset(range(1, 7)))
@example(one=(1, frozenset()), other=(7, frozenset()), batches=frozenset(range(1, 7)))
@given(one=snapshots(), other=snapshots(), batches=st.frozensets(st.integers(1, 11)))
def test_snapshots_have_one_key_if_they_differ_by_batches_alone(
    one: tuple[int, frozenset[int]], other: tuple[int, frozenset[int]], batches: frozenset[int]
) -> None:
    """The oracle lists what each sees; the maximum number of transactions between two is included."""
    seen = [set(range(1, end)) - running for end, running in (one, other)]
    with temporary_engine("postgresql://nowhere") as engine, pytest.MonkeyPatch.context() as patch:
        patch.setattr(observation_commits, "_MAX_LATER", 5)
        known = ObservationCommits(RevisionTracker(engine))
        known._batches = dict.fromkeys(batches)
        keys = [
            known.key(("server", f"00000001 1:{end}:{','.join(map(str, running))}")) for end, running in (one, other)
        ]
    assert (keys[0] == keys[1]) == (seen[0] ^ seen[1] <= batches and abs(one[0] - other[0]) <= 5)


class _Late:
    """A transaction that stays open while others commit."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    def begin(self) -> None:
        self.commit()
        self._connection = self._engine.connect()
        change(self._connection)

    def commit(self) -> None:
        if self._connection:
            self._connection.commit()
            self._connection.close()
            self._connection = None


STEPS = st.lists(st.sampled_from(["store", "change", "rollback", "begin", "commit", "other"]), max_size=12)


@pytest.mark.parametrize("backend", BACKENDS)
@given(steps=STEPS)
def test_an_equal_key_means_equal_rows(databases: Databases, backend: str, steps: list[str]) -> None:
    """Of a table that no batch writes; whatever others commit, roll back or leave open meanwhile."""
    url = databases.migrated(backend)
    rows_by_key = dict[Any, Any]()
    with temporary_engine(url) as engine, Commits(engine) as commits, temporary_engine(url) as others:
        late = _Late(others)
        for step in steps:
            if step == "store":
                commits.store()
            elif step == "other":
                with Commits(others) as process:
                    process.store()
            elif step in ("change", "rollback"):
                with write_transaction(others, lock=None, commits=step == "change") as connection:
                    change(connection)
            elif step == "begin" and backend == "postgresql":  # SQLite has one writer at a time
                late.begin()
            else:
                late.commit()
            with commits.tracker.read() as (connection, revision):
                rows = connection.execute(select(TABLES["discovery"]).order_by("id")).all()
                assert rows_by_key.setdefault(commits.known.key(revision), rows) == rows
        late.commit()
    databases.drop(url)


@pytest.mark.slow_on_postgresql
def test_a_batch_writes_no_other_table(commits: Commits) -> None:
    """Its triggers included, once it also removes what is superseded."""
    with temporary_engine(_url(commits.engine)) as other, write_transaction(other) as connection:
        token = create_token(connection, "i-0a", "observe", None)  # counted as the other session's
    written = set[str]()

    def find_tables(connection: Connection) -> None:
        names = "SELECT relname FROM pg_stat_xact_user_tables WHERE n_tup_ins + n_tup_upd + n_tup_del > 0"
        written.update(connection.exec_driver_sql(names).scalars())

    def authorize(action: int, table: str | None, *_: str | None) -> int:
        if action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
            written.add(table or "")
        return sqlite3.SQLITE_OK

    if commits.engine.dialect.name == "postgresql":
        event.listen(commits.engine, "commit", find_tables)
    else:
        event.listen(commits.engine, "checkout", lambda driver, *_: driver.set_authorizer(authorize))
    for _ in range(LEAST_OBSERVATIONS + 1):
        commits.store(token=token)
    assert written | {"observed_link"} == set(TABLES_WRITTEN), "PostgreSQL counts rows, and it reports no links"
    with read_transaction(commits.engine) as connection:
        stored = connection.scalar(select(func.count()).select_from(TABLES["observation"]))
    assert stored == LEAST_OBSERVATIONS


def test_a_repeated_request_is_not_run_again_for_observations(engine: Engine) -> None:
    """Unless it reads them."""
    with trninv.open(_url(engine)) as fleet:
        api = Api(fleet, Settings.load())

        async def count_statements(document: str) -> int:
            counter = StatementCounter()
            statement_counter.set(counter)
            response = await api.run(Request(query=document))
            assert response.code is None
            return counter.count

        for document, is_kept in (("{ clusters { nodes { slug } } }", True), ("{ tokens { nodes { name } } }", False)):
            counts = list[int]()
            for _ in range(ATTEMPTS):
                asyncio.run(count_statements(document))
                store(fleet.engine, api.observation_commits)
                counts.append(asyncio.run(count_statements(document)))
            assert (0 in counts) == is_kept
